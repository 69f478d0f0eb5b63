"""Files of items: JSON lines, JSON objects as published, finetuning records, and prompts as plain text.

The format of a file is recognised by its content:

======================  =================================================================================
JSON lines              one item per line: one of ours, a published prompt, or a finetuning record
                        ``{"prompt": …, "completion": …}``
JSON                    one such object, a list of them, or groups ``{name: {"prompts": [...]}}``
anything else           complete texts of prompts, separated by empty lines
======================  =================================================================================

Our items are written as JSON lines; equal items give equal bytes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NamedTuple

from simulator.ambibench.aws import AwsPrompt, aws_from_text, is_aws_text
from simulator.ambibench.items import AmbiguousTextError, TextError, item_record, prompt_from_text, read_item
from simulator.ambibench.prompt import (
    Item,
    check_prompt,
    completion,
    finetune_record,
    scored_positions,
    trials,
)
from simulator.errors import InputError
from simulator.jsonlines import CODE, Duplicates
from simulator.tables.records import is_lines, read_entries, read_text
from trees.faults import Fault, Severity, json_problem

SUFFIXES: Final = (".jsonl", ".json", ".txt")
# Names of published groups begin with the section of the paper.
_GROUPS: Final[Mapping[str, Mapping[str, str | None]]] = {
    "4.2": {"setting": "instruction", "ft_variant": None},
    "4.3": {"setting": "multiple", "ft_variant": None},
    "4.4_finetune_ambiguous": {"setting": "ft_train", "ft_variant": "ambiguous"},
    "4.4_finetune_control": {"setting": "ft_train", "ft_variant": "control"},
}


class FoundItem(NamedTuple):
    """An item, and its line in the file, from 1."""

    item: Item
    line: int


class _Raw(NamedTuple):
    """A part of a file that should be an item: a JSON value or a text; or the `problem` of reading it."""

    value: Any
    line: int
    name: str
    defaults: Mapping[str, Any] = {}
    problem: str = ""

    @property
    def own_id(self) -> str | None:
        """The id in the record itself, if any."""
        id = self.value.get("id") if isinstance(self.value, dict) else None
        return id if isinstance(id, str) else None


def read_file(
    path: str | Path, duplicates: Duplicates = "refuse"
) -> tuple[tuple[FoundItem, ...], tuple[Fault, ...]]:
    """Return the items of a file with their lines, and a fault for each part that is not an item.

    The items are valid: sentences, codes, labels, instruction and text agree, and ids are distinct. An item
    without an id in its record that equals an earlier one is a duplicate (a warning).

    Raises:
        InputError: if the file cannot be read at all.
    """
    path = Path(path)
    items: dict[str, FoundItem] = {}
    unnamed: dict[str, int] = {}
    faults: list[Fault] = []
    for raw in _parts(path):
        item = _item_or_fault(path, raw)
        if isinstance(item, Fault):
            faults.append(item)
            continue
        if item.id in items:
            message = f"id: the item in line {items[item.id].line} has the same"
            faults.append(Fault(str(path), item.id, raw.line, "item", message))
            continue
        content = repr(replace(item, id=""))
        if raw.own_id is None and content in unnamed:
            outcome = "kept" if duplicates == "keep" else "left out"
            message = f"repeats line {unnamed[content]}; {outcome}"
            faults.append(Fault(str(path), item.id, raw.line, CODE, message, "warning"))
            if duplicates == "refuse":
                continue
        if raw.own_id is None:
            unnamed.setdefault(content, raw.line)
        items[item.id] = FoundItem(item, raw.line)
    if not items and not faults:
        faults.append(Fault(str(path), "", 0, "format", "contains no items"))
    return tuple(items.values()), tuple(faults)


def item_line(item: Item) -> str:
    """Return an item as a line of JSON."""
    return json.dumps(item_record(item), ensure_ascii=False)


def finetuning_line(item: Item) -> str:
    """Return an item as a finetuning record, with the label of the last example as completion (spec 5.3).

    Raises:
        InputError: if the item asks for more than its last label.
    """
    if isinstance(item, AwsPrompt) or scored_positions(item) != (len(item.examples),):
        raise InputError(f"{item.id}: only items that ask for one label can be finetuning records")
    return json.dumps(finetune_record(item), ensure_ascii=False)


def item_text(item: Item) -> str:
    """Return the last text that a participant sees, with its label if it asks for one, and a newline."""
    last = trials(item)[-1]
    label = "" if isinstance(item, AwsPrompt) or last.gold is None else completion(item, last.k)
    return f"{last.text}{label}\n"


def looks_like_items(path: Path) -> bool:
    """Return True if a file looks like AmbiBench items, judged by its beginning."""
    if path.suffix not in SUFFIXES:
        return False
    with path.open("rb") as file:
        head = file.read(4096)
    marks = (b"Output 'X' if the sentence", b'"construction_type"', b"Write the AWS CLI command")
    return any(mark in head for mark in marks)


def _parts(path: Path) -> Iterator[_Raw]:
    text = read_text(path)
    begin = text.lstrip()[:1]
    lines = is_lines(path)
    if begin == "[" or (begin == "{" and lines):
        for number, (line, value, problem) in enumerate(read_entries(path), start=1):
            place = f"{line}" if lines else f"{number:02}"
            yield _Raw(value, line, f"{path.stem}-{place}", problem=problem)
    elif begin == "{":
        yield from _document(path, text)
    else:
        yield from _texts(path, text)


def _document(path: Path, text: str) -> Iterator[_Raw]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        line = error.lineno if isinstance(error, json.JSONDecodeError) else 0
        yield _Raw(None, line, "", problem=json_problem(error, line=True))
        return
    groups = {
        name: group["prompts"]
        for name, group in document.items()
        if isinstance(group, dict) and "prompts" in group
    }
    lists = {name: records for name, records in groups.items() if isinstance(records, list)}
    if not groups:
        yield _Raw(document, 1 + text[: text.index("{")].count("\n"), f"{path.stem}-01")
    lines = _lines_of_objects(text, [record for records in lists.values() for record in records])
    for name in groups:
        if name not in lists:
            yield _Raw(None, 0, name, problem=f"{name}.prompts is not a list")
    for name, records in lists.items():
        defaults = next((fields for start, fields in _GROUPS.items() if name.startswith(start)), {})
        for number, record in enumerate(records, start=1):
            yield _Raw(record, next(lines), f"{name}-{number:02}", defaults)


def _lines_of_objects(text: str, values: Sequence[object]) -> Iterator[int]:
    """Yield the line on which each object begins in a JSON text, in the order given; 0 if it is not found."""
    decoder, place = json.JSONDecoder(), 0
    for value in values:
        start = text.find("{", place) if isinstance(value, dict) else -1
        while start >= 0:
            try:
                parsed, end = decoder.raw_decode(text, start)
            except ValueError:  # a brace in a string
                parsed, end = None, start
            if parsed == value:
                place = end
                break
            start = text.find("{", start + 1)
        yield 1 + text.count("\n", 0, start) if start >= 0 else 0


def _texts(path: Path, text: str) -> Iterator[_Raw]:
    block: list[str] = []
    for number, line in enumerate([*text.replace("\r\n", "\n").split("\n"), ""], start=1):
        if line:
            block.append(line)
        elif block:
            begin = number - len(block)
            yield _Raw("\n".join(block), begin, f"{path.stem}-{begin}")
            block = []


def _item_or_fault(path: Path, raw: _Raw) -> Item | Fault:
    if raw.problem:
        return Fault(str(path), "", raw.line, "format", raw.problem)
    in_record = isinstance(raw.value, dict)
    name = raw.own_id or raw.name
    try:
        return _item(raw.value, name, raw.defaults)
    except TextError as error:
        # In JSON the whole text is on one line of the file.
        line = raw.line if in_record else raw.line + error.line - 1
        return Fault(str(path), name, line, "item", str(error) if in_record else error.problem)
    except AmbiguousTextError as error:
        # A finetuning record has only its text, and two tasks may fit a short one (spec 5.3).
        severity: Severity = "warning" if in_record else "error"
        return Fault(str(path), name, raw.line, "ambiguous", str(error), severity)
    except InputError as error:
        message = str(error).removeprefix(f"prompt {name}").removeprefix(name).lstrip(":, ")
        return Fault(str(path), name, raw.line, "item", message)


def _item(value: object, name: str, defaults: Mapping[str, Any]) -> Item:
    if isinstance(value, str):
        return aws_from_text(value, name) if is_aws_text(value) else prompt_from_text(value, id=name)
    if not isinstance(value, dict):
        raise InputError("neither an object nor a text")
    if set(value) == {"prompt", "completion"} and all(isinstance(part, str) for part in value.values()):
        return prompt_from_text(value["prompt"] + value["completion"], id=name, setting="ft_train")
    item = read_item({**defaults, **value}, name)
    if not isinstance(item, AwsPrompt):
        check_prompt(item)
    return item
