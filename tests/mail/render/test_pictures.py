"""Pictures fit the column of a mail, in Outlook for Windows too."""

import re

import pytest
from playwright.sync_api import Browser

from gna.mail.render import Draft, Format, Frame, compose
from tests.mail.render.test_campaign import FRAME, Tags

COLUMN = 518
TEMPLATE = """<mjml><mj-body width="{width}px"><mj-section padding="{section}"><mj-column padding="{column}">
<mj-text padding="{text}">{{{{ content }}}}</mj-text></mj-column></mj-section></mj-body></mjml>"""


def picture(attributes: str, frame: Frame = FRAME) -> dict[str, str | None]:
    """The attributes that a picture has in the mail."""
    html = compose(Draft("News", f'<p><img src="https://e.org/a.png" alt="" {attributes}></p>'), frame).html
    [found] = [dict(attrs) for tag, attrs in Tags(html).tags if tag == "img"]
    return found


@pytest.mark.parametrize(
    ("written", "width", "height"),
    [
        ("", COLUMN, None),
        ('width="200"', 200, None),
        ('width="200px" height="100"', 200, "100"),
        ('width="1036" height="500"', COLUMN, "250"),
        ('width="2000"', COLUMN, None),
        ('style="width:300px"', 300, None),
        ('style="width:2000px;border:0"', COLUMN, None),
        ('style="width:50%"', COLUMN // 2, None),
        ('width="100%"', COLUMN, None),
        ('width="200" style="width:auto"', 200, None),
        ('width="nonsense"', COLUMN, None),
        ('width="0"', COLUMN, None),
        ('style="border:1px solid red"', COLUMN, None),
    ],
)
def test_the_width_is_an_attribute_and_fits(written: str, width: int, height: str | None) -> None:
    found = picture(written)
    assert (found["width"], found.get("height")) == (str(width), height)


def test_a_height_alone_keeps_its_proportion() -> None:
    assert "width" not in picture('height="24"')
    assert "width" not in picture('style="height:24px"')


def test_every_picture_of_markdown_has_one() -> None:
    html = compose(Draft("News", "![a](https://e.org/a.png) and ![b](/b.png)", Format.MARKDOWN), FRAME).html
    assert re.findall(r'<img[^>]* width="(\d+)"', html) == [str(COLUMN)] * 2


@pytest.mark.parametrize(
    ("template", "width"),
    [
        (TEMPLATE.format(width=640, section="0", column="0", text="0"), 640),
        (TEMPLATE.format(width=600, section="20px 30px", column="0", text="10px 25px"), 490),
        (TEMPLATE.format(width=600, section="0", column="5px", text="1px 2px 3px 4px"), 584),
    ],
)
def test_the_column_is_that_of_the_template(template: str, width: int) -> None:
    frame = Frame("S", "https://e.org", template=template)
    assert picture("", frame)["width"] == str(width)
    assert picture('width="5000"', frame)["width"] == str(width)


@pytest.mark.parametrize(("screen", "natural", "shown"), [(800, 40, 40), (800, 3000, COLUMN), (390, 3000, 350)])
def test_where_styles_count_a_small_picture_stays_small(
    browser: Browser, screen: int, natural: int, shown: int
) -> None:
    html = compose(Draft("News", "![a](https://e.org/a.png)", Format.MARKDOWN), FRAME).html
    drawn = f'<svg xmlns="http://www.w3.org/2000/svg" width="{natural}" height="{natural}"/>'
    context = browser.new_context(viewport={"width": screen, "height": 800})
    context.route("**/*", lambda route: route.fulfill(body=drawn, content_type="image/svg+xml"))
    page = context.new_page()
    page.set_content(html, wait_until="load")
    assert page.locator("img").evaluate("picture => picture.getBoundingClientRect().width") == shown
    context.close()


def test_no_rule_says_what_it_is_not_for() -> None:
    html = compose(Draft("News", '<a href="https://e.org">x</a>'), FRAME).html
    assert ":not(" not in html
    assert "[data-ogsc] .content a.link" in html
