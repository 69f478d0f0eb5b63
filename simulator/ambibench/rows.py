"""Items as JSON objects and as rows of the log; both hold the whole item (spec sections 15 and 16)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from logs import LogReader
from logs.rows import Run
from simulator.ambibench.aws import AwsPrompt
from simulator.ambibench.features import SETTINGS, Setting
from simulator.ambibench.prompt import Labelled, Prompt, completion, consistent, shown_text, whole_text
from simulator.ambibench.prompt_text import likely_setting
from simulator.ambibench.sentences import read_instruction
from simulator.ambibench.trials import Item
from simulator.codecs import Codec, ItemCodec
from simulator.errors import InputError

BENCHMARK: Final = "ambibench"


class _Items(ItemCodec[Item]):
    """Ours, and published prompts, which lack id, setting, seed and polarity."""

    def read(self, record: Any, place: str) -> Item:
        """Return an item out of a JSON object.

        Args:
            record: the object.
            place: names it in errors (file and line); is the id where the record has none.

        Raises:
            InputError: if a field is missing or wrong, or the text does not fit the examples; names the
                field.
        """
        if record.get("setting") == "aws":
            item: Item = _BUCKETS.read(record, place)
        else:
            item = _PROMPTS.read({**_untold(record, place), **record}, place)
        for field, text in _texts(item).items():
            if field in record and record[field] != text:
                raise InputError(f"{place}: {field} is not what the other fields give")
        return item


ITEMS: Final = _Items(Item, BENCHMARK)
_BUCKETS: Final = Codec[AwsPrompt](AwsPrompt)
_PROMPTS: Final = Codec[Prompt](Prompt)
_LABELLED: Final = Codec[Labelled](Labelled)
item_record, read_item, item_row, item_from_row = ITEMS.write, ITEMS.read, ITEMS.row, ITEMS.read_item


def _untold(record: Mapping[str, Any], place: str) -> dict[str, Any]:
    """Return what a published prompt does not say, but its instruction and labels do."""
    prompt = _LABELLED.read(record, place)
    try:
        kind, _ = read_instruction(prompt.instruction)
    except InputError as error:
        raise InputError(f"{place}: instruction: {error}") from error
    setting = likely_setting(record.get("instruction_kind", kind), prompt.examples)
    told: dict[str, Any] = {
        "id": place,
        "instruction_kind": kind,
        "setting": "ft_train" if "finetune_prompt" in record else setting,
    }
    if "polarity" not in record:
        fitting = [
            each for each in consistent(prompt.pair, prompt.examples) if each.feature == prompt.salient
        ]
        if not fitting:
            raise InputError(f"{place}: salient_task: the labels do not follow {prompt.salient}")
        told["polarity"] = fitting[0].value
    return told


def _texts(item: Item) -> dict[str, Any]:
    """Return what a record may repeat of what its other fields say."""
    if isinstance(item, AwsPrompt):
        return {"prompt": item.text}
    last = len(item.examples)
    return {
        "prompt": whole_text(item),
        "finetune_prompt": shown_text(item, last),
        "finetune_completion": completion(item, last),
        "n_examples": last,
    }


def settings_of(reader: LogReader, run: Run, *, ended: bool = False) -> tuple[Setting, ...]:
    """Return the settings of the items that a run has begun so far, or (`ended`) has come to the end of."""
    status = "SELECT episode_id FROM endings WHERE status IN ('completed', 'truncated')"
    having = f" AND id IN ({status})" if ended else ""
    with reader.connection() as connection:
        rows = connection.execute(
            "SELECT DISTINCT json_extract(data, '$.setting') FROM items "
            f"WHERE hash IN (SELECT item_hash FROM episodes WHERE run_id = ?{having})",
            [run.id],
        ).fetchall()
    held = {row[0] for row in rows}
    return tuple(setting for setting in SETTINGS if setting in held)
