"""Looking at a campaign before it is sent: as a reader will see it, as raw source, and as a mail to oneself."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from gna import ids, outbox
from gna.errors import NotFound, Refused
from gna.mail import address
from gna.mail.compile import Bulk, Compiled, Sender
from gna.mail.content import Content
from gna.mail.render import Draft, Frame, compose
from gna.outbox import Kind, Letter
from gna.subscribers.table import STORABLE, subscribers

# Not shaped as a token: whoever clicks the link in a preview unsubscribes nobody.
NO_TOKEN = "preview"  # noqa: S105
TRIALS_MAX = 20
s = subscribers.c


@dataclass(frozen=True)
class Reader:
    """Whose eyes a campaign is seen with; by default somebody without a nickname."""

    email: str = "reader@example.org"
    nickname: str = ""

    def values(self, frame: Frame) -> dict[str, str]:
        """What stands in the slots; the links lead to nobody's data."""
        return {
            "nickname": self.nickname,
            "email": self.email,
            "unsubscribe_token": NO_TOKEN,
            "unsubscribe_url": f"{frame.base_url}/api/unsubscribe?token={NO_TOKEN}",
            "profile_url": f"{frame.base_url}/profile",
        }


def reader(tx: Connection, subscriber_id: str | None) -> Reader:
    """A given subscriber, or nobody in particular."""
    return _reader(tx, s.id == subscriber_id) if subscriber_id else Reader()


def reader_named(tx: Connection, who: str) -> Reader:
    """A given subscriber, by id or by address."""
    if not STORABLE.fullmatch(who):
        raise NotFound("There is no such subscriber")
    return _reader(tx, sa.func.lower(s.email) == who.lower() if "@" in who else s.id == who)


def _reader(tx: Connection, wanted: sa.ColumnElement[bool]) -> Reader:
    row = tx.execute(sa.select(s.email, s.nickname).where(wanted)).one_or_none()
    if row is None:
        raise NotFound("There is no such subscriber")
    return Reader(row.email, row.nickname or "")


def seen(draft: Draft, frame: Frame, by: Reader) -> Content:
    """The subject, HTML and text that this reader gets; a field that is half typed is shown as it stands."""
    return compose(draft, frame, forgiving=True).merged(by.values(frame))


def source(draft: Draft, frame: Frame, by: Reader, *, sender: Sender) -> str:
    """The whole mail as it goes over the wire, but for what only a real message has."""
    compiled = Compiled(compose(draft, frame, forgiving=True), sender, Bulk("preview", frame.language))
    return b"".join(compiled.compose(ids.new(), by.email, by.values(frame))).decode("utf-8", "replace")


def parse_addresses(sent: object) -> list[str]:
    """The addresses to try a campaign on: one, or a list."""
    wanted = sent if isinstance(sent, list) else [sent]
    if not 1 <= len(wanted) <= TRIALS_MAX or not all(isinstance(one, str) for one in wanted):
        raise Refused(f"to must be an address, or a list of 1–{TRIALS_MAX} addresses")
    return list(dict.fromkeys(address.parse(one) for one in wanted))


def send_trial(tx: Connection, content: Content, to: Sequence[str], *, frame: Frame, now: datetime) -> None:
    """Mail a campaign to a few addresses, as they would get it; nothing of that is kept or counted."""
    trial = Content(f"[Test] {content.subject}", content.html, content.text)
    for email in to:
        nickname = tx.scalar(sa.select(s.nickname).where(sa.func.lower(s.email) == email.lower()))
        slots = Reader(email, nickname or "").values(frame)
        outbox.post(tx, Letter(Kind.TRIAL, key=ids.new(), to=email, content=trial, slots=slots), now=now)
