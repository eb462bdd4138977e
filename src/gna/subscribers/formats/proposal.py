"""What the columns of a file probably are: by its header if we know it, else by what stands in them."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from gna.subscribers.formats.header import Header
from gna.subscribers.formats.leaving import PlacedSign
from gna.subscribers.formats.mapping import LEFT_OUT, Column, Target
from gna.subscribers.formats.person import LONGEST_VALUE, padded
from gna.subscribers.formats.words import STANDINGS, loose

MOST_SAMPLES = 5
# A page that asks about more values would be of no use.
MOST_UNKNOWN = 20
LONGEST_SAMPLE = 40
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
    # Values that may say that a person left, and that are not understood; `has_more` if they are too many to show.
    unknown: tuple[str, ...] = ()
    has_more: bool = False


@dataclass(frozen=True)
class Proposal:
    """The columns of a file; `format` is None if nobody's header is like that, `leaving` if its name says goodbye."""

    format: str | None
    columns: tuple[Found, ...]
    # What the format itself makes of the columns.
    known: tuple[Column, ...]
    leaving: bool = False

    def is_kept(self, columns: Sequence[Column]) -> bool:
        """Whether a person wants everything as the format has it."""
        return self.format is not None and self.known == tuple(columns)


def beside_samples(header: Header, guesses: Sequence[Guess], rows: Sequence[Sequence[str]]) -> tuple[Found, ...]:
    """The guesses beside what stands in the columns."""
    columns = enumerate(zip(header.names, guesses, strict=True))
    return tuple(Found(name, samples(rows, at), guess) for at, (name, guess) in columns)


def samples(rows: Iterable[Sequence[str]], at: int) -> tuple[str, ...]:
    """Some different values of a column."""
    values = (cells[at].strip() for cells in rows if at < len(cells))
    return tuple(islice(dict.fromkeys(value[:LONGEST_SAMPLE] for value in values if value), MOST_SAMPLES))


def with_unknown(columns: Sequence[Found], signs: Sequence[PlacedSign], rows: Iterable[Sequence[str]]) -> list[Found]:
    """The columns with the values that a person must be asked about; such a column is proposed as the status."""
    asking = [sign for sign in signs if sign.sign.asks]
    values: dict[int, dict[str, str]] = {sign.at: {} for sign in asking}
    for cells in rows if asking else ():
        row = padded(cells, len(columns))
        for sign in asking:
            if len(values[sign.at]) <= MOST_UNKNOWN and sign.is_unknown(row):
                value = row[sign.at].strip()
                values[sign.at].setdefault(loose(value), value[:LONGEST_VALUE])
    told = list(columns)
    for at, spellings in values.items():
        if spellings:
            told[at] = replace(
                told[at],
                guess=Guess(Column(Target.STATUS), counts=True),
                unknown=tuple(islice(spellings.values(), MOST_UNKNOWN)),
                has_more=len(spellings) > MOST_UNKNOWN,
            )
    return told


def column_of_addresses(rows: Sequence[Sequence[str]]) -> int | None:
    """Where most addresses stand, if there are any."""
    often = Counter(at for cells in rows for at, cell in enumerate(cells) if ADDRESS.fullmatch(cell.strip()))
    return max(often, key=lambda at: (often[at], -at), default=None)


def with_status(guesses: Sequence[Guess], rows: Sequence[Sequence[str]]) -> list[Guess]:
    """If no column is known to say who left, one that holds such words only says it, whatever it is called."""
    if any(guess.counts or guess.column.target is Target.STATUS for guess in guesses):
        return list(guesses)
    spoken = (at for at, guess in enumerate(guesses) if guess.column.target is Target.ATTRIBUTE and _says(rows, at))
    found = next(spoken, None)
    return [Guess(Column(Target.STATUS)) if at == found else guess for at, guess in enumerate(guesses)]


def _says(rows: Sequence[Sequence[str]], at: int) -> bool:
    words = {loose(cells[at]) for cells in rows if at < len(cells)} - {""}
    return bool(words) and words <= STANDINGS.keys()


def distinct(guesses: Sequence[Guess]) -> list[Guess]:
    """Of two columns with the same name, the first counts."""
    met: set[str] = set()
    told = []
    for guess in guesses:
        name = guess.column.name
        told.append(replace(guess, column=LEFT_OUT) if name and name in met else guess)
        met.add(name)
    return told
