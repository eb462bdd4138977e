"""Mails look right in the programs that people read them with."""

import re
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser

from gna.mail.render import Draft, Frame, compose
from tests.mail.render.test_campaign import ANA, FRAME, SAMPLES, Tags, sample

# Written by hand after what caniemail.com tells, not generated from it: properties that Gmail, Outlook for Windows and
# Apple Mail support at least in part, and the ones of which one of these clients needs its own spelling.
SUPPORTED = set(
    """
    background background-color border border-bottom border-bottom-color border-collapse border-color border-left
    border-left-color border-radius border-right border-spacing border-style border-top border-top-color border-width
    clear color direction display float font font-family font-size font-style font-variant font-weight height
    letter-spacing line-height list-style list-style-position list-style-type margin margin-bottom margin-left
    margin-right margin-top max-height max-width min-width opacity overflow padding padding-bottom padding-left
    padding-right padding-top table-layout text-align text-decoration text-indent text-transform vertical-align
    white-space width word-break word-spacing -webkit-text-size-adjust -ms-text-size-adjust mso-line-height-rule
    mso-table-lspace mso-table-rspace -ms-interpolation-mode outline
    """.split()  # noqa: SIM905
)
# Clients that ignore these show the same mail, hardly different.
HARMLESS = {"border-radius", "letter-spacing", "max-height", "max-width", "opacity", "word-break", "white-space"}
COLOURS = """
<p style="background:#fff3c4">A note on a colour of its own, with <a href="https://example.org">a link</a></p>
<p style="color:#333333">Dark words</p> <p style="background:#203040;color:#ffffff">On blue <a href="/x">a link</a></p>
<p><a href="https://example.org" style="background:#3452c7;color:#ffffff;padding:8px">A button</a></p>
"""


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_every_property_is_one_that_mail_clients_know(path: Path) -> None:
    html = compose(sample(path), FRAME).html
    for _, attrs in Tags(html).tags:
        for declaration in (dict(attrs).get("style") or "").split(";"):
            assert declaration.partition(":")[0].strip() in SUPPORTED | HARMLESS | {""}


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_a_mail_loads_nothing_but_the_pictures_of_its_publisher(path: Path) -> None:
    html = compose(sample(path), FRAME).html
    styles = "".join(re.findall(r"<style[^>]*>(.*?)</style>", html, re.DOTALL))
    assert set(re.findall(r"@[\w-]+", styles)) == {"@media"}
    assert not re.search(r"url\(|@import|<link|<script|background=", html)
    pictures = [dict(attrs)["src"] for tag, attrs in Tags(html).tags if tag == "img"]
    assert len(pictures) == sample(path).body.count("![" if path.suffix == ".md" else "<img")


@pytest.mark.parametrize("width", [700, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_it_fits_the_screen_and_can_be_read(browser: Browser, path: Path, scheme: str, width: int) -> None:
    draft = sample(path)
    html = compose(Draft(draft.subject, draft.body + COLOURS, draft.body_format), FRAME).merged(ANA).html
    context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 800})  # type: ignore[arg-type]
    context.route("**/*", lambda route: route.fulfill(body=PICTURE, content_type="image/svg+xml"))
    page = context.new_page()
    page.set_content(html)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    found = Axe().run(page, options={"runOnly": ["color-contrast", "image-alt", "html-has-lang", "document-title"]})
    context.close()
    assert not found.response["violations"], found.generate_report()


# Wider than any screen.
PICTURE = '<svg xmlns="http://www.w3.org/2000/svg" width="2000" height="500"><rect width="2000" height="500"/></svg>'


def test_the_name_of_the_publication_is_text(browser: Browser) -> None:
    page = browser.new_page()
    page.set_content(compose(sample(SAMPLES[0]), Frame("<b>A & B</b>", "https://news.example.org")).html)
    assert page.locator(".site").inner_text() == "<b>A & B</b>"
    page.close()
