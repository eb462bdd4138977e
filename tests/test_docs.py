"""The documentation says what the code does."""

import re
import subprocess
from pathlib import Path

import pytest
from dotenv import dotenv_values
from tools import reference

from gna import config
from gna.cli.main import COMMANDS
from gna.web.app import ROUTERS

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("page", ["settings.md", "commands.md", "routes.md"])
def test_the_reference_is_up_to_date(page: str) -> None:
    written = (ROOT / "docs" / "reference" / page).read_text()
    assert written == reference.pages()[page], "run: make docs"


def test_every_setting_is_documented_in_one_sentence() -> None:
    for name, field in config.names().items():
        assert field.description, name
        assert field.description.endswith("."), name


def test_every_command_is_documented() -> None:
    text = reference.commands()
    names = [command.name for command in COMMANDS]
    assert len(names) >= 4
    assert all(f"| `gna {name}" in text for name in names)


def test_every_route_is_documented() -> None:
    text = (ROOT / "docs" / "reference" / "routes.md").read_text()
    paths = {route.path for router in ROUTERS for route in router.routes}
    assert "/api/subscribe" in paths
    for path in paths - {"/"}:
        assert f" {path.replace('{mail_id}', '{id}')}`" in text, f"{path} is not in docs/reference/routes.md"


def test_the_example_environment_names_real_settings() -> None:
    text = (ROOT / ".env.example").read_text()
    named = set(re.findall(r"^#? ?([A-Z][A-Z_]+)=", text, re.MULTILINE))
    assert "DATABASE_URL" in named
    assert named <= set(config.names())
    given = {name: value for name, value in dotenv_values(ROOT / ".env.example").items() if value}
    assert config.load(given, dotenv=ROOT / "none")


def test_links_between_pages_lead_somewhere() -> None:
    broken = []
    for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]:
        for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text()):
            if not target.startswith("http") and not (page.parent / target).exists():
                broken.append(f"{page.relative_to(ROOT)} → {target}")
    assert not broken


def test_make_help_explains_every_target() -> None:
    targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    shown = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert {"run", "test", "lint", "bench", "docs"} <= set(targets)
    assert all(f"  make {target} " in shown for target in targets)


def test_no_dependency_list_names_a_host() -> None:
    for file in (ROOT / "requirements").glob("*.txt"):
        text = file.read_text()
        assert "://" not in text
        for line in re.findall(r"^\S+==.*$", text, re.MULTILINE):
            assert line.endswith("\\"), f"{line} has no hash"
