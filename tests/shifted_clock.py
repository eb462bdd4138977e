"""`python -m tests.shifted_clock worker`: the product on a machine whose clock can be set.

The file named by CLOCK_SHIFT holds by how many seconds. Only the time of day moves: the time that passed does not.
"""

import os
from datetime import datetime, timedelta
from pathlib import Path

from gna import clock
from gna.cli.main import main

SHIFT = Path(os.environ["CLOCK_SHIFT"])
_true_now = clock.now


def shifted_now() -> datetime:
    """The time of day on that machine."""
    return _true_now() + timedelta(seconds=float(SHIFT.read_text()))


if __name__ == "__main__":
    clock.now = shifted_now
    main()
