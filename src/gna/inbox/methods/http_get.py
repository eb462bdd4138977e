"""HTTP GET: a page is opened. That is what any web address is for, unless something says otherwise."""

from urllib.parse import urlencode, urlsplit, urlunsplit

from gna import log
from gna.inbox.method import Errand, Mail, Method, Outcome, is_web, judged
from gna.inbox.methods.one_click import why_not
from gna.inbox.ways import Link, Source, Way

logger = log.get(__name__)


def recognise(link: Link, mail: Mail) -> Way | None:
    """Any web address."""
    if not is_web(link.url):
        return None
    if link.form is None and "?" not in link.url:
        logger.debug("nothing says how to leave by this address, so opening it is assumed", source=link.source)
    doubt = why_not(mail) if link.source is Source.HEADER else None
    fields = link.form.fields if link.form else ()
    return judged("http_get", link, mail, fields=fields, warnings=(doubt,) if doubt else ())


def address(way: Way) -> str:
    """The page that is opened: the fields of a form take the place of what its address asks, as in a browser."""
    return urlunsplit((*urlsplit(way.url)[:3], urlencode(way.fields), "")) if way.fields else way.url


def plan(errand: Errand) -> str:
    """What would be done."""
    return f"request {address(errand.way)}"


async def carry_out(errand: Errand) -> Outcome:
    """Open the page, wherever on the public internet it has moved to."""
    from gna.inbox.request import get

    return await get(errand, address(errand.way))


METHOD = Method("http_get", 3, "http_get", recognise, plan, carry_out)
