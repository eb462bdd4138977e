"""The language that a reader sees: the operator's choice, or the best match for the browser's."""

import gettext
import io
import re
from datetime import datetime
from functools import cache
from pathlib import Path

from starlette.requests import Request

from gna.web.ground import ground

LOCALE = Path(__file__).parent / "locale"
ENGLISH = "en"
LANGUAGES = (ENGLISH, "ro")
RANGE = re.compile(
    r"\s*(?P<language>en|ro|\*)(?:-[a-z0-9-]+)?\s*(?:;\s*q=(?P<quality>0(?:\.\d{0,3})?|1(?:\.0{0,3})?)\s*)?", re.I
)

# The reasons that reach a reader on a page; the API says them in English.
REASONS = (
    "Email is required",
    "Email is not a valid address",
    "Email already registered",
    "Nickname must be 1–50 characters",
    "Nickname must not start or end with a space",
    "Nickname contains characters that cannot be shown",
    "The form cannot be read: its charset is wrong",
    "Invalid token",
    "Token expired",
    "Without sign-in, /admin answers only to a browser on this machine",
    "Another site must not change anything here",
)


def language_of(request: Request) -> str:
    """The language in which this visitor is answered."""
    accepted = ",".join(request.headers.getlist("accept-language"))
    return ground(request).settings.gna_language or best_match(accepted)


def best_match(accepted: str) -> str:
    """The best of our languages for an Accept-Language header; what cannot be understood is passed over."""
    wishes: dict[str, float] = {}
    for found in filter(None, map(RANGE.fullmatch, accepted.split(","))):
        language = found["language"].lower()
        wishes[language] = max(wishes.get(language, 0), float(found["quality"] or 1))
    anything = wishes.pop("*", 0)
    # Of equal wishes the first one named wins, so ours come behind.
    wishes |= {language: anything for language in LANGUAGES if language not in wishes}
    best = max(wishes, key=wishes.__getitem__)
    return best if wishes[best] else ENGLISH


def translated(text: str, language: str) -> str:
    """The text in that language, or as it is if nobody has translated it."""
    return catalog(language).gettext(text)


def day(moment: datetime, language: str) -> str:
    """The day, written out as people of that language do."""
    from babel.dates import format_date

    return str(format_date(moment, "long", language))


@cache
def catalog(language: str) -> gettext.NullTranslations:
    """The translations into one language, read when the first reader needs them."""
    if language == ENGLISH:
        return gettext.NullTranslations()
    # Here and not above: a server that only speaks English never pays for it.
    from babel.messages import Catalog, mofile, pofile

    messages = Catalog(locale=language)
    for path in sorted((LOCALE / language).glob("*.po")):
        with path.open("rb") as file:
            for message in pofile.read_po(file, locale=language):
                messages[message.id] = message
    compiled = io.BytesIO()
    mofile.write_mo(compiled, messages)
    compiled.seek(0)
    return gettext.GNUTranslations(compiled)
