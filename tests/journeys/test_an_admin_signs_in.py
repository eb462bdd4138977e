"""A real server behind a fake Cloudflare Access, which has real keys: they come late, they change, they go away."""

from collections.abc import Callable

import httpx2

from tests import asking
from tests.issuer import Issuer
from tests.running import Gna, until


def visit(gna: Gna, token: str | None, path: str = "/admin/api/subscribers") -> httpx2.Response:
    """Ask as the proxy does."""
    headers = {"Cf-Access-Jwt-Assertion": token} if token else {}
    return asking.get(gna.url + path, headers=headers, timeout=30)


def test_an_admin_signs_in_by_cloudflare_access(start: Callable[..., Gna], issuer: Issuer) -> None:
    issuer.goes_away()
    gna = start(**issuer.environ)
    assert f"{gna.url}/admin" in gna.log.read_text()
    assert gna.status("/subscribe") == 200
    assert visit(gna, None).json() == {"error": "Authentication required"}
    assert visit(gna, None).status_code == 401

    # The keys are not there yet; as soon as they are, everybody can come in.
    late = visit(gna, issuer.token())
    assert (late.status_code, late.headers["Retry-After"]) == (503, "5")
    issuer.comes_back()
    until(lambda: visit(gna, issuer.token()).status_code == 200, 30)
    assert visit(gna, issuer.token(exp=1)).json() == {"error": "Token expired"}
    assert visit(gna, "nonsense").json() == {"error": "Invalid token"}

    # The keys are changed; both are good until the old one is withdrawn.
    old = issuer.token()
    issuer.publishes("key 1", "key 2")
    until(lambda: visit(gna, issuer.token()).status_code == 200, 30)
    assert visit(gna, old).status_code == 200

    # A page elsewhere makes the browser of somebody who is signed in send a form.
    forged = {"Cf-Access-Jwt-Assertion": issuer.token(), "Sec-Fetch-Site": "cross-site"}
    assert asking.post(f"{gna.url}/admin/api/campaigns", headers=forged, json={"subject": "x"}).status_code == 403

    # Nobody answers any more, and whoever is signed in notices nothing.
    issuer.web.stop()
    assert visit(gna, issuer.token()).status_code == 200
    assert gna.stop() == 0
    assert "ana@example.org" not in gna.log.read_text()


def test_a_server_without_sign_in_says_what_is_missing(start: Callable[..., Gna]) -> None:
    gna = start(DISABLE_AUTH="false", CF_ACCESS_TEAM_NAME="quietweb")
    assert visit(gna, None, "/admin").json() == {"error": "Server misconfiguration"}
    told = gna.log.read_text()
    assert "/admin is closed until sign-in is configured: set CF_ACCESS_AUD" in told
    assert "missing=CF_ACCESS_AUD" in told
