"""Items as JSON objects and as rows of the log; both hold the whole item (spec sections 15 and 16)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, get_args

from logs.rows import Item as ItemRow
from logs.rows import content_hash
from simulator.ambibench.aws import AwsPrompt, aws_record, read_aws
from simulator.ambibench.features import (
    FORMATS,
    KINDS,
    LABELS,
    PAIR_NAMES,
    PAIRS,
    SETTINGS,
    Kind,
    Setting,
    Variant,
    value_code,
)
from simulator.ambibench.instructions import read_instruction
from simulator.ambibench.prompt import (
    Example,
    Prompt,
    completion,
    consistent,
    prompt_record,
    shown_text,
    whole_text,
)
from simulator.ambibench.prompt_text import likely_setting
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
    """An item out of a JSON object: ours, or a published prompt, which lacks id, setting, seed and polarity.

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
    except InputError as error:
        raise InputError(f"{place}: instruction: {error}") from error


def _prompt(record: Mapping[str, Any], place: str) -> Prompt:
    pair = _one_of(record, "construction_type", PAIR_NAMES)
    salient = _one_of(record, "salient_task", PAIRS[pair])
    if not isinstance(record["examples"], list) or not record["examples"]:
        raise ValueError("examples must be a list, and not empty")
    examples = tuple(_example(one, number) for number, one in enumerate(record["examples"], start=1))
    instruction = _string(record, "instruction")
    kind = _one_of(
        {"instruction_kind": read_instruction(instruction)[0], **record}, "instruction_kind", KINDS
    )
    prompt = Prompt(
        id=_string(record, "id") if "id" in record else place,
        setting=_setting(record, kind, examples),
        pair=pair,
        salient=salient,
        x_is=_polarity(record, pair, salient, examples),
        format=_one_of(record, "format", FORMATS),
        kind=kind,
        instruction=instruction,
        examples=examples,
        seed=_seed(record),
        fold=_one_of(record, "fold", PAIR_NAMES) if record.get("fold") else None,
        variant=_one_of(record, "ft_variant", get_args(Variant)) if record.get("ft_variant") else None,
        question=_string(record, "question") if record.get("question") else "",
    )
    _check_texts(record, prompt)
    return prompt


def _setting(record: Mapping[str, Any], kind: Kind, examples: Sequence[Example]) -> Setting:
    if "setting" in record:
        found: Setting = _one_of(record, "setting", SETTINGS)
        return found
    return "ft_train" if "finetune_prompt" in record else likely_setting(kind, examples)


def _check_texts(record: Mapping[str, Any], prompt: Prompt) -> None:
    """Where a record repeats in other fields what the examples say, it must agree."""
    last = len(prompt.examples)
    expected = {
        "prompt": whole_text(prompt),
        "finetune_prompt": shown_text(prompt, last),
        "finetune_completion": completion(prompt, last),
        "n_examples": last,
    }
    for field, value in expected.items():
        if field in record and record[field] != value:
            raise ValueError(f"{field} is not what instruction, format and examples give")


def _polarity(record: Mapping[str, Any], pair: Any, salient: Any, examples: tuple[Example, ...]) -> bool:
    if "polarity" in record:
        return value_code(salient, _string(record, "polarity"))
    fitting = [one for one in consistent(pair, examples) if one.feature == salient]
    if not fitting:
        raise ValueError(f"salient_task: the labels do not follow {salient}")
    return fitting[0].x_is


def _example(record: object, number: int) -> Example:
    where = f"example {number}: "
    if not isinstance(record, Mapping):
        raise ValueError(f"{where}must be an object with sentence, task_a, task_b, label")
    for field in ("sentence", "task_a", "task_b", "label"):
        if field not in record:
            raise ValueError(f"{where}the field {field!r} is missing")
    if not (isinstance(record["task_a"], bool) and isinstance(record["task_b"], bool)):
        raise ValueError(f"{where}task_a and task_b must be true or false")
    label = _one_of(record, "label", LABELS, where)
    return Example(_string(record, "sentence", where), record["task_a"], record["task_b"], label)


def _string(record: Mapping[str, Any], field: str, where: str = "") -> str:
    if not isinstance(record[field], str):
        raise ValueError(f"{where}{field} must be a string, not {record[field]!r}")
    return str(record[field])


def _seed(record: Mapping[str, Any]) -> int:
    seed = record.get("seed", 0)
    if type(seed) is not int:
        raise ValueError(f"seed must be a whole number, not {seed!r}")
    return seed


def _one_of(record: Mapping[str, Any], field: str, known: tuple[Any, ...], where: str = "") -> Any:
    if record[field] not in known:
        raise ValueError(f"{where}{field} is {record[field]!r}; it must be one of {', '.join(known)}")
    return record[field]
