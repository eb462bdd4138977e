"""What the journeys have in common."""

import pytest


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Walk through the dashboard on one database: a browser sees no difference, and its routes are tested on both."""
    again = [item for item in items if item.path.name.startswith("test_admin_") and "[postgresql" in item.name]
    config.hook.pytest_deselected(items=again)
    items[:] = [item for item in items if item not in again]
