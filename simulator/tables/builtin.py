"""Readers of a benchmark's YAML files: lists of entries, texts in two languages."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

import yaml
from pydantic import TypeAdapter, ValidationError

from simulator.errors import InputError
from simulator.fields import first_fault
from simulator.jsonlines import FieldError, Row
from trees import Language

T = TypeVar("T")
# libyaml, if PyYAML comes with it, is ten times as fast.
LOADER: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_LANGUAGES: Final = ("en", "zh")
_WORDS: Final[TypeAdapter[dict[Language, dict[str, Any]]]] = TypeAdapter(dict[Language, dict[str, Any]])


def read_yaml(path: Path) -> Any:
    """Return the contents of a YAML file.

    Raises:
        InputError: if it cannot be read, or is not YAML.
    """
    try:
        return yaml.load(path.read_text(encoding="utf-8"), Loader=LOADER)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        mark = getattr(error, "problem_mark", None)
        line = f":{mark.line + 1}" if mark is not None else ""
        raise InputError(f"{path}{line}: is not YAML ({getattr(error, 'problem', None) or error})") from error


def read_words(path: Path) -> dict[Language, dict[str, Any]]:
    """Return the texts of pages or reports by language: ``{en: {NAME: …}, zh: {NAME: …}}``.

    Raises:
        InputError: if the file cannot be read or has another form; names the line or the field.
    """
    try:
        return _WORDS.validate_python(read_yaml(path))
    except ValidationError as error:
        raise InputError(f"{path}: {first_fault(error)}") from error


def read_list(path: Path, parse: Callable[[Row], T]) -> tuple[T, ...]:
    """Return the entries of a YAML list of objects; one without an id gets ``STEM-001``, by its position.

    Raises:
        InputError: if it cannot be read, or an entry is faulty.
    """
    entries = read_yaml(path)
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise InputError(f"{path}: is not a list of entries with fields")
    values = []
    for number, entry in enumerate(entries, start=1):
        row = Row({"id": f"{path.stem}-{number:03}", **entry})
        try:
            values.append(parse(row))
        except FieldError as error:
            raise InputError(f"{path}: entry {row.get('id')}: {error}") from error
    return tuple(values)


def read_texts(path: Path, language: str) -> Any:
    """Return the contents of a YAML file in one language, which replaces each ``{en: …, zh: …}``.

    Raises:
        InputError: if the language is neither.
    """
    if language not in _LANGUAGES:
        raise InputError(f"language {language!r}: {path.stem} are in {' and '.join(_LANGUAGES)}")
    return _in_language(read_yaml(path), language)


def _in_language(value: Any, language: str) -> Any:
    if isinstance(value, list):
        return [_in_language(entry, language) for entry in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == set(_LANGUAGES):
        return value[language]
    return {name: _in_language(entry, language) for name, entry in value.items()}
