"""Commands that are imported when they are called: listing them all costs no import of any."""

import gc
from functools import cached_property
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command, get_group


class LazyCommand(TyperCommand):
    """A command known by its name and help; `target` names what it runs, as `package.module:name`.

    The target is a function, or a `Typer` with commands of its own.
    """

    def __init__(self, name: str, *, target: str, help: str) -> None:
        super().__init__(name=name, help=help)
        self._target = target

    @cached_property
    def command(self) -> TyperCommand | TyperGroup:
        """The command itself, imported at the first look."""
        module, _, name = self._target.partition(":")
        target = getattr(_import_without_gc(module), name)
        if isinstance(target, typer.Typer):
            return get_group(target)
        app = typer.Typer(add_completion=False)
        app.command(self.name)(target)
        command = get_command(app)
        assert isinstance(command, TyperCommand)
        return command

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        """Parse the arguments as the command itself; Typer calls this for the command that runs."""
        return self.command.make_context(*args, **kwargs)


def _import_without_gc(module: str) -> Any:
    """Import a command's module while the garbage collector is off.

    The collector took 0.2 of the 0.9 s of CPU time in which `gna serve` was imported, to free
    0.4 MB. What is imported stays out of later collections, or the next one would take 0.1 s.
    """
    gc.disable()
    try:
        return import_module(module)
    finally:
        gc.freeze()
        gc.enable()
