"""The gate of the admin with one page behind it, which says who asks, and visitors who come with tokens."""

import json
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.testclient import TestClient
from starlette.types import ASGIApp

from gna.config import Settings
from gna.web.auth import AdminGate
from gna.web.identity import who
from tests.issuer import ANA, Issuer

HEADER = "Cf-Access-Jwt-Assertion"
INVALID, EXPIRED = {"error": "Invalid token"}, {"error": "Token expired"}
NEEDED, LATER = {"error": "Authentication required"}, {"error": "Service temporarily unavailable"}


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds

    def passes(self, seconds: float) -> None:
        self.seconds += seconds


async def me(request: Request) -> JSONResponse:
    """A page behind the gate."""
    identity = who(request)
    return JSONResponse({"name": identity.name, "email": identity.email, "sub": identity.sub})


def gate(settings: Settings, tick: Callable[[], float] = time.monotonic) -> ASGIApp:
    """The gate, with one page behind it."""
    everything = Route("/{path:path}", me, methods=["GET", "POST"])
    return AdminGate(Starlette(routes=[everything]), settings=settings, tick=tick)


def visit(client: TestClient, token: str | None, **headers: str) -> tuple[int, Any]:
    """Ask for `/admin` with this token; the status and what came back."""
    answer = client.get("/admin", headers=headers | ({HEADER: token} if token is not None else {}))
    return answer.status_code, answer.json()


def named(name: str = ANA) -> tuple[int, Any]:
    """What the page answers to a person."""
    return 200, {"name": name, "email": name, "sub": "7335d417-61da-459d-899c-0a01c76a2f94"}


def unknown(issuer: Issuer, name: str) -> str:
    """A token under the name of a key that nobody knows."""
    return f"{encoded({'alg': 'RS256', 'kid': name})}.{encoded(issuer.claims())}.AAAA"


def encoded(value: object) -> str:
    """A part of a token."""
    return base64(json.dumps(value).encode())


def base64(value: bytes) -> str:
    """Bytes as they stand in a token."""
    return urlsafe_b64encode(value).decode().rstrip("=")
