"""One reader behind a crowd of IPs, so that limits are in the way only where a test wants them."""

import pytest
from starlette.testclient import TestClient

from gna.db import Database
from tests.seeds.reader import Reader


@pytest.fixture
def reader(crowd: TestClient, db: Database) -> Reader:
    """Somebody who signs up, reads mail and clicks."""
    return Reader(crowd, db)
