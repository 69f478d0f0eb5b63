"""Pairs, scenarios and drafts by name: built in, registered, in files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from simulator import datasets
from simulator.ambik import data
from simulator.ambik.data import DATA, load_drafts, load_guidelines, load_pairs, load_scenarios, read_pairs
from simulator.ambik.files.published import TYPES
from simulator.ambik.terms import AMBIGUITIES
from simulator.errors import InputError

Cells = dict[str, str]
NewRow = Callable[..., Cells]
WriteCsv = Callable[..., Path]


def ids(folder: Path | str, part: Any = "all") -> list[str]:
    return [pair.id for pair in load_pairs(folder, part)]


def test_parts_are_determined_by_rows_not_files(row: NewRow, write: WriteCsv) -> None:
    folder = write("b.csv", row(id="3"), row(id="1", take_amb="0")).parent
    write("a.csv", row(id="2"))
    assert ids(folder) == ["2", "3", "1"]
    assert ids(folder, "calibration") == ["1"] and ids(folder, "test") == ["2", "3"]
    with pytest.raises(InputError, match=r"a\.csv' have no pairs for calibration; those with 0 or 1 in the"):
        load_pairs(folder / "a.csv", "calibration")
    with pytest.raises(InputError, match="part 'dev': must be one of all, calibration, test"):
        load_pairs(folder, "dev")  # type: ignore[arg-type]


def test_faulty_data_are_refused_and_can_be_read_all_the_same(row: NewRow, write: WriteCsv) -> None:
    path = write("a.csv", row(id="1"), row(id="2", ambiguity_type=""), row(id="3", environment_full=""))
    with pytest.raises(InputError) as error:
        load_pairs(path)
    assert str(error.value) == (
        f"{path}:6: task 2: ambiguity_type is empty [format] (and 1 more: run `askback check` on it)"
    )
    read = read_pairs(path)
    assert [pair.id for pair in read.pairs] == ["1"]
    assert [fault.task for fault in read.faults] == ["2", "3"]
    # With nothing left it is the faults that tell why.
    assert read_pairs(write("b.csv", row(id=""))).pairs == ()


def test_what_is_no_data_says_so(tmp_path: Path, write: WriteCsv) -> None:
    with pytest.raises(InputError, match="neither 'builtin', nor registered"):
        load_pairs("nothing")
    with pytest.raises(InputError, match="no file of AmbiK's pairs"):
        load_pairs(tmp_path)
    with pytest.raises(InputError, match="no file of KnowNo scenarios"):
        load_scenarios(tmp_path)


def test_registered_data_are_read_once_and_go_by_their_name(
    row: NewRow, write: WriteCsv, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write("a.csv", row(id="1"), row(id="2", take_amb="1"))
    DATA.register(path, "mine")
    assert ids("mine") == ["1", "2"]
    reads: list[Path] = []
    monkeypatch.setattr(data, "_read_path", reads.append)
    assert ids("mine", "test") == ["1"] and reads == []
    dataset = datasets.find("mine")
    assert dataset is not None and dataset.details == {"pairs": 2, "for calibration": 1, "for test": 1}


def test_built_in_pairs_are_checked_like_any_others() -> None:
    loaded = read_pairs()
    assert [file.version for file in loaded.report.files] == ["builtin"]
    assert loaded.faults == ()
    assert {pair.type for pair in loaded.pairs} == set(AMBIGUITIES)
    # A preference about a quantity or a way has no objects to hesitate between; nothing else may be odd.
    assert set(loaded.report.counts) <= {"shortlist_missing"}
    assert {pair.id for pair in load_pairs(part="calibration")}.isdisjoint(ids("builtin", "test"))


def test_built_in_scenarios_and_drafts_are_there() -> None:
    scenarios = load_scenarios()
    assert {scenario.type for scenario in scenarios} == set(TYPES)
    assert all(scenario.part is not None for scenario in scenarios)
    assert load_scenarios() is scenarios
    drafts = load_drafts()
    assert drafts and all(draft.candidates for draft in drafts)


def test_guidelines_are_in_two_languages() -> None:
    english, chinese = load_guidelines(), load_guidelines("zh")
    assert english.types.keys() == chinese.types.keys() == set(AMBIGUITIES)
    assert [step.id for step in english.steps] == [step.id for step in chinese.steps]
    assert [step.fields for step in english.steps] == [step.fields for step in chinese.steps]
    assert english.type_test.isascii() and not chinese.type_test.isascii()
    for guide in (english, chinese):
        assert guide.robot and guide.user and all(step.text for step in guide.steps)
        assert all(kind.name and kind.definition and kind.example for kind in guide.types.values())
    with pytest.raises(InputError, match="guidelines are in en and zh"):
        load_guidelines("de")


DRAFT = """
- id: d1
  objects: [mug, cup]
  scene: a mug, a cup
  clear: Take the mug.
  candidates:
    preferences: {task: Take one., question: Which?, answer: The mug.}
"""


def test_drafts_can_be_brought(tmp_path: Path) -> None:
    path = tmp_path / "drafts.yaml"
    path.write_text(DRAFT, encoding="utf-8")
    (draft,) = load_drafts(path)
    assert (draft.id, draft.plan, list(draft.candidates)) == ("d1", (), ["preferences"])
    for text, message in (
        (DRAFT.replace("question: Which?, ", ""), "entry d1: candidates.preferences.question is missing"),
        ("a: 1", "is not a list of entries with fields"),
        ("a: [", "is not YAML"),
    ):
        other = tmp_path / f"{len(text)}.yaml"
        other.write_text(text, encoding="utf-8")
        with pytest.raises(InputError, match=message):
            load_drafts(other)
    with pytest.raises(InputError, match=r"none\.yaml: cannot be read"):
        load_drafts(tmp_path / "none.yaml")


def test_the_parts_of_the_published_data(published: Path) -> None:
    assert len(load_pairs(published)) == 500
    assert len(load_pairs(published, "calibration")) == 100
    assert len(load_pairs(published, "test")) == 400
    assert len(load_scenarios(published)) == 100


def test_one_scenario_in_two_files_is_one(write: WriteCsv) -> None:
    columns = ("id", "environment_full", "task", "intent_object", "intent_location")
    columns += ("environment_short", "ambiguity_type")
    row = dict(
        zip(columns, ("1", "a Coke", "Bring it.", "Coke", "pick-up", "Coke", "unsafe_task"), strict=True)
    )
    folder = write("a.csv", row, columns=columns).parent
    write("b.csv", row, {**row, "id": "2"}, columns=columns)
    assert [scenario.id for scenario in load_scenarios(folder)] == ["1", "2"]
    write("c.csv", {**row, "task": "Take it."}, columns=columns)
    with pytest.raises(InputError, match="KnowNo scenarios: 1 is in two files with different content"):
        load_scenarios(folder)
