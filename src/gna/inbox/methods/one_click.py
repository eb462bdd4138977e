"""One-click (RFC 8058): one POST to the address in the header, which says nothing but that somebody wants to leave."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from gna.inbox.method import Errand, Mail, Method, Outcome, judged, rejudged
from gna.inbox.ways import Link, Source, Way

NOT_ENCRYPTED = "One-click needs an encrypted address (https)"
PROMISE = "List-Unsubscribe=One-Click"


def recognise(link: Link, mail: Mail) -> Way | None:
    """The one encrypted address of a header that makes the promise, and makes it once."""
    if link.source is not Source.HEADER or not is_https(link.url):
        return None
    if not mail.offers.list_unsubscribe_post or why_not(mail):
        return None
    return judged("one_click", link, mail)


def why_not(mail: Mail) -> str | None:
    """Why a header is not believed that could be one-click; None if it is, or if it promises nothing."""
    field, post = mail.offers.list_unsubscribe, mail.offers.list_unsubscribe_post
    # A signature holds for the last field of a name: one that was put on top of it is not the sender's.
    if len(field) > 1:
        return f"Not one-click: List-Unsubscribe is there {len(field)} times"
    if len(post) > 1:
        return f"Not one-click: List-Unsubscribe-Post is there {len(post)} times"
    if not post:
        return None
    if post[0].strip() != PROMISE:
        return f"Not one-click: List-Unsubscribe-Post says something else than {PROMISE}"
    return _why_not_one(mail.header_urls)


def _why_not_one(urls: Sequence[str]) -> str | None:
    count = sum(map(is_https, urls))
    if count == 1:
        return None
    return f"Not one-click: List-Unsubscribe has {count or 'no'} https addresses instead of one"


def is_https(url: str) -> bool:
    """Whether it claims to be an encrypted web address."""
    return url.lstrip()[:6].lower() == "https:"


def rejudge(way: Way, allowed: Collection[str]) -> Way:
    """As any address, but never unencrypted: what is sent is a promise that somebody could read."""
    found = rejudged(way, allowed)
    return found if is_https(way.url) else replace(found, safe=False, error=found.error or NOT_ENCRYPTED)


def plan(errand: Errand) -> str:
    """What would be done."""
    return f"send a one-click POST to {errand.way.url}"


async def carry_out(errand: Errand) -> Outcome:
    """Send the promise back, and nothing else; whoever redirects breaks it."""
    from gna.inbox.request import post

    return await post(errand, PROMISE.encode())


METHOD = Method("one_click", 1, "http_post", recognise, plan, carry_out, rejudge)
