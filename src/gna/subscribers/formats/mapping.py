"""What each column of a file is, as a person says it; and what holds for everybody in it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from gna.errors import Refused
from gna.subscribers.formats.header import Header
from gna.subscribers.formats.leaving import MEANINGS, Meanings
from gna.subscribers.formats.person import LONGEST_NAME, MOST_ATTRIBUTES, Standing
from gna.subscribers.formats.words import loose
from gna.subscribers.lists import parse_list_key
from gna.subscribers.table import STORABLE

STATUSES = {"activated": Standing.ACTIVATED, "pending": Standing.PENDING}
MOST_LISTS = 20
MOST_VALUES = 1000


class Target(StrEnum):
    """What a column can be."""

    EMAIL = "email"
    NICKNAME = "nickname"
    STATUS = "status"
    ACTIVATED_AT = "activated_at"
    OCD_IDS = "ocd_ids"
    LISTS = "lists"
    ATTRIBUTE = "attribute"
    IGNORE = "ignore"


# The parts of a name may stand in several columns, several may say who left, and there are many attributes.
ONCE = (Target.EMAIL, Target.ACTIVATED_AT, Target.OCD_IDS, Target.LISTS)


@dataclass(frozen=True)
class Column:
    """What one column is; an attribute has a name."""

    target: Target
    name: str = ""

    @classmethod
    def parse(cls, said: object, *, header: str) -> "Column":
        """Read `nickname`, `attribute` or `attribute:city`; without a name, an attribute is called as the column."""
        word, _, name = said.partition(":") if isinstance(said, str) else ("", "", "")
        if word not in set(Target) or (name and word != Target.ATTRIBUTE):
            raise Refused(f"A column can be one of: {', '.join(Target)}")
        return cls.attribute(name.strip() or header) if word == Target.ATTRIBUTE else cls(Target(word))

    @classmethod
    def attribute(cls, name: str) -> "Column":
        """An attribute with this name."""
        if not 1 <= len(name) <= LONGEST_NAME or not STORABLE.fullmatch(name):
            raise Refused("The name of an attribute has 1–100 characters")
        return cls(Target.ATTRIBUTE, name)

    def __str__(self) -> str:
        """As it is stored."""
        return f"{self.target}:{self.name}" if self.name else str(self.target)


LEFT_OUT = Column(Target.IGNORE)


@dataclass(frozen=True)
class Mapping:
    """How a file is to be read, already checked; without columns it is read as what it is recognised for."""

    columns: tuple[Column, ...] | None = None
    default: Standing = Standing.ACTIVATED
    lists: tuple[str, ...] = ()
    # By the name of a column: what its values mean that are not known here.
    values: dict[str, Meanings] = field(default_factory=dict)
    # The columns that were not mentioned. What they say of who left must be understood before the import starts.
    unmentioned: frozenset[int] = field(default=frozenset(), compare=False)

    @classmethod
    def parse(cls, said: object, header: Sequence[str]) -> "Mapping":
        """Check what was said of a file with this header: of its columns by their names, or of all in their order."""
        if not isinstance(said, dict) or set(said) - {"columns", "status", "lists", "values"}:
            raise Refused("The mapping must be an object with columns, values, status and lists")
        named, names = said.get("columns"), Header.of(header)
        columns = None if named is None else checked(_columns(named, names))
        mentioned = named if isinstance(named, dict) else {*names.names}
        values = _values(said.get("values") or {})
        for column in values:
            if column not in names.names:
                raise Refused(f'The values of a column "{column}" are explained, but the file has no such column')
        return cls(
            columns,
            _default(said.get("status") or "Activated"),
            _lists(said.get("lists") or []),
            values,
            frozenset(at for at, name in enumerate(names.names) if name not in mentioned),
        )

    def stored(self) -> dict[str, Any] | None:
        """As it lies in the database: nothing, if nothing was said."""
        if self == AS_IT_IS:
            return None
        columns = None if self.columns is None else [str(column) for column in self.columns]
        stored = {"columns": columns, "status": self.default.capitalize(), "lists": list(self.lists)}
        if not self.values:
            return stored
        words = {standing: word for word, standing in MEANINGS.items()}
        values = {
            column: {value: words[standing] for value, standing in meanings.items()}
            for column, meanings in self.values.items()
        }
        return stored | {"values": values}

    @classmethod
    def restored(cls, stored: dict[str, Any] | None) -> "Mapping":
        """From the database."""
        if stored is None:
            return AS_IT_IS
        said = stored["columns"]
        columns = None if said is None else tuple(Column.parse(one, header="") for one in said)
        # An import that was stored by an earlier version has no values.
        values = _values(stored.get("values", {}))
        return cls(columns, _default(stored["status"]), tuple(stored["lists"]), values)


AS_IT_IS = Mapping()


def checked(columns: Sequence[Column]) -> tuple[Column, ...]:
    """The columns, if they make sense together."""
    targets = [column.target for column in columns]
    names = [column.name for column in columns if column.target is Target.ATTRIBUTE]
    if Target.EMAIL not in targets:
        raise Refused("Say which column holds the e-mail addresses")
    for target in ONCE:
        if targets.count(target) > 1:
            raise Refused(f"Only one column can be {target}")
    if len(names) > len(set(names)):
        raise Refused("Two columns cannot be the same attribute")
    if len(names) > MOST_ATTRIBUTES:
        raise Refused("A person can have at most 100 attributes")
    return tuple(columns)


def _columns(said: object, header: Header) -> list[Column]:
    """A column that is not mentioned is left out."""
    if isinstance(said, dict):
        if set(said) - set(header.names):
            raise Refused("The file has no column of that name")
        said = [said.get(name, Target.IGNORE) for name in header.names]
    if not isinstance(said, list) or len(said) != len(header.names):
        raise Refused("The columns must be an object by their names, or a list of as many as the file has")
    return [Column.parse(one, header=name[:LONGEST_NAME]) for one, name in zip(said, header.names, strict=True)]


def _default(said: object) -> Standing:
    standing = STATUSES.get(said.casefold()) if isinstance(said, str) else None
    if standing is None:
        raise Refused("Status must be Activated or Pending")
    return standing


def _lists(said: object) -> tuple[str, ...]:
    if not isinstance(said, list) or len(said) > MOST_LISTS:
        raise Refused("The lists must be a list of at most 20 keys")
    return tuple(dict.fromkeys(parse_list_key(key) for key in said))


def _values(said: object) -> dict[str, Meanings]:
    """Read `{"Consent": {"on paper": "confirmed", "*": "left"}}`; values are compared loosely."""
    if not isinstance(said, dict) or not all(isinstance(meanings, dict) for meanings in said.values()):
        raise Refused("The values must be an object: the meaning of each value, by the name of its column")
    if sum(len(meanings) for meanings in said.values()) > MOST_VALUES:
        raise Refused("At most 1,000 values can be explained")
    return {column.strip(): {loose(value): _meaning(word) for value, word in said[column].items()} for column in said}


def _meaning(word: object) -> Standing | None:
    if not isinstance(word, str) or word not in MEANINGS:
        raise Refused(f"A value can mean one of: {', '.join(MEANINGS)}")
    return MEANINGS[word]
