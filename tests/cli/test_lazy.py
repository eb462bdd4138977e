import gc
import subprocess
import sys
from contextlib import suppress

import pytest

from gna.cli.lazy import LazyCommand
from gna.cli.main import COMMANDS


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_the_help_in_the_list_is_that_of_the_command(command: LazyCommand) -> None:
    loaded = command.command
    assert command.help == loaded.help
    assert command.get_short_help_str(200) == loaded.get_short_help_str(200)


@pytest.mark.parametrize("target", ["gna.cli.serve:serve", "gna.cli.nowhere:nothing"])
def test_the_garbage_collector_runs_again_after_an_import(target: str) -> None:
    with suppress(ImportError):
        _ = LazyCommand("it", target=target, help="").command
    assert gc.isenabled()


@pytest.mark.parametrize("argument", ["--version", "--help"])
def test_a_short_answer_imports_no_command(argument: str) -> None:
    heavy = ("sqlalchemy", "starlette", "gna.config", "gna.db", "gna.cli.start")
    assert loaded_by(argument, *heavy) == []


def test_a_command_imports_no_other() -> None:
    others = ("starlette", "uvicorn", "gna.web", "gna.cli.serve", "gna.cli.inbox")
    assert loaded_by("migrate --help", "gna.cli.migrate", *others) == ["gna.cli.migrate"]


def test_a_server_does_not_carry_what_it_may_never_use() -> None:
    databases = ("sqlalchemy.dialects.postgresql", "psycopg", "limits", "redis", "alembic")
    inbox = ("imaplib", "publicsuffixlist", "keyring", "gna.inbox.scan", "gna.inbox.methods")
    pages = ("rich", "babel", "mjml", "css_inline", "feedparser", "gna.web.pages.admin.routes")
    modules = ("gna.web.app", *databases, *inbox, *pages)
    code = f"import sys, gna.cli.serve; print(*[name for name in {modules} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["gna.web.app"]


def loaded_by(arguments: str, *modules: str) -> list[str]:
    """Which of these modules `gna` has loaded when it ends."""
    code = f"""
import atexit, sys
sys.argv[1:] = {arguments.split()}
loaded = lambda: [name for name in {modules} if name in sys.modules]
atexit.register(lambda: print(*loaded(), file=sys.stderr))
from gna.cli.main import main
main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stderr.split()
