"""Which picture of a post is its own."""

import re
from collections.abc import Iterable, Mapping

from gna.feeds.reading.addresses import absolute

# Counters of readers, faces of authors, buttons and smileys: a part of their address, in lower case.
NOT_ITS_OWN = re.compile(
    r"feedburner\.com/~|feedproxy\.google\.com|/(?:pixel|blank|spacer|clear|transparent|1x1)\.(?:gif|png)|/tracking[/.]"
    r"|stats\.wordpress\.com|pixel\.wp\.com|/b\.gif\?|doubleclick\.net|google-analytics\.com|/(?:piwik|matomo)\.php"
    r"|medium\.com/_/stat|gravatar\.com/avatar|/smilies/|s\.w\.org/images/core/emoji|feedsportal\.com|pheedo\.com"
)
NUMBER = re.compile(r"\s{0,5}(\d{1,6})")
# Smaller is a counter, a bullet or the face of its author.
SMALLEST = 48


def first_picture(candidates: Iterable[Mapping[str, object]], *, base: str) -> str | None:
    """The first picture that a reader would see; each is given by its `src` and perhaps its size."""
    for candidate in candidates:
        address = absolute(candidate.get("src"), base=base)
        if address and not _is_tiny(candidate) and not NOT_ITS_OWN.search(address.lower()):
            return address
    return None


def _is_tiny(candidate: Mapping[str, object]) -> bool:
    sizes = (NUMBER.match(str(candidate.get(side) or "")) for side in ("width", "height"))
    return any(size and int(size[1]) < SMALLEST for size in sizes)
