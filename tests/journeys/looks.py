"""How every page must be, in all its looks."""

from typing import Literal

from axe_playwright_python.sync_playwright import Axe, AxeResults
from playwright.sync_api import Page

AXE = Axe()
# Each theme once and each layout once. Colours do not depend on the width, and the layout does not
# depend on the theme, so the two other combinations would find nothing new.
LOOKS: tuple[tuple[Literal["light", "dark"], int], ...] = (("light", 1200), ("dark", 390))
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
# Of the rules that axe leaves off: who says the words on a button must reach it by them (WCAG 2.5.3).
OPTIONS = {"resultTypes": ["violations"], "rules": {"label-content-name-mismatch": {"enabled": True}}}


def accessible(page: Page) -> None:
    """Axe finds no violation and nothing scrolls sideways, in light and in dark, wide and on a phone."""
    # Styles and scripts are a part of how a page looks; on a slow machine they arrive after its text.
    page.wait_for_load_state()
    # Half a megabyte of script: once for all looks.
    page.evaluate(AXE.axe_script)
    for scheme, width in LOOKS:
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": 800})
        results = AxeResults(page.evaluate("options => axe.run(options)", OPTIONS))
        report = results.generate_report() if results.violations_count else ""
        assert not report, f"{page.url} {scheme} {width}: {report}"
        overflow = page.evaluate(OVERFLOW)
        assert overflow == 0, f"{page.url} scrolls sideways at {width}"
