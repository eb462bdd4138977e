"""Time comes from here, once per unit of work: aware, in UTC."""

from datetime import UTC, datetime


def now() -> datetime:
    """The present moment in UTC."""
    return datetime.now(UTC)


def iso(moment: datetime) -> str:
    """ISO 8601 in UTC with `Z` and always six decimals, so that text sorts as time does."""
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"
