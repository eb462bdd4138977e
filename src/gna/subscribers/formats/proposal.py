"""What the columns of a file probably are: by its header if we know it, else by what stands in them."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from gna.subscribers.formats.header import Header
from gna.subscribers.formats.mapping import LEFT_OUT, Column, Target

MOST_SAMPLES = 5
LONGEST_SAMPLE = 60
ADDRESS = re.compile(r"[^\s@<>,;]+@[^\s@<>,;]+\.[^\s@<>,;]+")


@dataclass(frozen=True)
class Guess:
    """What a column probably is; `counts` if it says who left, which is heard whatever a person chooses."""

    column: Column
    counts: bool = False


@dataclass(frozen=True)
class Found:
    """A column of a file, some of its values, and what it probably is."""

    header: str
    samples: tuple[str, ...]
    guess: Guess


@dataclass(frozen=True)
class Proposal:
    """The columns of a file; `format` is None if nobody's header is like that, `leaving` if its name says goodbye."""

    format: str | None
    columns: tuple[Found, ...]
    leaving: bool = False

    @property
    def tells_status(self) -> bool:
        """Whether some column says how people stand."""
        return any(found.guess.counts or found.guess.column.target is Target.STATUS for found in self.columns)

    def is_kept(self, columns: Sequence[Column]) -> bool:
        """Whether a person left everything as the format has it."""
        return self.format is not None and [found.guess.column for found in self.columns] == list(columns)


def with_samples(header: Header, guesses: Sequence[Guess], rows: Sequence[Sequence[str]]) -> tuple[Found, ...]:
    """The guesses beside what stands in the columns."""
    columns = enumerate(zip(header.names, _distinct(guesses), strict=True))
    return tuple(Found(name, samples(rows, at), guess) for at, (name, guess) in columns)


def samples(rows: Iterable[Sequence[str]], at: int) -> tuple[str, ...]:
    """Some different values of a column."""
    values = (cells[at].strip() for cells in rows if at < len(cells))
    return tuple(islice(dict.fromkeys(value[:LONGEST_SAMPLE] for value in values if value), MOST_SAMPLES))


def column_of_addresses(rows: Sequence[Sequence[str]]) -> int | None:
    """Where most addresses stand, if there are any."""
    often = Counter(at for cells in rows for at, cell in enumerate(cells) if ADDRESS.fullmatch(cell.strip()))
    return max(often, key=lambda at: (often[at], -at), default=None)


def _distinct(guesses: Sequence[Guess]) -> list[Guess]:
    """Of two columns with the same name, the first counts."""
    met: set[str] = set()
    told = []
    for guess in guesses:
        name = guess.column.name
        told.append(replace(guess, column=LEFT_OUT) if name and name in met else guess)
        met.add(name)
    return told
