"""Writing campaigns: create, change, copy, throw away."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from gna import ids
from gna.campaigns.audience import Audience
from gna.campaigns.states import EDITABLE, State
from gna.campaigns.table import (
    CHANGED,
    NOT_NOW,
    Changed,
    as_seen,
    c,
    campaigns,
    deliveries,
    locked,
    touch,
)
from gna.errors import NotAllowedNow, Refused
from gna.mail.render import Draft, Format, Frame, check_fields
from gna.subscribers.table import STORABLE

SUBJECT_MAX = 250
PREHEADER_MAX = 500
# Gmail hides what comes after 102 kB; composing four times that takes a second or two.
BODY_MAX = 400_000
# What readers see; with whom it is for, what can be copied; with its time, what can be changed.
SAID = ("subject", "body", "body_format", "body_text", "preheader")
COPIED = (*SAID, "audience", "archived", "body_markdown", "body_text_made")
FIELDS = (*SAID, "audience", "archived", "scheduled_at")
ISO = re.compile(r"[0-9W-]{7,10}[Tt ][0-9:.,]{2,15}(?:[Zz]|[+-][0-9]{2}(?::?[0-9]{2})?)")
CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


@dataclass(frozen=True)
class Wish:
    """What an admin wrote, already checked; what is not in `columns` stays."""

    columns: Mapping[str, Any]
    # False for a draft that may lack a subject or hold half a merge field: it can be stored, not sent.
    is_complete: bool = True

    @classmethod
    def parse(cls, sent: Mapping[str, Any], *, now: datetime) -> "Wish":
        """Check what an admin sent."""
        if unknown := sorted(set(sent) - set(FIELDS)):
            raise Refused(f"Unknown field: {unknown[0][:40]!a}; known are {', '.join(FIELDS)}")
        return cls({name: READ[name](sent[name], now) for name in FIELDS if name in sent})

    @classmethod
    def parse_new(cls, sent: Mapping[str, Any], *, now: datetime) -> "Wish":
        """Check what an admin sent for a new campaign."""
        for name in ("subject", "body"):
            if sent.get(name) is None:
                raise Refused(f"{name.capitalize()} is required")
        return cls.parse(sent, now=now)

    @classmethod
    def parse_draft(cls, sent: Mapping[str, Any], *, now: datetime) -> "Wish":
        """Check what the compose page sent: all that can be stored is, and the checks say what to mend."""
        columns = {name: READ_DRAFT[name](value, now) for name, value in sent.items()}
        return cls(columns, is_complete=False)


def create(tx: Connection, wish: Wish, *, now: datetime, campaign_id: str | None = None) -> str:
    """A new draft with its delivery by email; says its id."""
    campaign_id = campaign_id or ids.new()
    tx.execute(sa.insert(campaigns).values(id=campaign_id, created_at=now, updated_at=now, **wish.columns))
    tx.execute(sa.insert(deliveries).values(id=ids.new(), campaign_id=campaign_id))
    return campaign_id


def change(tx: Connection, campaign_id: str, wish: Wish, *, seen: datetime | None = None, now: datetime) -> None:
    """Change a campaign that was not sent yet; whether it is in the archive may change at any time.

    `seen` is the `updated_at` that the writer knows: what somebody else wrote since then is not overwritten.
    """
    row = locked(tx, campaign_id)
    if row.state not in EDITABLE and set(wish.columns) - {"archived"}:
        raise NotAllowedNow(NOT_NOW)
    as_seen(row, seen)
    if row.state == State.SCHEDULED and not wish.is_complete:
        raise Changed(CHANGED)
    columns = dict(wish.columns) | _text_part(row, wish.columns)
    if "scheduled_at" in columns and row.state == State.SCHEDULED:
        if columns["scheduled_at"] is None:
            raise Refused("scheduled_at is required while the campaign is scheduled; cancel the schedule instead")
        columns["held"] = None
    touch(tx, campaign_id, now=now, **columns)


def _text_part(row: Any, columns: Mapping[str, Any]) -> dict[str, Any]:
    """What happens to a text part that a feed wrote, when an author changes it or the body."""
    if not row.body_text_made:
        return {}
    if columns.get("body_text", row.body_text) != row.body_text:
        return {"body_text_made": False}
    if columns.get("body", row.body) != row.body:
        return {"body_text": None, "body_text_made": False}
    return {}


def delete(tx: Connection, campaign_id: str) -> None:
    """Throw a draft away."""
    if locked(tx, campaign_id).state != State.DRAFT:
        raise NotAllowedNow(NOT_NOW)
    tx.execute(sa.delete(campaigns).where(c.id == campaign_id))


def duplicate(tx: Connection, campaign_id: str, *, now: datetime) -> str:
    """A new draft that says the same; says its id."""
    row = locked(tx, campaign_id)
    return create(tx, Wish({name: getattr(row, name) for name in COPIED}), now=now)


def draft_of(campaign: Mapping[str, Any], frame: Frame) -> Draft:
    """What a campaign says, ready to be composed; one that nobody has saved yet has no page."""
    is_public = "id" in campaign and campaign["archived"]
    return Draft(
        subject=campaign.get("subject", ""),
        body=campaign.get("body", ""),
        body_format=Format(campaign.get("body_format", Format.HTML)),
        body_text=campaign.get("body_text"),
        preheader=campaign.get("preheader"),
        archive_url=f"{frame.base_url}/archive/{campaign['id']}" if is_public else None,
    )


def parse_time(value: object, now: datetime) -> datetime:
    """A future moment: ISO 8601 with its zone."""
    moment = _moment(value)
    if moment is None:
        raise Refused("scheduled_at must be ISO 8601 with a time zone: 2027-01-31T09:00:00+02:00")
    return future(moment, now)


def parse_seen(value: object) -> datetime | None:
    """The `updated_at` that somebody read; nothing means that they did not look."""
    moment = _moment(value)
    if moment is None and value is not None:
        raise Refused("updated_at must be the one that you read: 2027-01-31T09:00:00.000000Z")
    return moment


def _moment(value: object) -> datetime | None:
    try:
        # The library takes any letter for the T.
        written = isinstance(value, str) and ISO.fullmatch(value)
        return datetime.fromisoformat(written[0]).astimezone(UTC) if written else None
    except (ValueError, OverflowError):
        return None


def future(moment: datetime | None, now: datetime) -> datetime:
    """The moment, if it is one that can still be waited for."""
    if moment is None:
        raise Refused("scheduled_at is required")
    if moment <= now:
        raise Refused("scheduled_at must be in the future")
    return moment


def _storable(value: object, name: str, most: int) -> str:
    if not isinstance(value, str):
        raise Refused(f"{name} must be text")
    if len(value) > most:
        raise Refused(f"{name} is longer than {most:,} characters")
    if not STORABLE.fullmatch(value):
        raise Refused(f"{name} contains characters that cannot be stored")
    return value


def _text(value: object, name: str, most: int) -> str:
    if isinstance(value, str) and not value.strip():
        raise Refused(f"{name} is required")
    text = _storable(value, name, most)
    check_fields(text)
    return text


def parse_subject(value: object, _: datetime | None = None) -> str:
    """What inboxes show: one line."""
    return _one_line(_text(value, "Subject", SUBJECT_MAX))


def _one_line(subject: str) -> str:
    subject = subject.strip()
    if CONTROLS.search(subject):
        raise Refused("Subject must be one line without control characters")
    return subject


def _draft_subject(value: object, _: datetime) -> str:
    return _one_line(_storable(value, "Subject", SUBJECT_MAX))


def _body(value: object, _: datetime) -> str:
    return _text(value, "Body", BODY_MAX)


def _draft_body(value: object, _: datetime) -> str:
    return _storable(value, "Body", BODY_MAX)


def _body_format(value: object, _: datetime) -> str:
    if value not in [*Format]:
        raise Refused(f"body_format must be {' or '.join(Format)}")
    return str(value)


def _body_text(value: object, _: datetime) -> str | None:
    return None if value in (None, "") else _text(value, "body_text", BODY_MAX)


def _draft_body_text(value: object, _: datetime) -> str | None:
    text = _storable(value, "body_text", BODY_MAX)
    return text if text.strip() else None


def _preheader(value: object, _: datetime) -> str | None:
    return None if value in (None, "") else " ".join(_text(value, "preheader", PREHEADER_MAX).split())


def _draft_preheader(value: object, _: datetime) -> str | None:
    return " ".join(_storable(value, "preheader", PREHEADER_MAX).split()) or None


def _audience(value: object, _: datetime) -> dict[str, Any]:
    return Audience.parse(value).shown()


def _scheduled_at(value: object, now: datetime) -> datetime | None:
    return None if value is None else parse_time(value, now)


def _archived(value: object, _: datetime) -> bool:
    if not isinstance(value, bool):
        raise Refused("archived must be true or false")
    return value


READ = {
    "subject": parse_subject,
    "body": _body,
    "body_format": _body_format,
    "body_text": _body_text,
    "preheader": _preheader,
    "audience": _audience,
    "scheduled_at": _scheduled_at,
    "archived": _archived,
}
# As the compose page saves a draft.
READ_DRAFT = READ | {
    "subject": _draft_subject,
    "body": _draft_body,
    "body_text": _draft_body_text,
    "preheader": _draft_preheader,
}
