"""Who is at the admin, as the gate found out."""

from dataclasses import dataclass

from starlette.requests import Request
from starlette.types import Scope

IDENTITY = "gna.identity"


@dataclass(frozen=True)
class Identity:
    """A person, or a program with a service token."""

    email: str
    sub: str

    @property
    def name(self) -> str:
        """What to call them."""
        return self.email or self.sub


# Without sign-in, on one's own machine.
DEVELOPER = Identity("dev@localhost", "dev")


def introduce(scope: Scope, identity: Identity) -> None:
    """Say who it is to everything behind the gate."""
    scope[IDENTITY] = identity


def who(request: Request) -> Identity:
    """Who asks; only behind the gate."""
    found: Identity = request.scope[IDENTITY]
    return found
