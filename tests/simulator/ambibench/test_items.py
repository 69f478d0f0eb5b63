from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.ambibench.features import FEATURES, FORMATS, KINDS
from simulator.ambibench.generation import (
    draw_multiple,
    generate_aws,
    generate_evaluation,
    generate_finetune,
    generate_instruction,
    generate_multiple,
    generate_verbalise,
)
from simulator.ambibench.items import item_from_row, item_record, item_row, read_item
from simulator.ambibench.prompt import Prompt
from simulator.errors import InputError


def of_every_setting() -> list[Any]:
    return [
        *generate_instruction(0, "informative", per_cell=1, location_word="location"),
        *generate_multiple(0, "wug", per_cell=1),
        *generate_finetune(0, "subject_location", "control")[:5],
        *generate_evaluation(0, "propn_negation", per_cell=1),
        *generate_verbalise(0, per_cell=1),
        *generate_aws(0, per_name=1, followup=True),
    ]


def test_items_of_every_setting_survive_the_log() -> None:
    for item in of_every_setting():
        row = item_row(item)
        assert (row.benchmark, row.name, row.language) == ("ambibench", item.id, "en")
        assert item_from_row(replace(row, data=json.loads(json.dumps(row.data)))) == item


def test_rows_differ_where_items_do() -> None:
    items = of_every_setting()
    assert len({item_row(item).hash for item in items}) == len(items)


@settings(max_examples=40)
@given(
    st.integers(0, 2**31 - 1),
    st.sampled_from(FEATURES),
    st.sampled_from(FORMATS),
    st.sampled_from(KINDS),
    st.integers(1, 20),
)
def test_a_record_needs_only_the_published_fields(
    seed: int, feature: str, form: str, kind: str, length: int
) -> None:
    prompt = draw_multiple(seed, feature, form, kind, length=length)
    keys = ("format", "construction_type", "instruction", "prompt", "salient_task", "examples")
    record = {key: item_record(prompt)[key] for key in keys}
    item = read_item(record, "file:3")
    assert isinstance(item, Prompt)
    assert (item.id, item.seed) == ("file:3", 0)
    assert (item.hypothesis, item.examples, item.kind) == (prompt.hypothesis, prompt.examples, prompt.kind)


ITEM = draw_multiple(1, "propn", "qa", length=4)
EXAMPLE = item_record(ITEM)["examples"][0]


@pytest.mark.each(
    ("field", "value", "problem"),
    [
        ("construction_type", "cats_dogs", 'construction_type is "cats_dogs", not one of subject_location'),
        ("construction_type", None, "construction_type is null"),
        ("salient_task", "subject", "salient_task is 'subject'"),
        ("format", "xml", 'format is "xml", not one of arrow, qa'),
        ("format", ["qa"], "format is"),
        ("setting", "4.3", 'setting is "4.3", not one of '),
        ("polarity", "They", "polarity: propn must be proper or common"),
        ("polarity", None, "polarity is null, not a text"),
        ("instruction", "Say X.", "instruction: 'Say X.' is not an instruction"),
        ("instruction", 3, "instruction is 3, not a text"),
        ("instruction_kind", "informed", 'instruction_kind is "informed", not one of '),
        ("seed", "1", 'seed is "1", not a whole number'),
        ("seed", 1.5, "seed is 1.5, not a whole number"),
        ("fold", "x", 'fold is "x", not one of '),
        ("ft_variant", "x", 'ft_variant is "x", not one of '),
        ("id", 7, "id is 7, not a text"),
        ("question", 7, "question is 7, not a text"),
        ("prompt", "Output", "prompt contradicts the other fields"),
        ("finetune_prompt", "Output", "finetune_prompt contradicts the other fields"),
        ("finetune_completion", "X", "finetune_completion contradicts the other fields"),
        ("n_examples", 3, "n_examples contradicts the other fields"),
        ("examples", [], "examples is empty"),
        ("examples", {"a": 1}, r'examples is \{"a": 1\}, not a list'),
        ("examples", [3], r"examples\[0\] is 3, not an object"),
        ("examples", [{"sentence": "x"}], r"examples\[0\].task_a is missing"),
        (
            "examples",
            [EXAMPLE, EXAMPLE | {"task_a": "False"}],
            r'examples\[1\].task_a is "False", not true or false',
        ),
        ("examples", [EXAMPLE | {"task_b": 1}], r"examples\[0\].task_b is 1, not true or false"),
        ("examples", [EXAMPLE | {"label": "x"}], r'examples\[0\].label is "x", not one of X, Y'),
        ("examples", [EXAMPLE | {"sentence": None}], r"examples\[0\].sentence is null, not a text"),
    ],
)
def test_wrong_fields_are_named(field: str, value: object, problem: str) -> None:
    record = item_record(ITEM)
    if field.startswith("finetune"):
        assert record["setting"] == "multiple"
    with pytest.raises(InputError, match=f"^f.jsonl:1: {problem}"):
        read_item(record | {field: value}, "f.jsonl:1")


@pytest.mark.each("field", ["construction_type", "salient_task", "format", "instruction", "examples"])
def test_missing_fields_are_named(field: str) -> None:
    record = item_record(ITEM)
    del record[field]
    with pytest.raises(InputError, match=f"^f.jsonl:1: {field} is missing"):
        read_item(record, "f.jsonl:1")


def test_labels_that_follow_no_polarity_are_refused() -> None:
    record = item_record(ITEM)
    del record["polarity"], record["prompt"]
    record["examples"] = [EXAMPLE | {"label": "X"}, EXAMPLE | {"label": "Y"}]
    with pytest.raises(InputError, match="salient_task: the labels do not follow propn"):
        read_item(record, "here")


def test_a_finetuning_record_says_that_it_is_one() -> None:
    record = item_record(ITEM)
    cut = record["prompt"][: -len(" X")]
    del record["setting"]
    item = read_item(record | {"finetune_prompt": cut, "finetune_completion": record["prompt"][-2:]}, "x")
    assert isinstance(item, Prompt)
    assert item.setting == "ft_train"
