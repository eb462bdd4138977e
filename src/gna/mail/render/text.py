"""The text part of a mail, from its sanitised HTML."""

import html
import re
from itertools import takewhile

from gna.mail.render.allowed import APART, BLOCKS, names

# The sanitiser writes every tag in this way, and `<` nowhere else.
TAG = re.compile(r'<(/?)([a-z][a-z0-9]*)((?: [^\s="<>/]+="[^"]*")*)>')
ATTRIBUTE = re.compile(r' ([^\s="<>/]+)="([^"]*)"')
UNDERLINES = {"h1": "=", "h2": "-"}
STRUCK = names("del s strike")
LONGEST_UNDERLINE = 60
# Deeper than this, an indent says nothing any more.
DEEPEST = 6
SPACE = re.compile(r"[ \t\n\xa0]+")
EMPTY_LINES = re.compile(r"\n\s*\n")


def as_text(fragment: str) -> str:
    """The text of sanitised HTML, as a person would have typed it."""
    writer = _Writer()
    end = 0
    for tag in TAG.finditer(fragment):
        if tag.start() > end:
            writer.say(html.unescape(fragment[end : tag.start()]))
        end = tag.end()
        if tag[1]:
            writer.close(tag[2])
        else:
            writer.open(
                tag[2], {name: html.unescape(value) for name, value in ATTRIBUTE.findall(tag[3])} if tag[3] else {}
            )
    writer.say(html.unescape(fragment[end:]))
    return writer.text()


def prose(fragment: str, length: int) -> str:
    """How sanitised HTML begins to be read, without links, pictures and bullets."""
    # Far more than is needed, most of which may be tags, so that a long text costs nothing.
    beginning = fragment[: length * 100]
    said = TAG.sub(lambda tag: " " if tag[2] in BLOCKS or tag[2] in ("br", "td", "th") else "", beginning)
    return html.unescape(said.partition("<")[0])


class _Writer:
    """Writes down what it is told, tag by tag."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._inline: list[str] = []
        self._apart = False
        self._pre = 0
        self._indents: list[str] = []
        self._last: list[str] = []
        self._bullet = ""
        self._lists: list[int | None] = []
        self._links: list[tuple[int, str]] = []

    def text(self) -> str:
        self._flush()
        return "\n".join(self._lines).strip("\n")

    def say(self, data: str) -> None:
        self._inline.append(data if self._pre else SPACE.sub(" ", data))

    def open(self, name: str, attributes: dict[str, str]) -> None:
        if name in BLOCKS:
            self._break(name)
        if name == "br":
            self._inline.append("\n")
        elif name == "img" and (alt := attributes.get("alt", "").strip()):
            self._inline.append(f"[{alt}]")
        elif name == "a":
            self._links.append((len(self._inline), attributes.get("href", "")))
        elif name == "pre":
            self._pre += 1
        elif name in STRUCK:
            self._inline.append("~~")
        elif name in ("td", "th"):
            self._next_cell()
        elif name == "blockquote":
            self._indents.append("> ")
        elif name == "dd":
            self._indents.append("  ")
        elif name in ("ul", "ol"):
            start = attributes.get("start", "1")
            self._lists.append((int(start) if start.isdecimal() and len(start) < 6 else 1) if name == "ol" else None)
        elif name == "li":
            self._item()
        elif name == "hr":
            self._inline.append("* * *")
            self._break(name)

    def close(self, name: str) -> None:
        if name == "a":
            self._end_link()
        elif name in STRUCK:
            self._inline.append("~~")
        elif name in UNDERLINES:
            self._underline(UNDERLINES[name])
        if name in BLOCKS or name == "tr":
            self._break(name)
        if name == "pre":
            self._pre -= 1
        elif name in ("blockquote", "dd", "li") and self._indents:
            self._indents.pop()
            self._bullet = "" if name == "li" else self._bullet
        elif name in ("ul", "ol") and self._lists:
            self._lists.pop()

    def _next_cell(self) -> None:
        while self._inline and not self._inline[-1].strip():
            self._inline.pop()
        if self._inline:
            self._inline.append(" | ")

    def _item(self) -> None:
        number = self._lists[-1] if self._lists else None
        self._bullet = "- " if number is None else f"{number}. "
        if number is not None:
            self._lists[-1] = number + 1
        self._indents.append(" " * len(self._bullet))

    def _end_link(self) -> None:
        start, href = self._links.pop() if self._links else (0, "")
        said, where = "".join(self._inline[start:]).strip(), href.removeprefix("mailto:").removeprefix("tel:")
        if where and not where.startswith("#") and said not in (href, where):
            self._inline.append(f" ({where})" if said else where)

    def _underline(self, line: str) -> None:
        said = "".join(self._inline).strip()
        if said:
            self._inline.append("\n" + line * min(len(said), LONGEST_UNDERLINE))

    def _break(self, name: str) -> None:
        """End the line here; what stands apart has an empty one around it, unless it is a list in a list."""
        self._flush()
        if name in APART and not (name in ("ul", "ol") and self._lists):
            self._apart = True

    def _flush(self) -> None:
        if not self._inline:
            return
        said, self._inline = "".join(self._inline), []
        self._links = [(0, href) for _, href in self._links]
        if not said.strip():
            return
        if self._apart and self._lines:
            self._lines.append(self._between() if self._last else "")
        self._apart, self._last = False, [*self._indents]
        if self._pre:
            self._lines += map(self._indented, said.strip("\n").split("\n"))
        else:
            self._lines += (self._indented(line.strip()) for line in EMPTY_LINES.sub("\n\n", said.strip()).split("\n"))

    def _between(self) -> str:
        """The empty line between two paragraphs; in a quotation it is quoted too."""
        shared = takewhile(lambda pair: pair[0] == pair[1], zip(self._last, self._indents, strict=False))
        return "".join([indent for indent, _ in shared][:DEEPEST]).rstrip()

    def _indented(self, line: str) -> str:
        if not self._indents:
            return line.rstrip()
        indents = self._indents[:DEEPEST]
        if self._bullet and len(self._indents) <= DEEPEST:
            indents = [*indents[:-1], self._bullet]
        self._bullet = ""
        return ("".join(indents) + line).rstrip()
