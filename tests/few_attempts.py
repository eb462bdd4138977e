"""`gna` that gives up a campaign's mail after few attempts, so that a test need not kill a worker a dozen times."""

from datetime import timedelta
from pathlib import Path

from gna.cli.main import main
from gna.delivery import retry
from tests.running import ForkedGna, Gna

ROOT = Path(__file__).parent.parent
ATTEMPTS = 3


def worker(folder: Path, **settings: str) -> Gna:
    """A worker that has so little patience."""
    return ForkedGna(folder, command="worker", module="tests.few_attempts", PYTHONPATH=str(ROOT), **settings)


if __name__ == "__main__":
    retry.WAITS = (timedelta(seconds=1),) * ATTEMPTS
    main()
