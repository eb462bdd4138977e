"""The address of a feed, as somebody gave it."""

from gna.errors import Refused
from gna.kinds import NOT_A_FEED, feed_address


def parse_address(value: object) -> str:
    """The address in its one spelling, by the rule that FEED_URL has too; Refused if it is none."""
    if not isinstance(value, str):
        raise Refused(f"url must be {NOT_A_FEED}.")
    try:
        return feed_address(value)
    except ValueError as error:
        raise Refused(f"url must be {error}.") from None
