"""What somebody does at the command line is noted like what they do on the pages."""

import getpass

from sqlalchemy.engine import Connection

from gna import activity
from gna.activity import Verb
from gna.db import timed


def note(tx: Connection, verb: Verb, *, about: str = "", target: str | None = None) -> None:
    """Write it down, in the transaction that does it."""
    timed(activity.note)(tx, by=_who(), verb=verb, about=about, target=target)


def _who() -> str:
    """The name of the system's user, if it has one."""
    try:
        return f"command line: {getpass.getuser()}"
    except (ImportError, KeyError, OSError):
        return "command line"
