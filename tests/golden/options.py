"""Every option of every command: its spellings, type, default, and whether it must be given."""

from __future__ import annotations

from collections.abc import Iterator
from pkgutil import resolve_name
from typing import Any, get_args

import typer
from golden_log import HERE

ROOT = HERE.parents[1]


def options() -> dict[str, dict[str, Any]]:
    """``run clarq --lang`` -> what is known of it."""
    import app

    return dict(_walk(typer.main.get_command(app.cli), ()))


def _walk(command: Any, path: tuple[str, ...]) -> Iterator[tuple[str, dict[str, Any]]]:
    command = _itself(command)
    for name, below in getattr(command, "commands", {}).items():
        yield from _walk(below, (*path, name))
    for parameter in command.params:
        yield f"{' '.join(path)} {_spelled(parameter)}", _known(parameter)


def _itself(command: Any) -> Any:
    """The command that a deferred one stands for (`simulator.deferred`)."""
    make = type(command).make_context
    if type(command).__name__ != "Deferred":
        return command
    from simulator.deferred import _command

    cells = dict(zip(make.__code__.co_freevars, make.__closure__ or (), strict=True))
    place = cells["place"].cell_contents
    return _command(resolve_name(place) if isinstance(place, str) else place())


def _spelled(parameter: Any) -> str:
    return "/".join([*parameter.opts, *parameter.secondary_opts])


def _known(parameter: Any) -> dict[str, Any]:
    annotation = parameter.type_descriptor.annotation
    choices = [str(choice) for choice in get_args(annotation)] if "Literal" in str(annotation) else []
    kind = "choice" if choices else getattr(annotation, "__name__", str(annotation))
    default = parameter.default
    shown = str(default).replace(str(ROOT), "<root>")
    known = {
        "type": f"list[{get_args(annotation)[0].__name__}]" if kind == "list" else kind,
        "choices": choices,
        "default": default if default is None or isinstance(default, bool | int | float) else shown,
        "required": bool(parameter.required),
    }
    return {key: value for key, value in known.items() if value not in ([], None, False) or value == 0}
