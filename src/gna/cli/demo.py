"""`gna demo`: an example publication to look around in."""

from gna import clock
from gna.cli import start


def demo() -> None:
    """Fill an empty database with an example publication, to look around in; no mail is sent."""
    # Imported late: the other commands start faster without it.
    from gna.cli.demo_fill import PEOPLE, fill

    with start.opened() as (_, db), db.write() as tx:
        fill(tx, now=clock.now())
    print(f"{PEOPLE:,} example people and their campaigns are there. Start with: make run, or gna serve")
