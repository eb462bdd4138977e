"""Runs a command and writes down what it used: `usage.py REPORT COMMAND …`.

A process is charged with the memory of whoever started it, so the tests, which are large, do not start it themselves.
"""

import json
import os
import sys
from pathlib import Path


def main() -> None:
    """Run it with our own input and output, and end as it ended."""
    report, *command = sys.argv[1:]
    child = os.posix_spawn(command[0], command, os.environ)
    _, status, used = os.wait4(child, 0)
    said = {"seconds": used.ru_utime + used.ru_stime, "memory": used.ru_maxrss * 1024}
    Path(report).write_text(json.dumps(said))
    os._exit(1 if status else 0)


if __name__ == "__main__":
    main()
