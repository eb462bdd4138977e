"""Commands, run in this process as a shell would run them."""

import io
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from gna import log
from gna.cli.main import main


@dataclass(frozen=True)
class Done:
    """What a command left behind."""

    code: int
    out: str
    err: str


Run = Callable[..., Done]


def running(noun: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Iterator[Run]:
    """Runs `gna NOUN`; afterwards the log is as tests have it."""

    def run(*arguments: str) -> Done:
        capfd.readouterr()
        monkeypatch.setattr(sys, "argv", ["gna", noun, *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        return Done(int(ended.value.code or 0), *capfd.readouterr())

    yield run
    log.setup(level="info", format="console", to=io.StringIO())
