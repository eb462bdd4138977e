"""Forms in the HTML of a mail. Most are search boxes; one counts if something about it speaks of leaving."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from gna.inbox import words
from gna.inbox.tags import Attributes, Page, attribute, text_of
from gna.inbox.ways import Form, Link, Source

# More forms, or more to send, are in no mail that somebody wrote; and so many are looked at.
FORMS_MAX = 20
LOOKED_AT = 100
FIELDS_MAX = 100
# What a button says is not longer.
BUTTON_MAX = 1000
# A form that says more is around the whole mail, and its words are not about it.
TEXT_MAX = 400

_CONTROL = re.compile(rb"<(input|button)[\s/>]")
_SENT_AS_THEY_ARE = frozenset({"hidden", "text", "email", "tel", "url", "number"})
_ON_DEMAND = frozenset({"checkbox", "radio"})
_SENDING = frozenset({"submit", "image"})


@dataclass(frozen=True, slots=True)
class _Control:
    kind: str
    name: str
    value: str
    # What a button says.
    label: str = ""
    checked: bool = False


def forms(page: Page) -> list[Link]:
    """The forms that unsubscribe somebody, as they would be sent without anything being typed."""
    found: list[Link] = []
    at = page.low.rfind(b"<form")
    left = LOOKED_AT
    while at >= 0 and left and len(found) < FORMS_MAX:
        link = _form(page, at)
        found += [link] if link else []
        at = page.low.rfind(b"<form", 0, at)
        left -= 1
    return found


def _form(page: Page, at: int) -> Link | None:
    attributes, start = page.tag(at)
    url = page.address(attributes.get(b"action", b""))
    if not url or not page.seen(at):
        return None
    # Not asked of a tree: a form may start between two rows of a table, and there it would be empty.
    closed, following = page.low.find(b"</form", start), page.low.find(b"<form", start)
    end = min(place for place in (closed, following, len(page.low)) if place >= 0)
    controls = list(_controls(page, start, end))
    if not _speaks_of_leaving(url, controls, page.low[start:end]):
        return None
    method = attribute(attributes.get(b"method", b"")).strip().lower()
    return Link(url, Source.HTML, Form("post" if method == "post" else "get", tuple(_sent(controls))))


def _controls(page: Page, start: int, end: int) -> Iterator[_Control]:
    for _ in range(FIELDS_MAX):
        found = _CONTROL.search(page.low, start, end)
        if not found:
            return
        # One within the tag of another is none.
        attributes, start = page.tag(found.start())
        is_button = found[1] == b"button"
        kind = _of(attributes, b"type").lower() or ("submit" if is_button else "text")
        value = _of(attributes, b"value")
        label = _inside(page, start, min(end, start + BUTTON_MAX)) if is_button else value
        said = f"{label} {_of(attributes, b'alt')} {_of(attributes, b'title')}"
        yield _Control(kind, _of(attributes, b"name"), value, words.normal(said), b"checked" in attributes)


def _inside(page: Page, start: int, last: int) -> str:
    return text_of(page.low[start : max(page.low.find(b"</button", start, last), start)])


def _of(attributes: Attributes, name: bytes) -> str:
    return attribute(attributes.get(name, b"")).strip()


def _speaks_of_leaving(url: str, controls: list[_Control], inside: bytes) -> bool:
    if words.address_says(words.LEAVE_URL, url):
        return True
    for control in controls:
        if control.kind in _SENDING and words.leaving(control.label):
            return True
        if control.kind == "hidden" and words.LEAVE_URL.said(f"{control.name} {control.value}".lower()):
            return True
    text = words.normal(text_of(inside))
    return len(text) <= TEXT_MAX and words.leaving(text)


def _sent(controls: list[_Control]) -> Iterator[tuple[str, str]]:
    """The fields that are filled in, and the button that says it best."""
    for control in controls:
        if not control.name:
            continue
        if control.kind in _SENT_AS_THEY_ARE and (control.value or control.kind == "hidden"):
            yield control.name, control.value
        elif control.kind in _ON_DEMAND and control.checked:
            yield control.name, control.value or "on"
    buttons = [control for control in controls if control.kind == "submit"]
    button = next((button for button in buttons if words.leaving(button.label)), buttons[0] if buttons else None)
    if button and button.name:
        yield button.name, button.value
