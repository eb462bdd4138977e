"""Who gets a campaign: everybody who confirmed, or those of them on a list or with certain attributes."""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from gna import db
from gna.errors import Refused
from gna.subscribers.lists import on_list, parse_list_key
from gna.subscribers.table import STORABLE, subscribers

s = subscribers.c
# Every other key is an attribute, unless it looks like one of these mistyped.
KEYS = ("list", "attributes")
CONDITIONS_MAX = 20
TEXT_MAX = 200
# Longer than a transaction that confirms may take to commit after it read its time.
SKEW = timedelta(minutes=1)
# An attribute that is a list, such as Mailchimp's tags, matches if one of its values does. SQLite writes true as 1, and
# a number as it likes; as text both databases say the same. Lists in lists and objects have no such text.
SQLITE_HAS = """EXISTS (
  SELECT 1 FROM json_each(subscribers.attributes) AS own WHERE own.key = :{key} AND CASE own.type
    WHEN 'array' THEN EXISTS (SELECT 1 FROM json_each(own.value) AS item WHERE
      CASE item.type WHEN 'true' THEN 'true' WHEN 'false' THEN 'false' ELSE CAST(item.atom AS TEXT) END = :{value})
    WHEN 'true' THEN :{value} = 'true'
    WHEN 'false' THEN :{value} = 'false'
    ELSE CAST(own.atom AS TEXT) = :{value} END)"""
POSTGRESQL_HAS = """CASE jsonb_typeof(subscribers.attributes -> CAST(:{key} AS text))
    WHEN 'array' THEN EXISTS (SELECT 1 FROM jsonb_array_elements(subscribers.attributes -> CAST(:{key} AS text)) AS item
                              WHERE jsonb_typeof(item) NOT IN ('array', 'object') AND item #>> '{{}}' = :{value})
    WHEN 'object' THEN false
    ELSE subscribers.attributes ->> CAST(:{key} AS text) = :{value} END"""


class EmptyAudience(Refused):
    """There is no one to send to, and the admin has not said that this is meant."""


@dataclass(frozen=True)
class Audience:
    """Whom a campaign is for; all conditions must hold."""

    list_key: str | None = None
    attributes: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def parse(cls, sent: object) -> "Audience":
        """Check what an admin sent: `{"list": "weekly", "attributes": {"city": "Cluj"}}`; nothing means everybody."""
        if sent is None or sent == "all":
            return cls()
        if not isinstance(sent, dict):
            raise Refused('audience must be an object: {"list": "general", "attributes": {"city": "Cluj"}}')
        rest = {name: value for name, value in sent.items() if name not in KEYS}
        for name in rest:
            if near := difflib.get_close_matches(name, KEYS, n=1, cutoff=0.8):
                raise Refused(f"{name} is not a part of audience; {near[0]}?")
        attributes = {} if sent.get("attributes") is None else sent["attributes"]
        if not isinstance(attributes, dict) or len(attributes) + len(rest) > CONDITIONS_MAX:
            raise Refused(f"audience.attributes must be an object of at most {CONDITIONS_MAX} fields")
        list_key = sent.get("list")
        return cls(
            list_key=None if list_key is None else parse_list_key(list_key),
            attributes={_text(name): _text(value) for name, value in (attributes | rest).items()},
        )

    def shown(self) -> dict[str, Any]:
        """As it is stored and shown; `parse` reads it."""
        chosen = {"list": self.list_key, "attributes": dict(self.attributes)}
        return {name: value for name, value in chosen.items() if value}

    def people(self, tx: Connection, *, confirmed_by: datetime | None = None) -> sa.Select[tuple[str]]:
        """The query for the ids of these people, as they are now; `confirmed_by` leaves out who came later."""
        people = sa.select(s.id).where(s.activated_at.is_not(None))
        if confirmed_by:
            # A confirmation from the future was made before the clock was set back: it did not come later.
            present = db.now(tx) + SKEW
            came_later = sa.and_(s.activated_at > confirmed_by, s.activated_at <= present)
            people = people.where(~came_later)
        if self.list_key:
            people = people.where(on_list(self.list_key))
        written = SQLITE_HAS if tx.dialect.name == "sqlite" else POSTGRESQL_HAS
        for number, (name, value) in enumerate(self.attributes.items()):
            names = {"key": f"attribute_{number}", "value": f"value_{number}"}
            has = sa.text(written.format(**names)).bindparams(**{names["key"]: name, names["value"]: value})
            people = people.where(has)
        return people


def count(tx: Connection, audience: Audience) -> int:
    """How many people that is now."""
    return tx.scalar(sa.select(sa.func.count()).select_from(audience.people(tx).subquery())) or 0


def _text(value: object) -> str:
    """A condition's name or value as both databases write it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float) and abs(value) < 2**63:
        return str(value)
    if not isinstance(value, str) or not 1 <= len(value) <= TEXT_MAX or not STORABLE.fullmatch(value):
        raise Refused(f"An attribute of the audience is a text of 1–{TEXT_MAX} characters, a number or true or false")
    return value
