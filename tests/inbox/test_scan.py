"""Scans of real mailboxes: what is new is found once, nothing in them changes, and a killed one is gone on with."""

import re
import signal
import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from itertools import count

import pytest
import sqlalchemy as sa

from gna import clock
from gna.errors import NotFound, Refused, Unreachable
from gna.inbox import accounts, arrivals, heads, offers, scan, subscriptions
from gna.inbox.scan import Progress
from gna.inbox.sources import imap as imap_source
from gna.inbox.sources.fetches import Dropped
from gna.inbox.sources.imap import Mailbox
from gna.inbox.table import a, m, mails
from tests.inbox.post import Letter, letters
from tests.inbox.scanning import POINTS, Box, a_letter, killed
from tests.inbox.scripted import Script, a_server
from tests.servers.certificates import Certificate
from tests.servers.distance import Distance

MANY = 2200
FETCH = re.compile(rb"UID FETCH ([0-9:,]+) \(UID INTERNALDATE BODY\.PEEK\[([^\]]*)\]")
DAY = timedelta(days=1)


def some(count: int, *, senders: int = 300, seed: int = 7) -> list[Letter]:
    return list(letters(count, until=clock.now(), size=1000, senders=senders, seed=seed))


def asked(distance: Distance, what: bytes = b"HEADER") -> list[bytes]:
    """The sets of UIDs that were fetched."""
    return [found[1] for found in FETCH.finditer(bytes(distance.said)) if found[2].startswith(what)]


@pytest.mark.parametrize("tls", ["implicit", "starttls"])
def test_thousands_of_mails_are_found_once_over_tls(
    a_box: Callable[..., Box], certificate: Certificate, monkeypatch: pytest.MonkeyPatch, tls: str
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate.file))
    box = a_box(tls)
    box.receives(*some(MANY))
    flags = box.flags()
    first = box.scan()
    assert (first.new, first.errors) == (MANY, 0)
    assert len(box.mails()) == MANY
    assert first.subscriptions == len({mail.sender_email for mail in box.mails()})
    before = box.found()
    second = box.scan()
    assert (second.new, second.errors, second.subscriptions, second.violations) == (0, 0, 0, 0)
    assert box.found() == before
    assert box.flags() == flags
    with box.db.read() as tx:
        assert accounts.get(tx, box.account).last_scan_at


def test_a_second_scan_fetches_only_what_is_new(box: Box) -> None:
    box.receives(*some(700))
    with Distance(box.dovecot.port) as first:
        box.move(first.port)
        assert box.scan().new == 700
        assert asked(first) == [b"1:500", b"501:700"]
    with Distance(box.dovecot.port) as second:
        box.move(second.port)
        assert box.scan().new == 0
        assert not FETCH.findall(bytes(second.said))
        assert second.heard < 3000
    box.receives(a_letter(received=clock.now()))
    with Distance(box.dovecot.port) as third:
        box.move(third.port)
        assert box.scan().new == 1
        assert asked(third) == [b"701"]


def test_nothing_is_ever_written_to_the_mailbox(box: Box) -> None:
    box.receives(*some(60), flags="S")
    box.receives(*some(40, seed=8), flags="")
    box.receives(a_letter(received=clock.now()))
    flags = box.flags()
    with Distance(box.dovecot.port) as wire:
        box.move(wire.port)
        box.scan()
        said = bytes(wire.said).upper()
    assert b"EXAMINE" in said
    assert not re.search(
        rb"\b(SELECT|STORE|APPEND|COPY|MOVE|EXPUNGE|CLOSE|BODY\[|RFC822)", said.replace(b"BODY.PEEK[", b"")
    )
    assert box.flags() == flags
    assert sum(b"\\Seen" in line for line in flags) == 60
    # Whoever opens it next is the first to see them.
    with box.opened(readonly=False) as imap:
        assert imap.response("RECENT")[1] == [b"101"]


def test_a_mail_from_the_future_is_neither_the_newest_for_years_nor_counted_twice(box: Box) -> None:
    now = clock.now()
    forged = replace(a_letter(received=now + 9000 * DAY, body=link("old")), received=now - 2 * DAY)
    box.receives(forged)
    box.receives(a_letter(received=now - DAY, body=link("new")))
    box.receives(forged, folder="Archive")
    box.scan(folders=("INBOX", "Archive"))
    assert [mail.is_copy for mail in box.mails()] == [True, False, False]
    [found] = box.found()["subscriptions"]
    assert (found["email_count"], found["unsubscribe_link"]) == (2, "https://shop.example/unsubscribe?u=new")
    assert found["last_seen"].date() == (now - DAY).date()


def test_a_scan_knows_the_hosts_that_are_allowed(a_box: Callable[..., Box]) -> None:
    box = a_box(INBOX_ALLOW_PRIVATE_HOSTS="lists.lan")
    more = ["List-Unsubscribe: <mailto:leave@shop.example>, <https://lists.lan/u?t=1>"]
    box.receives(a_letter(received=clock.now(), more=more))
    box.scan()
    [found] = box.found()["subscriptions"]
    assert (found["unsubscribe_method"], found["unsubscribe_link"]) == ("http_get", "https://lists.lan/u?t=1")


def link(token: str) -> str:
    return f'<a href="https://shop.example/unsubscribe?u={token}">Unsubscribe</a>'


@pytest.mark.parametrize("point", POINTS)
def test_a_killed_scan_is_gone_on_with(box: Box, point: str) -> None:
    box.receives(*some(330, senders=40))
    assert killed(box, point) == -signal.SIGKILL
    box.scan()
    undisturbed = box.again()
    assert undisturbed.scan().new == 330
    assert box.found() == undisturbed.found()
    assert box.scan().new == 0


def test_the_default_is_thirty_days(box: Box) -> None:
    now = clock.now()
    box.receives(*(a_letter(received=now - days * DAY) for days in (1, 28, 33, 60)))
    assert box.scan().new == 2


def test_more_days_fetch_only_what_lies_before(box: Box) -> None:
    now = clock.now()
    box.receives(*(a_letter(received=now - days * DAY) for days in (90, 50, 40, 20, 10)))
    assert box.scan().new == 2
    with Distance(box.dovecot.port) as wire:
        box.move(wire.port)
        assert box.scan(days=60).new == 2
        assert asked(wire) == [b"2:3"]
    with Distance(box.dovecot.port) as wire:
        box.move(wire.port)
        assert box.scan(days=60).new == 0
        assert not asked(wire)
    box.move(box.dovecot.port)
    assert box.scan(days=10_000).new == 1


def test_fewer_days_than_before_leave_no_gap(box: Box) -> None:
    now = clock.now()
    box.receives(a_letter(received=now - 55 * DAY))
    assert box.scan(days=60).new == 1
    # Mails that arrived while nobody scanned, one of them before the days that the next scan asks for.
    box.receives(a_letter(received=now - 40 * DAY), a_letter(received=now - DAY))
    assert box.scan(days=30).new == 1
    assert box.scan(days=60).new == 1
    assert len(box.mails()) == 3


@pytest.mark.parametrize("days", [0, -1, 40_000])
def test_days_have_a_sane_number(box: Box, days: int) -> None:
    with pytest.raises(Refused, match="days"):
        box.scan(days=days)


def test_mails_are_recognised_when_the_server_numbers_them_anew(box: Box) -> None:
    now = clock.now()
    same = [a_letter(received=now, id="same")] * 2
    without = [a_letter(received=now - timedelta(minutes=n), more=["Subject: one"]) for n in (1, 2)]
    nameless = [replace(letter, raw=letter.raw.replace(b"Message-ID", b"X-Was")) for letter in without]
    box.receives(*some(120), *same, *nameless)
    assert box.scan().new == 124
    before, validity = box.found(), box.folder().uid_validity
    box.is_renumbered()
    box.receives(a_letter(received=now))
    again = box.scan()
    assert box.folder().uid_validity != validity
    assert (again.new, len(box.mails())) == (1, 125)
    assert all(mail.uid > 0 for mail in box.mails())
    counts = {one["sender_email"]: one["email_count"] for one in before["subscriptions"]}
    counts["news@shop.example"] += 1
    assert {one["sender_email"]: one["email_count"] for one in box.found()["subscriptions"]} == counts
    assert box.scan().new == 0


def test_mails_are_recognised_when_the_mailbox_moves_to_another_server(box: Box) -> None:
    script = Script({uid: letter.raw for uid, letter in enumerate(some(3), start=1)})
    with a_server(script) as old:
        box.change(f"imap://127.0.0.1:{old.port}?tls=none")
        assert box.scan().new == 3
    # It has one mail more, at their head, and the same UIDVALIDITY.
    moved = [a_letter("other@shop.example", received=clock.now()).raw, *script.mails.values()]
    with a_server(Script(dict(enumerate(moved, start=1)))) as new:
        box.change(f"imap://127.0.0.1:{new.port}?tls=none")
        assert box.scan().new == 1
        # The same mailbox, said in another way.
        box.change(f"imap://127.0.0.1:{new.port}?tls=none&auth=plain")
        assert box.folder().uid_validity == 7
    assert [mail.sender_email == "other@shop.example" for mail in box.mails()] == [True, False, False, False]
    assert sum(one["email_count"] for one in box.found()["subscriptions"]) == 4


def test_a_mail_in_two_folders_counts_once(box: Box) -> None:
    now = clock.now()
    box.receives(a_letter(received=now, id="one"), a_letter(received=now, id="two"))
    box.receives(a_letter(received=now, id="one"), a_letter(received=now, id="three"), folder="Archive")
    assert box.scan(folders=("INBOX", "Archive")).new == 4
    assert sorted((mail.folder, mail.message_id, mail.is_copy) for mail in box.mails()) == [
        ("Archive", "<one@shop.example>", True),
        ("Archive", "<three@shop.example>", False),
        ("INBOX", "<one@shop.example>", False),
        ("INBOX", "<two@shop.example>", False),
    ]
    [subscription] = box.found()["subscriptions"]
    assert subscription["email_count"] == 3


def test_within_a_folder_every_mail_counts(box: Box) -> None:
    now = clock.now()
    box.receives(*[a_letter(received=now, id="same")] * 3)
    assert box.scan().new == 3
    assert not any(mail.is_copy for mail in box.mails())


def test_all_folders_are_those_without_sent_deleted_and_unwanted_mail(box: Box) -> None:
    for folder in ("INBOX", "Lists", "Entwürfe & mehr", "Sent", "Drafts", "Trash", "Junk", "All"):
        box.receives(a_letter(received=clock.now()), folder=folder)
    assert box.scan(folders=("*",)).new == 3
    assert {mail.folder for mail in box.mails()} == {"INBOX", "Lists", "Entwürfe & mehr"}
    assert box.scan(folders=("Junk",)).new == 1


def test_a_folder_that_is_not_there_is_said_and_keeps_no_other_from_being_read(box: Box) -> None:
    box.receives(a_letter(received=clock.now()))
    box.receives(a_letter("lists@shop.example", received=clock.now()), folder="Lists")
    found = box.scan(folders=("INBOX", "Nowhere", "Lists"))
    assert (found.new, found.subscriptions) == (2, 2)
    assert re.match('There is no folder "Nowhere" .*; it has: .*INBOX', found.error or "")
    assert box.scan(folders=("INBOX", "Lists")).error is None


def test_bodies_of_kept_senders_are_not_read_until_they_are_kept_no_more(box: Box) -> None:
    link = '<a href="https://shop.example/unsubscribe?u={}">Unsubscribe</a>'
    box.receives(a_letter(received=clock.now() - DAY, body=link.format(1)))
    box.receives(a_letter("other@shop.example", received=clock.now() - DAY, body=link.format(1)))
    box.scan()
    with box.db.write() as tx:
        [kept] = [
            one
            for one in subscriptions.listed(tx, subscriptions.Wanted(), page=1, per_page=9)[0]
            if one["sender_email"][:4] == "news"
        ]
        subscriptions.keep(tx, [kept["id"]], now=clock.now())
    box.receives(*(a_letter(received=clock.now(), body=link.format(number)) for number in (2, 3)))
    assert box.scan().new == 2
    assert [bool(mail.body_ways) for mail in box.mails()] == [True, True, False, False]
    with box.db.write() as tx:
        subscriptions.unkeep(tx, [kept["id"]], now=clock.now())
    with Distance(box.dovecot.port) as wire:
        box.move(wire.port)
        found = box.scan()
        assert (found.new, found.subscriptions, asked(wire, b"")) == (0, 0, [b"3:4"])
    with box.db.read() as tx:
        assert subscriptions.show(tx, kept["id"])["unsubscribe_link"] == "https://shop.example/unsubscribe?u=3"
    with Distance(box.dovecot.port) as wire:
        box.move(wire.port)
        box.scan()
        assert not asked(wire, b"")


def test_an_empty_folder_is_fine(box: Box) -> None:
    box.receives(a_letter(received=clock.now()), folder="Archive")
    assert box.scan().new == 0


def test_broken_mails_are_counted_and_skipped_and_not_fetched_again(box: Box) -> None:
    now = clock.now()
    broken = [b"\0\1\2", b"Subject: from nobody\r\n\r\nHello", b"", b"\r\n\r\n", b"From: <>\r\n\r\n"]
    for raw in broken:
        box.dovecot.deliver(box.user, raw, received=now)
    odd = [b"From: a@b.example\r\nSubject: " + b"x" * 1_000_000, b"From: a@b.example\r\nDate: never\r\n\r\n\xff\xfe"]
    for raw in odd:
        box.dovecot.deliver(box.user, raw, received=now)
    box.receives(a_letter(received=now))
    first = box.scan()
    assert (first.new, first.errors) == (3, len(broken))
    assert (box.scan().new, box.scan().errors) == (0, 0)


def test_a_mail_whose_reading_fails_stops_no_other(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    now = clock.now()
    box.receives(*(a_letter(f"{name}@shop.example", received=now) for name in "abc"))
    usual_head, usual_body = heads.read, offers.of_mail

    def head(block: bytes, received_at: str | None) -> object:
        return 1 / 0 if b"From: a@" in block else usual_head(block, received_at)

    def body(raw: bytes) -> object:
        return 1 / 0 if b"From: b@" in raw else usual_body(raw)

    monkeypatch.setattr(heads, "read", head)
    monkeypatch.setattr(offers, "of_mail", body)
    found = box.scan()
    assert (found.new, found.errors) == (2, 2)
    assert {one["sender_email"] for one in box.found()["subscriptions"]} == {"b@shop.example", "c@shop.example"}


def test_the_body_itself_is_never_stored(box: Box) -> None:
    secret = "The colour of my house is violet"
    link = '<a href="https://shop.example/unsubscribe?u=1">Unsubscribe</a>'
    box.receives(a_letter(received=clock.now(), body=f"<p>{secret}</p>{link}"))
    box.scan()
    [mail] = box.mails()
    assert secret not in str(mail)
    assert [way["url"] for way in mail.body_ways] == ["https://shop.example/unsubscribe?u=1"]
    assert mail.seal is not None


def test_bodies_are_read_of_the_newest_and_of_ten_without_a_field(box: Box) -> None:
    now = clock.now()
    field = ["List-Unsubscribe: <https://shop.example/u>"]
    box.receives(*(a_letter("with@shop.example", received=now - n * DAY, more=field) for n in range(14, 0, -1)))
    box.receives(*(a_letter("without@shop.example", received=now - n * DAY) for n in range(14, 0, -1)))
    with Distance(box.dovecot.port) as wire:
        box.move(wire.port)
        box.scan()
        assert b",".join(asked(wire, b"")[1:]) == b"14,19:28"
    read = [mail.sender_email for mail in box.mails() if mail.body_ways is not None]
    assert (read.count("with@shop.example"), read.count("without@shop.example")) == (1, 10)


def test_a_huge_body_is_read_up_to_half_a_megabyte(box: Box) -> None:
    box.receives(a_letter(received=clock.now(), body="<p>x</p>" * 500_000))
    with Distance(box.dovecot.port) as wire:
        box.move(wire.port)
        box.scan()
        assert imap_source.LONGEST_BODY < wire.heard < imap_source.LONGEST_BODY + 10_000


def test_a_lost_connection_is_made_again(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "WAITS", (0.01, 0.01))
    monkeypatch.setattr(scan, "HEADS", 50)
    monkeypatch.setattr(scan, "TOGETHER", 50)
    box.receives(*some(600))
    with Distance(box.dovecot.port, cut_after=100_000) as wire:
        box.move(wire.port)
        assert box.scan().new == 600
        assert wire.connections == 2
        # What was written down before is not asked for again.
        assert asked(wire).count(b"1:50") == 1
    assert len(box.mails()) == 600


def test_a_connection_that_is_lost_while_mails_are_read_hides_none(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "WAITS", (0.01, 0.01))
    box.receives(*some(300))
    usual, turns = Mailbox.drain, count(1)

    def drain(mailbox: Mailbox) -> None:
        if next(turns) == 3:
            raise Dropped("The connection was reset")
        usual(mailbox)

    monkeypatch.setattr(Mailbox, "drain", drain)
    assert box.scan().new == 300


def test_two_scans_at_once_are_harmless(box: Box) -> None:
    box.receives(*some(800, senders=50))
    new: list[int] = []
    both = [threading.Thread(target=lambda: new.append(box.scan().new)) for _ in range(2)]
    for one in both:
        one.start()
    for one in both:
        one.join(60)
    assert sum(new) == 800
    undisturbed = box.again()
    undisturbed.scan()
    assert box.found() == undisturbed.found()


def test_somebody_who_watches_is_told(box: Box) -> None:
    box.receives(*some(620))
    told: list[Progress] = []
    box.scan(tell=told.append)
    headers = [one for one in told if one.phase == "headers"]
    assert [(one.done, one.total) for one in headers] == [(500, 620), (620, 620)]
    assert told[-1].phase == "bodies"
    assert told[-1].done == told[-1].total


def test_mails_are_inserted_in_batches_of_fifty(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    usual = arrivals._pour

    def pour(tx: sa.Connection, rows: list[tuple[object, ...]]) -> int:
        sizes.append(len(rows))
        return usual(tx, rows)

    monkeypatch.setattr(arrivals, "_pour", pour)
    box.receives(*some(120))
    box.scan()
    assert sizes == [50, 50, 20]


def test_a_removed_account_leaves_nothing(box: Box) -> None:
    box.receives(*some(30))
    box.scan()
    with box.db.write() as tx:
        accounts.remove(tx, box.account)
    with box.db.read() as tx:
        assert tx.scalar(sa.select(sa.func.count()).select_from(mails).where(m.account_id == box.account)) == 0
        assert tx.execute(sa.select(a.id).where(a.id == box.account)).first() is None
    with pytest.raises(NotFound):
        box.scan()


def test_a_certificate_that_is_not_trusted_is_refused(
    a_box: Callable[..., Box], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    for tls in ("implicit", "starttls"):
        with pytest.raises(Unreachable, match="SSL_CERT_FILE"):
            a_box(tls).scan()


def test_a_wrong_password_is_tried_once_and_says_what_to_do(a_box: Callable[..., Box]) -> None:
    box = a_box(INBOX_PASSWORD="wrong-one")
    with Distance(box.dovecot.port) as wire:
        box.move(wire.port)
        with pytest.raises(Refused, match="app password") as refused:
            box.scan()
        assert wire.connections == 1
        assert bytes(wire.said).count(b"AUTHENTICATE") + bytes(wire.said).count(b"LOGIN") == 1
    assert "wrong-one" not in str(refused.value)


def test_without_a_network_it_says_so_at_once(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "WAITS", (60.0,))
    box.move(1)
    with pytest.raises(Unreachable, match="cannot be reached"):
        box.scan()


def test_passwords_and_addresses_are_in_no_log(box: Box, logged: Callable[[], str]) -> None:
    box.receives(a_letter("someone@private.example", received=clock.now(), more=["Subject: Violet"]))
    box.dovecot.deliver(box.user, b"Subject: from nobody\r\n\r\n")
    box.scan()
    for word in (box.user, box.dovecot.password, "private.example", "Violet"):
        assert word not in logged()
