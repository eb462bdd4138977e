"""Fetching a feed: only if it changed, and whatever its server says becomes one sentence."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from http import HTTPStatus

from gna import __version__, clock
from gna.errors import PrivateAddress, Unreachable
from gna.kinds import feed_address
from gna.outside import Answer, ask
from gna.outside.place import join, parse

ACCEPT = (
    "application/atom+xml, application/rss+xml, application/feed+json, application/rdf+xml;q=0.9, "
    "application/xml;q=0.8, text/xml;q=0.8, application/json;q=0.7, */*;q=0.1"
)
FETCHED = {HTTPStatus.OK, HTTPStatus.NON_AUTHORITATIVE_INFORMATION, HTTPStatus.NO_CONTENT}
ASKED_TOO_MUCH = {HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE}
LONGEST_WAIT = timedelta(days=1)
VALIDATOR_MAX = 500
LINK = re.compile(r'<([^<>]{1,2000})>((?:[^,"]|"[^"]*")*)')
PARAMETER = re.compile(r';\s*([^\s=;"]+)\s*=\s*("[^"]*"|[^;"]*)')

WHAT_TO_DO = {
    HTTPStatus.UNAUTHORIZED: "it wants a password that Gna does not have: give the address of a public feed",
    HTTPStatus.FORBIDDEN: "it refuses us: ask who runs it to let Gna in",
    HTTPStatus.GONE: "the feed is gone for good: remove it, or give its new address",
    HTTPStatus.TOO_MANY_REQUESTS: "it is asked too often, and is left alone for a while",
}


@dataclass(frozen=True)
class Known:
    """What the server called the feed that we have: given back as it was, quotes and `W/` included."""

    etag: str | None = None
    last_modified: str | None = None


@dataclass(frozen=True)
class Fetched:
    """A feed that is new to us, not read yet."""

    body: bytes
    content_type: str
    # Who answered, after all redirects.
    url: str
    known: Known
    # Where the feed lives from now on, if the server says so.
    moved_to: str | None
    # Who can tell us of new entries (WebSub), and under which name it knows the feed.
    hub: str | None
    topic: str | None


class FetchFailed(Unreachable):
    """There is no feed to be had now; the message says why and what to do."""

    def __init__(self, message: str, *, retry_after: timedelta | None = None) -> None:
        super().__init__(message)
        # How long the server wants to be left alone.
        self.retry_after = retry_after


async def fetch(
    url: str, known: Known, *, own: bool, any_private: bool, contact: str, fresh: bool = False
) -> Fetched | None:
    """The feed, or None if it is as we know it; raises FetchFailed.

    `own` is for the operator's FEED_URL: its host may be private. `contact` is where our own readers find us.
    `fresh` asks past the caches on the way, for when somebody told us that there is news.
    """
    asked = _validators(known)
    headers = {"Accept": ACCEPT, "User-Agent": f"Gna/{__version__} (+{contact})"} | asked
    if fresh:
        headers["Cache-Control"] = "no-cache"
    try:
        answer = await ask(url, headers=headers, private_hosts=_host(url) if own else (), any_private=any_private)
    except PrivateAddress as error:
        reason = str(error).rstrip(".")
        raise FetchFailed(f"{reason}; if feeds may live there, set FEEDS_ALLOW_PRIVATE=true.") from None
    except Unreachable as error:
        raise FetchFailed(str(error)) from None
    if answer.status == HTTPStatus.NOT_MODIFIED and asked:
        return None
    if answer.status not in FETCHED:
        raise _failure(answer)
    return _fetched(answer)


def retry_after(value: str, *, now: datetime) -> timedelta | None:
    """How long a server wants to be left alone, at most a day; None if it does not say it so that we understand."""
    text = value.strip()
    if re.fullmatch(r"[0-9]+", text):
        return min(timedelta(seconds=int(text[:9])), LONGEST_WAIT)
    try:
        moment = parsedate_to_datetime(text)
        wait = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - now
    except (ValueError, TypeError, OverflowError):
        return None
    return max(timedelta(), min(wait, LONGEST_WAIT))


def links(header: str, url: str) -> dict[str, str]:
    """The first address of each relation in the Link headers of an answer from `url`."""
    found: dict[str, str] = {}
    for target, rest in LINK.findall(header):
        address = _absolute(target, url)
        for name in _relations(rest) if address else ():
            found.setdefault(name, address)
    return found


def _relations(parameters: str) -> list[str]:
    """The words of the first `rel`; the others do not count."""
    given = [value for name, value in PARAMETER.findall(parameters) if name.lower() == "rel"]
    return given[0].strip('" ').lower().split() if given else []


def _host(url: str) -> tuple[str, ...]:
    try:
        return (parse(url.strip()).host,)
    except ValueError:
        return ()  # whoever asks says what is wrong with it


def _absolute(target: str, url: str) -> str:
    try:
        return join(parse(url), target.strip()).url
    except ValueError:
        return ""


def _fetched(answer: Answer) -> Fetched:
    related = links(answer.headers.get("link", ""), answer.url)
    return Fetched(
        body=answer.body,
        content_type=answer.headers.get("content-type", ""),
        url=answer.url,
        known=Known(_sound(answer.headers.get("etag")), _sound(answer.headers.get("last-modified"))),
        moved_to=_kept(answer.moved_to),
        hub=related.get("hub"),
        topic=related.get("self"),
    )


def _kept(moved_to: str | None) -> str | None:
    """What could not be given to us as an address is not taken from a server either."""
    try:
        return feed_address(moved_to) if moved_to else None
    except ValueError:
        return None


def _validators(known: Known) -> dict[str, str]:
    given = {"If-None-Match": _sound(known.etag), "If-Modified-Since": _sound(known.last_modified)}
    return {name: value for name, value in given.items() if value}


def _sound(value: str | None) -> str | None:
    if not value or len(value) > VALIDATOR_MAX or re.search(r"[\x00-\x1f\x7f]", value):
        return None
    return value


def _failure(answer: Answer) -> FetchFailed:
    wait = None
    if answer.status in ASKED_TOO_MUCH:
        wait = retry_after(answer.headers.get("retry-after", ""), now=clock.now())
    said = f"{parse(answer.url).shown} answered {_named(answer.status)}"
    return FetchFailed(f"{said}; {_advice(answer.status)}.", retry_after=wait)


def _named(status: int) -> str:
    """The number with its usual words; what the server says instead could be anything."""
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)


def _advice(status: int) -> str:
    if status in WHAT_TO_DO:
        return WHAT_TO_DO[HTTPStatus(status)]
    if status >= 500:
        return "it is asked again later"
    if status == HTTPStatus.NOT_MODIFIED:
        return "that is no answer to a first question, and it is asked again later"
    return "check the address of the feed"
