"""Fields of pydantic models as command-line options.

A field ``name`` becomes an option ``--name``: its description is the help, bounds of an integer are the
option's range, and a nested model contributes its fields. The field's `Option` declares differences on the
command line. `options_of` returns the options, `read_options` reads the typed values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Annotated, Any, TypeVar, cast, get_args, get_origin, get_type_hints

import typer
from annotated_types import Ge, Gt, Le
from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo
from typer.models import OptionInfo

from simulator.errors import InputError
from simulator.fields import FieldFault, Option, first_fault

ModelT = TypeVar("ModelT")
AnnotatedOption = tuple[Any, Any]
"""The annotation and the default of a command's parameter."""


def options_of(model: type[Any]) -> dict[str, AnnotatedOption]:
    """Return the options for the fields of a model: parameter -> annotation and default."""
    return {name: _annotated_option(name, field) for name, field in _typed_fields(model)}


def read_options(model: type[ModelT], options: Mapping[str, Any]) -> ModelT:
    """Build a model from a command's options; None stands for the default.

    Raises:
        InputError: if a value is invalid; names the option.
    """
    values: dict[str, Any] = {}
    for name, field in _fields(model).items():
        option = _option(field)
        if (below := _nested_model(field)) is not None:
            values[name] = read_options(below, options)
        elif not option.hidden and (value := options.get(option.name or name)) is not None:
            value = tuple(value) if isinstance(value, list) else value
            values[name] = str(value) if option.kind else value
    try:
        return TypeAdapter(model).validate_python(values)
    except ValidationError as error:
        fault = first_fault(error)
        raise InputError(f"{_option_name(model, fault)} {fault.problem}") from error


def logged_values(model: Any) -> dict[str, Any]:
    """Return the fields of a model to be logged, as JSON values by name.

    Of a nested model only the values that differ from the defaults are logged.
    """
    plain = TypeAdapter(type(model)).dump_python(model, mode="json")
    logged: dict[str, Any] = {}
    for name, field in _fields(type(model)).items():
        option, value = _option(field), getattr(model, name)
        if (below := _nested_model(field)) is not None:
            logged[name] = {key: plain[name][key] for key in _changed_names(below, value)}
        elif not (option.hidden or (option.sparse and value == _default(field))):
            logged[name] = plain[name]
    return logged


def _changed_names(model: type[Any], value: Any) -> list[str]:
    return [name for name, field in _fields(model).items() if getattr(value, name) != _default(field)]


def _fields(model: type[Any]) -> Mapping[str, FieldInfo]:
    """Return the fields of a pydantic model, or of a dataclass with pydantic annotations."""
    if not is_dataclass(model):
        return cast("type[BaseModel]", model).model_fields
    hints = get_type_hints(model, include_extras=True)
    return {
        field.name: FieldInfo.from_annotated_attribute(hints[field.name], field.default)
        for field in fields(model)
    }


def _default(field: FieldInfo) -> Any:
    return field.get_default(call_default_factory=True)


def _typed_fields(model: type[Any]) -> Iterator[tuple[str, FieldInfo]]:
    """Yield each field that is an option, by the option's name."""
    for name, field in _fields(model).items():
        if (below := _nested_model(field)) is not None:
            yield from _typed_fields(below)
        elif not _option(field).hidden:
            yield _option(field).name or name, field


def _annotated_option(name: str, field: FieldInfo) -> AnnotatedOption:
    kind: Any = _option(field).kind or field.annotation
    default = _default(field)
    if field.is_required():
        default = ...
    if get_origin(kind) is tuple:
        kind, default = _list(get_args(kind)[0]), None
    elif _option(field).unset:
        kind, default = kind | None, None
    declared = next((extra for extra in field.metadata if isinstance(extra, OptionInfo)), None)
    if declared is not None:
        return Annotated[kind, declared], default
    # A switch that is off by default has no --no-… flag.
    spellings = [f"--{name.replace('_', '-')}"] if default is False else []
    least, most = _range(field)
    return Annotated[kind, typer.Option(*spellings, help=field.description, min=least, max=most)], default


def _list(kind: Any) -> Any:
    return list[kind] | None


def _range(field: FieldInfo) -> tuple[int | None, int | None]:
    """Return the minimum and maximum of an integer field; None for no bound."""
    least, most = None, None
    if float not in (field.annotation, *get_args(field.annotation)):
        for bound in field.metadata:
            match bound:
                case Ge(int(value)):
                    least = value
                case Gt(int(value)):
                    least = value + 1
                case Le(int(value)):
                    most = value
    return least, most


def _option_name(model: type[Any], fault: FieldFault) -> str:
    name = str(fault.path[0]) if fault.path else ""
    field = _fields(model).get(name)
    if field is None:
        return fault.field or "options"
    return f"--{(_option(field).name or name).replace('_', '-')}"


def _option(field: FieldInfo) -> Option:
    return next((extra for extra in field.metadata if isinstance(extra, Option)), Option())


def _nested_model(field: FieldInfo) -> type[Any] | None:
    """Return the model of a field whose own fields are options; None for other fields."""
    kind: Any = field.annotation
    model = isinstance(kind, type) and (issubclass(kind, BaseModel) or is_dataclass(kind))
    return kind if model and not _option(field).hidden else None
