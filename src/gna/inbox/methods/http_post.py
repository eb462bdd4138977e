"""HTTP POST: a form in the mail, which is sent as it stands there."""

from urllib.parse import urlencode

from gna.inbox.method import Errand, Mail, Method, Outcome, judged
from gna.inbox.ways import Link, Way


def recognise(link: Link, mail: Mail) -> Way | None:
    """A form that says `method="post"`."""
    if link.form is None or link.form.method.strip().lower() != "post":
        return None
    return judged("http_post", link, mail, fields=link.form.fields)


def plan(errand: Errand) -> str:
    """What would be done."""
    names = ", ".join(name for name, _ in errand.way.fields)
    return f"send a POST to {errand.way.url}{f' with {names}' if names else ''}"


async def carry_out(errand: Errand) -> Outcome:
    """Send its fields; where it would redirect to is not followed."""
    from gna.inbox.request import post

    return await post(errand, urlencode(errand.way.fields).encode())


METHOD = Method("http_post", 2, "http_post", recognise, plan, carry_out)
