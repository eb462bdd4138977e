import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from gna import clock
from gna.feeds.fetch import Fetched, FetchFailed, Known, fetch, links, retry_after
from gna.outside import wire
from tests.servers import HOST, free_port
from tests.servers.web import Web

NOTHING = Known()
NOW = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
KNOWN = Known('W/"abc"', "Mon, 04 May 2026 10:00:00 GMT")


@pytest.fixture
def web() -> Iterator[Web]:
    with Web() as website:
        yield website


def fetched(url: str, known: Known = NOTHING, **how: Any) -> Fetched | None:
    defaults: dict[str, Any] = {"own": False, "any_private": True, "contact": "https://news.example.org"}
    return asyncio.run(fetch(url, known, **defaults | how))


def new(url: str, known: Known = NOTHING, **how: Any) -> Fetched:
    found = fetched(url, known, **how)
    assert found is not None
    return found


def failure(url: str, known: Known = NOTHING, **how: Any) -> FetchFailed:
    with pytest.raises(FetchFailed) as failed:
        fetched(url, known, **how)
    return failed.value


def test_a_feed_is_fetched_with_what_its_server_calls_it(web: Web) -> None:
    url = web.serves("/feed", "<rss/>", etag='W/"a,b"', last_modified="yesterday", kind="text/xml; charset=x")
    found = new(url)
    assert found == Fetched(
        body=b"<rss/>",
        content_type="text/xml; charset=x",
        url=url,
        known=Known('W/"a,b"', "yesterday"),
        moved_to=None,
        hub=None,
        topic=None,
    )


def test_a_first_question_says_who_we_are_and_what_we_read(web: Web) -> None:
    fetched(web.serves("/feed"))
    headers = web.asked[0].headers
    assert headers["user-agent"].startswith("Gna/")
    assert headers["user-agent"].endswith(" (+https://news.example.org)")
    assert "application/atom+xml" in headers["accept"]
    assert not {"if-none-match", "if-modified-since", "cache-control"} & headers.keys()


def test_a_later_question_gives_back_what_the_server_said(web: Web) -> None:
    url = web.serves("/feed", status=304)
    assert fetched(url, KNOWN) is None
    headers = web.asked[0].headers
    assert (headers["if-none-match"], headers["if-modified-since"]) == (KNOWN.etag, KNOWN.last_modified)


@pytest.mark.parametrize("known", [Known(etag='"a"'), Known(last_modified="x"), Known('"\xff"', "x")])
def test_half_of_it_is_enough(web: Web, known: Known) -> None:
    assert fetched(web.serves("/feed", status=304), known) is None


def test_a_server_that_ignores_what_we_know_gives_the_feed(web: Web) -> None:
    assert new(web.serves("/feed", "<rss/>"), KNOWN).known == Known()


@pytest.mark.parametrize("value", ["", "x" * 501, "a\r\nX-Evil: b", "a\0", "\x7f"])
def test_what_cannot_be_a_validator_is_not_sent(web: Web, value: str) -> None:
    new(web.serves("/feed", "<rss/>"), Known(value, value))
    assert not {"if-none-match", "if-modified-since", "x-evil"} & web.asked[0].headers.keys()


def test_what_cannot_be_a_validator_is_not_kept(web: Web) -> None:
    assert new(web.serves("/feed", etag="x" * 501, last_modified="a\tb")).known == Known()


def test_news_are_asked_for_past_the_caches(web: Web) -> None:
    fetched(web.serves("/feed", status=304), KNOWN, fresh=True)
    assert web.asked[0].headers["cache-control"] == "no-cache"
    assert web.asked[0].headers["if-none-match"] == KNOWN.etag


@pytest.mark.parametrize("status", [200, 203, 204])
def test_an_empty_feed_is_left_to_whoever_reads_it(web: Web, status: int) -> None:
    assert new(web.serves("/feed", status=status)).body == b""


@pytest.mark.parametrize(
    ("status", "sentence"),
    [
        (201, "answered 201 Created; check the address of the feed."),
        (206, "answered 206 Partial Content; check the address of the feed."),
        (226, "answered 226 IM Used; check the address of the feed."),
        (300, "answered 300 Multiple Choices; check the address of the feed."),
        (304, "answered 304 Not Modified; that is no answer to a first question, and it is asked again later."),
        (400, "answered 400 Bad Request; check the address of the feed."),
        (
            401,
            "answered 401 Unauthorized; it wants a password that Gna does not have: give the address of a public feed.",
        ),
        (403, "answered 403 Forbidden; it refuses us: ask who runs it to let Gna in."),
        (404, "answered 404 Not Found; check the address of the feed."),
        (410, "answered 410 Gone; the feed is gone for good: remove it, or give its new address."),
        (429, "answered 429 Too Many Requests; it is asked too often, and is left alone for a while."),
        (500, "answered 500 Internal Server Error; it is asked again later."),
        (503, "answered 503 Service Unavailable; it is asked again later."),
        (599, "answered 599; it is asked again later."),
        (499, "answered 499; check the address of the feed."),
    ],
)
def test_what_a_server_says_instead_is_one_sentence(web: Web, status: int, sentence: str) -> None:
    failed = failure(web.serves("/feed", "<h1>No!</h1>", status=status) + "?token=secret")
    assert str(failed) == f"{HOST} {sentence}"
    assert failed.retry_after is None


@pytest.mark.parametrize("status", [429, 503])
def test_a_server_may_want_to_be_left_alone(web: Web, status: int) -> None:
    assert failure(web.serves("/feed", status=status, retry_after="120")).retry_after == timedelta(minutes=2)
    tomorrow = format_datetime(clock.now() + timedelta(hours=1), usegmt=True)
    waits = failure(web.serves("/feed", status=status, retry_after=tomorrow)).retry_after
    assert waits is not None
    assert timedelta(minutes=59) < waits <= timedelta(hours=1)


@pytest.mark.parametrize(
    ("value", "wait"),
    [
        ("0", timedelta()),
        (" 120 ", timedelta(seconds=120)),
        ("86401", timedelta(days=1)),
        ("9" * 5000, timedelta(days=1)),
        ("Mon, 04 May 2026 12:10:00 GMT", timedelta(minutes=10)),
        ("Mon, 04 May 2026 12:10:00 -0000", timedelta(minutes=10)),
        ("Mon, 04 May 2026 14:10:00 +0200", timedelta(minutes=10)),
        ("Monday, 04-May-26 12:10:00 GMT", timedelta(minutes=10)),
        ("Mon May  4 12:10:00 2026", timedelta(minutes=10)),
        ("Sun, 03 May 2026 12:00:00 GMT", timedelta()),
        ("Mon, 04 May 2099 12:10:00 GMT", timedelta(days=1)),
        ("Mon, 04 May 99999 12:10:00 GMT", None),
        ("Mon, 99 May 2026 12:10:00 GMT", None),
        ("-5", None),
        ("1.5", None),
        ("\xb2", None),
        ("soon", None),
        ("", None),
    ],
)
def test_how_long_a_server_wants_to_be_left_alone(value: str, wait: timedelta | None) -> None:
    assert retry_after(value, now=NOW) == wait


def test_a_feed_that_moved_for_good_says_where(web: Web) -> None:
    web.serves("/old", status=301, location="/new")
    web.serves("/found", status=302, location="/new")
    url = web.serves("/new", "<rss/>")
    assert new(web.at("/old")).moved_to == url
    found = new(web.at("/found"))
    assert (found.url, found.moved_to) == (url, None)


def test_a_new_address_that_nobody_could_give_us_is_not_kept(web: Web) -> None:
    web.serves("/old", status=301, location="/new?" + "x" * 2000)
    web.serves("/new", "<rss/>")
    found = new(web.at("/old"))
    assert (found.body, found.moved_to) == (b"<rss/>", None)


def test_who_answered_is_named_after_a_redirect(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "resolve", lambda _: [HOST])
    web.serves("/old", status=301, location=f"http://other.example:{web.port}/new")
    assert str(failure(web.at("/old"))).startswith("other.example answered 404 Not Found")


@pytest.mark.parametrize("own", [True, False])
def test_a_private_address_is_only_the_operators_to_choose(web: Web, own: bool) -> None:
    url = web.serves("/feed", "<rss/>")
    if own:
        assert new(url, own=True, any_private=False).body == b"<rss/>"
        return
    assert str(failure(url, any_private=False)) == (
        f"{HOST} leads to a private address; if feeds may live there, set FEEDS_ALLOW_PRIVATE=true."
    )
    assert web.asked == []


def test_the_operators_feed_may_move_within_its_host_but_not_to_another_private_one(web: Web) -> None:
    with Web("127.0.0.2") as other:
        web.serves("/near", status=302, location="/feed")
        web.serves("/feed", "<rss/>")
        web.serves("/far", status=302, location=other.serves("/secret"))
        assert new(web.at("/near"), own=True, any_private=False).body == b"<rss/>"
        assert "127.0.0.2 leads to a private address" in str(failure(web.at("/far"), own=True, any_private=False))
        assert other.asked == []


def test_a_server_that_is_away_is_a_failure_too() -> None:
    assert str(failure(f"http://{HOST}:{free_port()}/")) == f"{HOST} does not answer."


@pytest.mark.parametrize("url", ["", "http://[::1", "http://user:secret@a.org/", "nonsense"])
@pytest.mark.parametrize("own", [True, False])
def test_an_address_that_is_none_is_a_failure_too(url: str, own: bool) -> None:
    assert str(failure(url, own=own)).startswith("The address must ")


def test_a_hub_in_the_headers_is_found(web: Web) -> None:
    url = web.serves("/feed", link='<https://hub.example/>; rel="hub", </feed>; rel=self')
    found = new(url)
    assert (found.hub, found.topic) == ("https://hub.example/", url)


@pytest.mark.parametrize(
    ("header", "found"),
    [
        ("", {}),
        ("<https://hub.example/>; rel=hub", {"hub": "https://hub.example/"}),
        ("<https://hub.example/>;REL='x';rel=hub", {"'x'": "https://hub.example/"}),
        (
            '<https://a.example/>; title="a, b; rel=no"; rel="hub x"',
            {"hub": "https://a.example/", "x": "https://a.example/"},
        ),
        ("<https://a.example/>; rel=hub, <https://b.example/>; rel=hub", {"hub": "https://a.example/"}),
        ("<b>; rel=next,<../c>;rel=HUB", {"next": "https://x.example/feed/b", "hub": "https://x.example/c"}),
        ("<javascript:alert(1)>; rel=hub", {}),
        ("<http://u:p@hub.example/>; rel=hub", {}),
        ("<http://[::1>; rel=hub", {}),
        ("<https://hub.example/>", {}),
        ("https://hub.example/; rel=hub", {}),
        ('<https://hub.example/>; rel="hub', {}),
    ],
)
def test_links_are_read(header: str, found: dict[str, str]) -> None:
    assert links(header, "https://x.example/feed/a") == found


@pytest.mark.parametrize("header", ["<" * 100_000, '<a>"' * 25_000, "<a>;" * 25_000, "<a>; rel=" + " " * 100_000])
def test_a_long_header_of_rubbish_takes_no_time(header: str) -> None:
    begun = datetime.now(UTC)
    links(header, "https://x.example/")
    assert datetime.now(UTC) - begun < timedelta(seconds=1)
