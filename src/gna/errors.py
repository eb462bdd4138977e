"""What can go wrong, by who must act. A message says what happened and what to do next.

Messages reach logs and visitors, so they never carry an address, a name or a token.
"""


class GnaError(Exception):
    """Anything that Gna itself refuses or reports."""


class Refused(GnaError):
    """The person who asked must change the request."""


class NotLetIn(Refused):
    """The token does not open this door, or not any more."""


class NotFound(Refused):
    """There is no such thing."""


class NotAllowedNow(Refused):
    """The thing exists but is in another state."""


class UnsupportedType(Refused):
    """The body is of a kind that this address does not read."""


class CannotStart(GnaError):
    """The operator must change a setting, the schema or the machine before Gna can run."""


class Misconfigured(GnaError):
    """The operator left out a setting that this address needs; it stays closed until then."""


class DatabaseAway(GnaError):
    """The database does not answer; the same request works again when it does."""


class ProviderAway(GnaError):
    """The provider cannot be reached now; it may come back by itself."""


class Unreachable(GnaError):
    """Somebody else's server did not give what was asked of it; the next try may be luckier."""


class LedAstray(Unreachable):
    """It redirects without end, or where we do not go."""


class PrivateAddress(Unreachable):
    """The address belongs to a private network, where only the operator may send us."""
