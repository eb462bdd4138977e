"""What the journeys have in common."""

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page

from tests.conftest import Databases
from tests.journeys.looks import accessible

HERE = Path(__file__).parent


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Walk through the dashboard on one database: a browser sees no difference, and its routes are tested on both."""
    again = [item for item in items if _is_of_dashboard(item) and "[postgresql" in item.name]
    config.hook.pytest_deselected(items=again)
    items[:] = [item for item in items if item not in again]


def _is_of_dashboard(item: pytest.Item) -> bool:
    # pytest hands over the tests of other folders too, if they run beside these.
    return item.path.parent == HERE and item.path.name.startswith("test_admin_")


@pytest.fixture
def look(databases: Databases) -> Callable[[Page], None]:
    """Tries a page in all its looks; with one database, for pages do not show which one it is."""
    return accessible if databases.kind == "sqlite" else lambda _: None
