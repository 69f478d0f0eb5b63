"""The published result files of language models, scored anew: every reference value (spec 6 to 8)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from simulator.ambient.continuations import continuation_measures
from simulator.ambient.data import load_examples
from simulator.ambient.examples import Example
from simulator.ambient.files.results import (
    CONTINUATIONS,
    GENERATION,
    TRUE_FALSE,
)
from simulator.ambient.generation import (
    edit_f1,
    edit_f1_variants,
    generation_measures,
    gold_differences,
    item_scores,
    rescored,
)
from simulator.ambient.items import GenerateItem
from simulator.ambient.prompts import generate_items, prompt, read_prompt
from simulator.ambient.records import ContinuationRecord, GenerationRecord, TrueFalseRecord
from simulator.ambient.true_false import (
    expected,
    inconsistent_pairs,
    true_false_measures,
    true_false_prompt,
)
from simulator.stats import Interval

GENERATORS = ("davinci", "text-davinci-003")
JUDGES = ("davinci", "gpt-3.5-turbo")


def generation_file(data: Path, model: str) -> Path:
    return data / "ambient" / "results" / "generative_evaluation" / f"{model}-n4.jsonl"


def judging_file(data: Path, model: str) -> Path:
    return data / "ambient" / "results" / "TF_evaluation" / f"{model}.jsonl"


def continuation_file(data: Path) -> Path:
    return data / "ambient" / "results" / "continuation_evaluation" / "davinci" / "results.jsonl"


@pytest.fixture(scope="session")
def test_split(data: Path) -> tuple[Example, ...]:
    return load_examples(str(data / "ambient"), "test")


@pytest.fixture(scope="session", params=GENERATORS)
def generated(data: Path, request: pytest.FixtureRequest) -> tuple[str, tuple[GenerationRecord, ...]]:
    read = GENERATION.read(generation_file(data, request.param))
    assert not read.faults
    return request.param, read.rows


@pytest.fixture(scope="session", params=JUDGES)
def judged(data: Path, request: pytest.FixtureRequest) -> tuple[str, tuple[TrueFalseRecord, ...]]:
    read = TRUE_FALSE.read(judging_file(data, request.param))
    assert not read.faults
    return request.param, read.rows


@pytest.fixture(scope="session")
def continued(data: Path) -> tuple[ContinuationRecord, ...]:
    read = CONTINUATIONS.read(continuation_file(data))
    assert not read.faults
    return read.rows


def percent(interval: Interval | None, digits: int) -> float:
    assert interval is not None
    assert interval.low <= interval.value <= interval.high
    return round(100 * interval.value, digits)


def mean_percent(values: Sequence[float], digits: int = 4) -> float:
    return round(100 * sum(values) / len(values), digits)


def test_unit_cases_of_edit_f1(data: Path, checks: dict[str, Any]) -> None:
    cases = json.loads((data / "edit_f1_cases.json").read_text(encoding="utf-8"))
    found = [edit_f1(case["original"], case["gold"], case["predicted"]) for case in cases]
    assert found == pytest.approx(checks["A9.edit_f1_cases"], abs=1e-12)
    assert found == pytest.approx([case["edit_f1"] for case in cases], abs=1e-12)


def test_edit_f1_of_stored_and_of_parsed_rewrites(
    generated: tuple[str, tuple[GenerationRecord, ...]], checks: dict[str, Any]
) -> None:
    model, records = generated
    stored = [record.stored_edit_f1 for record in records if record.stored_edit_f1 is not None]
    assert len(stored) == len(records) == 506
    assert mean_percent(stored) == checks[f"A3.{model}.stored_mean"]
    assert mean_percent(item_scores(records, "stored")) == checks[f"A3.{model}.recomputed"]
    assert mean_percent(item_scores(records)) == checks[f"A3.{model}.from_generation"]
    measures = generation_measures(records)
    assert percent(measures["edit_f1"], 4) == checks[f"A3.{model}.from_generation"]
    assert rescored(records) == ()


def test_counts_and_patterns(
    generated: tuple[str, tuple[GenerationRecord, ...]], checks: dict[str, Any]
) -> None:
    model, records = generated
    measures = generation_measures(records)
    assert {str(count): rows for count, rows in measures["rewrites"].items()} == checks[f"A3.{model}.n_pred"]
    patterns = [measures[f"pattern_{key}"] for key in ("empty", "copied", "restated")]
    found = [percent(one, 1) for one in patterns]
    assert found == checks[f"A3.{model}.patterns"]
    assert measures["unparsable"].value == measures["rewrites"].get(0, 0)
    assert (
        percent(measures["pattern_restated_found"], 2) == {"davinci": 39.33, "text-davinci-003": 38.34}[model]
    )


def test_variants(generated: tuple[str, tuple[GenerationRecord, ...]], checks: dict[str, Any]) -> None:
    model, records = generated
    wanted = checks[f"A3.{model}.variants"]
    found = {name: round(100 * value, 2) for name, value in edit_f1_variants(records).items()}
    assert found["denominator: predicted"] == wanted["denominator=predicted labels"]
    assert found["denominator: union"] == wanted["denominator=union (paper footnote 6 reading)"]
    assert found["tokens: whitespace"] == wanted["split()"]
    assert found["tokens: lower"] == wanted["lower"]
    assert found["tokens: lower, no punctuation"] == wanted["lower+nopunct"]
    assert found["tokens: words and signs"] == wanted["wordpunct"]


def test_gold_rewrites_and_worked_examples_are_those_of_the_dataset(
    generated: tuple[str, tuple[GenerationRecord, ...]], test_split: tuple[Example, ...]
) -> None:
    _, records = generated
    assert gold_differences(records, test_split) == ()
    texts = {(one.premise, one.hypothesis, one.disambiguations): one.id for one in test_split if one.xor}
    for record in records:
        read = read_prompt(record.prompt)
        ids = [texts[shot.premise, shot.hypothesis, shot.disambiguations] for shot in read.shots]
        assert len(set(ids)) == 4
        assert record.id not in ids
        assert (read.side, read.example.premise) == (record.side, record.premise)


def test_prompts_are_rebuilt_byte_for_byte(
    generated: tuple[str, tuple[GenerationRecord, ...]],
) -> None:
    _, records = generated
    for record in records:
        read = read_prompt(record.prompt)
        item = GenerateItem(id=record.id, example=read.example, side=read.side, shots=read.shots)
        assert prompt(item) == record.prompt


def test_items_are_those_of_the_published_files(
    generated: tuple[str, tuple[GenerationRecord, ...]], test_split: tuple[Example, ...]
) -> None:
    _, records = generated
    items = generate_items(test_split, seed=1)
    assert {item.id: item.side for item in items} == {record.id: record.side for record in records}
    assert all(len({shot.id for shot in item.shots} - {item.id}) == 4 for item in items)


def test_accuracy_per_template(
    judged: tuple[str, tuple[TrueFalseRecord, ...]], checks: dict[str, Any]
) -> None:
    model, records = judged
    measures = true_false_measures(records)
    by_template = [measures[f"template_{number}"] for number in (1, 2, 3, 4)]
    found = [percent(one, 1) for one in (*by_template, measures["accuracy"])]
    assert found == checks[f"A4.{model}.templates"]
    assert {one.n for one in by_template} == {1173}
    assert (measures["null"].n, measures["incomplete"].value, measures["doubled"].value) == (4692, 0, 0)
    assert percent(measures["answered_accuracy"], 2) == checks[f"A4.{model}.excl_null"]
    assert measures["null"].value == {"davinci": 0, "gpt-3.5-turbo": 12}[model]


def test_consistency(judged: tuple[str, tuple[TrueFalseRecord, ...]], checks: dict[str, Any]) -> None:
    model, records = judged
    measures = true_false_measures(records)
    assert percent(measures["all_four"], 2) == checks[f"A4.{model}.all_four"]
    assert percent(measures["inconsistent"], 2) == checks[f"A4.{model}.inconsistent_pairs"]
    count, pairs = inconsistent_pairs(records, "reference")
    assert (count, pairs) == (checks[f"A4.{model}.inconsistent_pairs_sorted"], 606)
    assert measures["inconsistent_reference"].value == count / pairs
    contradictions = [measures[key].value for key in ("may_and_cannot", "not_necessarily_and_only")]
    assert contradictions == checks[f"A4.{model}.self_contradiction"]


def test_mass_or_share_of_answers(
    judged: tuple[str, tuple[TrueFalseRecord, ...]], checks: dict[str, Any]
) -> None:
    model, records = judged
    measures = true_false_measures(records)
    assert percent(measures["mass"] or measures["answered"], 2) == checks[f"A4.{model}.tf_mass"]
    assert (measures["mass"] is None) == (model == "gpt-3.5-turbo")


def test_prompts_of_statements(
    judged: tuple[str, tuple[TrueFalseRecord, ...]], test_split: tuple[Example, ...]
) -> None:
    _, records = judged
    by_id = {example.id: example for example in test_split}
    seen = set()
    for record in records:
        example = by_id[record.id]
        made = {
            true_false_prompt(record.template, example.sentence(record.side), text): text
            for text in example.rewrites(record.side)
        }
        rewrite = made[record.prompt]
        # The files hold what stands behind the last colon, without blanks at its ends.
        assert record.disambiguation == rewrite.rpartition(": ")[2].strip()
        assert record.answer == expected(record.template)
        seen.add((record.id, record.side, rewrite, record.template))
    items = {(one.id, side, text) for one in test_split for side in one.sides for text in one.rewrites(side)}
    assert seen == {(*item, template) for item in items for template in range(4)}


def test_ranking_accuracy_and_both_baselines(
    continued: tuple[ContinuationRecord, ...],
    test_split: tuple[Example, ...],
    checks: dict[str, Any],
) -> None:
    measures = continuation_measures(continued, test_split)
    assert percent(measures["accuracy"], 1) == checks["A5.davinci"]
    assert (measures["right"].value, measures["right"].n) == (439, 580)
    assert percent(measures["random"], 2) == checks["A5.davinci.random"]
    assert percent(measures["random_examples"], 1) == 32.8
    assert len(measures["ids"]["missing"]) == checks["A5.davinci.nan"]
    assert measures["options"] == {2: 567, 3: 13}
    assert measures["ids"]["tied"] == []
    assert (measures["num_conts_min"].value, round(measures["num_conts_mean"].value, 1)) == (51, 99.8)


def test_written_files_are_the_published_bytes(data: Path, tmp_path: Path) -> None:
    written = tmp_path / "written.jsonl"
    for model in GENERATORS:
        path = generation_file(data, model)
        GENERATION.write(written, GENERATION.read(path).rows)
        assert written.read_bytes() == path.read_bytes()
    TRUE_FALSE.write(written, TRUE_FALSE.read(judging_file(data, "davinci")).rows)
    assert written.read_bytes() == judging_file(data, "davinci").read_bytes()
    CONTINUATIONS.write(written, CONTINUATIONS.read(continuation_file(data)).rows)
    assert written.read_bytes() == continuation_file(data).read_bytes()
    # Predictions of 1.0 and 0.0 are written as what they mean.
    path = judging_file(data, "gpt-3.5-turbo")
    TRUE_FALSE.write(written, TRUE_FALSE.read(path).rows)
    assert TRUE_FALSE.read(written).rows == TRUE_FALSE.read(path).rows
