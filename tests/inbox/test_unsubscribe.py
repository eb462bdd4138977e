"""Leaving: the seed's eligibility, execution, dry-run, pace and recording rules, against real servers."""

import asyncio
import email as mail_parser
import gzip
import socket
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from gna import __version__, clock
from gna.db import Database
from gna.errors import NotFound
from gna.inbox import request
from gna.inbox.attempts import OPEN
from gna.inbox.request import CONFIRM
from gna.inbox.table import Status, attempts, s, subscriptions
from gna.inbox.unsubscribe import ALREADY, CHANGED, KEPT, NO_LINK, UNDER_WAY, Pace, why_not
from gna.inbox.ways import Source, Way
from gna.outside import wire
from tests.inbox.factories import a_mail, an_attempt
from tests.inbox.leaving import NO_PAUSE, OUR_FIELDS, Reader, a_reader, email, http_get, http_post, one_click
from tests.servers import certificates
from tests.servers.raw import Raw, says
from tests.servers.smtp import ScriptedSmtp
from tests.servers.web import Page, Web


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> certificates.Certificate:
    """A certificate for this machine."""
    return certificates.make(tmp_path_factory.mktemp("certificate"))


@pytest.fixture
def shop(certificate: certificates.Certificate, monkeypatch: pytest.MonkeyPatch) -> Iterator[Web]:
    """An encrypted website, which is trusted by way of SSL_CERT_FILE."""
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate.file))
    wire._trust.cache_clear()
    with Web(tls=certificate.for_server()) as web:
        web.serves("/u", b"bye", kind="text/html")
        yield web
    wire._trust.cache_clear()


@pytest.fixture
def plain() -> Iterator[Web]:
    """A website that is not encrypted."""
    with Web() as web:
        web.serves("/u", b"bye", kind="text/html")
        yield web


@pytest.fixture
def smtp() -> Iterator[ScriptedSmtp]:
    """The mail server of the account."""
    with ScriptedSmtp() as server:
        server.extensions.append("AUTH PLAIN LOGIN")
        server.login = ("ana@example.org", "secret")
        yield server


@pytest.fixture
def reader(db: Database, database_url: str, tmp_path: Path, smtp: ScriptedSmtp) -> Reader:
    """Somebody with a mailbox."""
    return a_reader(db, database_url, tmp_path, smtp=f"{smtp.url}?tls=none")


@pytest.fixture
def with_settings(db: Database, database_url: str, tmp_path: Path) -> Callable[..., Reader]:
    """The same with other settings."""
    return lambda **environ: a_reader(db, database_url, tmp_path, **environ)


# Who may not be left


class Row:
    """A subscription that may be left, but for what is said."""

    def __init__(self, **columns: Any) -> None:
        self.keep_subscription = False
        self.unsubscribe_status = Status.ACTIVE
        self.unsubscribed_at = None
        self.unsubscribe_link = "https://shop.example/u"
        vars(self).update(columns)


@pytest.mark.parametrize(
    ("row", "attempts", "reason"),
    [
        (Row(), 0, None),
        (Row(), 2, None),
        (Row(keep_subscription=True), 0, "Subscription marked to keep (skip unsubscribe)"),
        (Row(keep_subscription=True, unsubscribe_status="unsubscribed"), 0, KEPT),
        (Row(unsubscribe_status="unsubscribed"), 0, "Already unsubscribed"),
        (Row(unsubscribed_at=clock.now()), 0, ALREADY),
        (Row(unsubscribe_link=None), 0, "No unsubscribe link available"),
        (Row(unsubscribe_link=""), 0, NO_LINK),
        (Row(), 3, "Max attempts (3) reached"),
        (Row(), 4, "Max attempts (3) reached"),
    ],
    ids=range(10),
)
def test_the_reasons_not_to_leave(row: Row, attempts: int, reason: str | None) -> None:
    assert why_not(row, attempts, most=3) == reason


@pytest.mark.parametrize("dry_run", [False, True], ids=["for real", "dry run"])
def test_a_refusal_says_why_and_writes_and_sends_nothing(reader: Reader, shop: Web, dry_run: bool) -> None:
    way = one_click(shop.at("/u"))
    refused = {
        reader.subscribes(way, "1@x.example", kept=True): KEPT,
        reader.subscribes(way, "2@x.example", unsubscribe_status="unsubscribed"): ALREADY,
        reader.subscribes(None, "3@x.example"): NO_LINK,
        reader.subscribes(http_get("https://bit.ly/x"), "4@x.example"): "bit.ly shortens addresses",
        reader.subscribes(http_get("javascript:x"), "5@x.example"): "javascript: addresses are never opened",
        reader.subscribes(http_get("https://10.0.0.1/u"), "6@x.example"): "number instead of a name",
        reader.subscribes(Way("pigeon", "x:y", Source.HTML), "7@x.example"): "method pigeon is not supported",
        reader.subscribes(email("mailto:a@b.example?subject=%0d%0aBcc:x"), "8@x.example"): "line break",
    }
    for id, reason in refused.items():
        result = reader.leaves(id, dry_run=dry_run)
        assert (result.status, result.outcome) == ("refused", None)
        assert reason in result.message
        assert reader.tried(id) == []
    assert shop.asked == []


def test_a_subscription_that_is_not_there_is_not_found(reader: Reader) -> None:
    with pytest.raises(NotFound, match="no subscription 99"):
        reader.leaves(99)


def test_failed_attempts_count_until_there_were_enough(reader: Reader, shop: Web) -> None:
    shop.serves("/u", status=500)
    id = reader.subscribes(one_click(shop.at("/u")))
    assert [reader.leaves(id).status for _ in range(4)] == ["failed", "failed", "failed", "refused"]
    assert reader.leaves(id).message == "Max attempts (3) reached"
    assert len(shop.asked) == len(reader.tried(id)) == 3
    assert reader.tried(id)[1].error_message.endswith("(attempt 2 of 3)")


def test_the_most_attempts_are_a_setting(with_settings: Callable[..., Reader]) -> None:
    reader = with_settings(INBOX_MAX_ATTEMPTS="1")
    id = reader.subscribes(http_get("https://shop.example/u"))
    an_attempt(reader.db, id, status="failed", outcome="refused")
    assert reader.leaves(id).message == "Max attempts (1) reached"


# One-click and POST


def test_one_click_sends_the_promise_and_nothing_else(reader: Reader, shop: Web) -> None:
    id = reader.subscribes(one_click(shop.at("/u?t=%41b")))
    before = clock.now()
    result = reader.leaves(id)
    (asked,) = shop.asked
    assert (asked.method, asked.path, asked.body) == ("POST", "/u?t=%41b", b"List-Unsubscribe=One-Click")
    assert asked.headers == {
        "host": f"127.0.0.1:{shop.port}",
        "user-agent": f"Gna/{__version__}",
        "content-type": "application/x-www-form-urlencoded",
        "list-unsubscribe": "One-Click",
        "accept-encoding": "gzip",
        "content-length": "26",
    }
    assert (result.id, result.status, result.outcome, result.method) == (id, "success", "accepted", "one_click")
    row, (tried,) = reader.row(id), reader.tried(id)
    assert row.unsubscribe_status == "unsubscribed"
    assert before <= row.unsubscribed_at <= clock.now()
    assert (tried.method_used, tried.status, tried.outcome, tried.response_code) == (
        "http_post",
        "success",
        "accepted",
        200,
    )
    assert (tried.error_message, tried.subscription_id, tried.url) == (None, id, shop.at("/u?t=%41b"))


def test_a_form_sends_its_fields(reader: Reader, plain: Web) -> None:
    id = reader.subscribes(http_post(plain.at("/u"), ("token", "a&b ă"), ("list", "1"), ("list", "2")))
    assert reader.leaves(id).outcome == "accepted"
    (asked,) = plain.asked
    assert (asked.method, asked.body) == ("POST", b"token=a%26b+%C4%83&list=1&list=2")
    assert asked.headers["content-type"] == "application/x-www-form-urlencoded"
    assert reader.tried(id)[0].method_used == "http_post"


@pytest.mark.parametrize("status", [200, 201, 202, 204], ids=str)
def test_every_2xx_is_a_success(reader: Reader, plain: Web, status: int) -> None:
    plain.serves("/u", status=status)
    for way, outcome in ((http_post(plain.at("/u")), "accepted"), (http_get(plain.at("/u")), "page_opened")):
        id = reader.subscribes(way, f"{way.method}@x.example")
        result = reader.leaves(id)
        assert (result.status, result.outcome) == ("success", outcome)
        assert reader.tried(id)[0].response_code == status


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308], ids=str)
def test_one_click_and_post_follow_no_redirect(reader: Reader, shop: Web, status: int) -> None:
    shop.serves("/moved", status=status, location=shop.at("/u"))
    for way in (one_click(shop.at("/moved")), http_post(shop.at("/moved"), ("a", "b"))):
        id = reader.subscribes(way, f"{way.method}@x.example")
        result = reader.leaves(id)
        assert (result.status, result.outcome) == ("failed", "redirected")
        assert reader.tried(id)[0].response_code == status
        assert reader.row(id).unsubscribed_at is None
    assert shop.times("/u") == 0


# GET


def test_a_get_opens_the_page_and_counts(reader: Reader, plain: Web) -> None:
    id = reader.subscribes(http_get(plain.at("/u?id=7")))
    result = reader.leaves(id)
    (asked,) = plain.asked
    assert (asked.method, asked.path, asked.body) == ("GET", "/u?id=7", b"")
    assert not {"cookie", "authorization", "referer"} & asked.headers.keys()
    assert asked.headers["user-agent"].startswith("Gna/")
    assert (result.status, result.outcome) == ("success", "page_opened")
    assert reader.row(id).unsubscribe_status == "unsubscribed"
    assert reader.tried(id)[0].method_used == "http_get"


def test_a_page_that_asks_something_is_said_so(reader: Reader, plain: Web) -> None:
    plain.serves("/u", "<form method=post><button>Yes, unsubscribe me</button></form>", kind="text/html")
    id = reader.subscribes(http_get(plain.at("/u")))
    result = reader.leaves(id)
    assert (result.status, result.outcome) == ("success", "page_opened")
    assert result.message.endswith(f"answered 200 OK. {CONFIRM}")
    [tried] = reader.tried(id)
    assert (tried.status, tried.outcome, tried.error_message) == ("success", "page_opened", CONFIRM)


def test_a_get_follows_five_redirects_and_no_more(reader: Reader, plain: Web) -> None:
    for number in range(6):
        plain.serves(f"/{number}", status=302, location=f"/{number + 1}" if number < 5 else "/u")
    far = reader.leaves(reader.subscribes(http_get(plain.at("/1")), "far@x.example"))
    assert far.outcome == "page_opened"
    too_far = reader.leaves(reader.subscribes(http_get(plain.at("/0")), "too-far@x.example"))
    assert (too_far.status, too_far.outcome) == ("failed", "redirected")


@pytest.mark.parametrize(
    ("to", "outcome"),
    [
        ("http://localhost:{port}/u", "redirected"),
        ("http://127.0.0.2:{port}/u", "redirected"),
        ("https://bit.ly/x", "redirected"),
        ("/setup.exe", "redirected"),
        ("/u?cmd=x", "redirected"),
        ("//user@127.0.0.1:{port}/u", "redirected"),
        ("javascript:alert(1)", "redirected"),
        ("", "redirected"),
    ],
    ids=range(8),
)
def test_each_redirect_is_judged_as_the_first_address(reader: Reader, plain: Web, to: str, outcome: str) -> None:
    plain.serves("/moved", status=302, location=to.format(port=plain.port))
    plain.serves("/setup.exe")
    result = reader.leaves(reader.subscribes(http_get(plain.at("/moved"))))
    assert (result.status, result.outcome) == ("failed", outcome)
    assert len(plain.asked) == 1


def test_no_cookie_is_kept_from_one_request_to_the_next(reader: Reader, plain: Web) -> None:
    plain.serves("/moved", status=302, location="/u", set_cookie="a=b")
    for number in range(2):
        reader.leaves(reader.subscribes(http_get(plain.at("/moved")), f"{number}@x.example"))
    assert len(plain.asked) == 4
    assert not any("cookie" in asked.headers for asked in plain.asked)


# What servers do to us


@pytest.mark.parametrize(
    ("status", "outcome"), [(400, "refused"), (404, "refused"), (410, "refused"), (500, "unknown"), (503, "unknown")]
)
def test_an_error_is_recorded_with_its_code(reader: Reader, plain: Web, status: int, outcome: str) -> None:
    plain.serves("/u", status=status)
    id = reader.subscribes(http_get(plain.at("/u")))
    result = reader.leaves(id)
    assert (result.status, result.outcome) == ("failed", outcome)
    assert str(status) in result.message
    (tried,) = reader.tried(id)
    assert (tried.status, tried.outcome, tried.response_code) == ("failed", outcome, status)
    assert str(status) in tried.error_message
    row = reader.row(id)
    assert (row.unsubscribed_at, row.unsubscribe_status) == (None, "active")


def test_a_server_that_is_not_there_is_a_failed_attempt(reader: Reader) -> None:
    with Web() as web:
        url = web.at("/u")
    id = reader.subscribes(http_get(url))
    assert (reader.leaves(id).outcome, reader.tried(id)[0].response_code) == ("unknown", None)
    assert "does not answer" in reader.tried(id)[0].error_message


def test_a_connection_that_is_cut_leaves_the_outcome_unknown(reader: Reader) -> None:
    with Raw(says()) as server:
        result = reader.leaves(reader.subscribes(http_post(server.at("/u"))))
    assert (result.status, result.outcome) == ("failed", "unknown")


def test_a_timeout_is_recorded_with_the_number_of_the_attempt(with_settings: Callable[..., Reader]) -> None:
    reader = with_settings(INBOX_TIMEOUT="1")
    enough = threading.Event()

    def says_nothing(_: socket.socket) -> None:
        enough.wait(60)

    with Raw(says_nothing) as server:
        id = reader.subscribes(http_get(server.at("/u")))
        result = reader.leaves(id)
        enough.set()
    assert (result.status, result.outcome) == ("failed", "unknown")
    assert reader.tried(id)[0].error_message == "127.0.0.1 took longer than 1 seconds (attempt 1 of 3)"


def endless(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.end_headers()
    while True:
        handler.wfile.write(b"x" * 65536)


ODD_BODIES: dict[str, Page | Callable[[BaseHTTPRequestHandler], Page | None]] = {
    "large": Page(b"x" * 3_000_000),
    "endless": endless,
    "packed oddly": Page(b"\x0b\x02\x80", headers={"Content-Encoding": "br"}),
    "packed badly": Page(b"nonsense", headers={"Content-Encoding": "gzip"}),
    "a bomb": Page(gzip.compress(b"\0" * 50_000_000), headers={"Content-Encoding": "gzip"}),
}


@pytest.mark.parametrize("name", ODD_BODIES)
def test_a_success_is_one_whatever_its_body_is(reader: Reader, plain: Web, name: str) -> None:
    page = ODD_BODIES[name]
    plain.answers("/u", page if callable(page) else lambda _: page)
    for way in (http_get(plain.at("/u")), http_post(plain.at("/u"))):
        assert reader.leaves(reader.subscribes(way, f"{way.method}@x.example")).status == "success"


def test_a_certificate_that_nobody_signed_is_not_believed(
    reader: Reader, certificate: certificates.Certificate
) -> None:
    with Web(tls=certificate.for_server()) as web:
        result = reader.leaves(reader.subscribes(one_click(web.at("/u"))))
        assert (result.status, result.outcome) == ("failed", "unknown")
        assert "certificate" in result.message
        assert web.asked == []


def test_a_private_address_needs_the_setting(with_settings: Callable[..., Reader], plain: Web) -> None:
    reader = with_settings(INBOX_ALLOW_PRIVATE_HOSTS="localhost")
    result = reader.leaves(reader.subscribes(http_get(plain.at("/u"))))
    assert result.status == "refused"
    allowed = reader.subscribes(http_get(f"http://localhost:{plain.port}/u"), "b@x.example")
    assert reader.leaves(allowed).status == "success"
    assert len(plain.asked) == 1


def test_a_method_that_breaks_is_a_failed_attempt(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(_: object) -> None:
        raise RuntimeError("a secret detail")

    monkeypatch.setattr(request, "get", breaks)
    id = reader.subscribes(http_get("http://127.0.0.1:9/u"))
    assert (reader.leaves(id).outcome, len(reader.tried(id))) == ("unknown", 1)
    assert "RuntimeError" in reader.tried(id)[0].error_message
    assert "secret" not in reader.tried(id)[0].error_message


# Mail


def test_a_mail_goes_from_the_account_to_the_one_who_asked_for_it(reader: Reader, smtp: ScriptedSmtp) -> None:
    id = reader.subscribes(email("mailto:leave+7@shop.example?subject=Stop%20%C8%99i%20gata&body=.one%0D%0Atwo"))
    result = reader.leaves(id)
    assert (result.status, result.outcome, result.method) == ("success", "sent", "email_reply")
    (received,) = smtp.received
    assert (received.sender, received.recipient) == ("ana@example.org", "leave+7@shop.example")
    mail = mail_parser.message_from_bytes(received.content, policy=mail_parser.policy.default)
    assert list(mail) == OUR_FIELDS
    assert (mail["from"], mail["to"], mail["subject"]) == (
        "ana@example.org",
        "leave+7@shop.example",
        "Stop și gata",
    )
    assert mail.get_content_type() == "text/plain"
    assert mail.get_content() == ".one\r\ntwo\r\n"
    (tried,) = reader.tried(id)
    assert (tried.method_used, tried.status, tried.outcome, tried.response_code) == (
        "email_reply",
        "success",
        "sent",
        None,
    )
    assert reader.row(id).unsubscribe_status == "unsubscribed"


def test_a_mail_that_says_nothing_gets_the_usual_words(reader: Reader, smtp: ScriptedSmtp) -> None:
    reader.leaves(reader.subscribes(email("mailto:leave@shop.example")))
    mail = mail_parser.message_from_bytes(smtp.received[0].content, policy=mail_parser.policy.default)
    assert mail["subject"] == "Unsubscribe"
    assert mail.get_content() == "Please unsubscribe me from this mailing list.\r\n"


def test_a_mail_goes_encrypted_and_with_a_login(
    db: Database,
    database_url: str,
    tmp_path: Path,
    certificate: certificates.Certificate,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate.file))
    with ScriptedSmtp(tls=certificate.for_server()) as server:
        server.extensions += ["STARTTLS", "AUTH PLAIN"]
        server.login = ("ana@example.org", "secret")
        reader = a_reader(db, database_url, tmp_path, smtp=f"{server.url}?tls=starttls")
        assert reader.leaves(reader.subscribes(email("mailto:leave@shop.example"))).outcome == "sent"
        assert "STARTTLS" in server.commands


def test_an_access_token_is_a_login_too(db: Database, database_url: str, tmp_path: Path) -> None:
    with ScriptedSmtp() as server:
        server.extensions.append("AUTH XOAUTH2")
        server.login = ("other", "secret")
        smtp_url = f"smtp://other@127.0.0.1:{server.port}?tls=none&auth=xoauth2"
        reader = a_reader(db, database_url, tmp_path, smtp=smtp_url)
        assert reader.leaves(reader.subscribes(email("mailto:leave@shop.example"))).outcome == "sent"


def test_a_mail_server_that_wants_no_login_gets_none(db: Database, database_url: str, tmp_path: Path) -> None:
    with ScriptedSmtp() as server:
        reader = a_reader(db, database_url, tmp_path, smtp=f"{server.url}?tls=none")
        assert reader.leaves(reader.subscribes(email("mailto:leave@shop.example"))).outcome == "sent"


def test_without_a_mail_server_or_a_password_nothing_is_tried(db: Database, database_url: str, tmp_path: Path) -> None:
    reader = a_reader(db, database_url, tmp_path, INBOX_PASSWORD="")
    id = reader.subscribes(email("mailto:leave@shop.example"))
    assert (reader.leaves(id).status, "--smtp" in reader.leaves(id).message) == ("refused", True)
    with db.write() as tx:
        tx.execute(sa.text("UPDATE inbox_accounts SET smtp_url = 'smtp://127.0.0.1:9?tls=none'"))
    for dry_run in (False, True):
        result = reader.leaves(id, dry_run=dry_run)
        assert result.status == "refused"
        assert "password" in result.message
    assert reader.tried(id) == []


SMTP_TROUBLE: list[tuple[str, Callable[[ScriptedSmtp], None], str, str]] = [
    (
        "wrong login",
        lambda server: setattr(server, "login", ("ana@example.org", "other")),
        "refused",
        "account password EMAIL",
    ),
    ("refused recipient", lambda server: server.says("RCPT", b"550 5.1.1 nobody"), "refused", "550 5.1.1 nobody"),
    ("refused mail", lambda server: server.says("CONTENT", b"554 5.7.1 spam"), "refused", "554 5.7.1 spam"),
    ("later", lambda server: server.says("RCPT", b"451 4.7.1 later"), "refused", "451 4.7.1 later"),
    ("cut off", lambda server: server.drops_after_data(), "unknown", "not known"),
    ("gone", lambda server: server.goes_away(), "refused", "cannot be reached"),
]


@pytest.mark.parametrize(
    ("name", "trouble", "outcome", "message"), SMTP_TROUBLE, ids=[case[0] for case in SMTP_TROUBLE]
)
def test_what_goes_wrong_with_a_mail_is_recorded(
    reader: Reader, smtp: ScriptedSmtp, name: str, trouble: Callable[[ScriptedSmtp], None], outcome: str, message: str
) -> None:
    trouble(smtp)
    id = reader.subscribes(email("mailto:leave@shop.example"))
    result = reader.leaves(id)
    assert (result.status, result.outcome) == ("failed", outcome)
    assert message in reader.tried(id)[0].error_message
    assert "secret" not in reader.tried(id)[0].error_message
    assert reader.row(id).unsubscribe_status == "active"


def test_a_mail_server_that_says_nothing_is_a_timeout(db: Database, database_url: str, tmp_path: Path) -> None:
    with ScriptedSmtp() as server:
        server.stalls_at("BANNER")
        reader = a_reader(db, database_url, tmp_path, smtp=f"{server.url}?tls=none", INBOX_TIMEOUT="1")
        id = reader.subscribes(email("mailto:leave@shop.example"))
        assert reader.leaves(id).outcome in ("unknown", "refused")
    assert "1 second" in reader.tried(id)[0].error_message


# Dry run


def test_a_dry_run_says_what_would_be_done_and_does_nothing(
    reader: Reader, shop: Web, smtp: ScriptedSmtp, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = shop.at("/u")
    planned = {
        reader.subscribes(one_click(url), "1@x.example"): f"Would send a one-click POST to {url}",
        reader.subscribes(http_post(url, ("token", "t")), "2@x.example"): f"Would send a POST to {url} with token",
        reader.subscribes(http_get(url), "3@x.example"): f"Would request {url}",
        reader.subscribes(email("mailto:a@b.example"), "4@x.example"): "Would send an email to a@b.example",
    }
    before = [reader.row(id) for id in planned]
    monkeypatch.setattr(wire, "resolve", lambda _: pytest.fail("a name was looked up"))
    for id, message in planned.items():
        result = reader.leaves(id, dry_run=True)
        assert (result.status, result.outcome) == ("dry_run", None)
        assert result.message.startswith(message)
        assert reader.tried(id) == []
    assert [reader.row(id) for id in planned] == before
    assert (shop.asked, smtp.connections) == ([], 0)


def test_a_dry_run_does_not_wait_for_its_turn(reader: Reader) -> None:
    class Never(Pace):
        async def wait(self) -> None:
            pytest.fail("it waited")

    id = reader.subscribes(http_get("https://shop.example/u"))
    assert reader.leaves(id, dry_run=True, pace=Never(NO_PAUSE)).status == "dry_run"


def test_a_dry_run_runs_no_password_command(db: Database, database_url: str, tmp_path: Path) -> None:
    reader = a_reader(db, database_url, tmp_path, smtp="smtp://127.0.0.1:9?tls=none", INBOX_PASSWORD="")
    with db.write() as tx:
        tx.execute(sa.text(f"UPDATE inbox_accounts SET password_command = 'touch {tmp_path}/ran'"))
    assert reader.leaves(reader.subscribes(email("mailto:a@b.example")), dry_run=True).status == "dry_run"
    assert not (tmp_path / "ran").exists()


# Pace


class Clock:
    """Time that passes only while somebody sleeps, or when it is told to."""

    def __init__(self) -> None:
        self.time = 100.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.time += seconds


def test_there_is_a_pause_between_requests_and_none_before_the_first() -> None:
    clock = Clock()
    pace = Pace(timedelta(seconds=2), clock=clock, sleep=clock.sleep)
    for _ in range(3):
        asyncio.run(pace.wait())
    assert clock.slept == [2, 2]


def test_the_pause_begins_when_a_request_has_ended() -> None:
    clock = Clock()
    pace = Pace(timedelta(seconds=2), clock=clock, sleep=clock.sleep)
    asyncio.run(pace.wait())
    clock.time += 10
    pace.begin_anew()
    asyncio.run(pace.wait())
    assert clock.slept == [2]


def test_time_that_has_passed_already_is_not_waited_for() -> None:
    clock = Clock()
    pace = Pace(timedelta(seconds=2), clock=clock, sleep=clock.sleep)
    asyncio.run(pace.wait())
    clock.time += 1.5
    asyncio.run(pace.wait())
    clock.time += 2
    asyncio.run(pace.wait())
    assert clock.slept == [0.5]


def test_each_executor_has_a_pace_of_its_own() -> None:
    clock = Clock()
    for _ in range(2):
        asyncio.run(Pace(timedelta(seconds=2), clock=clock, sleep=clock.sleep).wait())
    assert clock.slept == []


def test_two_at_once_wait_one_after_the_other() -> None:
    clock = Clock()

    async def both() -> None:
        pace = Pace(timedelta(seconds=2), clock=clock, sleep=clock.sleep)
        await asyncio.gather(pace.wait(), pace.wait(), pace.wait())

    asyncio.run(both())
    assert clock.slept == [2, 2]


def test_the_pause_is_two_seconds_and_a_setting(with_settings: Callable[..., Reader]) -> None:
    assert with_settings().settings.inbox_request_delay == timedelta(seconds=2)


def test_unsubscribing_keeps_to_the_pace(reader: Reader, plain: Web) -> None:
    clock = Clock()
    pace = Pace(timedelta(seconds=2), clock=clock, sleep=clock.sleep)
    ids = [reader.subscribes(http_get(plain.at("/u")), f"{number}@x.example") for number in range(3)]

    async def all_of_them() -> None:
        for id in ids:
            await reader.leaving(id, pace=pace)

    asyncio.run(all_of_them())
    assert len(plain.asked) == 3
    assert len(clock.slept) == 2


# Races, and what is left after them


def test_the_attempt_is_written_down_before_anything_is_sent(reader: Reader, plain: Web) -> None:
    seen: list[Any] = []
    id = reader.subscribes(http_get(plain.at("/u")))

    def look(_: BaseHTTPRequestHandler) -> Page:
        seen.extend(reader.tried(id))
        return Page()

    plain.answers("/u", look)
    reader.leaves(id)
    (row,) = seen
    assert (row.status, row.outcome, row.error_message) == ("failed", "unknown", OPEN)
    assert [tried.status for tried in reader.tried(id)] == ["success"]


def test_two_at_once_send_one_request(reader: Reader, plain: Web) -> None:
    id = reader.subscribes(http_get(plain.at("/u")))

    async def twice() -> list[str]:
        results = await asyncio.gather(*(reader.leaving(id) for _ in range(5)))
        return sorted(result.status for result in results)

    assert asyncio.run(twice()) == ["refused"] * 4 + ["success"]
    assert len(plain.asked) == len(reader.tried(id)) == 1


def test_an_attempt_that_was_killed_in_the_middle_is_known_for_ever(reader: Reader, plain: Web) -> None:
    arrived, enough = threading.Event(), threading.Event()

    def waits(_: BaseHTTPRequestHandler) -> Page:
        arrived.set()
        enough.wait(60)
        return Page()

    plain.answers("/u", waits)
    id = reader.subscribes(http_get(plain.at("/u")))

    async def killed() -> None:
        task = asyncio.create_task(reader.leaving(id))
        await asyncio.to_thread(arrived.wait, 60)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(killed())
    enough.set()
    assert [(tried.status, tried.outcome) for tried in reader.tried(id)] == [("failed", "unknown")]
    assert reader.leaves(id).message == UNDER_WAY
    with reader.db.write() as tx:
        tx.execute(sa.update(attempts).values(attempted_at=clock.now() - timedelta(minutes=5)))
    plain.serves("/u")
    assert reader.leaves(id).status == "success"
    assert [tried.error_message for tried in reader.tried(id)] == [OPEN, None]


class Meanwhile(Pace):
    """Something happens while it waits."""

    def __init__(self, reader: Reader, **columns: Any) -> None:
        super().__init__(NO_PAUSE)
        self._reader, self._columns = reader, columns

    async def wait(self) -> None:
        with self._reader.db.write() as tx:
            tx.execute(sa.update(subscriptions).values(self._columns))


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ({"keep_subscription": True}, KEPT),
        ({"unsubscribe_status": "unsubscribed"}, ALREADY),
        ({"unsubscribe_link": "http://127.0.0.1:9/other"}, CHANGED),
        ({"unsubscribe_method": "http_post"}, CHANGED),
    ],
    ids=["kept", "left", "another link", "another method"],
)
def test_what_changes_before_it_begins_is_respected(
    reader: Reader, plain: Web, columns: dict[str, Any], reason: str
) -> None:
    id = reader.subscribes(http_get(plain.at("/u")))
    result = reader.leaves(id, pace=Meanwhile(reader, **columns))
    assert (result.status, result.message) == ("refused", reason)
    assert (plain.asked, reader.tried(id)) == ([], [])


def test_a_yes_is_to_the_way_that_was_shown(reader: Reader, plain: Web) -> None:
    id, shown = reader.subscribes(http_get(plain.serves("/u"))), plain.at("/u")
    for seen in (("http_get", plain.at("/before")), ("http_post", shown), ("", "")):
        result = reader.leaves(id, seen=seen)
        assert (result.status, result.message) == ("refused", CHANGED)
    assert (plain.asked, reader.tried(id)) == ([], [])
    assert reader.leaves(id, seen=("http_get", shown)).status == "success"


def test_who_keeps_it_after_it_was_sent_has_left_all_the_same(reader: Reader, plain: Web) -> None:
    def keep(_: BaseHTTPRequestHandler) -> Page:
        with reader.db.write() as tx:
            tx.execute(sa.update(subscriptions).where(s.id == id).values(keep_subscription=True))
        return Page()

    plain.answers("/u", keep)
    id = reader.subscribes(http_get(plain.at("/u")))
    assert reader.leaves(id).status == "success"
    row = reader.row(id)
    assert (row.keep_subscription, row.unsubscribe_status) == (True, "unsubscribed")


# Signatures


SEALS = [
    (None, False),
    ({"covered": False, "passed": None, "by": None}, False),
    ({"covered": True, "passed": False, "by": "shop.example"}, False),
    ({"covered": True, "passed": None, "by": "shop.example"}, True),
    ({"covered": True, "passed": True, "by": "shop.example"}, True),
]


@pytest.mark.parametrize(("seal", "enough"), SEALS, ids=range(len(SEALS)))
def test_one_click_needs_a_signature_only_if_somebody_wants_it(
    with_settings: Callable[..., Reader], shop: Web, seal: dict[str, Any] | None, enough: bool
) -> None:
    reader = with_settings(INBOX_REQUIRE_SIGNED="true")
    mail = a_mail(reader.db, reader.account, seal=seal)
    id = reader.subscribes(one_click(shop.at("/u")), way_mail_id=mail)
    result = reader.leaves(id)
    assert result.status == ("success" if enough else "refused")
    assert ("signature" in result.message) is not enough
    assert len(reader.tried(id)) == len(shop.asked) == enough


def test_without_the_setting_a_missing_signature_is_a_note(reader: Reader, shop: Web) -> None:
    mail = a_mail(reader.db, reader.account, seal=SEALS[1][0])
    id = reader.subscribes(one_click(shop.at("/u")), way_mail_id=mail)
    assert "Note: No signature" in reader.leaves(id, dry_run=True).message
    assert reader.leaves(id).status == "success"


def test_a_page_needs_no_signature(with_settings: Callable[..., Reader], plain: Web) -> None:
    reader = with_settings(INBOX_REQUIRE_SIGNED="true")
    assert reader.leaves(reader.subscribes(http_get(plain.at("/u")))).status == "success"


# Privacy


def test_nothing_personal_is_logged(reader: Reader, plain: Web, smtp: ScriptedSmtp, logged: Callable[[], str]) -> None:
    smtp.says("RCPT", b"550 5.1.1 leave@shop.example unknown")
    reader.leaves(reader.subscribes(http_get(plain.at("/u?token=t0k3n")), "1@x.example"))
    reader.leaves(reader.subscribes(email("mailto:leave@shop.example?subject=t0k3n"), "2@x.example"))
    said = logged()
    assert said.count("tried to unsubscribe") == 2
    assert not any(word in said for word in ("t0k3n", "shop.example", "ana@", "secret", "x.example"))
