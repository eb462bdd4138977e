"""Sign-in by Cloudflare Access: who is let in and who is not, by real tokens."""

import hmac
import json
from base64 import urlsafe_b64encode
from collections.abc import Callable
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any

import jwt
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from gna import clock
from gna.config import Settings
from gna.web.access.keys import read
from gna.web.access.tokens import Refusal, Rules, identify, why_not
from gna.web.auth import AdminGate
from tests.gate import EXPIRED, HEADER, INVALID, NEEDED, base64, encoded, gate, named, unknown, visit
from tests.issuer import ANA, AUD, LEFT_OUT, URL, Issuer, pem, private, public, settings, signed
from tests.servers.web import Web

NOW = clock.now()
RULES = Rules(URL, frozenset({AUD}), "RS256")


# Who is let in.


def test_a_signed_token_opens_the_admin(guest: TestClient, issuer: Issuer) -> None:
    assert visit(guest, issuer.token()) == named()
    assert visit(guest, issuer.token(email="bo@example.org")) == named("bo@example.org")


def test_the_keys_are_fetched_once(guest: TestClient, issuer: Issuer) -> None:
    for _ in range(5):
        assert visit(guest, issuer.token()) == named()
    assert issuer.fetches == 1
    assert "cookie" not in issuer.web.asked[0].headers


@pytest.mark.parametrize("audience", [AUD, [AUD], ["elsewhere", AUD], "another"])
def test_the_audience_is_a_text_or_a_list(guest: TestClient, issuer: Issuer, audience: object) -> None:
    assert visit(guest, issuer.token(aud=audience)) == named()


def test_a_service_token_goes_by_its_common_name(guest: TestClient, issuer: Issuer) -> None:
    token = issuer.token(
        email=LEFT_OUT,
        nbf=LEFT_OUT,
        identity_nonce=LEFT_OUT,
        sub="",
        common_name="e367826f93b8d71185e03fe518aff3b4.access",
    )
    name = "e367826f93b8d71185e03fe518aff3b4.access"
    assert visit(guest, token) == (200, {"name": name, "email": "", "sub": name})


def test_a_token_without_an_address_goes_by_its_subject(guest: TestClient, issuer: Issuer) -> None:
    assert visit(guest, issuer.token(email=LEFT_OUT, sub="user 7"))[1]["name"] == "user 7"


def test_what_is_not_the_admin_asks_for_nothing(issuer: Issuer) -> None:
    app = Starlette(routes=[Route("/{path:path}", lambda _: JSONResponse("here"))])
    guest = TestClient(AdminGate(app, settings=issuer.settings))
    for path in ("/", "/subscribe", "/administration", "/api/admin"):
        assert guest.get(path).status_code == 200
    assert issuer.fetches == 0


# Who is not.


@pytest.mark.parametrize("token", [None, "", "   "])
def test_without_a_token_one_has_to_sign_in(guest: TestClient, issuer: Issuer, token: str | None) -> None:
    assert visit(guest, token) == (401, NEEDED)
    assert issuer.fetches == 0


def test_the_cookie_alone_is_not_enough(guest: TestClient, issuer: Issuer) -> None:
    assert visit(guest, None, Cookie=f"CF_Authorization={issuer.token()}") == (401, NEEDED)


def test_the_address_that_a_header_claims_is_not_believed(guest: TestClient, issuer: Issuer) -> None:
    forged = {"Cf-Access-Authenticated-User-Email": "eve@example.org"}
    assert visit(guest, None, **forged) == (401, NEEDED)
    assert visit(guest, issuer.token(), **forged) == named()


def test_two_tokens_are_refused_also_if_both_are_good(guest: TestClient, issuer: Issuer) -> None:
    token = issuer.token()
    answer = guest.get("/admin", headers=[(HEADER, token), (HEADER.lower(), token)])
    assert (answer.status_code, answer.json()) == (403, INVALID)
    assert visit(guest, f"{token}, {token}") == (403, INVALID)
    assert visit(guest, f"{token},{token}") == (403, INVALID)


ELSEWHERE = "https://quietweb.cloudflareaccess.com.evil.example.org"


@pytest.mark.parametrize(
    "changes",
    [
        {"iss": ELSEWHERE},
        {"iss": URL + "/"},
        {"iss": URL.upper()},
        {"iss": [URL]},
        {"iss": LEFT_OUT},
        {"aud": "elsewhere"},
        {"aud": ["elsewhere"]},
        {"aud": AUD[:-1]},
        {"aud": []},
        {"aud": [[AUD]]},
        {"aud": {AUD: True}},
        {"aud": None},
        {"aud": LEFT_OUT},
        {"type": "org"},
        {"type": None},
        {"exp": LEFT_OUT},
        {"exp": None},
        {"exp": True},
        {"exp": "2099-01-01"},
        {"exp": float("inf")},
        {"exp": float("nan")},
        {"exp": 10**400},
        {"nbf": "soon"},
        {"nbf": None},
        {"iat": [1]},
        {"iat": float("-inf")},
        {"email": LEFT_OUT, "sub": LEFT_OUT},
        {"email": "", "sub": ""},
        {"email": " ", "sub": None},
        {"email": ["ana@example.org"]},
        {"email": "ana@example.org\r\nbo@example.org"},
        {"email": "\u202eana@example.org"},
        {"email": "\ud800@example.org"},
        {"email": "a" * 400},
        {"sub": "\x00"},
        {"sub": 7},
    ],
)
def test_a_token_that_says_something_else_is_invalid(
    guest: TestClient, issuer: Issuer, changes: dict[str, Any]
) -> None:
    assert visit(guest, issuer.token(**changes)) == (403, INVALID)


def test_claims_that_are_no_object_are_invalid(guest: TestClient, issuer: Issuer) -> None:
    odd: list[object] = [[], "text", 7, None, {}]
    for claims in odd:
        assert visit(guest, signed(claims, "RS256", private("RS256", "key 1"), {"kid": "key 1"})) == (403, INVALID)
    unreadable = issuer.token().split(".")[1].encode()
    assert visit(guest, with_payload(unreadable)) == (403, INVALID)


@pytest.mark.parametrize(
    ("name", "ahead", "expected"),
    [
        ("exp", 30, named()),
        ("exp", -1, (403, EXPIRED)),
        ("exp", -100_000, (403, EXPIRED)),
        ("nbf", 30, named()),
        ("nbf", 120, (403, INVALID)),
        ("iat", 30, named()),
        ("iat", 120, (403, INVALID)),
    ],
)
def test_clocks_may_differ_by_a_minute_but_what_has_expired_has_expired(
    guest: TestClient, issuer: Issuer, name: str, ahead: int, expected: tuple[int, Any]
) -> None:
    moved: dict[str, Any] = {name: int(clock.now().timestamp()) + ahead}
    assert visit(guest, issuer.token(**moved)) == expected


def test_an_expired_token_of_somebody_else_is_invalid(guest: TestClient, issuer: Issuer) -> None:
    assert visit(guest, issuer.token(exp=1, aud="elsewhere")) == (403, INVALID)
    forged = signed(issuer.claims(exp=1), "RS256", private("RS256", "eve's"), {"kid": "key 1"})
    assert visit(guest, forged) == (403, INVALID)


def test_the_moment_of_expiry_is_too_late() -> None:
    def at(moment: datetime) -> object:
        claims = {"iss": URL, "aud": AUD, "exp": NOW.timestamp(), "email": ANA}
        token = signed(claims, "RS256", private("RS256", "key 1"), {"kid": "key 1"})
        return identify(token, private("RS256", "key 1").public_key(), RULES, now=moment)

    assert at(NOW) == Refusal(403, "Token expired", "it has expired")
    assert not isinstance(at(NOW - timedelta(milliseconds=1)), Refusal)


@pytest.mark.parametrize(("ahead", "is_good"), [(60, True), (61, False)])
def test_a_minute_is_sixty_seconds(ahead: int, is_good: bool) -> None:
    moment = NOW.timestamp()
    claims = {"iss": URL, "aud": AUD, "exp": moment + 300, "nbf": moment + ahead, "iat": moment + ahead}
    assert (why_not(claims, RULES, now=NOW) is None) is is_good


def test_the_signature_covers_everything(guest: TestClient, issuer: Issuer) -> None:
    head, _, signature = issuer.token().split(".")
    for claims in (issuer.claims(email="eve@example.org"), issuer.claims(exp=4_000_000_000)):
        assert visit(guest, f"{head}.{encoded(claims)}.{signature}") == (403, INVALID)
    assert visit(guest, issuer.token() + "A") == (403, INVALID)
    assert visit(guest, issuer.token()[:-4] + "AAAA") == (403, INVALID)


def test_an_unsigned_token_is_invalid(guest: TestClient, issuer: Issuer) -> None:
    for algorithm in ("none", "None", "NONE", "", None):
        head = encoded({"alg": algorithm, "kid": "key 1", "typ": "JWT"})
        for signature in ("", "AAAA", issuer.token().split(".")[2]):
            assert visit(guest, f"{head}.{encoded(issuer.claims())}.{signature}") == (403, INVALID)
    assert issuer.fetches == 0


@pytest.mark.parametrize("algorithm", ["HS256", "HS384", "RS256"])
def test_the_public_key_is_no_password(guest: TestClient, issuer: Issuer, algorithm: str) -> None:
    """The token is signed by HMAC with the PEM of the public key, which everybody can have."""
    body = f"{encoded({'alg': algorithm, 'kid': 'key 1'})}.{encoded(issuer.claims())}"
    for secret in (pem("key 1"), pem("key 1").strip(), json.dumps(public("RS256", "key 1")).encode()):
        signature = base64(hmac.digest(secret, body.encode(), sha256))
        assert visit(guest, f"{body}.{signature}") == (403, INVALID)


def test_another_algorithm_of_the_same_key_is_refused(guest: TestClient, issuer: Issuer) -> None:
    for algorithm in ("RS384", "RS512", "PS256"):
        token = signed(issuer.claims(), algorithm, private("RS256", "key 1"), {"kid": "key 1"})
        assert visit(guest, token) == (403, INVALID)


def test_a_key_that_the_token_brings_along_is_not_used(guest: TestClient, issuer: Issuer) -> None:
    own = {"jwk": public("RS256", "eve's"), "jku": issuer.web.at("/eve"), "x5u": issuer.web.at("/eve")}
    token = signed(issuer.claims(), "RS256", private("RS256", "eve's"), {"kid": "key 1"} | own)
    assert visit(guest, token) == (403, INVALID)
    assert issuer.web.times("/eve") == 0


def test_an_extension_that_must_be_understood_is_refused(guest: TestClient, issuer: Issuer) -> None:
    assert visit(guest, issuer.token(head={"crit": ["exp"], "exp": 1})) == (403, INVALID)
    # Said in the head that the claims are not encoded, the signature covers other bytes than those that are read.
    assert visit(guest, issuer.token(head={"b64": False, "crit": ["b64"]})) == (403, INVALID)


@pytest.mark.parametrize("name", [None, "", 7, ["key 1"], {"key 1": 1}])
def test_a_token_must_name_its_key(guest: TestClient, issuer: Issuer, name: object) -> None:
    assert visit(guest, f"{encoded({'alg': 'RS256', 'kid': name})}.{encoded(issuer.claims())}.AAAA") == (
        403,
        INVALID,
    )
    assert issuer.fetches == 0


@pytest.mark.parametrize(
    "token",
    [
        "garbage",
        "a.b",
        "a.b.c",
        "a.b.c.d",
        "...",
        "e30.e30.e30",
        "e30.e30.",
        "🙂.🙂.🙂",
        "null",
        "Bearer a.b.c",
        "=" * 40,
        "x" * 60_000,
        urlsafe_b64encode(b"[" * 11_000).decode().rstrip("=") + ".e30.AAAA",  # deeper than any parser goes
        urlsafe_b64encode(b'{"kid":' + b"1" * 9000 + b"}").decode().rstrip("=") + ".e30.AAAA",
        urlsafe_b64encode(b"\xff\xfe").decode().rstrip("=") + ".e30.AAAA",
    ],
)
def test_what_is_no_token_is_invalid(guest: TestClient, issuer: Issuer, token: str) -> None:
    answer = guest.get("/admin", headers=[(HEADER.encode(), token.encode())])
    assert (answer.status_code, answer.json()) == (403, INVALID)
    assert issuer.fetches == 0


def _headers() -> st.SearchStrategy[bytes]:
    """What could be in the header: rubbish, and tokens of which a part is rubbish."""
    json_ = st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
        max_leaves=8,
    )
    known = st.fixed_dictionaries(
        {}, optional={"alg": st.sampled_from(["RS256", "none", "HS256", None]), "kid": st.just("key 1") | json_}
    )
    part = st.binary(max_size=60).map(base64) | json_.map(encoded) | known.map(encoded) | st.just("")
    return st.binary(max_size=200) | st.lists(part, min_size=1, max_size=4).map(lambda parts: ".".join(parts).encode())


def test_nothing_in_the_header_breaks_the_gate() -> None:
    with Web() as web, TestClient(gate(Issuer(web).settings)) as guest:

        @given(_headers())
        @example(b"\xff")
        @example(b"Bearer ")
        def refused(value: bytes) -> None:
            answer = guest.get("/admin", headers=[(HEADER.encode(), value)])
            assert (answer.status_code, answer.json()) in ((401, NEEDED), (403, INVALID))

        refused()


@given(
    st.dictionaries(st.sampled_from(["iss", "aud", "exp", "nbf", "iat", "type"]), st.none() | st.floats() | st.text())
)
def test_odd_claims_are_refused_and_nothing_breaks(claims: dict[str, Any]) -> None:
    assert why_not(claims, RULES, now=NOW)


# Proxies of another make.


def other(issuer: Issuer, **environ: str) -> Settings:
    """The settings behind a proxy that has no team."""
    usual = {name: value for name, value in issuer.environ.items() if name != "CF_ACCESS_TEAM_NAME"}
    return settings(usual | {"CF_ACCESS_ISSUER": "news.example.org"} | environ)


def test_es256_works_if_the_operator_says_so(web: Web) -> None:
    issuer = Issuer(web, "ES256")
    behind = other(issuer, CF_ACCESS_HEADER="X-Pomerium-Jwt-Assertion")
    token = issuer.token(iss="news.example.org")
    with TestClient(gate(behind)) as guest:
        assert visit(guest, None, **{"X-Pomerium-Jwt-Assertion": token}) == named()
        assert visit(guest, token) == (401, NEEDED)
        head = {"alg": "RS256", "kid": "key 1"}
        rsa = signed(issuer.claims(iss="news.example.org"), "RS256", private("RS256", "key 1"), head)
        assert visit(guest, None, **{"X-Pomerium-Jwt-Assertion": rsa}) == (403, INVALID)


def test_es256_is_refused_otherwise(guest: TestClient, issuer: Issuer) -> None:
    both = [public("RS256", "key 1") | {"kid": "rsa"}, public("ES256", "key 1") | {"kid": "ec"}]
    issuer.says(json.dumps({"keys": both}))
    assert visit(guest, signed(issuer.claims(), "RS256", private("RS256", "key 1"), {"kid": "rsa"})) == named()
    for name in ("ec", "rsa"):
        token = signed(issuer.claims(), "ES256", private("ES256", "key 1"), {"kid": name})
        assert visit(guest, token) == (403, INVALID)
        lying = f"{encoded({'alg': 'RS256', 'kid': name})}.{token.split('.', 1)[1]}"
        assert visit(guest, lying) == (403, INVALID)


def test_an_elliptic_key_must_be_on_the_right_curve() -> None:
    keys = [public("ES256", "another curve") | {"kid": "1"}, public("ES256", "key 1") | {"kid": "2"}]
    assert set(read(json.dumps({"keys": keys}).encode(), "ES256")) == {"2"}
    off = public("ES256", "key 1") | {"kid": "3", "y": public("ES256", "key 1")["x"]}
    assert not read(json.dumps({"keys": [off]}).encode(), "ES256")


def test_a_bearer_token_stands_behind_its_word(issuer: Issuer) -> None:
    behind = other(issuer, CF_ACCESS_HEADER="Authorization")
    token = issuer.token(iss="news.example.org")
    with TestClient(gate(behind)) as guest:
        for value in (f"Bearer {token}", f"bearer  {token}"):
            assert visit(guest, None, Authorization=value) == named()
        for value in ("", "Bearer", "Bearer ", token, f"Basic {token}", "Basic YTpi"):
            assert visit(guest, None, Authorization=value) == (401, NEEDED)
        assert visit(guest, None, Authorization=f"Bearer Bearer {token}") == (403, INVALID)


# What the operator is told.


def test_the_log_says_why_a_token_was_refused_and_names_nobody(
    guest: TestClient, issuer: Issuer, logged: Callable[[], str]
) -> None:
    visit(guest, issuer.token(aud="elsewhere"))
    visit(guest, issuer.token(iss=ELSEWHERE))
    visit(guest, issuer.token(exp=1))
    visit(guest, unknown(issuer, "key 7"))
    told = logged()
    assert "sign-in refused  because=its audience is not in CF_ACCESS_AUD" in told
    assert f"because=its issuer is not {URL}" in told
    assert "because=it has expired" in told
    assert "because=nobody knows its key" in told
    assert not any(secret in told for secret in (ANA, ELSEWHERE, "elsewhere", "key 7", "eyJ"))


def with_payload(payload: bytes) -> str:
    """Any bytes, signed."""
    return jwt.PyJWS().encode(payload, private("RS256", "key 1"), algorithm="RS256", headers={"kid": "key 1"})
