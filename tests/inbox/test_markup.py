"""Ways out in HTML: a quick look finds what a parser of the whole page would find."""

import pytest
from hypothesis import example, given, settings

from gna.inbox import markup, words
from tests.inbox import thorough
from tests.inbox.bodies import BODIES


@settings(max_examples=600)
@given(html=BODIES)
@example(html='<a href="https://example.com/u" data-note="a > b">Manage preferences</a>')
@example(html='<!--[if mso]><!-- x --><a href="https://example.com/u">Unsubscribe</a><![endif]-->')
def test_a_quick_look_finds_what_a_thorough_one_finds(html: str) -> None:
    assert list(dict.fromkeys(markup.links(html.encode()))) == list(dict.fromkeys(thorough.links(html)))


@pytest.mark.parametrize("said", words._LEAVE_URL.replace("|", " ").split())
def test_what_an_address_says_is_found_among_its_numbers(said: str) -> None:
    numbers = "".join(f'<a href="https://click.example/{number:064x}">Read on</a>' for number in (7**70, 5**80))
    url = f"https://click.example/0ab1/c{said}f/9e"
    found = markup.links(f'{numbers}<a href="{url}">x</a>{numbers}'.encode())
    assert [link.url for link in found] == [url]
