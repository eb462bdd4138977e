"""What the rooms below say about a campaign, in the language of the page; and moments and numbers in words."""

import re
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from typing import Any

from jinja2 import pass_context
from jinja2.runtime import Context

from gna.campaigns.states import Sending
from gna.campaigns.wall_clock import Planned
from gna.web.language import ENGLISH, translated
from gna.web.pages.admin.shell import N_
from gna.web.pages.admin.words import moment_of
from gna.web.pages.render import templates

# Reasons and findings as they are said in English, with places for what changes.
TEXTS = (
    N_("Subject is required"),
    N_("Subject is longer than %(most)s characters"),
    N_("Subject must be one line without control characters"),
    N_("Body is required"),
    N_("{{ nickname }} is empty for readers without a nickname; write {{ nickname | friend }} instead"),
    N_("Body is longer than %(most)s characters"),
    N_("The Markdown is longer than %(most)s characters; shorten it, or write HTML"),
    N_("preheader is longer than %(most)s characters"),
    N_("body_text is longer than %(most)s characters"),
    N_("%(what)s contains characters that cannot be stored"),
    N_("A list key is 1–64 letters, digits or - _ . :"),
    N_("Operation not allowed in current state"),
    N_("Somebody changed the campaign meanwhile; look at it again"),
    N_("There is no such campaign"),
    N_("There is no such time zone; choose one of the list: Europe/Bucharest"),
    N_("Choose a day and a time"),
    N_("That moment is over; choose a later one"),
    N_("The clock leaps over this time on that day; choose an earlier or a later one"),
    N_("Nothing is left to be tried again"),
    N_("A merge field is not closed: %(field)s; write }} after its name"),
    N_("Unknown merge field: %(field)s; known are %(known)s"),
    N_("What is said instead of %(field)s cannot hold braces"),
    N_("A merge field cannot be the name of a tag; take away the < before it"),
    N_("The merge field %(field)s cannot stand %(where)s"),
    N_("at the beginning of a link; write the address before it"),
    N_("The HTML is nested too deep, or leaves too many tags open; close every tag that it opens"),
    N_("A tag of the HTML has more than %(most)s attributes; leave some out"),
    N_("A table has more than %(most)s columns; no mail shows so many"),
    N_("The style sheet has too many rules for so long a text; leave out what it does not need"),
    N_("There is no subject; say in a few words what the mail is about"),
    N_("The subject has %(number)s characters; inboxes show at most %(most)s, so make it shorter"),
    N_("There is nothing to read in the body; write something to your readers"),
    N_(
        "%(field)s looks like a merge field of another product; write %(ours)s, or another of our merge fields, instead"
    ),
    N_("The link %(link)s is broken: %(why)s"),
    N_("it is empty"),
    N_("it leads nowhere"),
    N_("it is no address"),
    N_("mails do not open %(scheme)s: links"),
    N_("it has spaces in it; write %%20 instead"),
    N_("it has no address after mailto:"),
    N_("it has no host"),
    N_("nobody else can reach %(host)s"),
    N_("The link %(link)s will lead to %(where)s; write the whole address to be sure"),
    N_("There are %(number)s more such links; look at them too"),
    N_('1 picture has no alt text; say %(where)s what it shows, or write alt="" if it only decorates'),
    N_('%(number)s pictures have no alt text; say %(where)s what it shows, or write alt="" if it only decorates'),
    N_("between ![ and ]"),
    N_('in alt="…"'),
    N_("Mails cannot hold %(tags)s, so it was taken out; put a link there instead"),
    N_("Mails cannot hold %(tags)s, so they were taken out; put a link there instead"),
    N_(
        "The mail has %(size)s kB of HTML, and Gmail hides what comes after %(most)s kB; "
        "make it shorter, or link to the rest"
    ),
)
PLACE = re.compile(r"%\(([a-z]+)\)s")


def in_words(said: str, lang: str) -> str:
    """A reason or a finding in the page's language; what nobody has translated stays English."""
    if lang == ENGLISH:
        return said
    bare = said.removesuffix(".")
    return _found(bare, lang) + said[len(bare) :]


def _found(said: str, lang: str) -> str:
    for pattern, text in _patterns():
        if found := pattern.fullmatch(said):
            values = {name: _found(value, lang) for name, value in found.groupdict().items()}
            return translated(text, lang) % values
    return translated(said, lang)


@cache
def _patterns() -> list[tuple[re.Pattern[str], str]]:
    return [(_pattern(text), text) for text in TEXTS]


def _pattern(text: str) -> re.Pattern[str]:
    # Of what is split, every second part is the name of a place.
    parts = PLACE.split(text.replace("%%", "%"))
    said = (f"(?P<{part}>.+?)" if number % 2 else re.escape(part) for number, part in enumerate(parts))
    return re.compile("".join(said), re.DOTALL)


def day_and_time(moment: datetime, lang: str) -> str:
    """A moment written out, in the zone that it is in."""
    from babel.dates import format_datetime

    return str(format_datetime(moment, "EEEE, d MMMM y, HH:mm", locale=lang))


def in_how_long(moment: datetime, now: datetime, lang: str) -> str:
    """How far away a moment is: in 3 days."""
    from babel.dates import format_timedelta

    return str(format_timedelta(moment - now, add_direction=True, threshold=1.5, locale=lang))


def lasted(start: datetime, end: datetime, lang: str) -> str:
    """How long something took: 12 minutes."""
    from babel.dates import format_timedelta

    return str(format_timedelta(end - start, threshold=2, locale=lang))


SAID_BACK = N_("That is %(moment)s in %(zone)s, %(distance)s.")
COMES_TWICE = N_("The clock shows this time twice that night; the first one is meant.")


def said_back(planned: Planned, now: datetime, lang: str) -> str:
    """The moment that somebody chose, in words, so that they see what they chose."""
    values = {
        "moment": day_and_time(planned.local, lang),
        "zone": str(planned.local.tzinfo),
        "distance": in_how_long(planned.moment, now, lang),
    }
    said = translated(SAID_BACK, lang) % values
    return f"{said} {translated(COMES_TWICE, lang)}" if planned.comes_twice else said


@pass_context
def _told(context: Context, said: str) -> str:
    return in_words(said, context["lang"])


@pass_context
def _written_out(context: Context, moment: datetime | str) -> str:
    return day_and_time(moment_of(moment).astimezone(context["zone"]), context["lang"])


def audience_of(campaign: Mapping[str, Any]) -> dict[str, Any]:
    """Whom a campaign is for, as the templates say it."""
    audience = campaign["audience"] or {}
    return {"list": audience.get("list", ""), "attributes": audience.get("attributes", {})}


def standing(campaign: Mapping[str, Any]) -> str:
    """Where a campaign is, or what keeps it there, in one word."""
    deliveries = campaign["deliveries"]
    if campaign["held"]:
        return "held"
    if any(delivery["paused"] for delivery in deliveries):
        return "paused"
    return "failed" if any(delivery["state"] == Sending.FAILED for delivery in deliveries) else str(campaign["state"])


templates.filters |= {"told": _told, "written_out": _written_out}
templates.globals |= {"audience_of": audience_of, "standing": standing}
