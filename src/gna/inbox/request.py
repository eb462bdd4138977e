"""A request to leave, and what its answer means. It carries no cookie, no login and no word of where it comes from."""

import re
from http import HTTPStatus

from gna.errors import LedAstray, PrivateAddress, Unreachable
from gna.inbox.method import Errand, Outcome, What
from gna.inbox.safety import judge
from gna.outside import Answer, ask
from gna.outside.place import parse

REDIRECTS = 5
# Bytes of a page that are looked at for a question.
PAGE = 64 * 1024
FORM = {"Content-Type": "application/x-www-form-urlencoded", "List-Unsubscribe": "One-Click"}
ASKS = re.compile(rb"<form\b|<button\b|<input[^>]{0,200}\btype\s*=\s*[\"']?submit", re.IGNORECASE)
CONFIRM = "The page asks for a confirmation, so open it yourself if mails keep coming"


async def post(errand: Errand, content: bytes) -> Outcome:
    """Send this, and follow nobody."""
    try:
        answer = await ask(
            errand.way.url,
            method="POST",
            headers=FORM,
            content=content,
            private_hosts=errand.private_hosts,
            redirects=0,
            largest=0,
            skim=True,
            within=errand.within,
        )
    except Unreachable as error:
        return _unreached(error)
    return _meaning(answer, What.ACCEPTED)


async def get(errand: Errand) -> Outcome:
    """Open a page; each address that it redirects to is judged as the first one was."""
    try:
        answer = await ask(
            errand.way.url,
            headers={"Accept": "text/html, */*;q=0.1"},
            private_hosts=errand.private_hosts,
            redirects=REDIRECTS,
            why_not=lambda next_url: judge(next_url, allowed=errand.private_hosts).error,
            largest=PAGE,
            skim=True,
            within=errand.within,
        )
    except Unreachable as error:
        return _unreached(error)
    return _meaning(answer, What.PAGE_OPENED)


def _unreached(error: Unreachable) -> Outcome:
    reason = str(error).rstrip(".")
    if isinstance(error, PrivateAddress):
        return Outcome(What.REFUSED, f"{reason}; if it is yours, name its host in INBOX_ALLOW_PRIVATE_HOSTS")
    return Outcome(What.REDIRECTED if isinstance(error, LedAstray) else What.UNKNOWN, reason)


def _meaning(answer: Answer, done: What) -> Outcome:
    said = f"{parse(answer.url).shown} answered {_named(answer.status)}"
    if 200 <= answer.status < 300:
        asks = done is What.PAGE_OPENED and ASKS.search(answer.body)
        return Outcome(done, said, answer.status, hint=CONFIRM if asks else None)
    if 300 <= answer.status < 400:
        return Outcome(What.REDIRECTED, f"{said}; where it redirects to was not followed", answer.status)
    if 400 <= answer.status < 500:
        return Outcome(What.REFUSED, said, answer.status)
    return Outcome(What.UNKNOWN, f"{said}; whether it was done is not known", answer.status)


def _named(status: int) -> str:
    """The number with its usual words; what the server says instead could be anything."""
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)
