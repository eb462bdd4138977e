"""A Cloudflare Access of our own: real keys, served by a real website, and real tokens signed with them."""

import json
import time
from functools import cache
from pathlib import Path
from typing import Any, Self

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

from gna import config
from gna.config import Settings
from tests.servers.web import Web

TEAM = "quietweb"
URL = f"https://{TEAM}.cloudflareaccess.com"
AUD = "4714c1358e65fe4b408ad6d432a5f878f08194bdb4752441fd56faefa9b2b6f2"
CERTS = "/cdn-cgi/access/certs"
ANA = "ana@example.org"
LEFT_OUT = object()

Private = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey


class Issuer:
    """Signs tokens as Access does, and says with which keys."""

    def __init__(self, web: Web, algorithm: str = "RS256") -> None:
        self.web = web
        self.algorithm = algorithm
        self.current = "key 1"
        self.published: list[dict[str, Any]] = []
        self.publishes("key 1")

    @property
    def settings(self) -> Settings:
        """The settings of a Gna behind it."""
        return settings(self.environ)

    @property
    def environ(self) -> dict[str, str]:
        """The same, as an operator writes them."""
        return {
            "DISABLE_AUTH": "false",
            "CF_ACCESS_TEAM_NAME": TEAM,
            "CF_ACCESS_AUD": f"another, {AUD}",
            "CF_ACCESS_CERTS_URL": self.web.at(CERTS),
            "CF_ACCESS_ALGORITHM": self.algorithm,
        }

    @property
    def fetches(self) -> int:
        """How often its keys were asked for."""
        return self.web.times(CERTS)

    def publishes(self, *names: str, **more: Any) -> Self:
        """From now on these are its keys, with these fields in each; the last one signs."""
        self.published = [public(self.algorithm, name) | {"kid": name, "use": "sig"} | more for name in names]
        self.current = names[-1]
        return self.says(json.dumps({"keys": self.published, "public_cert": {"kid": "key 0", "cert": "…"}}))

    def says(self, document: str | bytes, *, status: int = 200) -> Self:
        """Whoever asks for the keys gets this instead."""
        self.web.serves(CERTS, document, status=status, kind="application/json")
        return self

    def goes_away(self) -> Self:
        """It answers, but not with keys."""
        return self.says("", status=502)

    def comes_back(self) -> Self:
        """The keys are there again."""
        return self.says(json.dumps({"keys": self.published}))

    def claims(self, **changes: Any) -> dict[str, Any]:
        """What Access says of a person; a change to `LEFT_OUT` leaves the claim out."""
        now = int(time.time())
        usual = {
            "aud": [AUD],
            "email": ANA,
            "exp": now + 300,
            "iat": now - 5,
            "nbf": now - 5,
            "iss": URL,
            "type": "app",
            "identity_nonce": "6ei69kawdKzMIAPF",
            "sub": "7335d417-61da-459d-899c-0a01c76a2f94",
            "country": "RO",
        }
        return {name: value for name, value in (usual | changes).items() if value is not LEFT_OUT}

    def token(self, *, key: str | None = None, head: dict[str, Any] | None = None, **changes: Any) -> str:
        """A token as Access makes them, but for the changes."""
        kid = key or self.current
        return signed(self.claims(**changes), self.algorithm, private(self.algorithm, kid), {"kid": kid} | (head or {}))


def settings(environ: dict[str, str]) -> Settings:
    """These settings, and nothing that lies about."""
    return config.load(environ, dotenv=Path("/nonexistent/.env"))


def signed(claims: object, algorithm: str, key: Any, head: dict[str, Any]) -> str:
    """Any claims, signed; a `kid` of None leaves it out."""
    named = {name: value for name, value in head.items() if value is not None}
    return jwt.PyJWS().encode(json.dumps(claims).encode(), key, algorithm=algorithm, headers=named)


@cache
def private(algorithm: str, name: str) -> Private:
    """The private key of that name; made once, since that takes a moment."""
    if algorithm == "RS256":
        return rsa.generate_private_key(65537, 1024 if name == "short" else 2048)
    return ec.generate_private_key(ec.SECP384R1() if name == "another curve" else ec.SECP256R1())


def public(algorithm: str, name: str) -> dict[str, Any]:
    """Its public half, as a JSON Web Key."""
    key = private(algorithm, name).public_key()
    if isinstance(key, rsa.RSAPublicKey):
        return dict(RSAAlgorithm.to_jwk(key, as_dict=True))
    return dict(ECAlgorithm.to_jwk(key, as_dict=True))


def pem(name: str) -> bytes:
    """Its public half, as everybody can have it."""
    return private("RS256", name).public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
