"""Numbers and moments as the visitor's language writes them, for the templates of the admin."""

import re
from datetime import UTC, datetime

from jinja2 import pass_context
from jinja2.runtime import Context

from gna import clock

# What turns letters around, or takes a place without being seen; and halves of letters, which no page can hold.
UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e0fff]"
)
UNKNOWN = "\N{REPLACEMENT CHARACTER}"


def moment_of(value: datetime | str) -> datetime:
    """A moment, as a row or as JSON has it."""
    return datetime.fromisoformat(value) if isinstance(value, str) else value


@pass_context
def number(context: Context, value: float) -> str:
    """1,234 or 1.234."""
    from babel.numbers import format_decimal

    return str(format_decimal(value, locale=context["lang"]))


@pass_context
def percent(context: Context, value: float) -> str:
    """12.5%; of a ratio."""
    from babel.numbers import format_percent

    return str(format_percent(value, "#,##0.#%" if abs(value) < 1 else "#,##0%", locale=context["lang"]))


@pass_context
def moment(context: Context, value: datetime | str) -> str:
    """The day and the time of the clock, in the visitor's zone; the year if it is another."""
    from babel.dates import format_datetime

    local = moment_of(value).astimezone(context["zone"])
    pattern = "d MMM, HH:mm" if local.year == clock.now().year else "d MMM y, HH:mm"
    written = str(format_datetime(local, pattern, locale=context["lang"]))
    # Until the browser has told its zone, which it does with scripts only.
    return f"{written} UTC" if context["zone"] is UTC else written


@pass_context
def exact(context: Context, value: datetime | str) -> str:
    """The whole moment with its zone, for whoever points at it."""
    from babel.dates import format_datetime

    local = moment_of(value).astimezone(context["zone"])
    return f"{format_datetime(local, 'full', tzinfo=context['zone'], locale=context['lang'])}"


def iso(value: datetime | str) -> str:
    """The moment for machines."""
    return clock.iso(moment_of(value))


def plain(text: str | None, most: int = 200) -> str:
    """What a stranger wrote, as nothing but letters, and not too many of them."""
    seen = UNSEEN.sub(UNKNOWN, (text or "")[: most + 1])
    return f"{seen[:most]}…" if len(seen) > most else seen


FILTERS = {"number": number, "percent": percent, "moment": moment, "exact": exact, "iso": iso, "plain": plain}
