"""Fields of forms derived from pydantic models and options; the values read from them, and their problems.

A text becomes a text field (of one line if it has at most 200 characters), a number a number field, a boolean
a checkbox, ``Literal[...]`` a choice, ``tuple[Literal[...], ...]`` a group of checkboxes, and any other list
of texts a field with one entry per line.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final, get_args

from pydantic import BaseModel, TypeAdapter, ValidationError
from typer.models import OptionInfo

from simulator.errors import InputError
from simulator.field_options import AnnotatedOption
from simulator.fields import field_faults
from simulator.form_blocks import Check, Checked, Choice, Field, FieldKind, FieldProblem, Form, When
from simulator.forms import LONGEST, SeatFormError

_LINE: Final = 200
_KINDS: Final[Mapping[str, FieldKind]] = {
    "string": "text",
    "integer": "whole",
    "number": "number",
    "boolean": "switch",
    "array": "lines",
}


class FormError(SeatFormError[FieldProblem]):
    """A form that breaks the rules of its fields."""

    def __init__(self, problems: tuple[FieldProblem, ...], seat: str) -> None:
        super().__init__(problems, seat, code="form", said="; ".join(map(str, problems)))


def form_of(model: type[BaseModel]) -> Form:
    """Return the form of a model's fields, in order."""
    return with_rules(Form(tuple(fields_of(model).values())), model)


def with_rules(form: Form, model: type[BaseModel]) -> Form:
    """Return a form that is checked by the rules of a model, and by its own check."""
    return form._replace(check=partial(_check, model, form.check))


def fields_of(model: type[Any]) -> dict[str, Field]:
    """Return the fields of a model or a dataclass by name.

    Raises:
        InputError: if a field cannot be filled in on a form, such as a nested model.
    """
    schemas = TypeAdapter(model).json_schema()["properties"]
    for name, schema in schemas.items():
        if unwrap_optional(schema).get("type") not in _KINDS:
            raise InputError(
                f"{name}: a form can have texts, numbers, booleans, choices and lists of texts or choices."
            )
    return {name: _field(name, schema) for name, schema in schemas.items()}


def rule_fields(model: type[BaseModel]) -> tuple[Field, ...]:
    """Return the fields of a model as settings of free play; the menu of an optional one has a choice None.

    In ``json_schema_extra``, ``seats`` has the seats with a setting, ``fitting`` the `fits` of its choices.
    """
    schemas, defaults = model.model_json_schema()["properties"], model()
    return tuple(_rule_field(name, schema, getattr(defaults, name)) for name, schema in schemas.items())


def _rule_field(name: str, schema: Mapping[str, Any], value: Any) -> Field:
    field, fitting, seats = _field(name, schema), schema.get("fitting", {}), schema.get("seats")
    field = field._replace(value=value, when=When("seat", seats) if seats else None)
    if field.kind != "choice":
        return field if field.kind in ("whole", "number", "switch") else field._replace(kind="text")
    optional = any(kind.get("type") == "null" for kind in schema.get("anyOf", ()))
    choices = [choice._replace(fits=fitting.get(choice.value, {})) for choice in field.choices]
    return field._replace(kind="menu", choices=(*([Choice(None)] if optional else []), *choices))


def option_field(name: str, option: AnnotatedOption) -> Field:
    """Return an option of a command as a field."""
    annotation, default = option
    kind, *extras = get_args(annotation)
    info = next(extra for extra in extras if isinstance(extra, OptionInfo))
    schema = unwrap_optional(TypeAdapter(kind).json_schema())
    # The first spelling of an annotated option is typer's default.
    typed = next(
        (str(each) for each in (info.default, *(info.param_decls or ())) if str(each).startswith("--")), ""
    )
    field = _field(name, schema)._replace(value=default, least=info.min, most=info.max, note=info.help or "")
    field = field._replace(typed=typed)
    if schema.get("items", schema).get("format") == "path":
        return field._replace(kind="file")
    kinds: Mapping[FieldKind, FieldKind] = {"choice": "menu", "lines": "listed"}
    return field._replace(kind=kinds.get(field.kind, field.kind))


def option_words(option: Field, value: Any) -> list[str]:
    """Return the words of a command that set an option to a value."""
    flag, _, off = (option.typed or f"--{option.name.replace('_', '-')}").partition("/")
    if option.kind == "switch":
        return [flag if value else off or flag.replace("--", "--no-", 1)]
    return [f"{flag}={each}" for each in (value if isinstance(value, list) else [value])]


def unwrap_optional(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the schema of an optional field (``int | None``) as if it were not optional."""
    return {**schema, **next((kind for kind in schema.get("anyOf", ()) if kind.get("type") != "null"), {})}


def bounds(schema: Mapping[str, Any]) -> tuple[float | None, float | None]:
    """Return the minimum and maximum of a field, or of a text's length."""
    least, most = schema.get("minimum"), schema.get("maximum", schema.get("maxLength"))
    if schema.get("type") == "integer":
        least = schema["exclusiveMinimum"] + 1 if "exclusiveMinimum" in schema else least
        most = schema["exclusiveMaximum"] - 1 if "exclusiveMaximum" in schema else most
    return least, most


def _known_choices(schema: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the choices of a field, or of a list's entries."""
    entry = schema.get("items", schema)
    return tuple(entry.get("enum", [entry["const"]] if "const" in entry else ()))


def _field(name: str, schema: Mapping[str, Any]) -> Field:
    schema = unwrap_optional(schema)
    kind = _KINDS.get(schema.get("type", ""), "text")
    choices = tuple(map(Choice, _known_choices(schema)))
    if choices:
        kind = "choices" if "items" in schema else "choice"
    elif kind == "text" and schema.get("maxLength", LONGEST) <= _LINE:
        kind = "line"
    least, most = bounds(schema)
    return Field(
        name=name,
        kind=kind,
        value=schema.get("default"),
        choices=choices,
        least=least,
        most=most,
        label=schema.get("description", schema.get("title", name)),
    )


def read_form(
    model: type[BaseModel], move: Mapping[str, Any], seat: str, *, from_page: bool = True
) -> dict[str, Any]:
    """Return the values of the model's fields in `move`, as they are logged.

    The model decides on further values (``extra``), except on those of pages. `from_page`: True if a page
    sent them, which adds its measurements.

    Raises:
        FormError: if values break the rules of their fields.
    """
    try:
        own = _own_values(model, move)
        return model.model_validate(own if from_page else {**move, **own}, by_name=True).model_dump(
            mode="json"
        )
    except ValidationError as error:
        problems = tuple(
            FieldProblem(str(fault.path[0]) if fault.path else "", fault.code, fault.problem)
            for fault in field_faults(error, move)
        )
        raise FormError(problems, seat) from error


def _own_values(model: type[BaseModel], move: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of the model's fields; pages send choices as text, and add their measurements."""
    schemas = model.model_json_schema(by_alias=False)["properties"]
    filled = (name for name in model.model_fields if name in move)
    return {name: _as_choice(unwrap_optional(schemas[name]), move[name]) for name in filled}


def _as_choice(schema: Mapping[str, Any], value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_as_choice(schema, entry) for entry in value]
    known = {str(choice): choice for choice in _known_choices(schema)}
    return known.get(value, value) if isinstance(value, str) else value


def _check(model: type[BaseModel], own: Check | None, move: Mapping[str, Any], language: str) -> Checked:
    checked = own(move, language) if own else Checked()
    try:
        read_form(model, move, "")
    except FormError as error:
        return checked._replace(problems=(*error.problems, *checked.problems))
    return checked
