"""Files are checked, and registered completely or not at all."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simulator import datasets
from simulator.ambik.data import DATA, LOGPROBS, TABLES, load_pairs, load_scenarios, read_pairs
from simulator.ambik.files.published import Logprobs
from simulator.ambik.items import BENCHMARK
from simulator.errors import InputError
from simulator.tables.registering import print_added

Cells = dict[str, str]
NewRow = Callable[..., Cells]
WriteCsv = Callable[..., Path]
KNOWNO = ("id", "environment_full", "task", "intent_object", "intent_location", "environment_short")
KNOWNO += ("ambiguity_type",)
SCENARIO = dict(
    zip(KNOWNO, ("1", "a Coke", "Bring it.", "Coke", "pick-up", "Coke", "unsafe_task"), strict=True)
)
RECORD: dict[str, Any] = {
    "item": 0,
    "options": {"A": "bring the coke"},
    "true_options": ["A"],
    "top_tokens": ["A"],
    "top_logprobs": [-0.5],
}


def logprobs_of(name: str) -> list[Logprobs]:
    """Return the records of runs that registered data hold."""
    folder = datasets.locate(name, BENCHMARK, "builtin").path
    return [record for file in folder.rglob("*.json") for record in LOGPROBS.read(file).rows]


def faults_of(*files: Path) -> list[tuple[str, int, str, str, str]]:
    faults = TABLES.check(files)
    return [(Path(fault.file).name, fault.line, fault.task, fault.severity, fault.code) for fault in faults]


def folder_of(row: NewRow, write: WriteCsv, *records: dict[str, Any]) -> Path:
    """A folder with a file of each sort."""
    folder = write("pairs.csv", row(id="1"), row(id="2", take_amb="1")).parent
    write("knowno.csv", SCENARIO, columns=KNOWNO)
    (folder / "run.json").write_text(json.dumps(records or [RECORD], indent=1), encoding="utf-8")
    (folder / "notes.txt").write_text("x", encoding="utf-8")
    return folder


def test_files_of_other_rooms_are_left_to_them(row: NewRow, write: WriteCsv, tmp_path: Path) -> None:
    folder = folder_of(row, write)
    write("other.csv", {"id": "1"}, columns=("id", "premise", "hypothesis"))
    (folder / "items.jsonl").write_text('{"prompt": "x", "id": 1}\n', encoding="utf-8")
    assert [file.name for file in TABLES.find(folder)] == ["knowno.csv", "pairs.csv", "run.json"]
    assert TABLES.find(folder / "other.csv") == () and TABLES.find(tmp_path / "none") == ()
    # Named, a file is checked if its columns only look like those of pairs.
    half = write("half.csv", row(), columns=("id", "amb_shortlist"))
    assert TABLES.find(half) == (half,)
    (fault,) = TABLES.check([half])
    assert fault.message.startswith("no column environment_short, environment_full") and fault.line == 0
    for path in (half, write("upper.CSV", row())):
        assert TABLES.find(path) == (path,)


def test_a_file_in_another_encoding_says_how_to_save_it(row: NewRow, write: WriteCsv) -> None:
    path = write("a.csv", row())
    path.write_bytes(path.read_text(encoding="utf-8").encode("utf-16"))
    assert TABLES.find(path.parent) == (path,)
    (fault,) = TABLES.check([path])
    assert fault.message == "is UTF-16, not UTF-8; save it as CSV UTF-8"


def test_faults_and_oddities_are_reported_with_their_places(row: NewRow, write: WriteCsv) -> None:
    assert faults_of(write("fine.csv", row())) == []
    path = write("a.csv", row(id="1", amb_shortlist=""), row(id="2", ambiguity_type="x"))
    assert faults_of(path) == [
        ("a.csv", 6, "2", "error", "format"),
        ("a.csv", 2, "1", "warning", "shortlist_missing"),
    ]


def test_files_of_one_folder_belong_together(row: NewRow, write: WriteCsv) -> None:
    first = write("one/calib.csv", row(id="1", take_amb="1"), row(id="3", take_amb="1"))
    second = write("one/test.csv", row(id="1"), row(id="2"))
    other = write("two/test.csv", row(id="1"))
    assert faults_of(first, second, other) == [("test.csv", 2, "1", "error", "leak")]


def test_other_files_are_checked_too(row: NewRow, write: WriteCsv) -> None:
    folder = folder_of(row, write, RECORD, {**RECORD, "item": 1, "top_logprobs": [1]})
    write("knowno.csv", SCENARIO, {**SCENARIO, "id": "2", "task": ""}, columns=KNOWNO)
    broken = folder / "broken.json"
    broken.write_text(json.dumps([RECORD])[:-1], encoding="utf-8")
    assert sorted(faults_of(*TABLES.find(folder))) == [
        ("broken.json", 1, "", "error", "format"),
        ("knowno.csv", 3, "2", "error", "format"),
        ("pairs.csv", 2, "1", "warning", "take_missing"),
        ("run.json", 17, "1", "error", "format"),
    ]


def test_a_folder_is_registered_with_all_that_is_kept(
    row: NewRow, write: WriteCsv, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = folder_of(row, write)
    print_added(DATA.register(folder, "mine", False))
    shown = capsys.readouterr().out
    assert "Registered as 'mine'" in shown and "pairs 2, for test 1, for calibration 1" in shown
    assert "pairs.csv: 2 pairs, not a published version" in shown
    assert [pair.id for pair in load_pairs("mine")] == ["1", "2"]
    assert len(load_scenarios("mine")) == len(logprobs_of("mine")) == 1
    print_added(DATA.register(folder, "mine", False))
    assert "'mine' has not changed" in capsys.readouterr().out
    dataset = datasets.find("mine")
    assert dataset is not None and dataset.benchmark == BENCHMARK
    assert sorted(file.name for file in dataset.folder.iterdir()) == ["knowno.csv", "pairs.csv", "run.json"]


def test_oddities_are_summed_up_when_data_are_added(
    row: NewRow, write: WriteCsv, capsys: pytest.CaptureFixture[str]
) -> None:
    print_added(DATA.register(write("a.csv", row(amb_shortlist="")), "mine", False))
    shown = capsys.readouterr().out
    assert "preferences without a shortlist: 1" in shown and "`askback check` names the rows" in shown


def test_a_zip_or_a_file_will_do(row: NewRow, write: WriteCsv, tmp_path: Path) -> None:
    folder = folder_of(row, write)
    packed = tmp_path / "data.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        for file in folder.iterdir():
            archive.write(file, f"ambik/{file.name}")
    DATA.register(packed, "packed")
    assert len(load_pairs("packed")) == 2 and len(logprobs_of("packed")) == 1
    DATA.register(folder / "run.json", "run")
    assert len(logprobs_of("run")) == 1
    with pytest.raises(InputError, match="no file of AmbiK's pairs"):
        load_pairs("run")


def test_nothing_of_ours_is_refused(write: WriteCsv, tmp_path: Path) -> None:
    write("other.csv", {"id": "1"}, columns=("id", "premise"))
    with pytest.raises(InputError, match="no good row of AmbiK's pairs"):
        DATA.register(tmp_path / "data")
    with pytest.raises(InputError, match="no such file or folder"):
        DATA.register(tmp_path / "none")


def test_faulty_rows_are_listed_and_can_be_left_out(row: NewRow, write: WriteCsv) -> None:
    folder = folder_of(row, write, RECORD, {**RECORD, "item": 1, "top_logprobs": [1]})
    rows = [row(id=str(place)) for place in range(8)]
    for bad in (1, 2, 4, 6, 7):
        rows[bad]["ambiguity_type"] = "x"
    path = write("pairs.csv", *rows)
    with pytest.raises(InputError) as error:
        DATA.register(folder)
    lines = str(error.value).split("\n")
    assert lines[0] == f"{folder}: 6 faults (--partial leaves such rows out)"
    assert lines[2].startswith("  pairs.csv:6: row 1: ambiguity_type is") or lines[1].startswith(
        "  pairs.csv:6"
    )
    assert lines[-1] == "  … `askback check` on the folder lists them all" and len(lines) == 7
    DATA.register(folder, partial=True)
    assert [pair.id for pair in load_pairs(BENCHMARK)] == ["0", "3", "5"]
    assert [record.item for record in logprobs_of(BENCHMARK)] == ["0"]
    dataset = datasets.find(BENCHMARK)
    assert dataset is not None and dataset.details["rows left out"] == 6
    # What was brought stays as it is.
    assert len(read_pairs(path).faults) == 5


def test_a_file_without_a_good_row_is_left_out(row: NewRow, write: WriteCsv) -> None:
    folder = folder_of(row, write)
    write("bad.csv", row(ambiguity_type=""))
    write("twice.csv", row(), names={"answer": "question"})
    DATA.register(folder, partial=True)
    dataset = datasets.find(BENCHMARK)
    assert dataset is not None
    assert (dataset.details["files left out"], dataset.details["rows left out"]) == (2, 1)
    with pytest.raises(InputError, match="no good row"):
        DATA.register(folder / "bad.csv", "bad", partial=True)


def test_a_leak_is_left_out_of_the_tests(row: NewRow, write: WriteCsv) -> None:
    folder = write("calib.csv", row(id="1", take_amb="1"), row(id="3", take_amb="0")).parent
    write("test.csv", row(id="1"), row(id="2"))
    DATA.register(folder, partial=True)
    assert [pair.id for pair in load_pairs(BENCHMARK, "test")] == ["2"]
    assert [pair.id for pair in load_pairs(BENCHMARK, "calibration")] == ["1", "3"]


cell = st.text("ab ,\"\n'1.", max_size=6)
kinds = st.sampled_from(("preferences", "safety", "", "x"))


@given(
    rows=st.lists(st.tuples(cell, kinds, cell), min_size=1, max_size=6),
    cut=st.integers(0, 60) | st.none(),
)
@settings(
    max_examples=40,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    deadline=None,
)
def test_what_is_left_of_any_file_is_good(
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    row: NewRow,
    write: WriteCsv,
    rows: list[tuple[str, str, str]],
    cut: int | None,
) -> None:
    monkeypatch.setenv("ASKBACK_HOME", str(tmp_path_factory.mktemp("home")))
    made = [
        row(id=str(place), question=question, ambiguity_type=kind, plan_for_clear_task=plan)
        for place, (question, kind, plan) in enumerate(rows)
    ]
    path = write("a.csv", *made)
    if cut is not None:
        path.write_bytes(path.read_bytes()[: -1 - cut])
    good = read_pairs(path).pairs
    if not good:
        with pytest.raises(InputError):
            DATA.register(path, partial=True)
        return
    DATA.register(path, partial=True)
    assert load_pairs(BENCHMARK) == good


def test_the_published_data_can_be_added(published: Path) -> None:
    added = DATA.register(published)
    assert dict(added.dataset.details) == {
        "pairs": 500,
        "for calibration": 100,
        "for test": 400,
        "KnowNo scenarios": 100,
        "log-probabilities of a KnowNo run": 100,
    }
    assert {fault.severity for fault in TABLES.check(TABLES.find(published))} == {"warning"}


def test_of_a_run_that_breaks_off_the_records_before_are_registered_if_wanted(
    row: NewRow, write: WriteCsv, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = folder_of(row, write, RECORD, {**RECORD, "item": 1}, {**RECORD, "item": 2})
    run = folder / "run.json"
    run.write_text(run.read_text(encoding="utf-8")[:-40], encoding="utf-8")
    with pytest.raises(InputError, match=r"1 fault .*\n  run\.json:\d+: is not a complete JSON list"):
        print_added(DATA.register(folder, "whole", False))
    print_added(DATA.register(folder, "part", True))
    assert "log-probabilities of a KnowNo run 2, rows left out 1" in capsys.readouterr().out
