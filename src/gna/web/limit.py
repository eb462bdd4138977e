"""Too often is 429, with the headers that tell a program when to come back."""

from collections.abc import Mapping

from starlette.exceptions import HTTPException
from starlette.requests import Request

from gna.limits import Allowance
from gna.web.ground import ground

SIGN_UPS = Allowance("sign-up", 5, 60)
LINKS = Allowance("magic-link", 3, 60 * 60)
# Each answer may tell whether an address is registered, so there are not many.
CHANGES = Allowance("email-change", 20, 15 * 60)
# Nobody types so fast: this only keeps the counting of addresses small.
LINKS_OF_VISITOR = Allowance("magic-link-visitor", 60, 60)


async def spend(request: Request, allowance: Allowance, who: str) -> Mapping[str, str]:
    """Use up one of the times, and say what is left in headers; the one too many is refused."""
    verdict = await ground(request).limits.spend(allowance, who)
    headers = {
        "RateLimit-Limit": str(allowance.times),
        "RateLimit-Remaining": str(verdict.remaining),
        "RateLimit-Reset": str(verdict.reset),
        "RateLimit-Policy": f"{allowance.times};w={allowance.seconds}",
    }
    if not verdict.allowed:
        raise HTTPException(429, "Too many requests", {**headers, "Retry-After": str(verdict.reset)})
    return headers
