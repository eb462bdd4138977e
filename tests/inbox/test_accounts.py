"""Accounts: one for each address, at a server whose address is understood, without a password in it."""

import pytest
import sqlalchemy as sa

from gna import tables
from gna.db import Database, metadata
from gna.errors import NotAllowedNow, NotFound, Refused
from gna.inbox import accounts, server
from gna.inbox.accounts import Wish
from gna.inbox.server import Auth, Server
from gna.providers.smtp import Tls
from tests.factories import NOW
from tests.inbox.factories import a_mail, a_subscription, an_account, an_attempt

IMAP = "imap://mail.example.org"

ADDRESSES = {
    "imap://mail.example.org": Server("mail.example.org", 993, Tls.IMPLICIT),
    "imaps://mail.example.org": Server("mail.example.org", 993, Tls.IMPLICIT),
    "imap://mail.example.org?tls=starttls": Server("mail.example.org", 143, Tls.STARTTLS),
    "imap://mail.example.org?tls=none": Server("mail.example.org", 143, Tls.NONE),
    "imap://mail.example.org:1143?tls=implicit": Server("mail.example.org", 1143, Tls.IMPLICIT),
    "imap://127.0.0.1:1143": Server("127.0.0.1", 1143, Tls.NONE),
    "imap://localhost": Server("localhost", 143, Tls.NONE),
    "imap://localhost:993": Server("localhost", 993, Tls.IMPLICIT),
    "imap://[::1]:1143/": Server("::1", 1143, Tls.NONE),
    "imap://ana%40example.org@mail.example.org": Server("mail.example.org", 993, Tls.IMPLICIT, "ana@example.org"),
    "imap://ana@mail.example.org?auth=xoauth2": Server("mail.example.org", 993, Tls.IMPLICIT, "ana", Auth.XOAUTH2),
}


@pytest.mark.parametrize(("url", "expected"), ADDRESSES.items(), ids=ADDRESSES.keys())
def test_addresses_of_servers(url: str, expected: Server) -> None:
    assert server.parse(url) == expected


WRONG = {
    "imap://ana:violet@mail.example.org": "must not hold a password",
    "imap://:violet@mail.example.org": "must not hold a password",
    "https://violet.example.org": "must begin with imap://",
    "violet.example.org:143": "must begin with imap://",
    "imap://": "cannot be read",
    "imap://violet:port": "cannot be read",
    "imap://mail.example.org:0/violet": "cannot be read",
    "imap://mail.example.org/violet": "cannot be read",
    "imap://mail.example.org?tls=violet": "unknown value for tls",
    "imap://mail.example.org?auth=violet": "unknown value for auth",
    "imap://mail.example.org?violet=1": "nothing else",
    "imap://mail.example.org?tls=none&tls=none": "nothing else",
    "imaps://mail.example.org?tls=none": "contradicts itself",
    "imap://mail.example.org:99999999": "cannot be read",
}


@pytest.mark.parametrize(("url", "says"), WRONG.items(), ids=WRONG.keys())
def test_what_is_wrong_is_said_without_repeating_it(url: str, says: str) -> None:
    with pytest.raises(Refused, match=says) as refused:
        server.parse(url)
    assert "violet" not in str(refused.value)


def test_an_address_has_one_account_in_any_case(db: Database) -> None:
    with db.write() as tx:
        account = accounts.add(tx, Wish("Ana@Example.org", IMAP), now=NOW)
    for email in ("ana@example.org", "ANA@EXAMPLE.ORG", " Ana@Example.org "):
        with pytest.raises(NotAllowedNow, match="already"), db.write() as tx:
            accounts.add(tx, Wish(email, IMAP), now=NOW)
        with db.read() as tx:
            assert accounts.find(tx, email).id == account
    with db.read() as tx:
        [listed] = accounts.listed(tx)
    assert (listed["email"], listed["messages"]) == ("Ana@Example.org", 0)


@pytest.mark.parametrize(
    ("email", "imap", "smtp"),
    [
        ("nobody", IMAP, None),
        ("ana@example.org", "mail.example.org", None),
        ("ana@example.org", IMAP, "http://mail.example.org"),
        ("ana@example.org", IMAP, "smtp://ana:violet@mail.example.org"),
        ("ana@example.org", IMAP, "smtp://mail.example.org:port"),
        ("ana@example.org", IMAP, "smtp://mail.example.org?tls=violet"),
    ],
)
def test_a_wish_is_checked(db: Database, email: str, imap: str, smtp: str | None) -> None:
    with pytest.raises(Refused) as refused, db.write() as tx:
        accounts.add(tx, Wish(email, imap, smtp=smtp), now=NOW)
    assert "violet" not in str(refused.value)
    assert "SMTP_URL" not in str(refused.value)


@pytest.mark.parametrize(
    "smtp", ["smtp://mail.example.org:587?tls=starttls", "smtps://ana%40x@mail.example.org?auth=xoauth2"]
)
def test_a_server_for_mails_is_kept(db: Database, smtp: str) -> None:
    with db.write() as tx:
        accounts.add(tx, Wish("ana@example.org", IMAP, smtp=smtp), now=NOW)
    with db.read() as tx:
        assert accounts.find(tx, "ana@example.org").smtp_url == smtp


def test_who_is_not_there_is_not_found(db: Database) -> None:
    with db.read() as tx, pytest.raises(NotFound):
        accounts.find(tx, "ana@example.org")
    with db.write() as tx, pytest.raises(NotFound):
        accounts.remove(tx, 7)


def test_a_removed_account_takes_all_that_was_found_in_it(db: Database) -> None:
    kept, removed = an_account(db, "kept@example.org"), an_account(db, "removed@example.org")
    for account in (kept, removed):
        a_mail(db, account)
        an_attempt(db, a_subscription(db, account))
    with db.write() as tx:
        accounts.remove(tx, removed)
    assert tables
    with db.read() as tx:
        for table in metadata.sorted_tables:
            if table.name.startswith("inbox_"):
                assert tx.scalar(sa.select(sa.func.count()).select_from(table)) == 1, table.name
