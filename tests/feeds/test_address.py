import pytest

from gna.errors import CannotStart, Refused
from gna.feeds.address import parse_address
from tests.test_config import load

NOT_ONE = "must be an address that starts with http:// or https://, without a user name or password."


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("https://blog.example.org/feed.xml", "https://blog.example.org/feed.xml"),
        ("  HTTPS://Blog.Example.ORG/Feed.XML?A=B#top ", "https://blog.example.org/Feed.XML?A=B"),
        ("http://blog.example.org", "http://blog.example.org"),
        ("http://blog.example.org:8080/?", "http://blog.example.org:8080/?"),
        ("http://blog.example.org?a//b", "http://blog.example.org?a//b"),
        ("http://Bücher.example/ü", "http://xn--bcher-kva.example/ü"),
        ("http://[::FFFF:1]/", "http://[::ffff:1]/"),
        ("http://127.0.0.1/a@b", "http://127.0.0.1/a@b"),
        ("http://a.org/" + "x" * 1987, "http://a.org/" + "x" * 1987),
    ],
)
def test_an_address_is_kept_in_one_spelling(given: str, kept: str) -> None:
    assert parse_address(given) == kept
    assert parse_address(kept) == kept
    assert load(FEED_URL=given).feed_url == kept


@pytest.mark.parametrize(
    "given",
    [
        "blog.example.org",
        "//blog.example.org/",
        "ftp://blog.example.org/",
        "feed://blog.example.org/",
        "http://",
        "http:///feed",
        "http://user@blog.example.org/",
        "http://user:secret@blog.example.org/",
        "http://a.org/a b",
        "http://a.org/a\tb",
        "http://a.org/a\nb",
        "http://a.org/\x1b[31m",
        "http://a.org/\u202egpj",
        "http://a.org/\u2028x",
        "http://a\\b/",
        "http://[::1",
        "http://a.org:port/",
    ],
)
def test_what_is_no_address_is_refused(given: str) -> None:
    with pytest.raises(Refused) as refused:
        parse_address(given)
    assert str(refused.value) == f"url {NOT_ONE}"
    with pytest.raises(CannotStart, match="FEED_URL must be an address that starts with http:// or https://, without"):
        load(FEED_URL=given)


@pytest.mark.parametrize("given", [None, 7, "", ["http://a.org/"], {"url": "http://a.org"}, b"http://a.org/"])
def test_what_is_no_text_is_refused(given: object) -> None:
    with pytest.raises(Refused, match=r"^url must be an address"):
        parse_address(given)


def test_a_long_address_is_refused() -> None:
    with pytest.raises(Refused, match=r"^url must be at most 2000 characters long\.$"):
        parse_address("http://a.org/" + "x" * 1988)
