"""Footers of all kinds: the ways out that they offer are found, and no other address is taken for one."""

import pytest

from gna.inbox import methods
from gna.inbox.offers import in_body, of_mail
from gna.inbox.ways import Link
from tests.inbox.footers import MAIL, OUT, PAGES, SHOP, TEXTS, Footer

HEAD = "From: news@shop.example\r\nList-Unsubscribe: <mailto:leave@shop.example>\r\nContent-Type: text/{}\r\n\r\n{}"


def urls(links: tuple[Link, ...]) -> set[str]:
    return {link.url for link in links}


@pytest.mark.parametrize("footer", TEXTS, ids=lambda footer: footer.name)
def test_a_text_offers_the_ways_out_that_its_words_are_about(footer: Footer) -> None:
    assert urls(in_body(b"", footer.text)) == footer.expected


@pytest.mark.parametrize("footer", PAGES, ids=lambda footer: footer.name)
def test_a_page_offers_the_ways_out_that_its_words_are_about(footer: Footer) -> None:
    assert urls(in_body(footer.html.encode(), "")) == footer.expected


@pytest.mark.parametrize("footer", TEXTS, ids=lambda footer: footer.name)
def test_windows_line_ends_and_a_margin_change_nothing(footer: Footer) -> None:
    assert urls(in_body(b"", f"Hello!\r\n\r\n{footer.text}\n".replace("\n", "\r\n"))) == footer.expected


def best_way(body: str, kind: str = "plain; charset=utf-8") -> tuple[str, str]:
    """The method and the address by which a reader would leave, where the header offers a mail."""
    offers, _ = of_mail(HEAD.format(kind, body).encode())
    best = methods.ways(offers, sender="shop.example")[0]
    return best.method, best.url


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("plain", "You may unsubscribe at any time.\nFollow us on https://twitter.com/shop"),
        ("plain", f"You may unsubscribe at any time.\nManage your preferences: {SHOP}"),
        ("html", f'<p>You may unsubscribe at any time. Our shop is <a href="{SHOP}">here</a>.</p>'),
        ("html", f'<p><a href="{SHOP}">Manage preferences</a></p>'),
    ],
)
def test_a_doubtful_link_does_not_outrank_the_header(kind: str, body: str) -> None:
    assert best_way(body, kind) == ("email_reply", "mailto:leave@shop.example")


def test_a_page_to_leave_by_outranks_a_mail_of_the_header() -> None:
    assert best_way(f"Unsubscribe: {OUT}") == ("http_get", OUT)


def test_preferences_are_the_second_best_where_the_header_offers_nothing() -> None:
    assert urls(in_body(b"", f"Manage your preferences: {SHOP}")) == {SHOP}
    assert urls(in_body(f'<a href="{OUT}">Unsubscribe</a>'.encode(), f"Manage your preferences: {SHOP}")) == {OUT}


FLOWED = (
    "You get this letter because you asked for it. If you no longer \r\n"
    "wish to receive it, visit the page of our \r\n"
    f"Reading Club at {OUT} \r\n"
    "and confirm.\r\n"
)
SPLIT = f"Unsubscribe: {OUT[:30]} \r\n{OUT[30:]}\r\n"


def test_lines_that_flow_are_one_sentence() -> None:
    assert best_way(FLOWED, "plain; charset=utf-8; format=flowed") == ("http_get", OUT)


def test_an_address_may_be_split_where_spaces_are_deleted() -> None:
    assert best_way(SPLIT, 'plain; format="Flowed"; DelSp=yes') == ("http_get", OUT)


def test_a_mail_may_be_the_way_out_of_a_reference() -> None:
    assert urls(in_body(b"", f"To leave this list write to us [12].\n\n[12] {MAIL}")) == {MAIL}
