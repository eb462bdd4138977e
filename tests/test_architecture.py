"""Imports go one way, so that every room can be read without the ones above it."""

import ast
from collections.abc import Iterator
from pathlib import Path

import gna

ROOT = Path(gna.__file__).parent

# From the ground up: a room may use its own floor's ground and every floor below, never one above or beside.
FLOORS: list[set[str]] = [
    {
        "errors",
        "clock",
        "ids",
        "kinds",
        "tokens",
        "config",
        "log",
        "metrics",
        "limits",
        "redis_limits",
        "group",
        "db",
        "sqlite_files",
        "sqlite_log",
        "lines",
        "outside",
    },
    {"mail"},
    {"outbox", "activity"},
    {"jobs"},
    {"subscribers", "providers"},
    {"delivery", "provider_history"},
    {"campaigns", "articles", "notifications", "inbox"},
    {"feeds"},
    {"tables"},
    {"migrations"},
    {"worker", "web"},
    {"cli"},
]
GROUND = FLOORS[0]
# A provider translates; it knows nothing of us but what a mail is and what can go wrong.
ALLOWED = {"providers": {"mail", "errors", "providers"}}
FLOOR = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}


def imports() -> Iterator[tuple[Path, str, str]]:
    """Every import of our own as (file, room of the file, room that it uses)."""
    for file in ROOT.rglob("*.py"):
        room = file.relative_to(ROOT).parts[0].removesuffix(".py")
        for node in ast.walk(ast.parse(file.read_text())):
            for name in _imported(node):
                yield file.relative_to(ROOT), room, name


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name.split(".")[1] for alias in node.names if alias.name.startswith("gna.")]
    if not isinstance(node, ast.ImportFrom) or node.level:
        assert not isinstance(node, ast.ImportFrom), "relative imports hide where things come from"
        return []
    if node.module == "gna":
        return [alias.name for alias in node.names if alias.name != "__version__"]
    return [node.module.split(".")[1]] if (node.module or "").startswith("gna.") and node.module else []


def test_every_room_has_a_floor() -> None:
    rooms = {path.name.removesuffix(".py") for path in ROOT.iterdir() if path.suffix == ".py" or path.is_dir()}
    assert rooms - {"__init__", "__main__", "__pycache__"} <= set(FLOOR)


def test_imports_go_one_way() -> None:
    wrong = [
        f"{file}: {room} uses {used}"
        for file, room, used in imports()
        if room not in ("__init__", "__main__") and room != used and not _may(room, used)
    ]
    assert not wrong


def test_the_rule_can_fail() -> None:
    assert not _may("subscribers", "delivery")
    assert not _may("providers", "jobs")
    assert not _may("db", "mail")
    assert _may("web", "subscribers")


def _may(room: str, used: str) -> bool:
    if room in ALLOWED:
        return used in ALLOWED[room]
    return FLOOR[used] < FLOOR[room] or {room, used} <= GROUND
