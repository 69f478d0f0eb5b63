from __future__ import annotations

import csv
import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logs import LogError, LogReader, LogWriter, NotInLog
from logs.codebook import guard, unguard
from logs.codec import plain_values
from logs.export import export_log
from logs.rows import (
    Assignment,
    Ending,
    Episode,
    Event,
    Identity,
    Item,
    Judgment,
    ModelCall,
    Participant,
    Run,
    Score,
    Turn,
)
from logs.schema import BY_NAME, TABLES

NASTY = [
    '=HYPERLINK("http://evil")',
    "+1",
    "-1",
    "@SUM(A1)",
    "\tx",
    "\r\n=1",
    "＝1",
    "'=1",
    "''",
    "",
    'plain, "q"\n二',
    "\0",
]
IDENTITY = "outside-identity"


@pytest.fixture
def filled(path: Path) -> LogReader:
    with LogWriter(path, durable=True) as writer:
        for run in ("one", "two"):
            fill(writer, run)
    with LogReader(path) as reader:
        yield reader


def fill(writer: LogWriter, run: str) -> None:
    person, episode = f"p-{run}", f"e-{run}"
    here = {"run_id": run, "item_hash": f"h-{run}", "participant_id": person}
    writer.put(Run(id=run, benchmark="clarq", setup="H2L", seed=-(2**70), config={"a": [1]}))
    writer.put(Item(hash=f"h-{run}", benchmark="clarq", name="1.0", language="zh", data={"任务": "木头"}))
    writer.put(Participant(id=person, language="zh"))
    writer.put(Identity(participant_id=person, kind="prolific_pid", value=IDENTITY))
    writer.put(Episode(id=episode, language="zh", seats={"seeker": "person"}, seed=5, **here))
    for number, text in enumerate(NASTY):
        writer.put(Turn(episode_id=episode, number=number, seat="seeker", text=text, seconds=-0.5))
    call = {"episode_id": episode, "purpose": "x", "model": "m", "cost": 0.25}
    writer.put(ModelCall(id=f"c0-{run}", turn_number=0, cached=True, **call))
    writer.put(ModelCall(id=f"c1-{run}", turn_number=None, **call))
    writer.put(Ending(episode_id=episode, status="completed"))
    writer.put(Judgment(id=f"j-{run}", episode_id=episode, annotator="rater", kind="x", value={"=": "=1"}))
    writer.put(
        Judgment(id=f"i-{run}", episode_id=None, item_hash=f"h-{run}", annotator="r", kind="x", value={})
    )
    writer.put(Score(episode_id=episode, metric="s", value=None, version="1"))
    writer.put(Assignment(id=f"a-{run}", state="done", **here))
    writer.put(Event(kind="x", run_id=run))
    writer.put(Event(kind="y", episode_id=episode))


def everything(reader: LogReader, name: str) -> list[dict[str, object]]:
    table = BY_NAME[name]
    with reader.connection() as connection:
        records = connection.execute(f"SELECT {', '.join(table.names)} FROM {name} ORDER BY seq")
        return [plain_values(table, record) for record in records]


def test_json_lines_hold_everything_but_identities(filled: LogReader, tmp_path: Path) -> None:
    files = export_log(filled, tmp_path / "out")
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == sorted(file.name for file in files)
    for table in TABLES.values():
        file = tmp_path / "out" / f"{table.name}.jsonl"
        if table.row is Identity:
            assert not file.exists()
        else:
            lines = file.read_text(encoding="utf-8").split("\n")[:-1]
            assert [json.loads(line) for line in lines] == everything(filled, table.name)
            assert lines


def test_identities_leave_only_when_asked_for(filled: LogReader, tmp_path: Path) -> None:
    for options in ({}, {"format": "csv"}, {"nest": True}):
        export_log(filled, tmp_path / "without", **options)
        assert not any(IDENTITY in file.read_text() for file in (tmp_path / "without").iterdir())
    export_log(filled, tmp_path / "with", identities=True, nest=True)
    assert IDENTITY in (tmp_path / "with" / "episodes.jsonl").read_text()
    export_log(filled, tmp_path / "with", identities=True, format="csv")
    assert IDENTITY in (tmp_path / "with" / "identities.csv").read_text()
    assert "do not share it" in (tmp_path / "with" / "codebook.md").read_text()


@pytest.mark.parametrize("excel", [False, True])
def test_csv_comes_back_whole_and_holds_no_formula(filled: LogReader, tmp_path: Path, excel: bool) -> None:
    export_log(filled, tmp_path, format="csv", excel=excel)
    assert (tmp_path / "turns.csv").read_bytes().startswith(b"\xef\xbb\xbf") == excel
    for name, table in BY_NAME.items():
        if table.row is Identity:
            continue
        with (tmp_path / f"{name}.csv").open(encoding="utf-8-sig" if excel else "utf-8", newline="") as file:
            head, *rows = csv.reader(file)
        assert head == list(table.names)
        back = []
        for row in rows:
            values: list[object] = []
            for column, cell in zip(table.columns, row, strict=True):
                if column.kind in ("text", "json"):
                    assert not cell.startswith(("=", "+", "-", "@", "\t", "\r", "\n", "＝"))
                if column.nullable and cell == "":
                    values.append(None)
                elif column.kind == "boolean":
                    values.append({"true": 1, "false": 0}[cell])
                elif column.kind in ("integer", "real"):
                    values.append(float(cell))
                else:
                    values.append(unguard(cell))
            back.append(plain_values(table, values))
        assert back == everything(filled, name)


def test_a_log_comes_back_as_a_log_without_identities(filled: LogReader, tmp_path: Path) -> None:
    files = export_log(filled, tmp_path / "out", format="log")
    assert {file.name for file in files} == {file.name for file in (tmp_path / "out").iterdir()}
    with LogReader(tmp_path / "out" / "log.sqlite") as reader:
        for name, table in BY_NAME.items():
            assert everything(reader, name) == ([] if table.row is Identity else everything(filled, name))
    export_log(filled, tmp_path / "one", format="log", runs=["one"])
    with LogReader(tmp_path / "one" / "log.sqlite") as reader:
        assert [run.id for run in reader.runs()] == ["one"]
        assert [episode.id for episode in reader.episodes()] == ["e-one"]
    with pytest.raises(LogError, match="log cannot be nested"):
        export_log(filled, tmp_path, format="log", nest=True)


def test_parquet_holds_everything_but_identities(filled: LogReader, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="pip install pyarrow to test Parquet")
    folder = tmp_path / "out"
    files = export_log(filled, folder, format="parquet")
    assert {file.name for file in files} == {file.name for file in folder.iterdir()}
    card = (folder / "README.md").read_text(encoding="utf-8")
    for name, table in BY_NAME.items():
        if table.row is Identity:
            assert not (folder / f"{name}.parquet").exists() and f"config_name: {name}" not in card
            continue
        assert f"- config_name: {name}\n  data_files: {name}.parquet\n" in card
        rows = parquet.read_table(folder / f"{name}.parquet").to_pylist()
        assert [plain_values(table, tuple(row.values())) for row in rows] == everything(filled, name)


def test_parquet_without_its_library_says_what_to_install(
    filled: LogReader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("logs.export.find_spec", lambda name: None)
    with pytest.raises(LogError, match=r"pip install 'askback\[parquet\]'"):
        export_log(filled, tmp_path / "out", format="parquet")
    assert not (tmp_path / "out").exists()


@given(st.text())
def test_guarding_can_be_undone_and_leaves_no_formula(text: str) -> None:
    assert unguard(guard(text)) == text
    assert not guard(text).startswith(tuple("=+-@\t\r\n＝＋－＠"))


def test_some_runs_only(filled: LogReader, tmp_path: Path) -> None:
    export_log(filled, tmp_path, runs=["two"], identities=True)
    for name in BY_NAME:
        text = (tmp_path / f"{name}.jsonl").read_text(encoding="utf-8")
        whole = len(everything(filled, name))
        assert len(text.splitlines()) == whole / 2, name
        assert "one" not in text.replace('"done"', "")
    assert "the runs two" in (tmp_path / "codebook.md").read_text()


def test_an_unknown_run_is_an_error_and_leaves_nothing(filled: LogReader, tmp_path: Path) -> None:
    with pytest.raises(NotInLog, match="no run 'three'"):
        export_log(filled, tmp_path / "out", runs=["one", "three"])
    assert not (tmp_path / "out").exists()


def test_nested_each_line_is_an_episode_with_all_in_it(filled: LogReader, tmp_path: Path) -> None:
    export_log(filled, tmp_path, nest=True)
    first, second = [json.loads(line) for line in (tmp_path / "episodes.jsonl").read_text().splitlines()]
    assert (first["id"], second["id"]) == ("e-one", "e-two")
    assert [turn["text"] for turn in first["turns"]] == NASTY
    assert [call["id"] for call in first["turns"][0]["model_calls"]] == ["c0-one"]
    assert [call["id"] for call in first["model_calls"]] == ["c1-one"]
    assert first["item"]["data"] == {"任务": "木头"}
    assert first["ending"]["status"] == "completed"
    assert first["participant"]["id"] == "p-one"
    assert [len(first[name]) for name in ("judgments", "scores", "events")] == [1, 1, 1]
    assert sorted(file.name for file in tmp_path.iterdir() if not file.name.startswith("log")) == [
        "codebook.csv",
        "codebook.md",
        "episodes.jsonl",
        "runs.jsonl",
    ]


def test_csv_cannot_be_nested(filled: LogReader, tmp_path: Path) -> None:
    with pytest.raises(LogError, match="cannot be nested"):
        export_log(filled, tmp_path, nest=True, format="csv")


def test_the_codebook_tells_every_column(filled: LogReader, tmp_path: Path) -> None:
    export_log(filled, tmp_path, format="csv")
    with (tmp_path / "codebook.csv").open(encoding="utf-8", newline="") as file:
        rows = {(row["table"], row["column"]): row for row in csv.DictReader(file)}
    expected = {
        (table.name, column.name)
        for table in TABLES.values()
        for column in table.columns
        if table.row is not Identity
    }
    assert set(rows) == expected
    assert rows["turns", "seconds"]["unit"] == "seconds"
    assert rows["endings", "status"]["values"] == "completed, truncated, aborted, failed"
    assert rows["turns", "episode_id"]["points to"] == "episodes.id"
    assert all(row["meaning"] for row in rows.values())
    page = (tmp_path / "codebook.md").read_text(encoding="utf-8")
    assert "unguard" in page and "## turns" in page and "identities are not included" in page


def test_an_export_that_fails_leaves_the_one_before_as_it_was(
    filled: LogReader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    export_log(filled, out)
    before = {file.name: file.read_bytes() for file in out.iterdir()}

    def fail(*_: object, **__: object) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("logs.export.codebook_csv", fail)
    with pytest.raises(LogError, match=r"cannot export to .*out.*No space left"):
        export_log(filled, out, runs=["one"])
    assert {file.name: file.read_bytes() for file in out.iterdir()} == before


def test_a_folder_that_cannot_be_made_is_an_error_that_names_it(filled: LogReader, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(LogError, match=r"cannot export to .*file"):
        export_log(filled, tmp_path / "file" / "out")


def test_an_export_is_of_one_moment(filled: LogReader, tmp_path: Path) -> None:
    with LogWriter(filled.path, durable=True) as writer:
        written = []

        def meanwhile(done: int, total: int) -> None:
            if not written:
                written.append(writer.put(Event(kind="late")).result())

        for number in range(1000):
            writer.put(Event(kind="many", details={"n": number}))
        writer.flush()
        export_log(filled, tmp_path, progress=meanwhile)
    assert written
    kinds = {json.loads(line)["kind"] for line in (tmp_path / "events.jsonl").read_text().splitlines()}
    assert "late" not in kinds and "many" in kinds


def test_progress_ends_at_the_total(filled: LogReader, tmp_path: Path) -> None:
    steps: list[tuple[int, int]] = []
    export_log(filled, tmp_path / "flat", progress=lambda done, total: steps.append((done, total)))
    assert steps[-1][0] == steps[-1][1] == sum(len(everything(filled, name)) for name in BY_NAME) - 2
    steps.clear()
    export_log(
        filled, tmp_path / "nested", nest=True, progress=lambda done, total: steps.append((done, total))
    )
    assert steps[-1][0] == steps[-1][1] > 0


def test_no_draft_is_left_behind(filled: LogReader, tmp_path: Path) -> None:
    export_log(filled, tmp_path / "out")
    assert not [name for name in os.listdir(tmp_path / "out") if name.startswith(".")]
