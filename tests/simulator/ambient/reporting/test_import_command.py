"""`askback import ambient-results`: files become runs that give back the same records."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from ambient_rows import (
    PREMISE,
    READINGS,
    Call,
    Row,
    claim,
    crowd,
    estimates,
    example,
    generation,
    lines,
    linguists,
    predicted,
    spelled,
    statements,
)

from logs import LogReader, LogWriter
from simulator import catalog
from simulator.ambient import trial_log
from simulator.ambient.annotation.linguists import linguist_measures
from simulator.ambient.files.kinds import TABLES
from simulator.ambient.files.results import LINGUISTS
from simulator.ambient.generation import generation_measures
from simulator.ambient.importing import runs as importing
from simulator.commands.score import score_run

GOOD = dict(READINGS)
CHAT = [{"role": "user", "content": "Say what it may mean."}]


def turned(row: Row) -> Row:
    return row | {"options": dict(reversed(row["options"].items()))}


def discarded() -> Row:
    return linguists(3, "neutral") | {"discarded": {"bob": "offensive"}}


FILES: dict[str, tuple[str, list[Row], Any]] = {
    "generation": (
        "m-n4.jsonl",
        [generation(1, GOOD, 1.0), generation("2_c", {}, 0.0, CHAT), generation(1, GOOD, 1.0, "Tell.")],
        trial_log.generation_records,
    ),
    "true_false": (
        "m.jsonl",
        [
            *statements(1, [True, 1.0, 0.0, None], READINGS["neutral"], TF_prob_mass=0.5),
            *statements(2, [True] * 4, READINGS["neutral"]),
        ],
        trial_log.true_false_records,
    ),
    "continuation": (
        "m/results.jsonl",
        [estimates(1, 0.1, 0.2, 0.3), turned(estimates(2, 0.1, None, 0.3))],
        trial_log.continuation_records,
    ),
    "crowd": (
        "votes.jsonl",
        [crowd(1), crowd(1) | {"q0_gold": ["neutral"] * 9}, crowd(1, 2), crowd(2)],
        trial_log.crowd_records,
    ),
    "linguists": (
        "linguists.jsonl",
        [
            *(linguists(1, "entailment", "neutral"), linguists(2, "neutral", workers=("ann",)), discarded()),
            # The same id again is another row.
            linguists(1, "neutral", "neutral", workers=("cy", "dee")),
        ],
        trial_log.linguist_records,
    ),
    "nli_predictions": (
        "m/predictions.jsonl",
        [predicted(1, "neutral", ""), predicted(2, "neutral, entailment", "entailment")],
        trial_log.nli_records,
    ),
    "claims": (
        "claims.jsonl",
        [claim(1, 0.5, 0.2), claim(2, 0.01) | {"annotations": ["a", {"b": 1}]}],
        trial_log.claim_records,
    ),
}


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log.sqlite"


def file_of(kind: str, folder: Path) -> Path:
    name, rows, _ = FILES[kind]
    lines(folder / "full.jsonl", [example(id) for id in (1, 2)])
    return lines(folder / name, rows)


def logged(log: Path) -> dict[str, int]:
    """Return the number of rows in the log by table."""
    with LogReader(log) as reader, reader.connection() as connection:
        tables = ("runs", "items", "episodes", "turns", "endings", "scores", "events")
        return {name: connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in tables}


def comparable(record: Any) -> str:
    """Return a record as text, without nulls that the log omits and stored scores that it drops."""
    text = str(spelled(record)).replace("('discarded', [])", "('discarded', None)")
    return text.partition(", ('stored_score'")[0]


def same(records: Sequence[Any], expected: Sequence[Any]) -> bool:
    return sorted(map(comparable, records)) == sorted(map(comparable, expected))


@pytest.mark.parametrize("kind", FILES)
def test_a_file_is_exported_from_the_log_unchanged(kind: str, tmp_path: Path, log: Path, call: Call) -> None:
    path = file_of(kind, tmp_path)
    result = call("import", path, "--data", tmp_path / "full.jsonl", "--log", log)
    assert result.exit_code == 0, result.output
    known = TABLES.kind_of(path)
    assert known is not None
    assert known.name == kind
    expected = known.read(path).rows
    assert len(expected) == len(FILES[kind][1])
    with LogReader(log) as reader:
        (run,) = reader.runs()
        assert same(FILES[kind][2](reader, [run.id]), expected)
        assert reader.progress(run.id).planned == len(reader.episodes(run.id))
        # The same scores as of any run: computed again, they are those that were written.
        written = {(score.episode_id, score.metric): score.value for score in reader.scores(run_id=run.id)}
        assert written == {
            (score.episode_id, score.metric): score.value
            for score in score_run(reader, catalog.find("ambient"), run.id)
        }


def test_rows_of_one_id_give_the_file_s_measures(tmp_path: Path, log: Path, call: Call) -> None:
    path = file_of("linguists", tmp_path)
    call("import", path, "--log", log)
    with LogReader(log) as reader:
        (run,) = reader.runs()
        logged = linguist_measures(trial_log.linguist_records(reader, [run.id]))
    expected = linguist_measures(LINGUISTS.read(path).rows)
    assert logged == expected
    assert (logged["discarded"].n, logged["annotations"]) == (4, {1: 1, 2: 2})
    assert logged["identical"].value == 0.5


@pytest.mark.parametrize("kind", FILES)
def test_the_same_file_again_adds_nothing(kind: str, tmp_path: Path, log: Path, call: Call) -> None:
    path = file_of(kind, tmp_path)
    given = ["import", path, "--data", tmp_path / "full.jsonl", "--log", log]
    call(*given)
    before = logged(log)
    result = call(*given)
    assert "nothing new" in result.stdout
    assert logged(log) == before


def test_an_interrupted_import_is_completed(
    tmp_path: Path, log: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = file_of("crowd", tmp_path)
    write, written = importing._rows, []

    def cut_off(*given: Any) -> Any:
        written.append(given)
        if len(written) > 20:
            raise KeyboardInterrupt
        return write(*given)

    with monkeypatch.context() as patch:
        patch.setattr(importing, "_rows", cut_off)
        with LogWriter(log, durable=False) as writer, pytest.raises(KeyboardInterrupt):
            importing.import_file(path, writer)
    assert logged(log)["endings"] == 20
    result = call("import", path, "--log", log)
    assert "36 episodes; 16 episodes added, left out by an earlier import" in " ".join(result.stdout.split())
    whole = tmp_path / "whole.sqlite"
    call("import", path, "--log", whole)
    assert logged(log) == logged(whole)
    assert logged(log)["events"] == 1
    call("import", path, "--log", log)
    assert logged(log) == logged(whole)


def test_faulty_rows_are_left_out_and_reported(tmp_path: Path, log: Path, call: Call) -> None:
    rows = [
        *statements(1, [True] * 4, READINGS["neutral"]),
        *statements(2, [True] * 4, READINGS["neutral"]),
        *statements(2, [False] * 4, READINGS["neutral"])[:1],
    ]
    rows[1]["prediction"] = "yes"
    rows[6]["prompt"] = "Another question."
    path = lines(tmp_path / "m.jsonl", rows)
    result = call("import", path, "--log", log)
    assert result.exit_code == 0, result.output
    errors = " ".join(result.stderr.split())
    assert f"{path}:2: row 1: prediction" in errors
    assert f"{path}:7: row 2: prompt: does not contain the sentence" in errors
    assert f"{path}:9: row 2: repeats line 5" in errors
    with LogReader(log) as reader:
        (run,) = reader.runs()
        assert len(trial_log.true_false_records(reader, [run.id])) == 6
        # What is not whole in the file is not whole in the log.
        assert [ending.status for ending in reader.endings(run.id).values()] == ["truncated", "truncated"]


def test_faults_of_rows_without_id_name_only_the_line(tmp_path: Path, log: Path, call: Call) -> None:
    good = predicted(1, "neutral", "")
    path = lines(tmp_path / "m.jsonl", [good, good | {"id": None}, "{", good | {"id": True}])
    errors = call("import", path, "--log", log).stderr
    assert f"{path}:2: id is null" in errors
    assert f"{path}:3: is not JSON" in errors
    assert f"{path}:4: id is true" in errors
    assert "row" not in errors.partition("left out:")[2].replace(str(path), "")


def test_a_chat_s_prompt_needs_the_dataset_for_its_sentence(tmp_path: Path, log: Path, call: Call) -> None:
    rows = statements(1, [True] * 4, READINGS["neutral"], prompt=CHAT)
    path = lines(tmp_path / "m.jsonl", rows)
    assert call("import", path, "--log", log).exit_code == 1
    lines(tmp_path / "test.jsonl", [example(1)])
    assert call("import", path, "--log", log).exit_code == 0
    with LogReader(log) as reader:
        (run,) = reader.runs()
        records = trial_log.true_false_records(reader, [run.id])
    assert {record.prompt for record in records} == {"Say what it may mean."}


def test_stored_scores_are_compared(tmp_path: Path, log: Path, call: Call) -> None:
    path = lines(tmp_path / "m-n4.jsonl", [generation(1, GOOD, 1.0), generation(2, GOOD, 0.25)])
    result = call("import", path, "--log", log)
    assert "row 2: edit_f1 is stored as 0.25, but recomputed as 1.0" in " ".join(result.stdout.split())
    with LogReader(log) as reader:
        (run,) = reader.runs()
        records = trial_log.generation_records(reader, [run.id])
    assert [record.stored_edit_f1 for record in records] == [1.0, 0.25]
    measures = generation_measures(records)
    assert measures["edit_f1"].value == 1.0


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([example(1)], "register them with `askback data add ambient`"),
        ([{"what": "ever"}], "is not one of AmbiEnt's files"),
        ([estimates(1, 0.1, 0.2, 0.3)], "name the dataset with --data"),
    ],
)
def test_files_that_cannot_be_imported_are_named(
    rows: list[Row], reason: str, tmp_path: Path, log: Path, call: Call
) -> None:
    good = lines(tmp_path / "deep" / "down" / "here" / "and" / "m-n4.jsonl", [generation(1, GOOD, 1.0)])
    path = lines(tmp_path / "a" / "b" / "c" / "d" / "other.jsonl", rows)
    result = call("import", path, good, "--log", log)
    assert result.exit_code == 1
    assert reason in " ".join(result.stderr.split())
    assert "run m-generate-" in result.stdout


def test_another_run_of_that_name_is_refused(tmp_path: Path, log: Path, call: Call) -> None:
    results = lines(tmp_path / "m-n4.jsonl", [generation(1, GOOD, 1.0)])
    other = lines(tmp_path / "o-n4.jsonl", [generation(2, {"neutral": PREMISE}, 0.0)])
    assert call("import", results, "--run", "mine", "--log", log).exit_code == 0
    result = call("import", other, "--run", "mine", "--log", log)
    assert result.exit_code == 1
    assert "give this one another name with --run" in " ".join(result.stderr.split())
