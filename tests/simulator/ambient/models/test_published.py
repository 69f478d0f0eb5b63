"""The published result files of language models: their prompts, items and bytes (spec 6 to 8)."""

from __future__ import annotations

from pathlib import Path

import pytest

from simulator.ambient.data import load_examples
from simulator.ambient.examples import Example
from simulator.ambient.files.results import CONTINUATIONS, GENERATION, TRUE_FALSE
from simulator.ambient.generation import gold_differences
from simulator.ambient.items import GenerateItem
from simulator.ambient.prepare import generate_items
from simulator.ambient.prompts import prompt, read_prompt
from simulator.ambient.records import GenerationRecord, TrueFalseRecord
from simulator.ambient.true_false import right_answer, true_false_prompt

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


def test_gold_rewrites_and_worked_examples_are_those_of_the_dataset(
    generated: tuple[str, tuple[GenerationRecord, ...]], test_split: tuple[Example, ...]
) -> None:
    _, records = generated
    assert gold_differences(records, test_split) == set()
    texts = {
        (pair.premise, pair.hypothesis, pair.disambiguations): pair.id for pair in test_split if pair.xor
    }
    for record in records:
        read = read_prompt(record.prompt)
        ids = [texts[shot.premise, shot.hypothesis, shot.disambiguations] for shot in read.shots]
        assert len(set(ids)) == 4
        assert record.id not in ids
        assert (read.side, read.example.premise) == (record.side, record.premise)


def test_prompts_are_rebuilt_byte_for_byte(generated: tuple[str, tuple[GenerationRecord, ...]]) -> None:
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
        assert record.answer == right_answer(record.template)
        seen.add((record.id, record.side, rewrite, record.template))
    items = {
        (pair.id, side, text) for pair in test_split for side in pair.sides for text in pair.rewrites(side)
    }
    assert seen == {(*item, template) for item in items for template in range(4)}


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
