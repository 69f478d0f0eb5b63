from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from logs import LogError, LogReader, LogWriter, NotALog, NotInLog, default_path
from logs.cli import export_command, log_app
from logs.rows import Participant
from logs.transcript import as_markdown, as_text, read_transcript


@pytest.fixture
def askback(path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., str]]:
    app = typer.Typer()
    app.add_typer(log_app, name="log")
    app.command("export")(export_command)
    monkeypatch.setenv("ASKBACK_LOG", str(path))
    monkeypatch.setenv("COLUMNS", "200")

    def call(*arguments: str, answer: str = "", code: int = 0) -> str:
        result = CliRunner().invoke(app, arguments, input=answer)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code == code, result.output
        return result.output

    return call


def test_list_without_a_log_says_how_one_begins(askback: Callable[..., str], path: Path) -> None:
    assert f"no log at {path} yet" in askback("log", "list")
    assert not path.exists()


def test_list_of_an_empty_log_says_what_to_do(askback: Callable[..., str], path: Path) -> None:
    LogWriter(path, durable=True).close()
    assert "no runs" in askback("log", "list")


def test_list_shows_runs_and_episodes(dialogue: LogWriter, askback: Callable[..., str]) -> None:
    out = askback("log", "list")
    assert out.splitlines()[0].split() == [
        *("run", "benchmark", "setup", "completed", "truncated", "aborted", "failed", "running", "begun")
    ]
    assert out.splitlines()[1].split()[:5] == ["run", "clarq", "L2L", "1", "2"]
    out = askback("log", "list", "run")
    assert [line.split()[:6] for line in out.splitlines()[1:]] == [
        ["e0", "1.0", "en", "0", "0", "aborted"],
        ["e1", "1.0", "en", "1", "0", "running"],
        ["e2", "1.0", "en", "2", "0", "running"],
    ]
    assert "e0" not in askback("log", "list", "run", "--status", "running")
    assert "no failed episodes" in askback("log", "list", "run", "--status", "failed")
    assert "2 older episodes" in askback("log", "list", "run", "--limit", "1")


def test_show_writes_a_transcript(
    dialogue: LogWriter, reader: LogReader, askback: Callable[..., str]
) -> None:
    transcript = read_transcript(reader, "e0")
    assert askback("log", "show", "e0", "--format", "text") == as_text(transcript)
    assert askback("log", "show", "e0", "--format", "markdown", "--trace") == as_markdown(
        transcript, trace=True
    )
    assert askback("log", "show", "e0") == as_text(transcript)
    shown = askback("log", "show", "e0", "--trace", "--format", "terminal")
    assert "Which wood?" in shown and "asked openai/x for provider.type" in shown


def test_tail_shows_turns(dialogue: LogWriter, askback: Callable[..., str]) -> None:
    assert askback("log", "tail", "run", "-n", "1").split() == ["e0", "2", "provider", "Oak."]


def test_tail_of_a_silent_run_says_so(writer: LogWriter, askback: Callable[..., str]) -> None:
    assert "There are no turns in run run yet" in askback("log", "tail", "run")


def test_erase_asks_first(dialogue: LogWriter, reader: LogReader, askback: Callable[..., str]) -> None:
    dialogue.put(Participant(id="pseudonym", details={"name": "x"})).result()
    assert "cannot be undone" in askback("log", "erase", "pseudonym", answer="n\n", code=1)
    assert reader.participant("pseudonym").details == {"name": "x"}
    assert "receipt" in askback("log", "erase", "pseudonym", "--yes", "--reason", "asked")
    assert reader.participant("pseudonym").details == {"erased": True}
    assert reader.events(kind="participant.erased")[0].details["reason"] == "asked"


def test_schema_prints_the_document(askback: Callable[..., str]) -> None:
    assert askback("log", "schema").startswith("# The log")


def test_export_writes_files(dialogue: LogWriter, askback: Callable[..., str], tmp_path: Path) -> None:
    assert "codebook.md" in askback("export", str(tmp_path / "a"), "--run", "run", "--excel")
    assert (tmp_path / "a" / "turns.csv").read_bytes().startswith(b"\xef\xbb\xbf")
    askback("export", str(tmp_path / "b"), "--nest")
    assert (tmp_path / "b" / "episodes.jsonl").exists()
    with pytest.raises(NotInLog):
        askback("export", str(tmp_path / "c"), "--run", "nowhere")


def test_an_export_is_not_mixed_with_what_is_there(
    dialogue: LogWriter, askback: Callable[..., str], tmp_path: Path
) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / ".DS_Store").touch()  # what is hidden is no export
    askback("export", str(folder), "--run", "run")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    with pytest.raises(
        LogError, match=r"out is not empty \(it contains assignments\.jsonl\).*name an empty or a new folder"
    ):
        askback("export", str(folder), "--format", "csv")
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_what_is_missing_is_an_error_of_the_log(askback: Callable[..., str], path: Path) -> None:
    with pytest.raises(NotALog, match=str(path)):
        askback("log", "show", "e0")
    LogWriter(path, durable=True).close()
    with pytest.raises(NotInLog, match="no run 'x'"):
        askback("log", "tail", "x")


def test_where_the_log_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("ASKBACK_LOG", raising=False)
    monkeypatch.setenv("ASKBACK_HOME", str(tmp_path))
    assert default_path() == tmp_path / "log.sqlite"
    monkeypatch.setenv("ASKBACK_LOG", str(tmp_path / "other.sqlite"))
    assert default_path() == tmp_path / "other.sqlite"
    monkeypatch.delenv("ASKBACK_LOG")
    monkeypatch.delenv("ASKBACK_HOME")
    assert default_path().name == "log.sqlite" and "askback" in str(default_path().parent)
