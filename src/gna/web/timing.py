"""Answers whose time does not tell whose address is known."""

import asyncio
import random

# Seconds. An insert takes 0.15 ms longer than finding a row that is there; 40 answers of each kind cannot tell
# that difference from a wait that varies by 6 ms.
LONGEST_WAIT = 0.02

_random = random.SystemRandom()


async def blur() -> None:
    """Wait a random moment before the answer to a request that must not tell who is subscribed."""
    await asyncio.sleep(_random.uniform(0, LONGEST_WAIT))
