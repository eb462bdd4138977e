"""Feature 4, admin authentication: a test for each row of its tables."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from gna.db import Database
from gna.errors import CannotStart
from gna.web.ground import Ground
from tests.conftest import settings_for, visitor
from tests.issuer import ANA, AUD, TEAM, URL, Issuer, private, settings, signed

LIST = "/admin/api/subscribers"
PROTECTED = ["/admin", "/admin/", LIST, "/admin/api/campaigns", "/admin/mailbox", "/admin/no-such-page"]


@pytest.fixture
def admin(database_url: str, db: Database, tmp_path: Path, issuer: Issuer) -> Iterator[TestClient]:
    """A visitor of the whole application behind Access."""
    with visitor(Ground(settings_for(database_url, tmp_path, **issuer.environ), db)) as client:
        yield client


def answered(client: TestClient, token: str | None, path: str = LIST) -> tuple[int, Any]:
    """The status and the JSON of a request with this token."""
    answer = client.get(path, headers={"Cf-Access-Jwt-Assertion": token} if token is not None else {})
    return answer.status_code, answer.json()


class TestJwtVerification:
    """The token in the header, and nothing else."""

    @pytest.mark.parametrize("path", PROTECTED)
    def test_protected_routes(self, admin: TestClient, path: str) -> None:
        assert answered(admin, None, path) == (401, {"error": "Authentication required"})
        assert answered(admin, "x.y.z", path) == (403, {"error": "Invalid token"})

    def test_token_source(self, admin: TestClient, issuer: Issuer) -> None:
        token = issuer.token()
        assert admin.get(LIST, headers={"Cf-Access-Jwt-Assertion": token}).status_code == 200
        assert admin.get(LIST, headers={"Authorization": f"Bearer {token}"}).status_code == 401
        assert admin.get(LIST, headers={"Cookie": f"CF_Authorization={token}"}).status_code == 401
        assert admin.get(LIST, params={"token": token}).status_code == 401

    def test_validation(self, admin: TestClient, issuer: Issuer) -> None:
        assert answered(admin, issuer.token())[0] == 200
        forged = signed(issuer.claims(), "RS256", private("RS256", "somebody else's"), {"kid": issuer.current})
        assert answered(admin, forged) == (403, {"error": "Invalid token"})

    def test_where_the_keys_are(self) -> None:
        found = settings({"CF_ACCESS_TEAM_NAME": "myteam", "CF_ACCESS_AUD": AUD})
        assert found.access_certs_url == "https://myteam.cloudflareaccess.com/cdn-cgi/access/certs"

    def test_required_audience(self, admin: TestClient, issuer: Issuer) -> None:
        assert answered(admin, issuer.token(aud=[AUD]))[0] == 200
        assert answered(admin, issuer.token(aud=["elsewhere"])) == (403, {"error": "Invalid token"})

    def test_required_expiry(self, admin: TestClient, issuer: Issuer) -> None:
        assert answered(admin, issuer.token(exp=1)) == (403, {"error": "Token expired"})

    def test_authenticated_request(self, admin: TestClient, issuer: Issuer) -> None:
        assert answered(admin, issuer.token()) == (200, {"items": [], "page": 1, "per_page": 20, "total": 0})
        assert ANA in admin.get("/admin", headers={"Cf-Access-Jwt-Assertion": issuer.token()}).text


class TestConfiguration:
    """Two settings are enough."""

    def test_team_name(self) -> None:
        for written in ("myteam", "MyTeam", "myteam.cloudflareaccess.com", "https://myteam.cloudflareaccess.com/"):
            found = settings({"CF_ACCESS_TEAM_NAME": written, "CF_ACCESS_AUD": AUD})
            assert (found.access_issuer, found.sign_in_lacks) == ("https://myteam.cloudflareaccess.com", ())

    def test_audience(self) -> None:
        assert settings({"CF_ACCESS_AUD": f"{AUD}, b"}).cf_access_aud == (AUD, "b")

    def test_disable_auth(self) -> None:
        assert settings({"DISABLE_AUTH": "true"}).disable_auth
        assert not settings({}).disable_auth


class TestDevelopmentBypass:
    """Only where nobody else can reach it."""

    def test_condition_and_scope(self, client: TestClient) -> None:
        assert answered(client, None)[0] == 200
        assert answered(client, None, "/admin/api/campaigns")[0] == 200

    def test_synthetic_identity(self, client: TestClient) -> None:
        assert "dev@localhost" in client.get("/admin").text

    def test_production_safeguard(self) -> None:
        with pytest.raises(CannotStart, match="DISABLE_AUTH=true would open /admin"):
            settings({"DISABLE_AUTH": "true", "GNA_HOST": "0.0.0.0"})


class TestErrorScenarios:
    """Every reason to stay outside has its own answer, in JSON, for browsers too."""

    def test_without_jwt(self, admin: TestClient) -> None:
        assert answered(admin, None) == (401, {"error": "Authentication required"})

    def test_invalid_jwt(self, admin: TestClient, issuer: Issuer) -> None:
        for token in ("nonsense", issuer.token(iss="https://elsewhere.cloudflareaccess.com"), issuer.token()[:-5]):
            assert answered(admin, token) == (403, {"error": "Invalid token"})

    def test_expired_jwt(self, admin: TestClient, issuer: Issuer) -> None:
        assert answered(admin, issuer.token(exp=issuer.claims()["iat"])) == (403, {"error": "Token expired"})

    def test_keys_unreachable(self, admin: TestClient, issuer: Issuer, logged: Callable[[], str]) -> None:
        issuer.web.stop()
        assert answered(admin, issuer.token())[0] == 503
        assert "error   the keys of sign-in cannot be fetched" in logged()
        assert ANA not in logged()

    @pytest.mark.parametrize("missing", ["CF_ACCESS_TEAM_NAME", "CF_ACCESS_AUD"])
    def test_configuration_missing(
        self, database_url: str, db: Database, tmp_path: Path, logged: Callable[[], str], missing: str
    ) -> None:
        environ = {"DISABLE_AUTH": "false", "CF_ACCESS_TEAM_NAME": TEAM, "CF_ACCESS_AUD": AUD} | {missing: ""}
        with visitor(Ground(settings_for(database_url, tmp_path, **environ), db)) as client:
            assert answered(client, None) == (500, {"error": "Server misconfiguration"})
            assert answered(client, "x.y.z", "/admin") == (500, {"error": "Server misconfiguration"})
        assert f"missing={missing}" in logged()
        assert URL not in logged()
