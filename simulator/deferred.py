"""Commands and functions named by their place, ``module:name``, and imported when they are asked for.

Of the many commands that the command line knows it carries out one, and each has a benchmark behind it. Typer
makes a command of a live function; here an empty group stands for it, with its help's first line, so that a
list of commands imports none of them. When it is to be parsed, the command itself takes over.
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
    """Return a function that returns what is at `place`, ``module`` or ``module:name``, imported then."""
    return lambda: resolve_name(place)


def deferred(place: str | Callable[[], Any], help: str) -> typer.Typer:
    """Return what stands for the function or `Typer` at `place`; to be added to others with ``add_typer``.

    Commands that are added to what stands for a group become commands of that group.

    Args:
        place: where it is; or a function that makes it.
        help: what lists of commands say of it: the first line of its own help.
    """

    class Deferred(TyperGroup):
        def make_context(self, *arguments: Any, **named: Any) -> Any:
            command = _command(resolve_name(place) if isinstance(place, str) else place())
            for name, more in self.commands.items():
                command.add_command(more, name)
            return command.make_context(*arguments, **named)

    return typer.Typer(cls=Deferred, help=help)


def _command(target: typer.Typer | Callable[..., Any]) -> Any:
    if isinstance(target, typer.Typer):
        return get_group(target)
    alone = typer.Typer(add_completion=False)
    alone.command()(target)
    return get_command(alone)
