"""A campaign's sanitised HTML, made ready to stand on a web page. In it `<` begins a tag and nothing else."""

import html
import re

from gna.lines import shortened
from gna.mail.render.allowed import BLOCKS

EXCERPT = 200
HEADING = re.compile(r"<(/?)h([1-6])\b")
WHOLE_HEADING = re.compile(r"<h([1-6])\b[^<]*(?:<(?!/h\1>)[^<]*)*</h\1>")
WIDE = re.compile(r'<(/?)(?:table|pre)\b(?:[^">]|"[^"]*")*>')
PICTURE = re.compile(r'<img\b((?:[^">]|"[^"]*")*)>')
TAG = re.compile(r'</?([a-z][a-z0-9]*)(?:[^">]|"[^"]*")*>')
# Where one word ends and another begins without a space between them.
APART = BLOCKS | {"br", "img", "td", "th", "tr"}


def page_ready(fragment: str, title: str) -> str:
    """The fragment below a page's title: with headings of the second level on, what is wide in a box, lazy pictures."""
    return PICTURE.sub(_picture, _scrolling(_levelled(_without(title, fragment))))


def beginning(fragment: str) -> str:
    """How the fragment begins, in plain words; without its headings, if there is anything else."""
    return shortened(_plain(WHOLE_HEADING.sub(" ", fragment)) or _plain(fragment), EXCERPT)


def _plain(fragment: str) -> str:
    return " ".join(html.unescape(TAG.sub(lambda tag: " " if tag[1] in APART else "", fragment)).split())


def _without(title: str, fragment: str) -> str:
    """The fragment without its first heading, if that only says the title again."""
    first = WHOLE_HEADING.match(fragment.lstrip())
    return fragment.lstrip()[first.end() :] if first and _plain(first[0]) == title else fragment


def _levelled(fragment: str) -> str:
    """Whatever levels the headings have, they follow the title without a gap."""
    levels = sorted({found[2] for found in HEADING.finditer(fragment)})
    return HEADING.sub(lambda found: f"<{found[1]}h{min(levels.index(found[2]) + 2, 6)}", fragment)


def _scrolling(fragment: str) -> str:
    """Each table and each piece of code, unless it is inside another, in a box that a keyboard can scroll too."""
    depth = 0

    def boxed(tag: re.Match[str]) -> str:
        nonlocal depth
        depth += -1 if tag[1] else 1
        if tag[1]:
            return f"{tag[0]}</div>" if depth == 0 else tag[0]
        return f'<div class="wide" tabindex="0">{tag[0]}' if depth == 1 else tag[0]

    return WIDE.sub(boxed, fragment)


def _picture(tag: re.Match[str]) -> str:
    """Its host does not learn where it is shown, and those who cannot see it do not hear its file name."""
    alt = "" if ' alt="' in tag[1] else ' alt=""'
    return f'<img{tag[1]}{alt} loading="lazy" referrerpolicy="no-referrer">'
