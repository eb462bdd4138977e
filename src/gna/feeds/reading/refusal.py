"""The one way in which reading a feed fails."""

from gna.errors import Refused


class NotAFeed(Refused):
    """What was fetched cannot be read as a feed; the operator must look at the address."""
