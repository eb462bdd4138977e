"""Nothing that a mail says leads us to a private address, after a redirect that was not meant, or into other mails."""

import asyncio
import email as mail_parser
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gna.db import Database
from gna.inbox import methods
from gna.inbox.method import Errand, Outcome, What
from gna.inbox.safety import judge
from gna.inbox.ways import Form, Link, Offers, Source, Way
from gna.outside import wire
from tests.inbox.hostile import GOOD, HEADERS, LEADING, MAILTO, PROMISE, PUBLIC, URLS
from tests.inbox.leaving import OUR_FIELDS, a_reader, http_post
from tests.servers import wait_until
from tests.servers.smtp import ScriptedSmtp
from tests.servers.trap import Trap
from tests.servers.web import Web

ON_THE_WEB = ("one_click", "http_post", "http_get")


@pytest.fixture(scope="module")
def trap() -> Iterator[Trap]:
    """Whoever comes here was led astray."""
    with Trap() as listening:
        yield listening
        assert listening.caught == []


def resolve(host: str) -> list[str]:
    """Numbers are what the system makes of them; every name is this machine."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    except (socket.gaierror, UnicodeError):
        return ["127.0.0.1", "::1"]
    return [str(address[0]) for *_, address in found]


@contextmanager
def names(resolver: Callable[[str], list[str]] = resolve) -> Iterator[None]:
    """Names are looked up by this, in a test that may run many times."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wire, "resolve", resolver)
        yield


def carried_out(method_name: str, url: str, **errand: Any) -> Outcome:
    """Go there without asking whether it is safe: the second line must hold by itself."""
    method = methods.find(method_name)
    assert method
    return asyncio.run(_done(method, Errand(Way(method_name, url, Source.HEADER), "ana@example.org", **errand)))


async def _done(method: Any, errand: Errand) -> Outcome:
    outcome: Outcome = await method.carry_out(errand)
    return outcome


def offered(url: str) -> tuple[Way, ...]:
    """The address as a header, a link and a form have it."""
    body = (Link(url, Source.HTML), Link(url, Source.TEXT), Link(url, Source.HTML, Form("post", (("a", "b"),))))
    return methods.ways(Offers((f"<{url}>",), (PROMISE,), body))


def test_the_table_is_long_enough() -> None:
    assert len(URLS) + len(PUBLIC) + len(LEADING) + len(MAILTO) + len(HEADERS) >= 300
    assert len(set(URLS)) == len(URLS)


def test_the_trap_catches_who_comes() -> None:
    with Trap() as trap:
        socket.create_connection(("127.0.0.1", trap.port)).close()
        wait_until(lambda: len(trap.caught) == 1, "it is caught")


# Web addresses


@pytest.mark.parametrize("url", [*URLS, *PUBLIC], ids=range(len(URLS) + len(PUBLIC)))
def test_a_hostile_address_is_refused_before_anything_is_looked_up(trap: Trap, url: str) -> None:
    written = url.replace("{port}", str(trap.port))
    assert not judge(written).safe
    assert not any(way.safe for way in offered(written))


@pytest.mark.parametrize("url", URLS, ids=range(len(URLS)))
def test_a_hostile_address_is_not_connected_to_even_if_nobody_had_refused_it(trap: Trap, url: str) -> None:
    with names():
        for method in ON_THE_WEB:
            outcome = carried_out(method, url.replace("{port}", str(trap.port)), within=10)
            assert not outcome.is_success
    assert trap.caught == []


def test_no_hostile_address_leads_to_an_attempt(trap: Trap, db: Database, database_url: str, tmp_path: Path) -> None:
    reader = a_reader(db, database_url, tmp_path, INBOX_ALLOW_PRIVATE_HOSTS="")
    with names():
        for number, url in enumerate(URLS):
            for way in offered(url.replace("{port}", str(trap.port)))[:1]:
                id = reader.subscribes(way, f"{number}@x.example")
                assert reader.leaves(id).status == "refused"
                assert reader.tried(id) == []
    assert trap.caught == []


@pytest.mark.parametrize("addresses", LEADING, ids=range(len(LEADING)))
def test_a_name_that_leads_to_a_private_address_is_not_connected_to(trap: Trap, addresses: list[str]) -> None:
    url = f"https://shop.example:{trap.port}/u"
    assert judge(url).safe
    with names(lambda _: addresses):
        for method in ON_THE_WEB:
            outcome = carried_out(method, url)
            assert outcome.what is What.REFUSED
            assert "private address" in outcome.message
    assert trap.caught == []


@pytest.mark.parametrize("addresses", LEADING, ids=range(len(LEADING)))
def test_no_redirect_leads_to_a_private_address(trap: Trap, addresses: list[str]) -> None:
    """The first server may be private, for the operator says so; the one that it redirects to may not."""
    with Web() as web, names(lambda host: ["127.0.0.1"] if host == "mine.example" else addresses):
        web.serves("/u", status=302, location=f"http://evil.example:{trap.port}/u")
        outcome = carried_out(
            "http_get", f"http://mine.example:{web.port}/u", private_hosts=frozenset({"mine.example"})
        )
        assert outcome.what is What.REFUSED
        assert len(web.asked) == 1
    assert trap.caught == []


@pytest.mark.parametrize("url", URLS, ids=range(len(URLS)))
def test_no_redirect_leads_to_a_hostile_address(trap: Trap, url: str) -> None:
    location = url.replace("{port}", str(trap.port)).encode("utf-8").decode("latin-1")

    def redirects(handler: Any) -> None:
        # By hand, since an honest server would not write line breaks and the like.
        said = f"HTTP/1.1 302 Found\r\nLocation: {location}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        handler.wfile.write(said.encode("latin-1"))
        handler.close_connection = True

    with Web() as web, names():
        web.answers("/start", redirects)
        # What is relative leads to the same server, which the operator allowed, and to no trap.
        url = f"http://mine.example:{web.port}/start"
        carried_out("http_get", url, private_hosts=frozenset({"mine.example"}), within=10)
        assert {asked.headers["host"] for asked in web.asked} == {f"mine.example:{web.port}"}
    assert trap.caught == []


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308], ids=str)
def test_a_redirect_of_a_post_is_never_followed(
    db: Database, database_url: str, tmp_path: Path, trap: Trap, status: int
) -> None:
    reader = a_reader(db, database_url, tmp_path)
    with Web() as web:
        web.serves("/next")
        for location in (web.at("/next"), "/next", f"http://127.0.0.1:{trap.port}/"):
            web.serves("/u", status=status, location=location)
            way = http_post(web.at("/u"), ("a", "b"))
            result = reader.leaves(reader.subscribes(way, f"{hash(location)}@x.example"))
            assert (result.status, result.outcome) == ("failed", "redirected")
        assert web.times("/next") == 0
    assert trap.caught == []


class Rebinding:
    """A name that is first here and then there; the first address counts as public, which none on loopback is."""

    def __init__(self, *answers: list[str]) -> None:
        self.answers = list(answers)
        self.looked_up = 0

    def __call__(self, host: str) -> list[str]:
        self.looked_up += 1
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


@pytest.fixture
def public(monkeypatch: pytest.MonkeyPatch) -> Iterator[Web]:
    """A server on what counts as a public address."""
    monkeypatch.setattr(wire, "is_public", lambda ip: ip == "127.0.0.2")
    with Web("127.0.0.2") as web:
        web.serves("/u")
        yield web


def test_a_name_that_changes_its_mind_is_looked_up_once_for_a_request(public: Web) -> None:
    answers = Rebinding(["127.0.0.2"], ["127.0.0.1"])
    with names(answers):
        assert carried_out("http_get", f"http://shop.example:{public.port}/u").what is What.PAGE_OPENED
    assert answers.looked_up == 1
    assert public.asked[0].headers["host"] == f"shop.example:{public.port}"


def test_a_name_that_changes_its_mind_between_redirects_is_refused(public: Web) -> None:
    public.serves("/start", status=302, location="/u")
    with names(Rebinding(["127.0.0.2"], ["127.0.0.1"])):
        assert carried_out("http_get", f"http://shop.example:{public.port}/start").what is What.REFUSED
    assert public.times("/u") == 0


def test_a_private_address_among_public_ones_is_refused(public: Web) -> None:
    with names(lambda _: ["127.0.0.2", "127.0.0.1"]):
        assert carried_out("http_get", f"http://shop.example:{public.port}/u").what is What.REFUSED
    assert public.asked == []


HOSTS = st.sampled_from([url.split("/")[2].partition("{")[0].rstrip(":") for url in URLS if "://" in url])
AROUND = st.sampled_from(
    ["", "shop.example", "@", "shop.example@", "\\", "%40", "#", "?", ".", "。", "\t", "%00", ":443"]
)


@given(
    st.sampled_from(["https://", "http://", "HTTPS://", "https:", "//", "https:/\\", "https:///"]),
    AROUND,
    HOSTS,
    AROUND,
)
def test_however_it_is_put_together_nothing_private_is_reached(
    trap: Trap, scheme: str, before: str, host: str, after: str
) -> None:
    url = f"{scheme}{before}{host}{after}:{trap.port}/u"
    with names():
        for method in ("one_click", "http_get"):
            assert not carried_out(method, url, within=10).is_success
    assert trap.caught == []


# Headers


@pytest.mark.parametrize(("fields", "post"), HEADERS, ids=range(len(HEADERS)))
def test_a_header_that_is_not_to_be_believed_is_not_one_click(fields: list[str], post: list[str]) -> None:
    ways = methods.ways(Offers(tuple(fields), tuple(post)))
    assert "one_click" not in {way.method for way in ways}


def test_the_header_that_they_are_made_of_is_one_click() -> None:
    assert methods.ways(Offers((GOOD,), (PROMISE,)))[0].method == "one_click"


# Mails


@pytest.fixture(scope="module")
def smtp() -> Iterator[ScriptedSmtp]:
    """A mail server that takes everything."""
    with ScriptedSmtp() as server:
        yield server


def send(smtp: ScriptedSmtp, url: str) -> None:
    """Send what the address asks for, if it may be sent; exactly that must arrive, and only there."""
    smtp.received.clear()
    smtp.commands.clear()
    (way,) = methods.ways(Offers(body=(Link(url, Source.HTML),)))
    if not way.safe:
        assert way.to is None
        return
    method = methods.find("email_reply")
    errand = Errand(way, "ana@example.org", smtp_url=f"{smtp.url}?tls=none", secret="secret")
    assert asyncio.run(_done(method, errand)).what is What.SENT
    (received,) = smtp.received
    assert [line for line in smtp.commands if line.upper().startswith("RCPT")] == [f"RCPT TO:<{way.to}>"]
    assert received.recipient == way.to == (way.to or "").strip()
    mail = mail_parser.message_from_bytes(received.content, policy=mail_parser.policy.compat32)
    assert mail.keys() == OUR_FIELDS
    assert not mail.defects
    assert mail["To"] == way.to
    shown = mail_parser.message_from_bytes(received.content, policy=mail_parser.policy.default)
    assert shown.get_content().replace("\r\n", "\n") == f"{way.body}\n"
    assert all(len(line) <= 998 for line in received.content.split(b"\r\n"))
    assert b"\n" not in received.content.replace(b"\r\n", b"")


@pytest.mark.parametrize("url", MAILTO, ids=range(len(MAILTO)))
def test_no_mail_reaches_anybody_else_or_says_more_than_it_should(smtp: ScriptedSmtp, url: str) -> None:
    send(smtp, url)
    assert "evil@evil.example" not in {mail.recipient for mail in smtp.received}


PIECES = st.sampled_from(
    [
        *("%0D", "%0A", "%0d%0a", "%250A", "%00", "Bcc:", "evil@evil.example", ",", ";", "%2C", "%3E", "%3C", "ț", " "),
        *("&bcc=", "&subject=", "&body=", "?", "#", "a", "%20", ".", "%0D%0A.%0D%0A", "%C8%9B", "%E2%80%A8", "%F0%9F"),
        *("=?utf-8?b?", "?="),
    ]
)


@given(st.lists(PIECES, max_size=3), st.lists(PIECES, max_size=8))
def test_however_a_mail_is_put_together_it_reaches_one_address(
    smtp: ScriptedSmtp, recipient: list[str], rest: list[str]
) -> None:
    send(smtp, f"mailto:a@shop.example{''.join(recipient)}?subject={''.join(rest)}")


def test_what_looks_like_an_encoded_subject_is_shown_as_it_was_written(smtp: ScriptedSmtp) -> None:
    send(smtp, "mailto:a@shop.example?subject==?utf-8?q?x=0D=0ABcc:_evil@evil.example?=")
    shown = mail_parser.message_from_bytes(smtp.received[0].content, policy=mail_parser.policy.default)
    assert shown["subject"] == "=?utf-8?q?x=0D=0ABcc:_evil@evil.example?="
    assert shown["bcc"] is None
