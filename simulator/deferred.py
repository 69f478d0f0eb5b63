"""Commands and functions named as ``module:name`` and imported on first use.

A call of the command line runs one of many commands, and most of them import a benchmark. Typer needs a live
function for each; here an empty group with the first line of its help takes the command's place, so that
listing commands imports none of them. The real command takes over when its arguments are parsed.
"""

from __future__ import annotations

from collections.abc import Callable
from pkgutil import resolve_name
from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_command, get_group


def later(place: str) -> Callable[..., Any]:
    """Return the function at `place`, imported when it is called."""

    def call(*arguments: Any, **named: Any) -> Any:
        return resolve_name(place)(*arguments, **named)

    call.__qualname__ = place  # for messages
    return call


def attribute(place: str) -> Callable[[], Any]:
    """Return a function that imports and returns the object at `place`, ``module`` or ``module:name``."""
    return lambda: resolve_name(place)


def deferred(place: str | Callable[[], Any], help: str) -> typer.Typer:
    """Return a placeholder for the command function or `Typer` at `place`, to pass to ``add_typer``.

    Commands that are added to the placeholder of a group become commands of that group.

    Args:
        place: ``module:name``, or a function that makes the command.
        help: the first line of its help, for lists of commands.
    """

    class Deferred(TyperGroup):
        def make_context(self, *arguments: Any, **named: Any) -> Any:
            command = _command(resolve_name(place) if isinstance(place, str) else place())
            for name, added in self.commands.items():
                command.add_command(added, name)
            return command.make_context(*arguments, **named)

    return typer.Typer(cls=Deferred, help=help)


def _command(target: typer.Typer | Callable[..., Any]) -> Any:
    if isinstance(target, typer.Typer):
        return get_group(target)
    single = typer.Typer(add_completion=False)
    single.command()(target)
    return get_command(single)
