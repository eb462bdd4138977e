"""Where the links of a mail lead, as their publisher wrote them."""

import html
import re
from collections.abc import Iterator
from ipaddress import ip_address
from urllib.parse import urljoin, urlsplit

from gna.mail.render.allowed import SCHEMES
from gna.mail.render.nesting import TAG

HREF = re.compile(
    r"""[ \t\n/"'](?:href|src)[ \t\n]*=[ \t\n]*(?:"([^"]*)"|'([^']*)'|([^> \t\n"'][^> \t\n]*)|(?=[>]))""", re.IGNORECASE
)
WEB = ("http", "https")


def links(unchecked: str) -> Iterator[str]:
    """The links and pictures of HTML that nobody has looked at yet."""
    for tag in TAG.finditer(unchecked):
        if (tag[3] or "").lower() in ("a", "img") and not tag[2] and (found := HREF.search(tag[0])):
            yield html.unescape(found[1] or found[2] or found[3] or "").strip()


def why_broken(link: str) -> str | None:
    """Why a link leads nowhere, or None if it may lead somewhere."""
    if not link:
        return "it is empty"
    if link == "#":
        return "it leads nowhere"
    try:
        parts = urlsplit(link)
        host = parts.hostname or ""
    except ValueError:
        return "it is no address"
    if parts.scheme and parts.scheme not in SCHEMES:
        return f"mails do not open {parts.scheme[:20]}: links"
    if re.search(r"\s", link):
        return "it has spaces in it; write %20 instead"
    if parts.scheme == "mailto" and "@" not in parts.path:
        return "it has no address after mailto:"
    return _why_not_there(host) if parts.scheme in WEB else None


def _why_not_there(host: str) -> str | None:
    if not host:
        return "it has no host"
    try:
        address = ip_address(host)
    except ValueError:
        is_public = "." in host.strip(".") and not host.endswith((".localhost", ".local", ".internal"))
        return None if is_public else f"nobody else can reach {host[:40]}"
    return None if address.is_global else f"nobody else can reach {host[:40]}"


def is_relative(link: str) -> bool:
    """Whether it only leads somewhere from a page of its own."""
    try:
        return not link.startswith("#") and not urlsplit(link).scheme and not link.startswith("//")
    except ValueError:
        return False


def absolute(link: str, base_url: str) -> str | None:
    """Where a link leads from a mail, which is at no address itself; None if nowhere."""
    try:
        whole = link if urlsplit(link).scheme else urljoin(f"{base_url}/", link)
        return whole if urlsplit(whole).scheme in SCHEMES else None
    except ValueError:
        return None
