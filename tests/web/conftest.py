"""Visitors of the admin who came through a proxy that lets them sign in."""

from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from tests.gate import Clock, gate
from tests.issuer import Issuer


@pytest.fixture
def seconds() -> Clock:
    """The clock by which keys grow old."""
    return Clock()


@pytest.fixture
def guest(issuer: Issuer, seconds: Clock) -> Iterator[TestClient]:
    """Somebody who stands at the gate, behind the proxy."""
    with TestClient(gate(issuer.settings, seconds), base_url="http://news.example.org") as visiting:
        yield visiting
