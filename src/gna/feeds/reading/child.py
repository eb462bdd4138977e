"""The process that reads one feed: a question on its input, the answer on its output, and then it ends."""

import os
import sys
from contextlib import suppress

MEMORY = 512 * 2**20
SECONDS = 20
# Whoever sends mail goes first.
NICENESS = 10


def main() -> None:
    """Answer the one question."""
    _limit()
    from gna.feeds.reading import parse, passing

    body, content_type, url = passing.question(sys.stdin.buffer.read())
    try:
        answer = passing.answer(parse.read(body, content_type=content_type, url=url))
    except parse.NotAFeed as refusal:
        answer = passing.refusal(str(refusal))
    sys.stdout.buffer.write(answer)
    sys.stdout.buffer.flush()
    # Nothing is left to do, and taking a large document apart takes time.
    os._exit(0)


def _limit() -> None:
    if sys.platform == "win32":
        return
    import resource

    os.nice(NICENESS)
    for what, most in (
        (resource.RLIMIT_AS, MEMORY),
        (resource.RLIMIT_CPU, SECONDS),
        (resource.RLIMIT_CORE, 0),
    ):
        _, hard = resource.getrlimit(what)
        ours = most if hard == resource.RLIM_INFINITY else min(most, hard)
        # Not every system limits everything; the server's patience ends in any case.
        with suppress(ValueError, OSError):
            resource.setrlimit(what, (ours, ours))


if __name__ == "__main__":
    main()
