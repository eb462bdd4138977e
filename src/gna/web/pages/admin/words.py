"""Numbers and moments as the visitor's language writes them, for the templates of the admin."""

from datetime import UTC, datetime

from jinja2 import pass_context
from jinja2.runtime import Context

from gna import clock


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


FILTERS = {"number": number, "percent": percent, "moment": moment, "exact": exact, "iso": iso}
