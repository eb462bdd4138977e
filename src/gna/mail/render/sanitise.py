"""What of a publisher's HTML may stand in a mail."""

import re
from collections.abc import Callable

from gna.errors import Refused
from gna.mail.render.allowed import ATTRIBUTES, GONE, LINKS, PROPERTIES, SCHEMES, SPOKEN, TAGS, names
from gna.mail.render.fields import Words
from gna.mail.render.links import absolute

# A value with one of these could load something, run something, or end the attribute's rule.
UNSAFE = re.compile(r"[\\<>{}@]|/\*|expression|script", re.IGNORECASE)
# The only functions in values: others could load something, or will in the browsers of next year.
FUNCTION = re.compile(r"([\w-]*)\s*\(")
FUNCTIONS = names("rgb rgba hsl hsla calc")
# Browsers leave these out of an address, wherever they stand.
NOT_IN_LINKS = re.compile(r"[\t\n\r]")
# The composer looks so far back for the beginning of a link.
LONGEST_LINK = 1500
ATTRIBUTES_WRITTEN = r'((?: [^\s="<>/]+="[^"]*")*)'
OPENING = re.compile(rf"<([a-z][a-z0-9]*){ATTRIBUTES_WRITTEN}>")
# A table that has a head is one to be read; others only hold things in their places.
DATA = re.compile(rf"<table{ATTRIBUTES_WRITTEN}>(?=\s*<thead)")
GROUND = re.compile(r"""[";]background|[ ]bgcolor=""")
INK = re.compile(r"""[";]color:|[ ]color=""")
# So much of a link must be the publisher's own before a reader's value may follow.
RESTED = re.compile(r"https?://[^/?#]+[/?#]|mailto:|tel:|/(?!/)|[?#]", re.IGNORECASE)


def sanitised(html: str, words: Words, base_url: str) -> str:
    """The HTML with nothing in it that runs, loads by itself or hides; its links absolute."""
    import nh3

    if words.are_tags(html):
        raise Refused("A merge field cannot be the name of a tag; take away the < before it")
    complaints: list[str] = []

    def attribute(_tag: str, name: str, value: str) -> str | None:
        value = NOT_IN_LINKS.sub("", value).strip() if name in LINKS else value
        field = words.among(value)
        if field and (why := _why_not(name, value, words)):
            complaints.append(f"The merge field {{{{ {field[0].name} }}}} cannot stand {why}")
        if name == "style":
            return style(value)
        return _link(value) if name in LINKS else value

    def _link(url: str) -> str | None:
        return url if url.startswith("#") or words.first(url) == 0 else absolute(url, base_url)

    clean = nh3.clean(
        html,
        tags=TAGS,
        clean_content_tags=GONE,
        attributes=ATTRIBUTES,
        attribute_filter=attribute,
        strip_comments=True,
        link_rel=None,
        url_schemes=SCHEMES,
    )
    if complaints:
        raise Refused(complaints[0])
    return each_tag(_marked, DATA.sub(r'<table class="data"\1>', clean))


def _marked(tag: re.Match[str]) -> str:
    """The tag, marked if it has colours of its own, so that a template can keep it readable in the dark.

    A link that lacks one of the two is marked as well: Outlook understands no `:not(.own)`.
    """
    marks = _marks(has_ground=bool(GROUND.search(tag[2])), has_ink=bool(INK.search(tag[2])))
    if tag[1] == "a" and "own" not in marks:
        marks.append("link")
    return f'<{tag[1]} class="{" ".join(marks)}"{tag[2]}>' if marks else tag[0]


def _marks(*, has_ground: bool, has_ink: bool) -> list[str]:
    if has_ground and has_ink:
        return ["own"]
    if has_ground:
        return ["light"]
    return ["inked"] if has_ink else []


def _why_not(name: str, value: str, words: Words) -> str | None:
    """Where a word stands in an attribute in which no value is safe, or None if it may."""
    if name in SPOKEN:
        return None
    if name not in LINKS:
        return f"in the attribute {name}; put it into the text"
    if len(value) > LONGEST_LINK:
        return f"in a link of more than {LONGEST_LINK:,} characters; shorten the link"
    first = words.first(value) or 0
    if value[:first].strip() == "" and words.among(value)[0].name.endswith("_url"):
        return None
    return None if RESTED.match(value[:first].strip()) else "at the beginning of a link; write the address before it"


def style(written: str) -> str | None:
    """The declarations that mail clients understand and that load nothing."""
    kept = []
    for declaration in written.split(";"):
        name, _, value = (part.strip() for part in declaration.partition(":"))
        if name.lower() in PROPERTIES and value and _is_harmless(value):
            kept.append(f"{name.lower()}:{' '.join(value.split())}")
    return ";".join(kept) or None


def _is_harmless(value: str) -> bool:
    return not UNSAFE.search(value) and all(name in FUNCTIONS for name in FUNCTION.findall(value.lower()))


def each_tag(change: Callable[[re.Match[str]], str], clean: str) -> str:
    """Sanitised HTML with each opening tag changed; the sanitiser writes a tag always in the same way."""
    return OPENING.sub(change, clean)
