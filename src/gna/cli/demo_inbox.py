"""The inbox of the example publication: every host in it ends in .example, so that no button leads anywhere."""

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from gna.inbox import counting, signs, subscriptions
from gna.inbox.signs import Sign
from gna.inbox.table import Status, accounts, attempts, folders, mails, s
from gna.inbox.table import subscriptions as found
from gna.inbox.ways import Source, Way

DAYS = 90
ONE_CLICK = "List-Unsubscribe=One-Click"


@dataclass(frozen=True)
class Sender:
    """Somebody who writes: how often, what about, and how one leaves."""

    name: str
    email: str
    mails: int
    subjects: Sequence[str]
    field: str | None = None
    one_click: bool = False
    body: Sequence[Way] = ()
    list_id: str | None = None
    signs: int = 0


SENDERS = (
    Sender(
        "Kiln & Clay",
        "hello@kiln.example",
        24,
        ("Spring sale: 20 % off every glaze", "Free shipping this week", "New in: the winter newsletter"),
        "<https://kiln.example/leave?u=8f2a61>, <mailto:leave@kiln.example?subject=8f2a61>",
        one_click=True,
        list_id="news.kiln.example",
    ),
    Sender(
        "The Slow Kitchen",
        "letters@slowkitchen.example",
        12,
        ("Newsletter no. 41: bread that waits", "Newsletter no. 42: beans"),
        "<https://slowkitchen.example/u/41c9>",
        one_click=True,
        list_id="letters.slowkitchen.example",
        signs=Sign.ANNOUNCEMENTS,
    ),
    Sender(
        "Northwind Outdoor",
        "deals@northwind.example",
        38,
        ("Limited time: a coupon inside", "Deal of the day", "Your discount ends tonight"),
        "<https://mail.northwind.example/optout?id=5521&list=7>",
        list_id="deals.northwind.example",
        signs=Sign.BULK,
    ),
    Sender(
        "Harbour Books",
        "news@harbourbooks.example",
        9,
        ("An offer for readers", "Signed copies are in"),
        "<mailto:listserv@harbourbooks.example?subject=SIGNOFF%20NEWS&body=Please%20take%20me%20off>",
        list_id="news.harbourbooks.example",
    ),
    Sender(
        "Megadeals",
        "win@megadeals.example",
        31,
        ("A FREE SHIPPING COUPON for you", "Marketing special: savings of 90 %", "Limited time offer"),
        "<http://megadeals.example/unsubscribe.exe?u=1>",
    ),
    Sender(
        "Civic Data group",
        "civic-data@lists.commons.example",
        57,
        ("Re: [civic-data] Budgets as CSV", "[civic-data] Meeting on Thursday"),
        "<https://lists.commons.example/civic-data/options>, <mailto:civic-data-leave@lists.commons.example>",
        list_id="civic-data.lists.commons.example",
        signs=Sign.DISCUSSION,
    ),
    Sender(
        "Romanian typography",
        "tipografie@lists.litere.example",
        14,
        ("Re: [tipografie] Virgule și sedile", "[tipografie] Un font nou"),
        "<mailto:tipografie-request@lists.litere.example?subject=unsubscribe>",
        list_id="tipografie.lists.litere.example",
        signs=Sign.DISCUSSION,
    ),
    Sender(
        "Codehost",
        "notifications@codehost.example",
        46,
        ("[gna] A new comment on #128", "[gna] The build is green again"),
        "<https://codehost.example/notifications/leave/9d1>",
        list_id="gna.codehost.example",
        signs=Sign.AUTOMATIC,
    ),
    Sender(
        "Weather service",
        "no-reply@weather.example",
        20,
        ("Wind warning for tonight", "Frost warning"),
        body=(Way("http_get", "https://weather.example/alerts/stop?key=77a", Source.HTML),),
        signs=Sign.AUTOMATIC,
    ),
    Sender("Calendar", "noreply@calendar.example", 11, ("Reminder: dentist", "Reminder: rent"), signs=Sign.AUTOMATIC),
    Sender("Tram tickets", "orders@tram.example", 6, ("Your order #10231", "Receipt for your payment")),
    Sender(
        "Green Power",
        "invoice@greenpower.example",
        3,
        ("Your invoice for May", "Your invoice for June"),
        body=(
            Way(
                "http_post",
                "https://greenpower.example/preferences",
                Source.HTML,
                fields=(("customer", "20331"), ("mails", "none")),
            ),
        ),
    ),
    Sender("Ion Popescu", "ion.popescu@post.example", 8, ("Re: Sunday", "The photos"), signs=Sign.REPLY),
    Sender("Mama", "mama@familie.example", 5, ("Rețeta de cozonac", "Re: Când veniți?"), signs=Sign.REPLY),
)
# Who is kept, who was left how many days ago, who of these sends on, and where it did not work.
KEPT = ("letters@slowkitchen.example", "civic-data@lists.commons.example", "noreply@calendar.example")
AGO = {"news@harbourbooks.example": 12, "deals@northwind.example": 21}
SENDS_ON, FAILED = "deals@northwind.example", "notifications@codehost.example"


def fill(tx: Connection, chance: random.Random, *, now: datetime) -> None:
    """A mailbox that was scanned before and after somebody had left some of what is in it."""
    account, folder = _mailbox(tx, now)
    rows = sorted((row for sender in SENDERS for row in _mails(sender, chance, now)), key=lambda row: row["date_sent"])
    for uid, row in enumerate(rows, start=1):
        row |= {"account_id": account, "folder_id": folder, "uid": uid, "message_id": f"<{uid}@mail.example>"}
    later = now - timedelta(days=min(AGO.values()))
    _scanned(tx, account, [row for row in rows if row["date_sent"] <= later], now=later)
    ids = dict(tx.execute(sa.select(s.sender_email, s.id).where(s.account_id == account)).all())
    subscriptions.keep(tx, [ids[email] for email in KEPT], now=later)
    for email, days in AGO.items():
        _left(tx, ids[email], now - timedelta(days=days))
    _tried(tx, ids[FAILED], now - timedelta(days=2))
    _scanned(tx, account, [row for row in rows if row["date_sent"] > later], now=now - timedelta(minutes=40))


def _mailbox(tx: Connection, now: datetime) -> tuple[int, int]:
    email = "ana@quiet.example"
    urls = {"imap_url": "imap://imap.quiet.example:993?tls=implicit", "smtp_url": "smtp://smtp.quiet.example:587"}
    box = {"email": email, "key": email, "created_at": now, **urls}
    account = tx.execute(sa.insert(accounts).values(box).returning(accounts.c.id)).scalar_one()
    inbox = sa.insert(folders).values(account_id=account, name="INBOX", uid_validity=1)
    return account, tx.execute(inbox.returning(folders.c.id)).scalar_one()


def _mails(sender: Sender, chance: random.Random, now: datetime) -> Iterable[dict[str, Any]]:
    """Its mails over the last months; who was left in earnest falls silent."""
    silent = AGO.get(sender.email, 0) if sender.email != SENDS_ON else 0
    for number in range(sender.mails):
        subject = sender.subjects[number % len(sender.subjects)]
        at = now - timedelta(days=silent + 0.2 + (DAYS - silent) * chance.random())
        yield {
            "sender_email": sender.email,
            "sender_name": sender.name,
            "subject": subject,
            "date_sent": at,
            "received_at": at + timedelta(seconds=chance.randrange(2, 90)),
            "came_at": at,
            "list_id": sender.list_id,
            "list_unsubscribe": sender.field,
            "list_unsubscribe_post": ONE_CLICK if sender.one_click else None,
            "keywords": signs.keywords_in(subject),
            "signs": sender.signs,
            "body_ways": [way.stored() for way in sender.body],
        }


def _scanned(tx: Connection, account: int, rows: list[dict[str, Any]], *, now: datetime) -> None:
    tx.execute(sa.insert(mails), [row | {"seen_at": now} for row in rows])
    counting.refresh(tx, account, now=now)
    tx.execute(sa.update(accounts).where(accounts.c.id == account).values(last_scan_at=now))


def _left(tx: Connection, subscription_id: int, at: datetime) -> None:
    done = {"unsubscribe_status": Status.UNSUBSCRIBED, "unsubscribed_at": at}
    row = tx.execute(sa.update(found).where(s.id == subscription_id).values(done).returning(found)).one()
    by_mail = row.unsubscribe_method == "email_reply"
    said = {"status": "success", "outcome": "sent"} if by_mail else {"status": "success", "outcome": "page_opened"}
    _attempt(tx, row, at, response_code=None if by_mail else 200, **said)


def _tried(tx: Connection, subscription_id: int, at: datetime) -> None:
    row = tx.execute(sa.select(found).where(s.id == subscription_id)).one()
    _attempt(tx, row, at, status="failed", outcome="refused", response_code=410, error_message="It answered 410")


def _attempt(tx: Connection, row: Any, at: datetime, **said: Any) -> None:
    its = {"subscription_id": row.id, "method_used": row.unsubscribe_method, "url": row.unsubscribe_link}
    tx.execute(sa.insert(attempts).values(**its, attempted_at=at, **said))
