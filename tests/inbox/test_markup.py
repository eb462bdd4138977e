"""Ways out in HTML: a quick look finds what a parser of the whole page would find."""

from hypothesis import example, given, settings

from gna.inbox import markup
from tests.inbox import thorough
from tests.inbox.bodies import BODIES


@settings(max_examples=600)
@given(html=BODIES)
@example(html='<a href="https://example.com/u" data-note="a > b">Manage preferences</a>')
@example(html='<!--[if mso]><!-- x --><a href="https://example.com/u">Unsubscribe</a><![endif]-->')
def test_a_quick_look_finds_what_a_thorough_one_finds(html: str) -> None:
    assert list(dict.fromkeys(markup.links(html.encode()))) == list(dict.fromkeys(thorough.links(html)))
