"""`gna demo`: an example publication to look around in."""

from gna import clock
from gna.cli import start
from gna.cli.demo_fill import PEOPLE, fill
from gna.errors import Refused
from gna.provider_history import refuse_rehearsal


def demo() -> None:
    """Fill an empty database with an example publication, to look around in; for the `mailbox` provider only."""
    with start.opened() as (settings, db), db.write() as tx:
        if settings.email_provider != "mailbox":
            # One of its campaigns is scheduled.
            raise Refused("The example is for EMAIL_PROVIDER=mailbox, which sends nothing to anybody")
        # People may all have left a publication that was real.
        refuse_rehearsal(tx)
        fill(tx, now=clock.now())
    print(f"{PEOPLE:,} example people and their campaigns are there. Look at them with: make run, or gna serve")
