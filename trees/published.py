"""Reader of published task files (spec section 2).

A file ``<n>._<Type_Name>.json`` contains the tasks of type ``n`` in one language: a list whose first half
are the tasks and whose second half are their counterparts (placeholders; in older files a second
annotation, which is not read). The id of task ``j`` is ``"<n>.<j>"``.

Irregularities in the 62 published files, and how they are handled:

- 50 English and 121 Chinese tasks have no ``Jax:`` before any response (all of types 28 to 31 and a few
  others; in Chinese also all of types 22 to 25 and most of 18, 19, 21 and 26); all others have ``Jax: ``
  before each. The prefix is not part of `Node.text`.
- 17 English responses and 26 lines of the English item, skill and scene lists (and two Chinese lines) have
  trailing blanks. Blanks around texts are dropped.
- Indices skip a number in three tasks (1.9: ``1``, ``1.2``, ``1.3``, ``2``; 2.3 and 6.7: no ``3``). The
  tree works all the same; `trees.checks` warns.
- Responses are not in index order in three tasks (8.2, 8.6, 11.2); explanations follow the order of the
  responses in the file. `Tree` sorts.
- Types 27 to 31 have no key ``all_response_exaplain`` (sic).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from trees.faults import Fault, json_problem
from trees.model import (
    OPENING,
    TASK_TYPES,
    Background,
    Draft,
    Language,
    Node,
    Scan,
    guess_language,
    task_type,
)

FILE_NAME = re.compile(r"(\d+)\._(.+)\.json")
FOLDERS: Mapping[Language, str] = {"en": "English", "zh": "Chinese"}

_INDEX = re.compile(r"\d+(\.\d+)*")
_PREFIX = re.compile(r"^\s*Jax\s*[:：]\s*")


class _Record(BaseModel):
    """The keys that are read."""

    model_config = ConfigDict(extra="ignore", strict=True)

    all_response: str
    background: str
    background_splitted: Annotated[list[str], Field(min_length=5, max_length=5)]
    all_response_exaplain: list[str] | None = None


def scan_published(path: str | Path) -> Scan:
    """Read the tasks of a file, collecting faults instead of raising them."""
    path = Path(path)
    try:
        type = _task_type(path)
        text = path.read_text(encoding="utf-8-sig")
        entries = list(_entries(text))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        return Scan(faults=(_fault(path, "", getattr(error, "lineno", 1), json_problem(error, line=True)),))
    except (OSError, ValueError) as error:
        return Scan(faults=(_fault(path, "", 1, str(error)),))
    language = _folder_language(path) or guess_language(text)
    half = len(entries) // 2
    drafts: list[Draft] = []
    faults: list[Fault] = []
    for number, (line, entry) in enumerate(entries[:half]):
        name = f"{type}.{number}"
        try:
            drafts.append(_draft(path, name, type, language, line, entry))
        except ValidationError as error:
            for fault in error.errors():
                field = ".".join(str(part) for part in fault["loc"])
                faults.append(_fault(path, name, line, f"{field}: {fault['msg'].lower()}"))
        except ValueError as error:
            faults.append(_fault(path, name, line, str(error)))
    return Scan(tuple(drafts), tuple(faults))


def _task_type(path: Path) -> int:
    match = FILE_NAME.fullmatch(path.name)
    if match is None:
        raise ValueError("the name of a published file is <number>._<Type_Name>.json")
    number, name = int(match[1]), match[2].replace("_", " ")
    if not 1 <= number <= len(TASK_TYPES) or task_type(number).en.lower() != name.lower():
        raise ValueError(f"type {number} is not called {name!r}; see trees.model for the 31 types")
    return number


def _folder_language(path: Path) -> Language | None:
    names = {folder.lower(): language for language, folder in FOLDERS.items()}
    return names.get(path.absolute().parent.name.lower())


def _entries(text: str) -> Iterator[tuple[int, Any]]:
    """Yield each object of a JSON list with the line where it begins."""
    entries = json.loads(text)
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise ValueError("a published file is a list of objects")
    if not entries or len(entries) % 2:
        raise ValueError(
            f"{len(entries)} objects; expected an even number: the tasks, then a counterpart for each"
        )
    decoder, position, line, counted_to = json.JSONDecoder(), text.index("[") + 1, 1, 0
    for _ in entries:
        position = text.index("{", position)
        line, counted_to = line + text.count("\n", counted_to, position), position
        entry, position = decoder.raw_decode(text, position)
        yield line, entry


def _draft(path: Path, name: str, type: int, language: Language, line: int, entry: Any) -> Draft:
    record = _Record.model_validate(entry)
    indices, texts = _split_responses(record.all_response)
    nodes = indices[1:]
    explanations = record.all_response_exaplain
    if explanations is not None and len(explanations) != len(nodes):
        raise ValueError(f"{len(explanations)} explanations for {len(nodes)} responses after the opening")
    padded: Sequence[str | None] = [None] * len(nodes) if explanations is None else explanations
    return Draft(
        id=name,
        type=type,
        language=language,
        background=background_of(record.background_splitted),
        opening=_clean(texts[0]),
        nodes=tuple(
            Node(index, _clean(text), (explanation or "").strip() or None)
            for index, text, explanation in zip(nodes, texts[1:], padded, strict=True)
        ),
        prompt=record.background,
        source=str(path),
        kind="published",
        line=line,
    )


def background_of(parts: Sequence[str]) -> Background:
    """Return the background from five strings: role, task, and items, skills and scenes, one a line."""
    role, task, *lists = parts
    return Background(role.strip(), task.strip(), *(_lines(part) for part in lists))


def _split_responses(all_response: str) -> tuple[list[str], list[str]]:
    """Return the indices and the raw responses."""
    lines = all_response.strip("\n").split("\n")
    half = len(lines) // 2
    if len(lines) % 2:
        raise ValueError(f"all_response has {len(lines)} lines; expected as many indices as responses")
    texts, indices = lines[:half], [line.strip() for line in lines[half:]]
    for index in indices:
        if not _INDEX.fullmatch(index):
            raise ValueError(f"all_response: expected an index like 1 or 1.2, not {index!r}")
    if indices[0] != OPENING:
        raise ValueError(
            f"all_response: the first index is {indices[0]}, not {OPENING} (the opening response)"
        )
    return indices, texts


def _clean(line: str) -> str:
    return _PREFIX.sub("", line).strip()


def _lines(part: str) -> tuple[str, ...]:
    return tuple(line.strip() for line in part.split("\n") if line.strip())


def _fault(path: Path, task: str, line: int, message: str) -> Fault:
    return Fault(str(path), task, line, "format", message)
