"""Whose request it is: the rightmost hop that is not one of our proxies."""

from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from gna.db import Database
from gna.web.ground import Ground
from gna.web.visitor import visitor as name_of
from tests.conftest import settings_for

FORWARDED = "X-Forwarded-For"


def seen(folder: Path, headers: list[tuple[str, str]], *, peer: str = "127.0.0.1", trusted: str = "127.0.0.1") -> str:
    """The name under which such a request is counted."""

    def home(request: Request) -> PlainTextResponse:
        return PlainTextResponse(name_of(request))

    app = Starlette(routes=[Route("/", home)])
    app.state.ground = Ground(
        settings_for("sqlite:///x.db", folder, TRUSTED_PROXIES=trusted), Database("postgresql://x")
    )
    return str(TestClient(app, client=(peer, 1)).get("/", headers=headers).text)


@pytest.mark.parametrize(
    ("headers", "name"),
    [
        ([], "127.0.0.1"),
        ([(FORWARDED, "203.0.113.9")], "203.0.113.9"),
        ([(FORWARDED, "6.6.6.6, 203.0.113.9")], "203.0.113.9"),
        ([(FORWARDED, "6.6.6.6, 203.0.113.9, 10.1.2.3")], "203.0.113.9"),
        ([(FORWARDED, "6.6.6.6"), (FORWARDED, "203.0.113.9")], "203.0.113.9"),
        ([(FORWARDED, "203.0.113.9:4711")], "203.0.113.9"),
        ([(FORWARDED, "[2001:db8::1]:4711")], "2001:db8::/64"),
        ([(FORWARDED, "2001:db8::abcd")], "2001:db8::/64"),
        ([(FORWARDED, "::ffff:203.0.113.9")], "203.0.113.9"),
        ([(FORWARDED, "nonsense")], "127.0.0.1"),
        ([(FORWARDED, "203.0.113.9, nonsense")], "127.0.0.1"),
        ([(FORWARDED, "203.0.113.9, , ")], "127.0.0.1"),
        ([(FORWARDED, "10.0.0.1, 10.0.0.2")], "10.0.0.1"),
        ([("CF-Connecting-IP", "203.0.113.9")], "203.0.113.9"),
        ([("CF-Connecting-IP", "6.6.6.6"), (FORWARDED, "203.0.113.9")], "203.0.113.9"),
        ([("X-Real-IP", "6.6.6.6")], "127.0.0.1"),
    ],
)
def test_behind_a_trusted_proxy(tmp_path: Path, headers: list[tuple[str, str]], name: str) -> None:
    assert seen(tmp_path, headers, trusted="127.0.0.1, 10.0.0.0/8") == name


@pytest.mark.parametrize("header", [FORWARDED, "CF-Connecting-IP"])
@pytest.mark.parametrize("trusted", ["", "10.0.0.0/8"])
def test_from_anybody_else_the_headers_are_only_claims(tmp_path: Path, header: str, trusted: str) -> None:
    assert seen(tmp_path, [(header, "6.6.6.6")], peer="198.51.100.7", trusted=trusted) == "198.51.100.7"


def test_neighbours_in_one_ipv6_network_are_one_visitor(tmp_path: Path) -> None:
    one, other = (seen(tmp_path, [], peer=f"2001:db8:1:2::{end}", trusted="") for end in ("1", "ffff"))
    assert one == other == "2001:db8:1:2::/64"


def test_of_a_chain_that_is_too_long_the_nearest_hops_count(tmp_path: Path) -> None:
    chain = ", ".join(["203.0.113.9", *["127.0.0.1"] * 20])
    assert seen(tmp_path, [(FORWARDED, chain)]) == "203.0.113.9"
    chain = ", ".join(["203.0.113.9", *["127.0.0.1"] * 20_000])
    assert seen(tmp_path, [(FORWARDED, chain)]) == "127.0.0.1"
