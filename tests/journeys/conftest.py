"""What the journeys have in common."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page

from tests.conftest import Databases
from tests.journeys.looks import accessible


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Walk through the dashboard on one database: a browser sees no difference, and its routes are tested on both."""
    again = [item for item in items if item.path.name.startswith("test_admin_") and "[postgresql" in item.name]
    config.hook.pytest_deselected(items=again)
    items[:] = [item for item in items if item not in again]


@pytest.fixture
def look(databases: Databases) -> Callable[[Page], None]:
    """Tries a page in all its looks; with one database, for pages do not show which one it is."""
    return accessible if databases.kind == "sqlite" else lambda _: None
