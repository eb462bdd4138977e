"""The last lines of a bulk mail: whoever gets it can always leave and look after what is known of them."""

import re

from gna.mail.content import Content, names_in

# Unsubscribe, profile, archive; by language.
WORDS = {
    "en": ("Unsubscribe", "Manage your profile", "Read in the browser"),
    "ro": ("Dezabonare", "Profilul dumneavoastră", "Citiți în browser"),
}
# What nobody sees does not count.
COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
STYLE = "margin:32px 0 0;font:13px/1.5 sans-serif;color:#666;text-align:center"


def with_footer(content: Content, language: str) -> Content:
    """The content with the links that it lacks, at its end."""
    return Content(content.subject, _html(content.html, language), _text(content.text, language))


def _missing(text: str, language: str) -> list[tuple[str, str]]:
    """The slots that nobody put into the text, with the words for each."""
    leave, profile, _ = WORDS.get(language, WORDS["en"])
    here = set(names_in(COMMENT.sub("", text)))
    return [(slot, words) for slot, words in (("unsubscribe_url", leave), ("profile_url", profile)) if slot not in here]


def _html(text: str, language: str) -> str:
    links = [f'<a href="{{{{ {slot} }}}}" style="color:#666">{words}</a>' for slot, words in _missing(text, language)]
    if not links:
        return text
    footer = f'<p style="{STYLE}">{" &middot; ".join(links)}</p>\n'
    ends = [found.start() for found in re.finditer(r"</body\s*>", text, re.IGNORECASE)]
    at = ends[-1] if ends else len(text)
    return text[:at] + footer + text[at:]


def _text(text: str, language: str) -> str:
    links = [f"{words}: {{{{ {slot} }}}}\n" for slot, words in _missing(text, language)]
    return f"{text.rstrip()}\n\n--\n{''.join(links)}" if links else text
