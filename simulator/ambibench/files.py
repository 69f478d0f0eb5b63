"""Files of items: JSON lines, JSON objects as published, finetuning records, and prompts as plain text.

What a file holds is told by its content:

======================  =================================================================================
JSON lines              one item per line: ours, or a published prompt
                        ``{"prompt": …, "completion": …}``: a finetuning record
JSON                    one such object, a list of them, or groups ``{name: {"prompts": [...]}}``
anything else           texts of prompts, whole, with empty lines between them
======================  =================================================================================

Ours are written as JSON lines, always the same bytes for the same items.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NamedTuple

from simulator.ambibench.aws import AwsPrompt, aws_from_text, is_aws_text
from simulator.ambibench.features import Setting, Variant
from simulator.ambibench.prompt import check_prompt, completion, finetune_record, scored_positions
from simulator.ambibench.prompt_text import AmbiguousTextError, TextError, prompt_from_text
from simulator.ambibench.rows import item_record, read_item
from simulator.ambibench.trials import Item, trials
from simulator.duplicates import CODE, Duplicates
from simulator.errors import InputError
from simulator.jsonlines import write_lines
from simulator.tables.records import read_text
from trees.faults import Fault, Severity

SUFFIXES: Final = (".jsonl", ".json", ".txt")
# Published groups are named after sections of the paper.
_GROUPS: Final[Mapping[str, tuple[Setting, Variant | None]]] = {
    "4.2": ("instruction", None),
    "4.3": ("multiple", None),
    "4.4_finetune_ambiguous": ("ft_train", "ambiguous"),
    "4.4_finetune_control": ("ft_train", "control"),
}


class Found(NamedTuple):
    """An item and where it was found.

    Attributes:
        line: in the file, from 1.
    """

    item: Item
    line: int


class _Raw(NamedTuple):
    """A piece of a file that should be an item: a JSON value, or a text."""

    value: object
    line: int
    name: str
    defaults: Mapping[str, Any]


def read_items(
    path: str | Path, duplicates: Duplicates = "refuse"
) -> tuple[tuple[Item, ...], tuple[Fault, ...]]:
    """Return the items of a file, and what is wrong with the rest of it; see `read_file`.

    Raises:
        InputError: if the file cannot be read at all.
    """
    found, faults = read_file(path, duplicates)
    return tuple(one.item for one in found), faults


def read_file(
    path: str | Path, duplicates: Duplicates = "refuse"
) -> tuple[tuple[Found, ...], tuple[Fault, ...]]:
    """Return the items of a file with their lines, and a fault for each piece of it that is no item.

    Every item is whole: sentences, codes, labels, instruction and text agree, and ids differ. An item without
    an id of its own that says what an earlier one says is a duplicate (a warning).

    Args:
        path: the file.
        duplicates: whether these are left out or kept.

    Raises:
        InputError: if the file cannot be read at all.
    """
    path = Path(path)
    founds: dict[str, Found] = {}
    unnamed: dict[str, _Raw] = {}
    faults: list[Fault] = []
    for raw in _pieces(path):
        item = raw if isinstance(raw, Fault) else _item_or_fault(path, raw)
        if isinstance(item, Fault):
            faults.append(item)
        elif item.id in founds:
            message = f"id: the item in line {founds[item.id].line} has the same"
            faults.append(Fault(str(path), item.id, raw.line, "item", message))
        else:
            if not isinstance(raw, Fault) and not _named(raw):
                earlier = unnamed.setdefault(repr(replace(item, id="")), raw)
                if earlier is not raw:
                    done = "kept" if duplicates == "keep" else "left out"
                    message = f"told twice: line {earlier.line}; {done}"
                    faults.append(Fault(str(path), item.id, raw.line, CODE, message, "warning"))
                    if duplicates == "refuse":
                        continue
            founds[item.id] = Found(item, raw.line)
    if not founds and not faults:
        faults.append(Fault(str(path), "", 0, "format", "holds no items"))
    return tuple(founds.values()), tuple(faults)


def write_items(path: str | Path, items: Iterable[Item]) -> None:
    """Write items as JSON lines; the file is there whole or not at all.

    Raises:
        InputError: if it cannot be written.
    """
    write_lines(path, map(item_line, items))


def item_line(item: Item) -> str:
    """Return the item as a line of JSON."""
    return json.dumps(item_record(item), ensure_ascii=False)


def finetuning_line(item: Item) -> str:
    """Return the item as a record to finetune on: the label of its last example completes it (spec 5.3).

    Raises:
        InputError: if the item asks for more than its last label.
    """
    if isinstance(item, AwsPrompt) or scored_positions(item) != (len(item.examples),):
        raise InputError(f"{item.id}: only items that ask for one label make finetuning records")
    return json.dumps(finetune_record(item), ensure_ascii=False)


def item_text(item: Item) -> str:
    """Return what a participant sees last, with its label if one is due; an empty line after it."""
    last = trials(item)[-1]
    label = "" if isinstance(item, AwsPrompt) or last.gold is None else completion(item, last.k)
    return f"{last.text}{label}\n"


def looks_like_items(path: Path) -> bool:
    """Return True if a file may hold AmbiBench items, by how it begins."""
    if path.suffix not in SUFFIXES:
        return False
    with path.open("rb") as file:
        head = file.read(4096)
    marks = (b"Output 'X' if the sentence", b'"construction_type"', b"Write the AWS CLI command")
    return any(mark in head for mark in marks)


def _pieces(path: Path) -> Iterator[_Raw | Fault]:
    text = read_text(path)
    begin = text.lstrip()[:1]
    if begin not in ("{", "["):
        return _texts(path, text)
    return _lines(path, text) if _is_lines(path, text) else _document(path, text)


def _is_lines(path: Path, text: str) -> bool:
    """Return True if every line is a value of its own; a file of one line is, whatever its name."""
    if path.suffix == ".jsonl":
        return True
    first = next(line for line in text.splitlines() if line.strip())
    try:
        return isinstance(json.loads(first), dict) and not _groups(json.loads(first))
    except (ValueError, RecursionError):
        return False


def _lines(path: Path, text: str) -> Iterator[_Raw | Fault]:
    # Not splitlines: U+2028 may stand in a JSON string, and ends no line.
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            yield _Raw(json.loads(line), number, f"{path.stem}-{number}", {})
        except (ValueError, RecursionError) as error:
            yield Fault(str(path), "", number, "format", f"not JSON: {error}")


def _document(path: Path, text: str) -> Iterator[_Raw | Fault]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        line = error.lineno if isinstance(error, json.JSONDecodeError) else 0
        yield Fault(str(path), "", line, "format", f"not JSON: {error}")
        return
    where = _finder(text)
    groups = _groups(document)
    if groups:
        for group, records in groups.items():
            setting, variant = _of_group(group)
            defaults = {"setting": setting, "ft_variant": variant} if setting else {}
            for number, record in enumerate(records, start=1):
                yield _Raw(record, where(record), f"{group}-{number:02}", defaults)
    else:
        records = document if isinstance(document, list) else [document]
        for number, record in enumerate(records, start=1):
            yield _Raw(record, where(record), f"{path.stem}-{number:02}", {})


def _groups(document: object) -> dict[str, list[Any]]:
    """Return the groups of prompts of a published file; none if it is no such file."""
    if not isinstance(document, dict):
        return {}
    return {
        name: group["prompts"]
        for name, group in document.items()
        if isinstance(group, dict) and isinstance(group.get("prompts"), list)
    }


def _of_group(name: str) -> tuple[Setting | None, Variant | None]:
    return next((found for start, found in _GROUPS.items() if name.startswith(start)), (None, None))


def _texts(path: Path, text: str) -> Iterator[_Raw]:
    block: list[str] = []
    begin = 1
    for number, line in enumerate([*text.replace("\r\n", "\n").split("\n"), ""], start=1):
        if line:
            begin = begin if block else number
            block.append(line)
        elif block:
            yield _Raw("\n".join(block), begin, f"{path.stem}-{begin}", {})
            block = []


def _named(raw: _Raw) -> bool:
    """Return True if a piece has an id of its own."""
    return isinstance(raw.value, dict) and isinstance(raw.value.get("id"), str)


def _item_or_fault(path: Path, raw: _Raw) -> Item | Fault:
    record = raw.value if isinstance(raw.value, dict) else {}
    name = record["id"] if _named(raw) else raw.name
    try:
        return _item(raw.value, name, raw.defaults)
    except TextError as error:
        # In a JSON string all lines of the text are on one line of the file.
        line, message = (raw.line + error.line - 1, error.problem) if not record else (raw.line, str(error))
        return Fault(str(path), name, line, "item", message)
    except AmbiguousTextError as error:
        # A finetuning record has nothing but its text, and a short one may leave two tasks open (spec 5.3).
        severity: Severity = "warning" if record else "error"
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


def _finder(text: str) -> Callable[[object], int]:
    """Tells the lines on which the objects of a JSON text begin; they are asked for in their order."""
    decoder, position, lines = json.JSONDecoder(), 0, 1

    def line(value: object) -> int:
        nonlocal position, lines
        start = text.find("{", position)
        while start >= 0 and isinstance(value, dict):
            lines += text.count("\n", position, start)
            position = start
            found, end = _decode(decoder, text, start)
            if found == value:
                here = lines
                lines += text.count("\n", start, end)
                position = end
                return here
            start = text.find("{", start + 1)
        return 0

    return line


def _decode(decoder: json.JSONDecoder, text: str, start: int) -> tuple[object, int]:
    try:
        found: tuple[object, int] = decoder.raw_decode(text, start)
    except ValueError:  # a brace in a string
        return None, start
    return found
