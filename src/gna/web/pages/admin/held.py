"""Why a campaign waits for a person, in their language."""

import re

from jinja2 import pass_context
from jinja2.runtime import Context

from gna.web.language import translated
from gna.web.pages.admin.campaign_words import in_words
from gna.web.pages.admin.shell import N_
from gna.web.pages.render import templates

# In the words of the rooms that hold it.
WAITS = (
    N_(
        "Nobody is in its audience, so nobody would get it. "
        "Change the audience of this campaign and of its feed, then send or delete it."
    ),
    N_(
        "It could be sent to nobody at all. Mend the cause and try it again (gna campaigns retry), "
        "or let go of it (gna feed skip)."
    ),
)
# Those with something of their own in them.
FILLED = (
    (
        re.compile(r"(?P<new>\d+) of the (?P<all>\d+) posts in the feed look new at once.*"),
        N_(
            "%(new)s of the %(all)s posts in the feed look new at once, as after a move of the site. "
            "Look at it, then send or delete it."
        ),
    ),
    (
        re.compile(r"It was to be sent at (?P<at>[-\d]+ [:\d]+) UTC, and Gna did not run then\..*"),
        N_("It was to be sent at %(at)s UTC, and Gna did not run then. Send it now or choose another time."),
    ),
    (
        re.compile(r"It could not be composed at its time: (?P<why>.+)\. Change it, then send it.*", re.DOTALL),
        N_("It could not be composed at its time: %(why)s. Change it, then send it or choose another time."),
    ),
)


def why_held(reason: str | None, lang: str) -> str | None:
    """The reason in the visitor's language; what nobody has translated stays English."""
    if reason is None:
        return None
    for pattern, text in FILLED:
        if found := pattern.fullmatch(reason):
            return translated(text, lang) % {name: in_words(said, lang) for name, said in found.groupdict().items()}
    return translated(reason, lang)


@pass_context
def _why_held(context: Context, reason: str) -> str | None:
    return why_held(reason, context["lang"])


templates.filters["why_held"] = _why_held
