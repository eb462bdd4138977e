"""The width of pictures in a mail.

Outlook for Windows knows no `max-width`, and shows a picture without a `width` attribute in its natural size, however
wide the column is. Other clients follow the styles.
"""

import re

from gna.mail.render.sanitise import each_tag

ATTRIBUTE = re.compile(r' ([^\s="<>/]+)="([^"]*)"')
PIXELS = re.compile(r"\s*(\d{1,5})(?:\.\d+)?\s*(?:px)?\s*")
PERCENT = re.compile(r"\s*(\d{1,3})(?:\.\d+)?\s*%\s*")
# The width of a column as MJML writes it for Outlook, and the padding of the cells inside.
COLUMN = re.compile(r"<td [^>]*?vertical-align:[a-z]+;width:(\d+)px;[^>]*>")
PADDING = re.compile(r"[;\"]padding:([^;\"]+)")
WIDEST = 600


def column_width(before: str) -> int:
    """How wide the column is in which the content stands, by the compiled template before it."""
    columns = [*COLUMN.finditer(before)]
    if not columns:
        return WIDEST
    inside = before[columns[-1].end() :]
    paddings = sum(_left_and_right(found[1]) for found in PADDING.finditer(inside))
    return max(int(columns[-1][1]) - paddings, 1)


def sized(fragment: str, column: int) -> str:
    """Sanitised HTML in which each picture has a width that fits the column, unless its height is all that is known."""

    def with_width(tag: re.Match[str]) -> str:
        return _sized(tag[2], column) if tag[1] == "img" else tag[0]

    return each_tag(with_width, fragment)


def _sized(written: str, column: int) -> str:
    attributes = dict(ATTRIBUTE.findall(written))
    styles = _styles(attributes.get("style", ""))
    # `auto` and the like say nothing; the attribute may.
    widths = (styles.get("width", ""), attributes.get("width", ""))
    said = next((width for width in widths if PIXELS.fullmatch(width) or PERCENT.fullmatch(width)), "")
    if pixels := _matched(PIXELS, said):
        attributes |= _fitting(attributes, pixels, column)
    elif percent := _matched(PERCENT, said):
        attributes["width"] = str(max(column * min(percent, 100) // 100, 1))
        # On a narrow screen it stays a part of the column.
        attributes["style"] = _joined(styles | {"width": f"{percent}%"})
    elif not _matched(PIXELS, styles.get("height") or attributes.get("height", "")):
        attributes["width"] = str(column)
        # For Outlook alone: elsewhere a small picture stays small.
        attributes["style"] = _joined(styles | {"width": "auto"})
    return "<img" + "".join(f' {name}="{value}"' for name, value in attributes.items()) + ">"


def _fitting(attributes: dict[str, str], width: int, column: int) -> dict[str, str]:
    """The width attribute, and the height in proportion if the width had to be cut."""
    if width <= column:
        return {"width": str(width)}
    height = _matched(PIXELS, attributes.get("height", ""))
    scaled = {"height": str(max(height * column // width, 1))} if height else {}
    return {"width": str(column), **scaled}


def _left_and_right(padding: str) -> int:
    """The horizontal part of a padding in its short form: all, vertical and horizontal, or clockwise from the top."""
    sides = [_matched(PIXELS, side) or 0 for side in padding.split()]
    if len(sides) == 4:
        return sides[1] + sides[3]
    return 2 * sides[min(1, len(sides) - 1)]


def _styles(written: str) -> dict[str, str]:
    pairs = (declaration.partition(":") for declaration in written.split(";") if declaration)
    return {name: value for name, _, value in pairs}


def _joined(styles: dict[str, str]) -> str:
    return ";".join(f"{name}:{value}" for name, value in styles.items())


def _matched(pattern: re.Pattern[str], text: str) -> int | None:
    found = pattern.fullmatch(text)
    return int(found[1]) if found else None
