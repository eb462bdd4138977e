import asyncio
import gzip
import re
import socket
import ssl
import sys
import time
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from subprocess import run
from typing import Any

import pytest
from hypothesis import given, settings, strategies

from gna.errors import LedAstray, PrivateAddress, Unreachable
from gna.outside import Answer, ask, is_public, wire
from gna.outside.place import Place, join, parse, plain_host
from tests.servers import HOST, certificates, free_port
from tests.servers.raw import Raw, says
from tests.servers.web import Page, Web

OK = b"HTTP/1.1 200 OK\r\n"


@pytest.fixture
def web() -> Iterator[Web]:
    with Web() as website:
        yield website


def asked(url: str, **how: Any) -> Answer:
    return asyncio.run(ask(url, **{"any_private": True, "within": 10} | how))


def refusal(url: str, **how: Any) -> str:
    with pytest.raises(Unreachable) as refused:
        asked(url, **how)
    sentence = str(refused.value)
    assert sentence.endswith(".")
    assert "\n" not in sentence
    return sentence


def names(monkeypatch: pytest.MonkeyPatch, **addresses: list[list[str]]) -> list[str]:
    """From now on these names have these addresses, another list each time; returns who was looked up."""
    looked_up: list[str] = []

    def resolve(host: str) -> list[str]:
        looked_up.append(host)
        if host not in addresses:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return addresses[host].pop(0) if len(addresses[host]) > 1 else addresses[host][0]

    monkeypatch.setattr(wire, "resolve", resolve)
    return looked_up


# Which addresses are public


@pytest.mark.parametrize(
    "ip",
    [
        "8.8.8.8",
        "1.1.1.1",
        "93.184.216.34",
        "100.63.255.255",
        "100.128.0.0",
        "172.15.255.255",
        "172.32.0.0",
        "192.0.1.1",
        "198.17.255.255",
        "223.255.255.255",
        "2606:2800:220:1:248:1893:25c8:1946",
        "2a00:1450:4001:81b::200e",
        "::ffff:8.8.8.8",
        "64:ff9b::8.8.8.8",
        "2002:808:808::1",
        "2001:0:4136:e378:8000:63bf:f7f7:f7f7",  # Teredo of 8.8.8.8
    ],
)
def test_the_public_internet_is_public(ip: str) -> None:
    assert is_public(ip)


@pytest.mark.parametrize(
    "ip",
    [
        "0.0.0.0",
        "0.1.2.3",
        "10.0.0.1",
        "100.64.0.1",
        "100.100.100.200",
        "100.127.255.255",
        "127.0.0.1",
        "127.255.255.254",
        "168.63.129.16",
        "169.254.169.254",
        "172.16.0.1",
        "172.31.255.255",
        "192.0.0.1",
        "192.0.0.9",
        "192.0.0.192",
        "192.0.2.1",
        "192.88.99.1",
        "192.168.1.1",
        "198.18.0.1",
        "198.19.255.255",
        "198.51.100.1",
        "203.0.113.1",
        "224.0.0.1",
        "239.255.255.255",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::7f00:1",
        "::8.8.8.8",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "::ffff:0:127.0.0.1",
        "64:ff9b::127.0.0.1",
        "64:ff9b::10.1.2.3",
        "64:ff9b:1::8.8.8.8",
        "64:ff9b:1:7f00:0:100::",
        "100::1",
        "2001::1",
        "2001:0:4136:e378:8000:63bf:80ff:fffe",  # Teredo of 127.0.0.1
        "2001:0:7f00:1:8000:63bf:f7f7:f7f7",  # Teredo by way of 127.0.0.1
        "2001:2::1",
        "2001:10::1",
        "2001:20::1",
        "2001:db8::1",
        "2002:7f00:1::1",
        "2002:a00:1::1",
        "2002:c0a8:101::1",
        "3fff::1",
        "5f00::1",
        "4000::1",
        "fc00::1",
        "fd00:ec2::254",
        "fe80::1",
        "fe80::1%eth0",
        "fec0::1",
        "ff02::1",
        "2606:2800:220:1::1%eth0",
        "::ffff:8.8.8.8%eth0",
        "",
        "localhost",
        "8.8.8",
        "08.8.8.8",
    ],
)
def test_everything_else_is_not(ip: str) -> None:
    assert not is_public(ip)


# Addresses


@pytest.mark.parametrize(
    ("url", "same"),
    [
        ("http://a.example", "http://a.example/"),
        ("HTTP://A.Example:80/B?c=D#e", "http://a.example/B?c=D"),
        ("https://a.example.:443/", "https://a.example/"),
        ("https://a.example:8443?x", "https://a.example:8443/?x"),
        ("http://bücher.example/ü?ü=ü", "http://xn--bcher-kva.example/%C3%BC?%C3%BC=%C3%BC"),
        ("http://a.example/a b%20c%", "http://a.example/a%20b%20c%"),
        ("http://a.example/<\"'\\^`{|}>", "http://a.example/%3C%22'%5C%5E%60%7B%7C%7D%3E"),
        ("http://１２７．０．０．１/", "http://127.0.0.1/"),
        ("http://127。0。0。1/", "http://127.0.0.1/"),
        ("http://[2A00:0::1]:81/", "http://[2a00::1]:81/"),
        ("http://[fe80::1%25eth0]/", "http://[fe80::1]/"),
        ("http://a_b.example/", "http://a_b.example/"),
    ],
)
def test_an_address_has_one_spelling(url: str, same: str) -> None:
    assert parse(url).url == same
    assert parse(same).url == same


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("", "start with http:// or https://"),
        ("a.example", "start with http:// or https://"),
        ("ftp://a.example/", "start with http:// or https://"),
        ("file:///etc/passwd", "start with http:// or https://"),
        ("javascript:alert(1)", "start with http:// or https://"),
        ("http:///path", "name a host"),
        ("http://", "name a host"),
        ("http:a.example", "name a host"),
        ("http://a b/", "name a host"),
        ("http://a%00b/", "name a host"),
        ("http://a%2eb/", "name a host"),
        ("http://a\\b/", "name a host"),
        ("http://<b>/", "name a host"),
        ("http://" + "a" * 254 + "/", "name a host"),
        ("http://\u202ea/", "name a host"),
        ("http://ü_/", "name a host"),
        ("http://[v1.a]/", "name a host"),
        ("http://[::1", "be a whole web address"),
        ("http://a:99999/", "be a whole web address"),
        ("http://a:b/", "be a whole web address"),
        ("http://a\n.example/", "be free of control characters"),
        ("http://a.example/\x1b[31m", "be free of control characters"),
        ("http://user@a.example/", "not hold a user name or password"),
        ("http://user:secret@a.example/", "not hold a user name or password"),
        ("http://@a.example/", "not hold a user name or password"),
        ("http://a.example\\@b.example/", "not hold a user name or password"),
    ],
)
def test_what_is_no_web_address_is_refused(url: str, reason: str) -> None:
    with pytest.raises(ValueError, match="^" + reason.replace("?", r"\?") + "$"):
        parse(url)
    assert refusal(url) == f"The address must {reason}."


@pytest.mark.parametrize(
    ("location", "end"),
    [
        ("/b", "http://a.example/b"),
        ("b", "http://a.example/x/b"),
        ("../b", "http://a.example/b"),
        ("?q", "http://a.example/x/y?q"),
        ("#only", "http://a.example/x/y?z"),
        ("//b.example/c", "http://b.example/c"),
        ("https://b.example", "https://b.example/"),
        ("/a b", "http://a.example/a%20b"),
        ("/\udcff\udcfe", "http://a.example/%FF%FE"),
        ("HTTPS://B.EXAMPLE/#x", "https://b.example/"),
    ],
)
def test_a_redirect_leads_from_where_it_stands(location: str, end: str) -> None:
    assert join(parse("http://a.example/x/y?z"), location).url == end


ANY_TEXT = strategies.text()
REASONS = ("be ", "name ", "not ", "start ")


@given(ANY_TEXT | ANY_TEXT.map("http://a.example/".__add__) | ANY_TEXT.map("http://".__add__))
def test_any_text_is_an_address_in_one_spelling_or_none(text: str) -> None:
    for place in (attempt(parse, text), attempt(join, parse("http://a.example/b"), text)):
        if isinstance(place, str):
            assert place.startswith(REASONS)
            continue
        assert parse(place.url) == place
        assert re.fullmatch(r"[a-z0-9._:-]+", place.host)
        assert re.fullmatch(r"/[!-~]*", place.target)


def attempt(make: Callable[..., Place], *given: object) -> Place | str:
    try:
        return make(*given)
    except ValueError as error:
        return str(error)


def test_half_a_character_is_no_address() -> None:
    assert refusal("http://a.example/\ud800") == "The address must be a whole web address."


def test_a_long_name_is_cut_in_sentences() -> None:
    assert len(parse("http://" + "a." * 100).shown) == 80


def test_a_host_that_is_none_is_no_exception() -> None:
    assert plain_host("Localhost.") == "localhost"
    with pytest.raises(ValueError, match="name a host"):
        plain_host("*")


# Who is asked


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f.1",
        "0x7f000001",
        "0177.0.0.1",
        "localhost",
        "localhost.",
        "LOCALHOST",
        "0.0.0.0",
        "0",
        "[::1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[64:ff9b::7f00:1]",
        "[fe80::1%25lo]",
        "１２７．０．０．１",
        "ⓛocalhost",
        "169.254.169.254",
    ],
)
def test_nothing_private_is_reached_however_it_is_spelled(web: Web, host: str) -> None:
    with pytest.raises(PrivateAddress, match="leads to a private address"):
        asked(f"http://{host}:{web.port}/", any_private=False)
    assert web.asked == []


def test_one_private_address_among_public_ones_is_enough_to_refuse(monkeypatch: pytest.MonkeyPatch) -> None:
    names(monkeypatch, **{"a.example": [["8.8.8.8", "127.0.0.1"]]})
    with pytest.raises(PrivateAddress):
        asked("http://a.example/", any_private=False)


def test_a_private_host_is_permitted_by_its_name_alone(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    web.serves("/", "here")
    names(monkeypatch, **{"a.example": [[HOST]], "b.example": [[HOST]], HOST: [[HOST]]})
    allowed = {"any_private": False, "private_hosts": ["A.example.", "not a host"]}
    assert asked(f"http://a.example:{web.port}/", **allowed).body == b"here"
    with pytest.raises(PrivateAddress):
        asked(f"http://b.example:{web.port}/", **allowed)
    with pytest.raises(PrivateAddress):
        asked(f"http://{HOST}:{web.port}/", **allowed)


def test_a_redirect_to_a_private_address_is_refused(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    web.serves("/", status=302, location=web.at("/secret"))
    names(monkeypatch, **{"a.example": [[HOST]], HOST: [[HOST]]})
    with pytest.raises(PrivateAddress, match=HOST):
        asked(f"http://a.example:{web.port}/", any_private=False, private_hosts=["a.example"])
    assert web.times("/secret") == 0


def test_a_name_is_looked_up_once_and_pinned(monkeypatch: pytest.MonkeyPatch) -> None:
    with Web("127.0.0.2") as public:
        public.serves("/", "public")
        looked_up = names(monkeypatch, **{"a.example": [["127.0.0.2"], ["127.0.0.1"]]})
        monkeypatch.setattr(wire, "is_public", lambda ip: ip == "127.0.0.2")
        answer = asked(f"http://a.example:{public.port}/", any_private=False)
    assert answer.body == b"public"
    assert looked_up == ["a.example"]
    assert public.asked[0].headers["host"] == f"a.example:{public.port}"


def test_a_redirect_to_a_name_that_was_bound_anew_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with Web("127.0.0.2") as public:
        public.serves("/", status=302, location="/again")
        looked_up = names(monkeypatch, **{"a.example": [["127.0.0.2"], ["127.0.0.1"]]})
        monkeypatch.setattr(wire, "is_public", lambda ip: ip == "127.0.0.2")
        with pytest.raises(PrivateAddress):
            asked(f"http://a.example:{public.port}/", any_private=False)
    assert looked_up == ["a.example"] * 2


def test_the_next_address_is_tried_if_the_first_does_not_answer(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    web.serves("/", "here")
    names(monkeypatch, **{"a.example": [["127.0.0.9", HOST]]})
    assert asked(f"http://a.example:{web.port}/").body == b"here"


@pytest.mark.parametrize(
    ("ips", "turns"),
    [
        (["::1", "::2", "::3", "::4", "1.1.1.1"], ["::1", "1.1.1.1", "::2", "::3", "::4"]),
        (["1.1.1.1", "2.2.2.2", "::1"], ["1.1.1.1", "::1", "2.2.2.2"]),
        (["1.1.1.1", "2.2.2.2"], ["1.1.1.1", "2.2.2.2"]),
    ],
)
def test_both_kinds_of_address_get_their_turn(ips: list[str], turns: list[str]) -> None:
    assert wire.in_turn(ips) == turns


def test_a_name_that_does_not_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    names(monkeypatch)
    assert refusal("http://a.example/?token=secret") == "The name a.example cannot be resolved."


@pytest.mark.parametrize("host", ["a..b", "a" * 70 + ".example", ".", "-"])
def test_a_name_that_cannot_exist(host: str) -> None:
    assert "cannot be resolved" in refusal(f"http://{host}.invalid/")


def test_a_name_server_that_hangs_is_cut_at_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "resolve", lambda _: time.sleep(1))
    assert refusal("http://a.example/", within=0.1) == "a.example took longer than 0.1 seconds."


def test_nobody_listens() -> None:
    assert refusal(f"http://{HOST}:{free_port()}/?token=secret") == f"{HOST} does not answer."


def test_a_machine_without_an_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "resolve", lambda _: [])
    assert refusal("http://a.example/") == "The name a.example cannot be resolved."


@pytest.fixture
def deaf(web: Web) -> Iterator[str]:
    """An address whose connections are never taken, at the port of the website."""
    address = "127.0.0.3"
    with ExitStack() as stack:
        stack.enter_context(socket.create_server((address, web.port), backlog=0))
        for _ in range(4):  # then nobody else is let into the queue
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex((address, web.port))
        yield address


def test_a_machine_that_takes_no_connection(web: Web, deaf: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "CONNECT", 0.4)
    assert refusal(f"http://{deaf}:{web.port}/") == f"{deaf} does not answer."
    web.serves("/", "here")
    names(monkeypatch, **{"a.example": [[deaf, HOST]]})
    assert asked(f"http://a.example:{web.port}/").body == b"here"


# What is asked


def test_a_plain_question(web: Web) -> None:
    web.serves("/feed", "news", x_one="1")
    answer = asked(web.at("/feed?a=b#c"))
    assert (answer.status, answer.body, answer.url, answer.moved_to) == (200, b"news", web.at("/feed?a=b"), None)
    assert answer.headers["x-one"] == "1"
    (question,) = web.asked
    assert question.path == "/feed?a=b"
    assert question.headers.keys() == {"host", "user-agent", "accept-encoding"}
    assert question.headers["accept-encoding"] == "gzip"
    assert question.headers["user-agent"].startswith("Gna/")


def test_headers_of_the_caller_win_but_for_the_host(web: Web) -> None:
    asked(web.at("/"), headers={"User-Agent": "Me/1", "HOST": "evil.example", "Accept-Encoding": "br", "X": "ü"})
    headers = web.asked[0].headers
    assert headers["user-agent"] == "Me/1"
    assert headers["host"] == f"{HOST}:{web.port}"
    assert headers["accept-encoding"] == "gzip"
    assert headers["x"] == "ü"


@pytest.mark.parametrize("content", [b"List-Unsubscribe=One-Click", None])
def test_a_body_is_sent(web: Web, content: bytes | None) -> None:
    web.serves("/", "done")
    assert asked(web.at("/"), method="POST", content=content, headers={"Content-Type": "x/y"}).body == b"done"
    (question,) = web.asked
    assert (question.method, question.body) == ("POST", content or b"")
    assert question.headers["content-length"] == str(len(content or b""))


@pytest.mark.parametrize("value", ["a\r\nb: c", "a\0b"])
def test_a_header_that_is_none_is_never_sent(web: Web, value: str) -> None:
    refusal(web.at("/"), headers={"X": value})
    assert web.asked == []


def test_the_environment_changes_nothing(web: Web, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HTTP_PROXY", f"http://{HOST}:1")
    monkeypatch.setenv("ALL_PROXY", f"http://{HOST}:1")
    (tmp_path / ".netrc").write_text(f"machine {HOST} login ana password secret")
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    web.serves("/", "here")
    assert asked(web.at("/")).body == b"here"
    assert "authorization" not in web.asked[0].headers


# Redirects


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_followed(web: Web, status: int) -> None:
    web.serves("/a", status=status, location="/b#c", set_cookie="a=b")
    web.serves("/b", "end")
    answer = asked(web.at("/a"))
    assert (answer.status, answer.body, answer.url) == (200, b"end", web.at("/b"))
    assert answer.moved_to == (web.at("/b") if status in (301, 308) else None)
    assert "cookie" not in web.asked[1].headers


def test_it_has_moved_only_if_every_redirect_lasts(web: Web) -> None:
    web.serves("/a", status=301, location="/b")
    web.serves("/b", status=302, location="/c")
    web.serves("/c", "end")
    web.serves("/d", status=308, location="/e")
    web.serves("/e", status=301, location="/c")
    assert asked(web.at("/a")).moved_to is None
    assert asked(web.at("/d")).moved_to == web.at("/c")


@pytest.mark.parametrize("how", [{"redirects": 0}, {"method": "POST"}])
def test_a_redirect_can_be_the_answer(web: Web, how: dict[str, Any]) -> None:
    web.serves("/a", status=301, location="/b")
    answer = asked(web.at("/a"), **how)
    assert (answer.status, answer.headers["location"], answer.moved_to) == (301, "/b", None)
    assert web.times("/b") == 0


@pytest.mark.parametrize("status", [300, 304, 305, 306])
def test_other_statuses_of_the_family_are_no_redirects(web: Web, status: int) -> None:
    web.serves("/a", status=status, location="/b")
    assert asked(web.at("/a")).status == status


def test_whoever_asks_may_object_to_where_it_leads(web: Web) -> None:
    web.serves("/", status=302, location="/next")
    web.serves("/next", "here")
    seen: list[str] = []

    def objects(url: str) -> str | None:
        seen.append(url)
        return "it is a trap" if objecting else None

    objecting = False
    assert asked(web.at("/"), why_not=objects).body == b"here"
    objecting = True
    with pytest.raises(LedAstray, match=f"{HOST} redirects to where we do not go: it is a trap"):
        asked(web.at("/"), why_not=objects)
    assert seen == [web.at("/next")] * 2
    assert web.times("/next") == 1


def test_too_many_redirects(web: Web) -> None:
    for number in range(7):
        web.serves(f"/{number}", status=302, location=f"/{number + 1}")
    web.serves("/7", "end")
    assert asked(web.at("/2")).body == b"end"
    assert refusal(web.at("/1")) == f"{HOST} redirects more than 5 times."
    assert asked(web.at("/6"), redirects=1).body == b"end"


def test_redirects_in_a_circle(web: Web) -> None:
    web.serves("/a", status=302, location="/b")
    web.serves("/b", status=302, location="/a")
    web.serves("/c", status=302, location="#here")
    assert refusal(web.at("/a")) == f"{HOST} redirects in a circle."
    assert refusal(web.at("/c")) == f"{HOST} redirects in a circle."
    assert len(web.asked) == 3


@pytest.mark.parametrize(
    ("location", "reason"),
    [
        ("", "be given"),
        ("   ", "be given"),
        ("ftp://a.example/", "start with http:// or https://"),
        ("file:///etc/passwd", "start with http:// or https://"),
        ("http://ana:secret@a.example/", "not hold a user name or password"),
        ("http://[::1", "be a whole web address"),
        ("http://a b/", "name a host"),
        ("http://a:port/", "be a whole web address"),
        ("http://a\tb/", "be free of control characters"),
    ],
)
def test_a_redirect_to_nowhere(web: Web, location: str, reason: str) -> None:
    web.serves("/a", status=301, location=location)
    assert refusal(web.at("/a")) == f"The address that {HOST} redirects to must {reason}."


def test_a_redirect_without_a_location(web: Web) -> None:
    web.serves("/a", status=301)
    assert "must be given" in refusal(web.at("/a"))


@pytest.mark.parametrize(
    ("location", "path"),
    [(b"/caf\xc3\xa9", "/caf%C3%A9"), (b"/caf\xe9", "/caf%E9"), (b"/a b?c d", "/a%20b?c%20d"), (b"/%C3%A9", "/%C3%A9")],
)
def test_a_redirect_in_any_writing(location: bytes, path: str) -> None:
    heard: list[bytes] = []

    def does(connection: socket.socket) -> None:
        heard.append(connection.recv(65536).split(b" ")[1])
        moved = b"HTTP/1.1 302 Found\r\nLocation: " + location + b"\r\nContent-Length: 0\r\n\r\n"
        connection.sendall(moved if heard == [b"/"] else OK + b"Content-Length: 0\r\n\r\n")

    with Raw(does) as server:
        asked(server.at("/"))
    assert heard == [b"/", path.encode()]


def test_what_was_meant_for_one_server_is_not_told_to_another(web: Web) -> None:
    headers = {"Authorization": "secret", "X-Key": "secret", "Accept": "a/b", "If-None-Match": '"1"'}
    with Web() as other:
        web.serves("/a", status=302, location="/b")
        web.serves("/b", status=302, location=other.at("/c"))
        asked(web.at("/a"), headers=headers)
        assert web.asked[1].headers["authorization"] == "secret"
        assert "secret" not in other.asked[0].headers.values()
        assert other.asked[0].headers["accept"] == "a/b"
        assert other.asked[0].headers["if-none-match"] == '"1"'


# What comes back


def packed(*parts: bytes) -> bytes:
    # Without the time, of which tests would have their names.
    return b"".join(gzip.compress(part, mtime=0) for part in parts)


@pytest.mark.parametrize(
    ("body", "encoding", "unpacked"),
    [
        (b"plain", "identity", b"plain"),
        (b"plain", "", b"plain"),
        (packed(b"news"), "gzip", b"news"),
        (packed(b"news"), "X-GZIP", b"news"),
        (packed(b"one ", b"two ", b"three"), "gzip", b"one two three"),
        (packed(b"one ") + b"\0" * 100 + packed(b"two"), "gzip", b"one two"),
        (packed(b"news") + b"\0" * 100, "gzip", b"news"),
        (packed(b"news") + b"rubbish", "gzip", b"news"),
        (packed(b"x" * 1_000_000), "gzip", b"x" * 1_000_000),
        (packed(b""), "gzip", b""),
        (b"", "gzip", b""),
    ],
)
def test_an_answer_is_unpacked(web: Web, body: bytes, encoding: str, unpacked: bytes) -> None:
    web.serves("/", body, content_encoding=encoding)
    assert asked(web.at("/")).body == unpacked


@pytest.mark.parametrize("size", [1, 7, 64])
def test_an_answer_is_unpacked_however_it_is_cut(size: int) -> None:
    body = packed(b"one " * 100, b"two " * 100)
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    chunks = [b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces]
    head = OK + b"Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n"
    with Raw(says(head, *chunks, b"0\r\n\r\n")) as server:
        assert asked(server.at("/")).body == b"one " * 100 + b"two " * 100


@pytest.mark.parametrize("encoding", ["deflate", "br", "zstd", "gzip, gzip", "gzip,identity", "aes128gcm", "<b>"])
def test_an_answer_that_is_packed_otherwise_is_refused(web: Web, encoding: str) -> None:
    web.serves("/", zlib.compress(b"news"), content_encoding=encoding)
    assert refusal(web.at("/")) == f"{HOST} packs its answer in a way that was not asked for."


@pytest.mark.parametrize(
    "body",
    [
        packed(b"news" * 100)[:-1],
        packed(b"news" * 100)[:12],
        packed(b"news")[:1],
        packed(b"one") + packed(b"two")[:-3],
        b"plain",
        packed(b"news" * 100)[:-8] + b"\0" * 8,
        zlib.compress(b"news"),
    ],
)
def test_a_damaged_answer_is_refused(web: Web, body: bytes) -> None:
    web.serves("/", body, content_encoding="gzip")
    assert refusal(web.at("/")) == f"The packed answer of {HOST} is damaged."


@pytest.mark.parametrize("largest", [1000, 2**20])
def test_an_answer_may_be_as_large_as_permitted_and_no_larger(web: Web, largest: int) -> None:
    web.serves("/fits", b"x" * largest)
    web.serves("/large", b"x" * (largest + 1))
    web.serves("/packed/fits", packed(b"x" * largest), content_encoding="gzip")
    web.serves("/packed/large", packed(b"x" * (largest + 1)), content_encoding="gzip")
    for path in ("/fits", "/packed/fits"):
        assert len(asked(web.at(path), largest=largest).body) == largest
    for path in ("/large", "/packed/large"):
        size = "1 MB" if largest == 2**20 else "1000 bytes"
        assert refusal(web.at(path), largest=largest) == f"The answer of {HOST} is larger than {size}."


def test_an_answer_that_says_that_it_is_large_is_not_read() -> None:
    with Raw(says(OK + b"Content-Length: 99999999\r\n\r\n")) as server:
        assert refusal(server.at("/")) == f"The answer of {HOST} is larger than 10 MB."


def test_an_endless_answer_is_cut(web: Web) -> None:
    def endless(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.end_headers()
        while True:
            handler.wfile.write(b"x" * 100_000)

    web.answers("/", endless)
    assert refusal(web.at("/")) == f"The answer of {HOST} is larger than 10 MB."


def test_many_small_members_that_unpack_to_nothing_are_counted() -> None:
    with Raw(says(OK + b"Content-Encoding: gzip\r\n\r\n", packed(b"") * 1000)) as server:
        assert refusal(server.at("/"), largest=1000) == f"The answer of {HOST} is larger than 1000 bytes."


def a_bomb(megabytes: int) -> bytes:
    """Zeros, packed a thousand times. A full flush makes every block the same, so that one is enough to make all."""
    packer = zlib.compressobj(9, wbits=31)
    first, block = (packer.compress(bytes(2**20)) + packer.flush(zlib.Z_FULL_FLUSH) for _ in range(2))
    return first + block * (megabytes - 1)


@contextmanager
def memory_below(limit: int) -> Iterator[None]:
    tracemalloc.start()
    try:
        yield
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < limit


def test_a_bomb_is_cut_before_it_fills_the_memory(web: Web) -> None:
    bomb = a_bomb(9000)
    assert len(bomb) < 10 * 2**20
    web.serves("/", bomb, content_encoding="gzip")
    with memory_below(40 * 2**20):
        assert refusal(web.at("/")) == f"The answer of {HOST} is larger than 10 MB."


def test_many_tiny_chunks_weigh_no_more_than_what_they_hold() -> None:
    chunks = b"2\r\nxy\r\n" * 19_000
    with (
        Raw(says(OK + b"Transfer-Encoding: chunked\r\n\r\n", chunks, b"0\r\n\r\n")) as server,
        memory_below(2**20),
    ):
        assert len(asked(server.at("/")).body) == 38_000


def crumbles(connection: socket.socket) -> None:
    connection.sendall(OK + b"Transfer-Encoding: chunked\r\n\r\n")
    while True:
        connection.sendall(b"1\r\na\r\n" * 10_000)


def says_wait(connection: socket.socket) -> None:
    while True:
        connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n" * 100)


# Others get their turn after every few crumbs, and every few kilobytes of nothing.
@pytest.mark.parametrize(("does", "least"), [(crumbles, 200), (says_wait, 6)])
def test_a_flood_of_crumbs_is_cut_and_keeps_nobody_waiting(does: Callable[[socket.socket], None], least: int) -> None:
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async def ask_beside_others(url: str) -> None:
        beside = asyncio.create_task(others())
        try:
            await ask(url, any_private=True, within=20)
        finally:
            beside.cancel()

    with Raw(does) as server, pytest.raises(Unreachable, match="in too many pieces"):
        asyncio.run(ask_beside_others(server.at("/")))
    assert turns > least


# Servers that misbehave


@pytest.mark.parametrize(
    ("said", "body"),
    [
        (b"HTTP/1.0 200 OK\r\n\r\nnews", b"news"),
        (b"HTTP/1.1 200\r\n\r\nnews", b"news"),
        (OK + b"\r\nnews until the end", b"news until the end"),
        (OK + b"Transfer-Encoding: chunked\r\n\r\n2;x=y\r\nne\r\n2\r\nws\r\n0\r\nTrailer: x\r\n\r\n", b"news"),
        (b"HTTP/1.1 100 Continue\r\n\r\n" * 3 + OK + b"Content-Length: 4\r\n\r\nnews", b"news"),
        (b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + OK + b"Content-Length: 4\r\n\r\nnewsletter", b"news"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", b""),
        (b"HTTP/1.1 404 Not Found\r\nContent-Encoding: br\r\nContent-Length: 99999999\r\n\r\n", b""),
        (b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: upgrade\r\n\r\n", None),
        (OK + b"X-\xff: a\r\n\r\n", None),
        (OK + b"X: \xff\xfe\r\nContent-Length: 0\r\n\r\n", b""),
        (OK + b"Content-Length: 10\r\n\r\nnews", None),
        (OK + b"Content-Length: -1\r\n\r\nnews", None),
        (OK + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nnews", None),
        (OK + b"Content-Length: " + b"9" * 50 + b"\r\n\r\n", None),
        (OK + b"Transfer-Encoding: chunked\r\n\r\nzz\r\nnews\r\n", None),
        (OK + b"Transfer-Encoding: chunked\r\n\r\n4\r\nne", None),
        (OK + b"Transfer-Encoding: chunked\r\n\r\n4\r\nnews\r\n", None),
        (OK + b"Transfer-Encoding: gzip, chunked\r\n\r\n", None),
        (OK + b"X: " + b"x" * 200_000 + b"\r\n\r\n", None),
        (OK + b"X: x\r\n" * 100_000, None),
        (OK + b"no colon\r\n\r\n", None),
        (b"HTTP/1.1 2000 OK\r\n\r\n", None),
        (b"HTTP/1.1 abc OK\r\n\r\n", None),
        (b"HTTP/9.9 200 OK\r\n\r\n", b""),
        (b"SSH-2.0-OpenSSH_9.2\r\n", None),
        (b"220 mail.example ESMTP\r\n", None),
        (b"\x15\x03\x01\x00\x02\x02", None),
        (b"\0" * 1000, None),
        (b"HTTP/1.1 200 OK\r\nContent-", None),
        (b"", None),
    ],
)
def test_whatever_a_server_says_is_an_answer_or_one_sentence(said: bytes, body: bytes | None) -> None:
    with Raw(says(said)) as server:
        if body is None:
            assert refusal(server.at("/?token=secret")).startswith(("The answer of 127", "127.0.0.1 "))
        else:
            assert asked(server.at("/")).body == body


@settings(max_examples=150)
@given(data=strategies.data())
def test_whatever_else_a_server_says(data: strategies.DataObject) -> None:
    heads = [b"", OK, OK + b"Transfer-Encoding: chunked\r\n\r\n", OK + b"Content-Encoding: gzip\r\n\r\n\x1f\x8b\x08"]
    said = data.draw(strategies.sampled_from(heads)) + data.draw(strategies.binary(max_size=200))
    with Raw(says(said)) as server, suppress(Unreachable):
        asked(server.at("/"))


def drips(connection: socket.socket, begins: bytes = b"\r\n") -> None:
    connection.recv(65536)
    connection.sendall(OK + begins)
    while True:
        connection.sendall(b"x")
        time.sleep(0.05)


def drips_headers(connection: socket.socket) -> None:
    drips(connection, begins=b"X: ")


def is_silent(connection: socket.socket) -> None:
    while connection.recv(65536):
        pass


@pytest.mark.parametrize("does", [drips, drips_headers, is_silent])
def test_a_slow_server_is_cut_at_the_deadline(does: Callable[[socket.socket], None]) -> None:
    begun = time.monotonic()
    with Raw(does) as server:
        assert refusal(server.at("/"), within=0.3) == f"{HOST} took longer than 0.3 seconds."
    assert time.monotonic() - begun < 3


def test_the_deadline_is_for_all_redirects_together(web: Web) -> None:
    def slow(handler: BaseHTTPRequestHandler) -> Page:
        time.sleep(0.2)
        return Page(b"", 302, {"Location": handler.path + "x"})

    for number in range(5):
        web.answers("/" + "x" * number, slow)
    assert refusal(web.at("/"), within=0.5) == f"{HOST} took longer than 0.5 seconds."


def test_whoever_asks_can_stop_asking() -> None:
    async def give_up(url: str) -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await ask(url, any_private=True)

    with Raw(is_silent) as server:
        asyncio.run(give_up(server.at("/")))


def test_a_server_that_resets_the_connection() -> None:
    def resets(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")

    with Raw(resets) as server:
        assert refusal(server.at("/")) == f"{HOST} hung up in the middle."


# Encryption


def test_an_encrypted_answer_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    certificate = certificates.make(tmp_path, names="DNS:a.example")
    shown: list[str | None] = []
    context = certificate.for_server()
    context.sni_callback = lambda _, name, __: shown.append(name)
    names(monkeypatch, **{"a.example": [[HOST]], "b.example": [[HOST]]})
    with Web(tls=context) as web:
        web.serves("/", "secret")
        tls = certificate.for_client()
        assert asked(f"https://A.example.:{web.port}/", tls=tls).body == b"secret"
        assert shown == ["a.example"]
        sentence = refusal(f"https://b.example:{web.port}/", tls=tls)
        assert sentence.startswith("The certificate of b.example is not valid: Hostname mismatch")
        assert "does not" not in sentence


def test_who_skims_reads_the_beginning_of_any_body(web: Web) -> None:
    web.serves("/large", b"abc" * 1_000_000)
    web.serves("/packed", gzip.compress(b"abc" * 1_000_000), content_encoding="gzip")
    web.serves("/cut", gzip.compress(b"abc")[:-4], content_encoding="gzip")
    web.serves("/odd", b"abc", content_encoding="br")
    web.serves("/broken", b"abc", content_encoding="gzip")
    heard = {path: asked(web.at(path), skim=True, largest=5).body for path in ("/large", "/packed", "/cut", "/odd")}
    assert heard == {"/large": b"abcab", "/packed": b"abcab", "/cut": b"abc", "/odd": b"abc"}
    assert asked(web.at("/broken"), skim=True).body == b""
    assert asked(web.at("/large"), skim=True, largest=0).body == b""


def test_who_skims_does_not_wait_for_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "SKIM", 0.2)

    def begins(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(OK + b"Content-Length: 100\r\n\r\nabc")
        connection.recv(65536)

    with Raw(begins) as server:
        answer = asked(server.at("/"), skim=True)
        assert (answer.status, answer.body) == (200, b"abc")


@pytest.mark.parametrize(
    ("expired", "trusted", "reason"),
    [(True, True, "certificate has expired"), (False, False, "self-signed certificate")],
)
def test_a_certificate_that_does_not_verify(tmp_path: Path, expired: bool, trusted: bool, reason: str) -> None:
    certificate = certificates.make(tmp_path, expired=expired)
    tls = certificate.for_client() if trusted else None
    with Web(tls=certificate.for_server()) as web:
        sentence = refusal(web.at("/"), tls=tls)
        assert sentence == f"The certificate of {HOST} is not valid: {reason}."
        assert web.asked == []


def test_a_redirect_from_encrypted_to_plain_carries_nothing_secret(tmp_path: Path, web: Web) -> None:
    certificate = certificates.make(tmp_path)
    with Web(tls=certificate.for_server()) as encrypted:
        encrypted.serves("/", status=301, location=web.at("/"))
        web.serves("/", "plain")
        answer = asked(encrypted.at("/"), tls=certificate.for_client(), headers={"Authorization": "secret"})
    assert (answer.body, answer.moved_to) == (b"plain", web.at("/"))
    assert "authorization" not in web.asked[0].headers


def test_a_plain_server_where_an_encrypted_one_should_be(web: Web) -> None:
    assert refusal(web.at("/").replace("http:", "https:")) == f"{HOST} cannot be spoken to encrypted."


def test_an_encrypted_server_where_a_plain_one_should_be(tmp_path: Path) -> None:
    with Web(tls=certificates.make(tmp_path).for_server()) as web:
        assert refusal(web.at("/").replace("https:", "http:")).startswith(HOST)


def test_a_handshake_that_does_not_end_is_cut_at_the_deadline() -> None:
    with Raw(is_silent) as server:
        assert "took longer" in refusal(server.at("/", scheme="https"), within=0.3)


def test_a_handshake_that_is_hung_up_on() -> None:
    with Raw(says()) as server:
        assert refusal(server.at("/", scheme="https")).startswith(HOST)


def test_old_encryption_is_refused(tmp_path: Path) -> None:
    context = certificates.make(tmp_path).for_server()
    with pytest.warns(DeprecationWarning, match="TLSv1_1 is deprecated"):
        context.maximum_version = ssl.TLSVersion.TLSv1_1
    with Web(tls=context) as web:
        assert refusal(web.at("/")) == f"{HOST} cannot be spoken to encrypted."


def test_who_does_not_ask_does_not_carry_the_library() -> None:
    code = "import sys, gna.outside, gna.kinds; sys.exit(bool({'httpx2', 'httpcore2', 'h11'} & sys.modules.keys()))"
    assert run([sys.executable, "-c", code]).returncode == 0
