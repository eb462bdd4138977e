"""The text of a post's HTML, judged by a parser that follows the HTML standard."""

import pytest
from selectolax.lexbor import LexborHTMLParser

from gna.feeds.reading.words import LOOKED_AT, prose

VOID = ["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr"]
LEFT_OPEN = ["applet", "audio", "canvas", "math", "noscript", "object", "select", "svg", "video"]
RAW = ["iframe", "script", "style", "template", "textarea", "title"]


def words_outside(html: str, name: str) -> list[str]:
    """The words that a browser finds outside of these elements."""
    tree = LexborHTMLParser(html)
    for element in tree.css(name):
        element.decompose()
    return tree.body.text(separator=" ").split() if tree.body else []


@pytest.mark.parametrize("name", VOID)
@pytest.mark.parametrize("form", ["<{}>", "<{} src=x>", "<{}/>", "<{} src='x' />", "<{}>\n</{}>"])
def test_a_void_element_swallows_nothing(name: str, form: str) -> None:
    html = f"<p>Before {form.format(name, name)} after</p><p>End</p>"
    assert prose(html).split() == words_outside(html, name) == ["Before", "after", "End"]


@pytest.mark.parametrize("name", LEFT_OPEN)
def test_an_element_that_is_left_open_swallows_nothing(name: str) -> None:
    html = f"<p>Before <{name} src=x></p><p>after</p>"
    assert set(words_outside(html, name)) <= set(prose(html).split())
    assert prose(html).split() == ["Before", "after"]


@pytest.mark.parametrize("name", [*LEFT_OPEN, *RAW])
def test_a_closed_element_goes_with_what_is_in_it(name: str) -> None:
    html = f"<p>Before <{name} src=x>inside</{name}> after</p><p>End</p>"
    assert prose(html).split() == words_outside(html, name) == ["Before", "after", "End"]


@pytest.mark.parametrize("name", [*LEFT_OPEN, *RAW])
def test_the_second_of_two_may_be_left_open(name: str) -> None:
    html = f"<p>One <{name}>inside</{name}> two</p><{name}><p>three</p>"
    said = prose(html).split()
    assert said == (["One", "two"] if name in RAW else ["One", "two", "three"])


@pytest.mark.parametrize("name", RAW)
def test_what_a_browser_reads_as_raw_text_is_never_said(name: str) -> None:
    html = f"<p>Before <{name}> inside</p><p>and on</p>"
    assert prose(html).split() == words_outside(html, name) == ["Before"]


def test_a_long_drawing_whose_end_was_cut_off_says_nothing() -> None:
    drawing = "<svg><text>in a drawing</text>" + "<path d='M0'/>" * LOOKED_AT + "</svg>"
    assert prose(f"<p>Before {drawing} after</p>").split() == ["Before"]
