"""Reads feeds in a process of their own.

A feed is written by strangers. Whatever it does to the process that reads it, mail goes on being sent, and the
libraries that it needs are in memory only while they are used.
"""

import asyncio
import os
import sys
from contextlib import suppress

from gna.feeds.entry import Document
from gna.feeds.reading.passing import answered, asked
from gna.feeds.reading.refusal import NotAFeed

# Isolated: neither the folder that the server was started in nor the settings of Python's user decide what is run.
COMMAND = [sys.executable, "-I", *(["-B"] if sys.dont_write_bytecode else []), "-m", "gna.feeds.reading.child"]
# All that the child may know of our surroundings, where the passwords are.
SURROUNDINGS = ("LD_LIBRARY_PATH", "PYTHONTZPATH", "SYSTEMROOT")
# The child has 20 seconds of CPU; a busy machine may give them late.
PATIENCE = 30.0
TOO_MUCH = "It takes too much time or memory to read; ask its publisher for a feed of the newest entries only."


async def read_apart(body: bytes, *, content_type: str = "", url: str) -> Document:
    """As `parse.read`, in another process with limits on its time and memory."""
    process = await asyncio.create_subprocess_exec(
        *COMMAND,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={name: os.environ[name] for name in SURROUNDINGS if name in os.environ},
    )
    try:
        async with asyncio.timeout(PATIENCE):
            answer, _ = await process.communicate(asked(body, content_type=content_type, url=url))
    except TimeoutError:
        raise NotAFeed(TOO_MUCH) from None
    finally:
        await _end(process)
    if process.returncode:
        raise NotAFeed(TOO_MUCH)
    # Elsewhere: a large answer takes a moment, and mail is sent here.
    return await asyncio.to_thread(answered, answer)


async def _end(process: asyncio.subprocess.Process) -> None:
    """Leave nothing running, whether the child is late or nobody waits for it any more."""
    if process.returncode is None:
        with suppress(ProcessLookupError):
            process.kill()
        # Not only waited for: as long as something is left to be read of it, Python does not believe that it is gone.
        with suppress(OSError):
            await process.communicate()
    if process.stdin:
        # One that has died reads no more; unless somebody hears of that, Python complains of it some time later.
        process.stdin.close()
        with suppress(OSError):
            await process.stdin.wait_closed()
