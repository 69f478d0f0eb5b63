"""Loading examples by name, merging their files, and other built-in data."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from simulator import datasets
from simulator.ambient import data
from simulator.ambient.data import (
    load_categories,
    load_claims,
    load_examples,
    load_guidelines,
    load_pool,
    load_qualification,
    read_examples,
)
from simulator.ambient.labels import CATEGORIES, LABELS
from simulator.ambient.prepare import crowd_items
from simulator.errors import InputError

Rows = dict[str, dict[str, Any]]
Write = Callable[..., Path]


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASKBACK_HOME", str(tmp_path / "home"))


def ids(folder: Path, split: Any = "all") -> list[str]:
    return [example.id for example in load_examples(folder, split)]


def test_a_folder_is_one_dataset_and_its_splits_are_named_after_their_files(rows: Rows, write: Write) -> None:
    first, two, three = rows["1"], rows["2_c"], rows["3"]
    write("ambient_full.jsonl", first, {**two, "meta": {"source": "ours"}}, three)
    write("dev.jsonl", three)
    folder = write("test.jsonl", two, first).parent
    assert ids(folder) == ["1", "2_c", "3"]
    assert ids(folder, "dev") == ["3"]
    assert ids(folder, "test") == ["2_c", "1"]  # in the order of their own file
    assert [example.split for example in load_examples(folder)] == ["test", "test", "dev"]
    assert load_examples(folder, "test")[0].meta == {"source": "ours"}


def test_a_single_file_has_the_split_of_its_name_or_of_its_rows(rows: Rows, write: Write) -> None:
    assert [example.split for example in load_examples(write("dev.jsonl", rows["1"]))] == ["dev"]
    path = write("own.jsonl", {**rows["1"], "split": "test"}, rows["4"])
    assert [example.split for example in load_examples(path)] == ["test", ""]
    assert ids(path, "test") == ["1"]
    with pytest.raises(InputError, match=r"own\.jsonl' have no split 'dev'; use the split all"):
        load_examples(path, "dev")
    with pytest.raises(InputError, match="split 'train': must be one of all, dev, test"):
        load_examples(path, "train")  # type: ignore[arg-type]


def test_kinds_of_ambiguity_go_to_the_pair_with_the_same_sentences(rows: Rows, write: Write) -> None:
    kinds = {**rows["1"], "id": "99_g", "category": "lexical", "disambiguations": "[]"}
    write("kinds.jsonl", kinds, {**kinds, "id": "1", "premise": "Another.", "category": "other"})
    folder = write("all.jsonl", *rows.values()).parent
    assert [example.categories for example in load_examples(folder)] == [("lexical",), (), (), ()]
    assert [record.id for record in load_categories(folder)] == ["99_g", "1"]
    own = write("other/own.jsonl", {**rows["1"], "categories": ["scopal"]}, rows["4"])
    assert [(example.id, example.categories) for example in load_categories(own)] == [("1", ("scopal",))]


def test_faulty_rows_are_an_error_unless_they_are_asked_for(rows: Rows, write: Write) -> None:
    path = write("own.jsonl", rows["1"], {**rows["2_c"], "labels": "neutral, entailment"}, "{")
    with pytest.raises(InputError) as error:
        load_examples(path)
    assert str(error.value) == (
        f"{path}:2: task 2_c: labels: entailment, neutral, but neither side flagged as ambiguous [format] "
        "(and 1 more: run `askback check` on it)"
    )
    examples, faults = read_examples(path)
    assert [example.id for example in examples] == ["1"]
    assert [fault.line for fault in faults] == [2, 3]


@pytest.mark.parametrize(
    ("change", "code", "message"),
    [
        (
            {"premise": "The pass was closed."},
            "differs",
            "premise: differs from another file's row with the same id",
        ),
        ({"meta": {"source": "b"}}, "differs", "meta: differs from another file's row with the same id"),
        ({"split": "test"}, "split", "split: test, but the same id is also in dev"),
    ],
)
def test_files_that_contradict_each_other_are_refused(
    rows: Rows, write: Write, change: dict[str, Any], code: str, message: str
) -> None:
    row = {**rows["4"], "meta": {"source": "a"}, "split": "dev"}
    write("a.jsonl", row)
    folder = write("b.jsonl", rows["1"], {**row, **change}).parent
    [fault] = read_examples(folder).faults
    assert (Path(fault.file).name, fault.line, fault.task, fault.code) == ("b.jsonl", 2, "4", code)
    assert fault.message == f"{message} (a.jsonl:1)"
    with pytest.raises(InputError, match=message):
        load_examples(folder)


def test_an_id_in_both_splits_is_a_fault(rows: Rows, write: Write) -> None:
    write("dev.jsonl", rows["1"])
    [fault] = read_examples(write("test.jsonl", rows["2_c"], rows["1"]).parent).faults
    assert (fault.line, fault.code) == (2, "split")


def test_splits_must_equal_the_complete_file(rows: Rows, write: Write) -> None:
    write("ambient_full.jsonl", rows["1"], rows["2_c"])
    write("dev.jsonl", rows["1"])
    folder = write("test.jsonl", rows["3"]).parent
    faults = read_examples(folder).faults
    assert [(Path(fault.file).name, fault.task, fault.message) for fault in faults] == [
        ("ambient_full.jsonl", "2_c", "id: missing from dev.jsonl and test.jsonl"),
        ("test.jsonl", "3", "id: missing from ambient_full.jsonl"),
    ]
    (folder / "dev.jsonl").unlink()
    assert read_examples(folder).faults == ()


def test_missing_data_are_named(rows: Rows, write: Write, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="data 'nothing': neither 'builtin', nor registered"):
        load_examples("nothing")
    with pytest.raises(InputError, match="found no file with AmbiEnt examples"):
        load_examples(write("a.jsonl", '{"prompt": "x"}'))
    with pytest.raises(InputError, match=r"a\.jsonl:1: task 1: hypothesis is missing"):
        load_examples(write("a.jsonl", {"id": 1, "premise": "x"}))
    datasets.add("hers", "clarq", tmp_path / "data", lambda folder: {"a": folder / "a.jsonl"}, lambda _: {})
    with pytest.raises(InputError, match="data 'hers' belong to clarq, not to ambient"):
        load_examples("hers")


def test_built_in_examples_are_there_and_good() -> None:
    examples = load_examples()
    assert len({example.id for example in examples}) == len(examples) >= 100
    assert all(example.distractors.keys() == set(example.sides) for example in examples)
    assert load_categories()
    with pytest.raises(InputError, match="data 'builtin' have no split 'test'"):
        load_examples(split="test")


def test_other_built_in_data() -> None:
    assert len(load_qualification()) == 5
    assert {question.label for question in load_qualification()} == set(LABELS)
    for language in ("en", "zh"):
        guidelines = load_guidelines(language)
        assert tuple(guidelines.labels) == LABELS
        assert tuple(guidelines.categories) == CATEGORIES
        assert list(guidelines.discard) == ["offensive", "not_fluent", "incoherent"]
        assert all(guidelines.rewriting)
        assert all(name and text for name, text in guidelines.checklist)
    assert load_guidelines("zh") != load_guidelines("en")
    with pytest.raises(InputError, match="language 'fr'"):
        load_guidelines("fr")
    assert {mark for claim in load_claims() for mark in claim.marks} == {"a", "f"}
    assert all(claim.marks for claim in load_claims())
    pairs = load_pool()
    assert len({pair.id for pair in pairs}) == len(pairs)
    assert 0 < sum(pair.disagree for pair in pairs) < len(pairs)


def test_a_faulty_built_in_entry_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pool.yaml").write_text("- {premise: a, hypothesis: b, labels: [neutral, maybe]}\n")
    monkeypatch.setattr(data, "FOLDER", tmp_path)
    load_pool.cache_clear()
    with pytest.raises(InputError, match=r'pool\.yaml: entry pool-001: labels\[1\] is "maybe"'):
        load_pool()


def test_the_published_data(published: Path) -> None:
    held = load_examples(published, "test")
    assert (len(held), held[0].id) == (1545, "942")
    assert {example.split for example in held} == {"test"}
    assert sum(bool(example.categories) for example in load_examples(published)) == 88


def test_a_damaged_row_of_other_files_makes_no_dataset_of_them(tmp_path):
    row = {"id": 1, "premise": "a", "hypothesis": "b", "labels": "neutral", "prediction": "neutral"}
    damaged = {name: value for name, value in row.items() if name != "prediction"}
    lines = [json.dumps({**(damaged if number == 2 else row), "id": number}) for number in range(5)]
    (tmp_path / "predictions.jsonl").write_text("\n".join(lines))
    with pytest.raises(InputError, match="found no file with AmbiEnt examples"):
        load_examples(tmp_path)


CROWD = {
    "id": 1,
    "premise": "The pass is closed in winter.",
    "hypothesis": "No car crosses in January.",
    "ambiguous_sent": "premise",
    "distractor_idx": 0.0,
    "labels": [None, "entailment", "neutral"],
    "interpretations": [
        "The passage is shut in winter.",
        "The mountain pass is closed in winter to all.",
        "The ticket is not sold in winter.",
    ],
    **{f"q{place}_gold": ["neutral", "neutral"] for place in range(4)},
    **{f"d{place}_gold": [True, False] for place in range(1, 4)},
}


def test_distractors_are_read_out_of_the_crowds_file_beside_the_examples(write, rows, tmp_path) -> None:
    """Distractors are matched by id, sentences and side; the examples' own take precedence."""
    write("examples.jsonl", rows["1"])
    other = CROWD | {"premise": "The pass was closed in winter."}
    path = write("crowd.jsonl", other, CROWD, CROWD | {"id": 99})
    [example] = load_examples(path.parent)
    assert example.distractors == {"premise": "The passage is shut in winter."}
    write("examples.jsonl", rows["1"] | {"distractors": {"premise": "My own."}})
    [example] = load_examples(path.parent)
    assert example.distractors == {"premise": "My own."}
    write("examples.jsonl", rows["1"])
    write("crowd.jsonl", CROWD | {"labels": ["neutral", "entailment", "neutral"], "distractor_idx": None})
    [example] = load_examples(path.parent)
    assert example.distractors == {}


def test_the_published_crowd_file_brings_its_distractors(published) -> None:
    held = [example for example in load_examples(published) if example.distractors]
    assert len(held) == 60
    items = crowd_items(load_examples(published), seed=1)
    # Four distractors are the sentence or a reading; examples beyond the first sixty rows have none.
    assert 56 <= len(items) < 65
    assert all(len({candidate.sentence for candidate in item.candidates}) == 3 for item in items)
