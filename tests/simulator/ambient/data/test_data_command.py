"""Checking files, and registering them completely or not at all."""

from __future__ import annotations

import json
import os
import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from simulator import datasets
from simulator.ambient.data import load_categories, load_examples, read_examples
from simulator.ambient.data_command import DATA
from simulator.ambient.files.kinds import TABLES
from simulator.ambient.items import EXAMPLE_FIELDS
from simulator.errors import InputError
from simulator.tables.records import is_lines
from simulator.tables.registering import print_added

Rows = dict[str, dict[str, Any]]
Write = Callable[..., Path]


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ASKBACK_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def faults_of(*files: Path) -> list[tuple[str, int, str, str, str]]:
    return [
        (Path(fault.file).name, fault.line, fault.task, fault.severity, f"{fault.code}: {fault.message}")
        for fault in TABLES.check(files)
    ]


def test_files_of_other_rooms_are_left_to_them(rows: Rows, write: Write, tmp_path: Path) -> None:
    mine = write("a.jsonl", rows["1"])
    write("b.jsonl", '{"prompt": "Output \'X\' if the sentence", "id": 1}')
    write("c.yaml", "id: 1")
    assert TABLES.find(tmp_path) == (mine,)
    assert TABLES.find(mine) == (mine,)
    assert TABLES.find(tmp_path / "data" / "b.jsonl") == ()
    assert TABLES.find(tmp_path / "none") == ()
    # Named, a file is checked if its rows only look like examples.
    bad = write("d.jsonl", '{"premise": "x"}')
    assert TABLES.find(bad) == (bad,)
    assert faults_of(bad) == [("d.jsonl", 1, "", "error", "format: id is missing")]


def test_good_files_have_no_faults(rows: Rows, write: Write) -> None:
    assert faults_of(write("a.jsonl", rows["1"], rows["2_c"], rows["4"])) == []


def test_all_faults_of_a_file_are_reported(rows: Rows, write: Write) -> None:
    twice = {**rows["2_c"], "id": 7, "labels": "neutral, neutral", "note": "x", "premise": "Other."}
    path = write(
        "a.jsonl",
        rows["1"],
        "{",
        {**rows["1"], "id": 5, "labels": "entailment, contradiction"},
        {**rows["4"], "hypothesis": 3},
        {**rows["1"], "id": "1", "premise_ambiguous": False},
        twice,
        {**rows["4"], "id": 8, "note": "y"},
    )
    kettle = "the disambiguations have entailment, neutral"
    assert sorted(faults_of(path), key=lambda fault: fault[1]) == [
        (
            "a.jsonl",
            2,
            "",
            "error",
            "format: is not JSON: ends before everything is closed (column 2): a bracket is missing, or "
            "the rest of it",
        ),
        ("a.jsonl", 3, "5", "warning", f"labels: labels: contradiction, entailment, but {kettle}"),
        ("a.jsonl", 3, "5", "warning", "pair: premise, hypothesis: the same as in line 1"),
        ("a.jsonl", 4, "4", "error", "format: hypothesis is 3, not a text"),
        ("a.jsonl", 5, "1", "error", "id: id: the row in line 1 has the same"),
        ("a.jsonl", 6, "7", "warning", "labels: labels: contain a duplicate"),
        (
            "a.jsonl",
            6,
            "7",
            "warning",
            "field: note: not a field of examples; in 2 rows, of which this is the first",
        ),
    ]


def test_rows_that_contradict_themselves_are_errors_and_go_on_to_be_compared(
    rows: Rows, write: Write
) -> None:
    first = write("dev.jsonl", {**rows["1"], "hypothesis_ambiguous": True})
    second = write("test.jsonl", rows["1"])
    faults = faults_of(first, second)
    assert {(name, severity) for name, _, _, severity, _ in faults} == {
        ("dev.jsonl", "error"),
        ("test.jsonl", "error"),
    }
    assert [text for name, _, _, _, text in faults if name == "test.jsonl"] == [
        "differs: hypothesis_ambiguous: differs from another file's row with the same id (dev.jsonl:1)"
    ]


def test_only_files_of_one_folder_are_compared(rows: Rows, write: Write) -> None:
    first, two = write("a/x.jsonl", rows["1"]), write("b/x.jsonl", {**rows["4"], "id": 1})
    assert faults_of(first, two) == []
    assert len(TABLES.check([first, two], one_set=True)) == 1


def test_other_files_are_checked_by_their_readers(write: Write) -> None:
    crowd = write("crowd.jsonl", {"id": 4, "premise": "a", "interpretations": [], "q1_gold": []})
    seed = write("scores.json", {"em": 0.1, "f1": 0.2, "group_em": 0.3})
    claims = write("marks.csv", "claim,annotation", "It rained.,x")
    faults = TABLES.check([crowd, seed, claims])
    assert [(Path(fault.file), fault.severity) for fault in faults] == [
        (crowd, "error"),
        (seed, "error"),
        (claims, "error"),
    ]
    assert "a file with a seed's scores must be called like seed42.json" in faults[1].message


def test_a_file_that_cannot_be_read_is_a_fault(tmp_path: Path) -> None:
    assert faults_of(tmp_path / "gone.jsonl") == [
        ("gone.jsonl", 0, "", "error", "format: cannot be read (No such file or directory)")
    ]


def test_published_files_have_but_the_known_oddities(published: Path) -> None:
    faults = TABLES.check(TABLES.find(published))
    assert {fault.severity for fault in faults} == {"warning"}
    assert Counter((Path(fault.file).name, fault.code) for fault in faults) == {
        ("ambient_full.jsonl", "several"): 23,
        ("dev.jsonl", "several"): 3,
        ("test.jsonl", "several"): 20,
        ("ambient_full.jsonl", "labels"): 1,
        ("test.jsonl", "labels"): 1,
        ("category_annotations.jsonl", "missing"): 20,
    }


@pytest.mark.slow
def test_the_published_set_is_registered_if_complete(
    published: Path, tmp_path: Path, own_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = tmp_path / "whole.zip"
    with zipfile.ZipFile(whole, "w") as archive:
        for name in ("ambient_full.jsonl", "dev.jsonl", "test.jsonl", "category_annotations.jsonl"):
            archive.write(published / name, f"ambient/{name}")
        archive.writestr("ambient/LICENSE", "CC BY 4.0")
    print_added(DATA.register(whole, "ambient", False))
    printed = capsys.readouterr().out
    assert "examples 1645, dev 100, test 1545, ambiguous 579, files of kinds of ambiguity 1." in printed
    assert len(load_examples("ambient", "test")) == 1545
    assert len(load_categories("ambient")) == 100
    print_added(DATA.register(whole, "ambient", False))
    assert "'ambient' has not changed" in capsys.readouterr().out

    part = tmp_path / "part"
    part.mkdir()
    (part / "test.jsonl").write_bytes((published / "test.jsonl").read_bytes())
    with pytest.raises(
        InputError, match=r"not the published data: examples: 1545, not 1645; dev: 0, not 100"
    ):
        DATA.register(part, "part")
    assert sorted(path.name for path in (own_home / "data").iterdir()) == ["ambient"]
    assert DATA.register(part, "part", partial=True).dataset.details == {
        "examples": 1545,
        "test": 1545,
        "ambiguous": 543,
    }


def test_own_examples_are_registered_from_a_folder_or_a_file(rows: Rows, write: Write) -> None:
    path = write("mine.jsonl", rows["1"], rows["4"])
    write("notes.txt", "nothing")
    added = DATA.register(path, "one")
    assert added.dataset.details == {"examples": 2, "ambiguous": 1}
    assert [file.name for file in added.dataset.folder.iterdir()] == ["mine.jsonl"]
    assert [example.id for example in load_examples("one")] == ["1", "4"]
    assert DATA.register(path.parent, "two").dataset.content == added.dataset.content
    single = write("dev.jsonl", rows["2_c"])  # a single file need not be all that was published
    assert DATA.register(single, "three").dataset.details == {"examples": 1, "dev": 1}


def test_faulty_rows_are_refused_with_a_list_and_nothing_stays(
    rows: Rows, write: Write, own_home: Path
) -> None:
    bad = [{**rows["4"], "id": f"bad-{number}", "premise": 1} for number in range(6)]
    path = write("mine.jsonl", rows["1"], *bad)
    with pytest.raises(InputError) as error:
        DATA.register(path, "mine")
    lines = str(error.value).splitlines()
    assert lines[0] == f"{path}: 6 faults (--partial leaves such rows out)"
    assert lines[1] == "  mine.jsonl:2: row bad-0: premise is 1, not a text"
    assert len(lines) == 7
    assert "askback check" in lines[-1]
    assert not os.listdir(own_home / "data")


def test_of_a_part_the_good_rows_are_kept_in_every_file(rows: Rows, write: Write) -> None:
    first, two, three, four = rows.values()
    write("ambient_full.jsonl", first, two, three, four)
    write("dev.jsonl", first, {**two, "labels": "maybe"})
    write("test.jsonl", three, "{", four)
    write("seed1.json", json.dumps({"em": "x", "f1": 1, "group_em": 1}))
    folder = write("seed2.json", json.dumps({"em": 0.5, "f1": 1, "group_em": 1})).parent
    added = DATA.register(folder, "mine", partial=True)
    # Row 2_c is faulty in dev, so that it is in neither split any more.
    assert added.dataset.details == {
        "examples": 3,
        "dev": 1,
        "test": 2,
        "ambiguous": 2,
        "files of scores of a training": 1,
        "rows left out": 3,
        "files left out": 1,
    }
    assert [example.id for example in load_examples("mine")] == ["1", "3", "4"]
    assert [example.id for example in load_examples("mine", "test")] == ["3", "4"]
    assert not (added.dataset.folder / "seed1.json").exists()
    assert (added.dataset.folder / "seed2.json").exists()
    assert (folder / "dev.jsonl").read_text(encoding="utf-8").count("\n") == 2  # the original is as it was
    assert not DATA.register(folder, "mine", partial=True).changed


@pytest.mark.parametrize("content", ['{"prompt": "x"}', '{"id": 1, "premise": "x"}'])
def test_data_without_a_valid_example_are_not_registered(write: Write, own_home: Path, content: str) -> None:
    path = write("a.jsonl", content)
    with pytest.raises(InputError, match="no valid AmbiEnt example"):
        DATA.register(path, "mine", partial=True)
    assert datasets.list_all() == ()
    assert not os.listdir(own_home / "data")


values = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.sampled_from(["neutral", "[]"])
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(st.text(), inner, max_size=2)),
    max_leaves=4,
)
SETTINGS = settings(
    max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


@SETTINGS
@given(st.sampled_from(["1", "2_c", "3", "4"]), st.sampled_from(EXAMPLE_FIELDS), values, st.booleans())
def test_every_faulty_row_is_reported(
    rows: Rows, write: Write, id: str, field: str, value: Any, inner: bool
) -> None:
    row = json.loads(json.dumps(rows[id]))
    target = row["disambiguations"][0] if inner and row.get("disambiguations") else row
    target[field] = value
    path = write("a.jsonl", rows["1"] if id != "1" else rows["3"], json.dumps(row))
    errors = [fault for fault in TABLES.check([path]) if fault.severity == "error"]
    assert all((fault.line, fault.file) == (2, str(path)) for fault in errors)
    assert len(read_examples(path).examples) == 2 - bool(errors)


@SETTINGS
@example(b"[\x80", 0)
@example(b"[\x00", 0)
@given(st.binary(max_size=80), st.integers(0, 400))
def test_every_faulty_file_is_reported(rows: Rows, write: Write, junk: bytes, place: int) -> None:
    path = write("a.jsonl", *rows.values())
    content = path.read_bytes()
    path.write_bytes(content[:place] + junk + content[place:])
    faults = TABLES.check([path])
    assert all(fault.file == str(path) for fault in faults)
    if is_lines(path):
        assert len(read_examples(path).examples) >= 1
    else:  # a [ before everything makes one list of the file: nothing of it need be readable, if that is told
        assert any(fault.severity == "error" for fault in faults)
