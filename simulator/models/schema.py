"""Schemas in the form that providers take, and objects parsed from an answer's text."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from copy import deepcopy
from typing import Any

from pydantic import BaseModel, ValidationError

from simulator.models.answers import is_unicode
from simulator.models.base import Completion, Request, ScoreRequest, split_reasoning
from simulator.models.errors import Malformed, Unsupported
from simulator.models.keys import cached_by_type
from simulator.models.layers import AnswerT, amend

_FENCE = re.compile(r"```[\w-]*[ \t]*\n(.*?)```", re.DOTALL)
_BRACKET = re.compile(r"[{\[]")
_NO_NUMBER = re.compile(r"NaN|Infinity|[eE]\+?\d{3}")
_NAME = re.compile(r"[^A-Za-z0-9_-]+")


# --- to the provider ---------------------------------------------------------------------------------


@cached_by_type
def openai_format(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the ``response_format`` of chat completions for a JSON schema or a pydantic type.

    Strict mode (constrained decoding) requires every property and allows no others. A schema with free-form
    maps cannot meet that and is sent with ``strict`` off; answers are checked here in any case.

    Raises:
        Unsupported: if the schema is not an object at the top.
    """
    check_top(schema)
    strict = not has_free_maps(schema)
    body = strict_schema(schema) if strict else dict(schema)
    named = {"name": _NAME.sub("_", _name(schema))[:64], "schema": body, "strict": strict}
    return {"type": "json_schema", "json_schema": named}


def strict_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy in which every object requires all its properties and forbids others."""
    strict = deepcopy(dict(schema))
    for part in _parts(strict):
        _make_strict(part)
    return strict


def has_free_maps(schema: Mapping[str, Any]) -> bool:
    """Return True if an object may have properties that the schema does not name."""
    return any(
        part.get("additionalProperties") not in (None, False) or "properties" not in part
        for part in _parts(dict(schema))
        if _is_object(part)
    )


def check_top(schema: Mapping[str, Any]) -> None:
    """Check that the schema describes an object.

    Raises:
        Unsupported: if it does not.
    """
    top = _resolve(schema, schema)
    if not _is_object(top):
        raise Unsupported(
            f"the schema {_name(schema)!r} is not an object at the top, which providers require; "
            "make it a field of an object"
        )


def _name(schema: Mapping[str, Any]) -> str:
    return str(schema.get("title") or "answer")


def _make_strict(part: dict[str, Any]) -> None:
    # Strict mode knows neither `oneOf` with a discriminator nor defaults; pydantic writes both.
    if "oneOf" in part:
        part["anyOf"] = part.pop("oneOf")
        part.pop("discriminator", None)
    part.pop("default", None)
    if _is_object(part):
        part["additionalProperties"] = False
        part["required"] = list(part.get("properties", {}))


def _is_object(part: Mapping[str, Any]) -> bool:
    return part.get("type") == "object" or "properties" in part


def _parts(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the schema and every schema in it, outermost first."""
    yield schema
    for keyword in ("properties", "$defs", "definitions", "patternProperties"):
        for part in schema.get(keyword, {}).values():
            yield from _parts(part)
    for keyword in ("anyOf", "oneOf", "allOf", "prefixItems"):
        for part in schema.get(keyword, []):
            yield from _parts(part)
    for keyword in ("items", "additionalProperties", "not"):
        if isinstance(part := schema.get(keyword), dict):
            yield from _parts(part)


def _resolve(part: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    while isinstance(ref := part.get("$ref"), str) and ref.startswith("#/"):
        target: Any = root
        for step in ref[2:].split("/"):
            target = target[step]
        part = target
    return part


# --- from the answer ---------------------------------------------------------------------------------


def parse(text: str, schema: type[BaseModel] | dict[str, Any]) -> Any:
    """Return the object in `text`: a pydantic instance, or plain JSON if `schema` is a JSON schema.

    The JSON may be in a code fence or surrounded by prose; reasoning is ignored. Values are not repaired,
    completed or converted, and two different matching objects are an error.

    Raises:
        Malformed: if no JSON value in `text` matches, or several different ones do; it keeps `text`.
    """
    text = split_reasoning(text).text
    if isinstance(schema, type):
        # pydantic accepts NaN and infinities, which the log cannot store: leave these to the strict decoder.
        with suppress(ValidationError):
            parsed = schema.model_validate_json(text, strict=True)
            if not _NO_NUMBER.search(text):
                return parsed
    first_problem: str | None = None
    matches: list[Any] = []
    for candidate in candidates(text):
        problem, value = _validate(candidate, schema)
        if problem is not None:
            first_problem = first_problem or problem
        elif value not in matches:
            matches.append(value)
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise Malformed(f"the answer contains {len(matches)} different objects that match", text=text)
    raise Malformed(f"the answer does not match the schema: {first_problem or 'no JSON'}", text=text)


def parse_answer(answer: AnswerT, request: Request | ScoreRequest) -> AnswerT:
    """Return an answer with the object parsed by the request's schema, unless the backend has parsed it.

    Raises:
        Malformed: as `parse`, with the answer's usage and cost.
    """
    if not isinstance(answer, Completion) or not isinstance(request, Request):
        return answer
    if request.schema is None or answer.parsed is not None:
        return answer
    try:
        return amend(answer, parsed=parse(answer.text, request.schema))
    except Malformed as error:
        cut = f" (it was cut off at max_tokens={request.max_tokens})"
        where = f"{request.purpose}: " if request.purpose else ""
        message = f"{where}{error}{cut if answer.finish_reason == 'length' else ''}"
        malformed = Malformed(message, text=error.text, usage=answer.usage)
        malformed.cost = answer.cost
        raise malformed from error


def _not_json(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


def _read_finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"{text} is too large")
    return number


# NaN and infinities are not JSON, though Python reads them, and the log cannot store them.
_decoder = json.JSONDecoder(parse_constant=_not_json, parse_float=_read_finite)


def candidates(text: str) -> list[Any]:
    """Return the JSON values in `text`: all of it, else those in code fences, else those in the prose."""
    values = list(_load_json([text]))
    return values or list(_load_json(_FENCE.findall(text))) or list(_embedded_json(text))


def _load_json(pieces: Iterable[str]) -> Iterator[Any]:
    for piece in pieces:
        with suppress(ValueError, RecursionError):
            value = _decoder.decode(piece)
            if _is_sound(value):
                yield value


def _embedded_json(text: str) -> Iterator[Any]:
    at = 0
    while match := _BRACKET.search(text, at):
        try:
            value, at = _decoder.raw_decode(text, match.start())
        except ValueError:
            at = match.start() + 1
        except RecursionError:
            return  # nested too deeply, and so would every further bracket be
        else:
            if _is_sound(value):
                yield value


def _is_sound(value: Any) -> bool:
    """Return True if no text in a JSON value contains half a surrogate pair (from an escape)."""
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            waiting += part.keys()
            waiting += part.values()
        elif isinstance(part, list):
            waiting += part
        elif isinstance(part, str) and not is_unicode(part):
            return False
    return True


def _validate(value: Any, schema: type[BaseModel] | dict[str, Any]) -> tuple[str | None, Any]:
    if isinstance(schema, type):
        try:
            # Through JSON, since strict validation of Python objects would reject tuples and enums.
            return None, schema.model_validate_json(json.dumps(value), strict=True)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            return f"{'.'.join(map(str, first['loc'])) or 'top'}: {first['msg']}", None
    return _json_schema_problem(value, schema), value


def _json_schema_problem(value: Any, schema: dict[str, Any]) -> str | None:
    import jsonschema  # slow to import, and only plain JSON schemas need it

    error = jsonschema.exceptions.best_match(jsonschema.Draft202012Validator(schema).iter_errors(value))
    return None if error is None else f"{error.json_path}: {error.message}"
