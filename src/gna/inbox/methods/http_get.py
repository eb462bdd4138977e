"""HTTP GET: a page is opened. That is what any web address is for, unless something says otherwise."""

from urllib.parse import parse_qsl, urlencode

from gna import log
from gna.inbox.method import Errand, Mail, Method, Outcome, is_web, judged
from gna.inbox.methods.one_click import why_not
from gna.inbox.safety import LONGEST
from gna.inbox.ways import Form, Link, Source, Way

logger = log.get(__name__)


def recognise(link: Link, mail: Mail) -> Way | None:
    """Any web address; its parameters are what a form would send."""
    if not is_web(link.url):
        return None
    if link.form:
        return judged("http_get", Link(_submitted(link.url, link.form), link.source), mail, fields=link.form.fields)
    if "?" not in link.url:
        logger.debug("nothing says how to leave by this address, so opening it is assumed", source=link.source)
    doubt = why_not(mail) if link.source is Source.HEADER else None
    return judged("http_get", link, mail, fields=_parameters(link.url), warnings=(doubt,) if doubt else ())


def _submitted(url: str, form: Form) -> str:
    """The page that a form leads to: its fields take the place of what the address asks, as in a browser."""
    before = url.partition("#")[0].partition("?")[0]
    return f"{before}?{urlencode(form.fields, errors='replace')}" if form.fields else url


def _parameters(url: str) -> tuple[tuple[str, str], ...]:
    query = url.partition("#")[0].partition("?")[2]
    return tuple(parse_qsl(query, keep_blank_values=True)) if query and len(url) <= LONGEST else ()


def plan(errand: Errand) -> str:
    """What would be done."""
    return f"request {errand.way.url}"


async def carry_out(errand: Errand) -> Outcome:
    """Open the page, wherever on the public internet it has moved to."""
    from gna.inbox.request import get

    return await get(errand)


METHOD = Method("http_get", 3, "http_get", recognise, plan, carry_out)
