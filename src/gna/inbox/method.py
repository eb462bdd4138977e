"""What a method is: how a way out is recognised, and how it is gone. Each is one file in `methods/`."""

from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, replace
from enum import StrEnum

from gna.inbox.safety import judge
from gna.inbox.ways import Link, Offers, Way


@dataclass(frozen=True, slots=True)
class Mail:
    """The mail that a link stands in: what all of it offers, and what is known of its surroundings."""

    offers: Offers
    # The addresses in the List-Unsubscribe fields.
    header_urls: tuple[str, ...] = ()
    # Hosts that the rules on addresses spare.
    allowed: Collection[str] = ()
    # The domain that the mail came from, if somebody knows it.
    sender: str = ""


class What(StrEnum):
    """What became of it, more honest than success or failure."""

    # A server said 2xx to a POST; a page was opened; a mail server took our mail.
    ACCEPTED = "accepted"
    PAGE_OPENED = "page_opened"
    SENT = "sent"
    # It was not done: we were sent elsewhere, or refused.
    REDIRECTED = "redirected"
    REFUSED = "refused"
    # Nobody knows: no answer came that says more.
    UNKNOWN = "unknown"


DONE = {What.ACCEPTED, What.PAGE_OPENED, What.SENT}


@dataclass(frozen=True, slots=True)
class Outcome:
    """How it ended, in one sentence and with the server's code if it gave one."""

    what: What
    message: str
    code: int | None = None
    # What somebody should know of a success: it stays with the attempt.
    hint: str | None = None

    @property
    def is_success(self) -> bool:
        """Whether it counts as unsubscribed."""
        return self.what in DONE


@dataclass(frozen=True, slots=True)
class Errand:
    """All that is needed to go one way."""

    way: Way
    # Whose mailbox it is, the server that it is on, and the one that takes mails from there.
    email: str
    imap_url: str | None = None
    smtp_url: str | None = None
    secret: str | None = None
    private_hosts: frozenset[str] = frozenset()
    # Seconds.
    within: float = 30


@dataclass(frozen=True, slots=True)
class Method:
    """One kind of way out."""

    name: str
    # The lowest is the best.
    rank: int
    # What an attempt is recorded as.
    recorded: str
    # The way that a link is by this method, judged; None if it is none of it.
    recognise: Callable[[Link, Mail], Way | None]
    # What would be done, to finish the sentence "Would …".
    plan: Callable[[Errand], str]
    carry_out: Callable[[Errand], Awaitable[Outcome]]
    # The same way, judged anew with other hosts to spare.
    rejudge: Callable[[Way, Collection[str]], Way] = lambda way, allowed: rejudged(way, allowed)
    # Whether it is by mail, and so needs the account's mail server.
    needs_smtp: bool = False


def judged(
    method: str,
    link: Link,
    mail: Mail,
    *,
    fields: tuple[tuple[str, str], ...] = (),
    warnings: tuple[str, ...] = (),
) -> Way:
    """The way that a link is by this method, with what there is to say against its address."""
    verdict = judge(link.url, fields=fields, allowed=mail.allowed, sender=mail.sender)
    if verdict.error:
        method = "invalid" if verdict.malformed else method
        return Way(method, link.url, link.source, safe=False, error=verdict.error, warnings=warnings, fields=fields)
    return Way(method, link.url, link.source, warnings=(*warnings, *verdict.warnings), fields=fields)


def rejudged(way: Way, allowed: Collection[str]) -> Way:
    """A way on the web, judged anew."""
    verdict = judge(way.url, fields=way.fields, allowed=allowed)
    warnings = dict.fromkeys((*way.warnings, *verdict.warnings))
    return replace(way, safe=verdict.safe, error=verdict.error, warnings=tuple(warnings))


def is_web(url: str) -> bool:
    """Whether it claims to be a web address."""
    return url.lstrip()[:8].lower().startswith(("http:", "https:"))
