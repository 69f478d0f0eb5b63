"""Items as JSON objects and as rows of the log; both hold the whole item (spec sections 15 and 16)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, get_args

from logs.rows import Item as ItemRow
from logs.rows import content_hash
from simulator.ambibench.aws import AwsPrompt, aws_record, read_aws
from simulator.ambibench.features import (
    FORMATS,
    LABELS,
    PAIR_NAMES,
    PAIRS,
    SETTINGS,
    Variant,
    value_code,
)
from simulator.ambibench.instructions import read_instruction
from simulator.ambibench.prompt import Example, Prompt, consistent, prompt_record, whole_text
from simulator.ambibench.trials import Item
from simulator.errors import InputError

BENCHMARK: Final = "ambibench"
# The benchmark's texts are English; pages around them are in the participant's language.
LANGUAGE: Final = "en"


def item_record(item: Item) -> dict[str, Any]:
    """The item as a JSON object."""
    return aws_record(item) if isinstance(item, AwsPrompt) else prompt_record(item)


def item_row(item: Item) -> ItemRow:
    """The item as a row of the log."""
    data = item_record(item)
    return ItemRow(hash=content_hash(data), benchmark=BENCHMARK, name=item.id, language=LANGUAGE, data=data)


def item_from_row(row: ItemRow) -> Item:
    """The item out of its row.

    Raises:
        InputError: if the row holds something else.
    """
    return read_item(row.data, f"item {row.name}")


def read_item(record: Mapping[str, Any], place: str) -> Item:
    """An item out of a JSON object: ours, or a published prompt, which lacks id, seed and polarity.

    Args:
        record: the object.
        place: names it in errors (file and line); is the id where the record has none.

    Raises:
        InputError: if a field is missing or wrong, or the text does not fit the examples; names the field.
    """
    try:
        return read_aws(record) if record.get("setting") == "aws" else _prompt(record, place)
    except KeyError as error:
        raise InputError(f"{place}: the field {error} is missing.") from error
    except (ValueError, TypeError) as error:
        raise InputError(f"{place}: {error}.") from error


def _prompt(record: Mapping[str, Any], place: str) -> Prompt:
    pair = _one_of(record, "construction_type", PAIR_NAMES)
    salient = _one_of(record, "salient_task", PAIRS[pair])
    examples = tuple(_example(one, number) for number, one in enumerate(record["examples"], start=1))
    if not examples:
        raise ValueError("examples is empty")
    kind, _ = read_instruction(str(record["instruction"]))
    prompt = Prompt(
        id=str(record.get("id", place)),
        setting=_one_of({"setting": "multiple", **record}, "setting", SETTINGS),
        pair=pair,
        salient=salient,
        x_is=_polarity(record, pair, salient, examples),
        format=_one_of(record, "format", FORMATS),
        kind=kind,
        instruction=str(record["instruction"]),
        examples=examples,
        seed=int(record.get("seed", 0)),
        fold=_one_of(record, "fold", PAIR_NAMES) if record.get("fold") else None,
        variant=_one_of(record, "ft_variant", get_args(Variant)) if record.get("ft_variant") else None,
        question=str(record.get("question", "")),
    )
    if "prompt" in record and record["prompt"] != whole_text(prompt):
        raise ValueError("prompt is not what instruction, format and examples give")
    return prompt


def _polarity(record: Mapping[str, Any], pair: Any, salient: Any, examples: tuple[Example, ...]) -> bool:
    if "polarity" in record:
        return value_code(salient, str(record["polarity"]))
    fitting = [one for one in consistent(pair, examples) if one.feature == salient]
    if not fitting:
        raise ValueError(f"the labels do not follow {salient}")
    return fitting[0].x_is


def _example(record: Mapping[str, Any], number: int) -> Example:
    where = f"example {number}: "
    for field in ("sentence", "task_a", "task_b", "label"):
        if field not in record:
            raise ValueError(f"{where}the field {field!r} is missing")
    if not (isinstance(record["task_a"], bool) and isinstance(record["task_b"], bool)):
        raise ValueError(f"{where}task_a and task_b must be true or false")
    label = _one_of(record, "label", LABELS, where)
    return Example(str(record["sentence"]), record["task_a"], record["task_b"], label)


def _one_of(record: Mapping[str, Any], field: str, known: tuple[Any, ...], where: str = "") -> Any:
    if record[field] not in known:
        raise ValueError(f"{where}{field} is {record[field]!r}; it must be one of {', '.join(known)}")
    return record[field]
