"""How every page must be, in all its looks."""

from axe_playwright_python.sync_playwright import Axe, AxeResults
from playwright.sync_api import Page

AXE = Axe()
# Of the rules that axe leaves off: who says the words on a button must reach it by them (WCAG 2.5.3).
OPTIONS = {"resultTypes": ["violations"], "rules": {"label-content-name-mismatch": {"enabled": True}}}


def accessible(page: Page) -> None:
    """Axe finds no violation and nothing scrolls sideways, in light and in dark, wide and on a phone."""
    # Styles and scripts are a part of how a page looks; on a slow machine they arrive after its text.
    page.wait_for_load_state()
    # Half a megabyte of script: once for all looks.
    page.evaluate(AXE.axe_script)
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        for width in (1200, 390):
            page.set_viewport_size({"width": width, "height": 800})
            results = AxeResults(page.evaluate("options => axe.run(options)", OPTIONS))
            assert results.violations_count == 0, f"{page.url} {scheme} {width}: {results.generate_report()}"
            overflow = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            assert overflow == 0, f"{page.url} scrolls sideways at {width}"
