"""A third-party benchmark in one folder: commands, reports and pages follow from its declaration."""

from __future__ import annotations

import inspect
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from markup import office_at, page_at
from typer.testing import CliRunner

from logs import LogReader, LogWriter
from simulator import catalog, frames
from simulator.commands.run import run_command
from simulator.errors import InputError
from simulator.runner.build import load_machine

FOLDER = Path(__file__).parent / "twenty_questions"

ROOT = Path(__file__).parents[2]
MAX_LINES = 300


@pytest.fixture
def askback(installed: Path):
    """The command, run in this process with the log of an empty home folder."""
    from typer import Typer

    import app
    from simulator.commands.derived import commands_of
    from simulator.deferred import deferred

    cli = Typer()
    groups = {name: Typer() for name in ("run", "report", "stats")}
    for words, command in commands_of(catalog.find("twenty_questions")).items():
        verb, _, name = words.partition(" ")
        groups[verb].add_typer(deferred(command.place, command.help), name=name)
    groups["report"].add_typer(deferred(app.COMMANDS["report asking"].place, ""), name="asking")
    for name, group in groups.items():
        cli.add_typer(group, name=name)
    for name in ("compare", "check", "export"):
        cli.add_typer(deferred(app.COMMANDS[name].place, ""), name=name)
    for name in ("score", "data", "study"):
        cli.add_typer(app.GROUPS[name], name=name)

    def call(line: str, exit_code: int = 0) -> str:
        done = CliRunner().invoke(cli, line.split(), env={"COLUMNS": "200"})
        assert done.exit_code == exit_code, (done.output, done.exception)
        return f"{done.output}{done.exception or ''}"

    return call


@pytest.mark.each(
    ("question", "answer"),
    [
        ("Is it an animal or a plant?", "yes"),
        ("Is it not an animal?", "I cannot tell"),
        ("cat?", "yes"),
        ("It's a dog, right?", "no"),
    ],
)
def test_what_is_answered_is_true(installed, question, answer):
    from twenty_questions import THINGS, true_answer

    assert true_answer(next(thing for thing in THINGS if thing.name == "cat"), question) == answer


def test_the_package_is_small_and_shared_code_does_not_name_it():
    lines = [
        line
        for path in FOLDER.rglob("*")
        if path.is_file() and path.suffix in (".py", ".yaml", ".jinja", ".toml")
        for line in path.read_text(encoding="utf-8").splitlines()
    ]
    assert len(lines) <= MAX_LINES
    shared = [
        path for folder in ("simulator", "ui", "logs", "askback") for path in (ROOT / folder).rglob("*.py")
    ]
    paths = (*shared, ROOT / "app.py")
    names = {path.name for path in paths if "twenty_questions" in path.read_text(encoding="utf-8")}
    # Docstrings may show what an entry point looks like.
    assert names <= {"catalog.py", "items.py"}


def test_a_run_is_played_scored_reported_and_continued(askback, tmp_path):
    played = askback("run twenty_questions --run halver --seed 3")
    assert "halver  30 completed" in played
    assert "halver  30 completed" in askback("run twenty_questions --run halver --seed 3")
    assert "1.000 [0.886, 1.000]" in askback("score halver")
    report = json.loads(askback("report twenty_questions halver --by language --json"))
    (row,) = report["sections"][0]["tables"][0]["rows"]
    assert (row["episodes"], row["items"], row["success"]["value"]) == (30, 30, 1.0)
    askback(f"report twenty_questions halver --out {tmp_path / 'out'}")
    names = {path.name for path in (tmp_path / "out").iterdir()}
    expected = {"report.json", "report.html", "metrics.csv", "metrics.tex", "twenty_questions-metrics.pdf"}
    assert expected <= names
    assert r"\caption{" in (tmp_path / "out" / "metrics.tex").read_text(encoding="utf-8")


def test_rules_are_options_and_scores_follow_them(askback):
    askback("run twenty_questions --asker offline/guesser --questions 12 --limit 10 --run short")
    with LogReader(Path(os.environ["ASKBACK_HOME"]) / "log.sqlite") as reader:
        frame = frames.episodes(reader, ["short"])
        assert set(reader.episodes("short")[0].options) == {"questions"}
    truncated = frame["status"] == "truncated"
    assert len(frame) == 10 and truncated.any()
    assert (frame.loc[truncated, "success"] == 0).all()
    assert (frame.loc[truncated, "turns"] == 24).all()
    assert "greater than or equal to 1" in askback("run twenty_questions --questions 0", exit_code=2)


def test_runs_are_compared_item_by_item(askback):
    askback("run twenty_questions --run halver")
    askback("run twenty_questions --asker offline/guesser --questions 12 --run guesser")
    report = json.loads(askback("compare halver guesser --metric success --json"))
    (row,) = report["sections"][0]["tables"][1]["rows"]
    assert (row["items"], row["mean of first"], row["mean of second"]) == (30, 1.0, 0.4)
    assert row["difference"]["value"] == pytest.approx(-0.6)
    assert row["p"] == pytest.approx(2 * 0.5**18)  # McNemar's: 18 items change, all to one side
    assert 0.2 < row["detectable"] < 0.3
    assert "Name two or more runs" in askback("compare halver", exit_code=1)
    assert "--metric speed" in askback("compare halver guesser --metric speed", exit_code=1)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_researchers_see_its_runs_episodes_and_comparison(askback, language):
    """The researchers' pages show the benchmark although none of them names it."""
    askback("run twenty_questions --run halver")
    askback("run twenty_questions --asker offline/guesser --questions 12 --run guesser")
    path = Path(os.environ["ASKBACK_HOME"]) / "log.sqlite"
    with LogWriter(path, durable=False) as writer, LogReader(path) as reader:
        calls = office_at(writer, reader)

        def page(query: str, at: str = "/research") -> str:
            html = page_at(calls, at, query, language)["html"]
            return re.sub(r"\s+", " ", re.sub("<[^>]+>", " ", html))

        assert "Twenty questions" in page("") and "0.400 [0.246, 0.577]" in page("")
        asker = {"en": "Asker", "zh": "提问者"}[language]
        assert f"{asker} offline/halver" in page("") and f"{asker} offline/halver" in page("run=halver")
        assert "1.000 [0.886, 1.000]" in page("run=halver")
        assert "askback report twenty_questions halver" in page("run=halver")
        assert "0.400 [0.246, 0.577]" in page("runs=halver&runs=guesser", "/research/report")
        for at, query in (("/research", "run=halver&tab=compare&runs=guesser"), ("/research/compare", "")):
            compared = page(query or "runs=halver&runs=guesser&item=apple", at)
            assert "−0.600 [−0.767, −0.433]" in compared and "1.00 0.00" in compared
        assert "Is it a bee?" in compared
        episodes = reader.episodes("guesser")
        lost = page("run=guesser&tab=dialogues&outcome=failure")
        assert str(len(episodes)) in lost and "apple" in lost
        shown = page(f"run=guesser&tab=dialogues&episode={episodes[0].id}")
        assert "Is it a" in shown and "facts" in shown
        assert f"{asker} offline/guesser ·" in shown and f"0 {asker} " in shown


def test_asking_back_is_reported(askback):
    askback("run twenty_questions --run halver")
    rows = json.loads(askback("report asking halver --json"))["rows"]
    assert (rows[0]["robot"], rows[0]["when_needed"]["value"]) == ("offline/halver", 1.0)
    assert rows[0]["useful"]["value"] > 0.8


def test_items_are_counted_checked_and_registered(askback, tmp_path):
    fields = json.loads(askback("stats twenty_questions --json"))["sections"][0]["tables"][0]["rows"]
    assert {row["field"]: row["different"] for row in fields}["name"] == 30
    file = tmp_path / "mine.yaml"
    file.write_text(
        "items_of: twenty_questions\nitems:\n- name: emu\n  facts: [alive]\n- name: moa\n", "utf-8"
    )
    assert f"{file}:5: task moa: facts is missing [item]" in askback(f"check {file}", exit_code=1)
    assert "facts" in askback(f"run twenty_questions --data {file}", exit_code=1)
    file.write_text("items_of: twenty_questions\nitems:\n- name: emu\n  facts: [alive]\n", "utf-8")
    assert "No faults" in askback(f"check {file}")
    assert "items 1." in askback(f"data add twenty_questions {tmp_path} --name birds")
    assert "1 truncated" in askback("run twenty_questions --data birds --questions 2 --run birds")


def test_its_study_is_listed_and_checked(askback, tmp_path):
    assert "twenty-questions-asker" in askback("study list")
    study = FOLDER / "twenty_questions" / "studies" / "asker.yaml"
    assert "No faults" in askback(f"check {study}")
    (tmp_path / "odd.yaml").write_text(study.read_text("utf-8").replace("questions: 15", "lives: 9"), "utf-8")
    assert "unknown setting lives; known are: data, answerer, questions, show_result, languages" in askback(
        f"check {tmp_path / 'odd.yaml'}", exit_code=1
    )
    text = study.read_text("utf-8").replace("questions: 15", "questions: 15, conditions: [rose]")
    (tmp_path / "odd.yaml").write_text(text, "utf-8")
    belongs = "settings: key 'conditions' belongs beside `settings`"
    assert belongs in askback(f"check {tmp_path / 'odd.yaml'}", exit_code=1)


def test_a_seat_that_breaks_the_rules_is_unsuccessful(askback, tmp_path):
    (tmp_path / "mumbler.yaml").write_text("- hm\n", encoding="utf-8")
    line = f"run twenty_questions --answerer script:{tmp_path / 'mumbler.yaml'} --limit 3 --run mumbled"
    assert "3 aborted" in askback(line, exit_code=1)
    report = json.loads(askback("report twenty_questions mumbled --json"))
    assert report["sections"][0]["tables"][0]["rows"][0]["success"]["value"] == 0
    report = json.loads(askback("report twenty_questions mumbled --exclude-aborted --json"))
    assert report["sections"][0]["tables"][0]["rows"] == []


def test_a_user_class_can_play_a_seat(askback, tmp_path, monkeypatch):
    (tmp_path / "my_agents.py").write_text(
        "class Asker:\n    async def reply(self, view):\n        return 'Is it a cat?'\n", encoding="utf-8"
    )
    monkeypatch.chdir(tmp_path)
    askback("run twenty_questions --asker python:my_agents:Asker --questions 1 --run mine")
    with LogReader(Path(os.environ["ASKBACK_HOME"]) / "log.sqlite") as reader:
        frame = frames.episodes(reader, ["mine"])
    assert frame.set_index("item")["success"].sum() == 1
    assert set(frame["seat.asker"]) == {"python:my_agents:Asker"}
    assert "cannot be used" in askback("run twenty_questions --asker python:my_agents:Nobody", exit_code=1)


@pytest.mark.parametrize(
    ("name", "like"),
    [("limit", "a choice of items"), ("asker", "a seat"), ("seed", "an option of every run")],
)
def test_a_rule_that_hides_another_option_is_refused(installed, name, like):
    from pydantic import create_model

    benchmark = catalog.find("twenty_questions")
    rules = create_model("Rules", **{name: (int, 3)})
    with pytest.raises(InputError, match=f"twenty_questions: the rule {name} has the name of {like}; rename"):
        run_command(replace(benchmark, rules=rules))


def test_a_rule_may_have_a_default_factory(installed):
    from pydantic import Field, create_model

    rules = create_model("Rules", lives=(int, Field(default_factory=lambda: 7)))
    command = run_command(replace(catalog.find("twenty_questions"), rules=rules))
    assert inspect.signature(command).parameters["lives"].default == 7


@pytest.mark.parametrize("languages", [("en", "zh"), ("en",)])
def test_a_model_is_asked_with_the_prompt_of_the_package(installed, monkeypatch, caplog, languages):
    from simulator.models import ModelOptions, load_model
    from simulator.runner import declared_machine
    from simulator.runner.declared_machine import PromptedSeat
    from simulator.seats import Line, View

    benchmark = catalog.find("twenty_questions")
    assert load_machine("twenty_questions").seats == ("asker", "answerer")
    asked = []

    def script(request):
        asked.append(request.messages[0].content)
        return "Is it a rose?"

    monkeypatch.setattr(declared_machine, "languages_of", lambda prompt: languages)
    seat = PromptedSeat(
        load_model("offline/script", ModelOptions(script=script)), benchmark.name, benchmark.seat("asker")
    )
    view = View(
        episode_id="e", seat="asker", number=2, language="zh",
        lines=(Line("asker", "Is it alive?"), Line("answerer", "yes")), task={"remaining": 19}, seed=1,
    )  # fmt: skip
    import asyncio

    assert asyncio.run(seat.reply(view)).text == "Is it a rose?"
    warned = "no prompt twenty_questions/asker.zh; twenty_questions/asker.en is used" in caplog.text
    assert ("你还剩 19 个问题" in asked[0], warned) == ("zh" in languages, "zh" not in languages)
    assert "Is it alive?" in asked[0]


@pytest.mark.slow
def test_a_killed_run_resumes_in_several_processes(site, tmp_path):
    """After a SIGKILL the same command, with workers, plays the rest, and no episode twice."""
    environment = os.environ | {"ASKBACK_HOME": str(tmp_path), "PYTHONPATH": f"{site}{os.pathsep}{ROOT}"}
    line = shlex.split("-m app run twenty_questions --repeat 4 --workers 2 --run r")
    line.insert(0, sys.executable)
    first = subprocess.Popen(
        line, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=ROOT
    )
    log, deadline = tmp_path / "log.sqlite", time.monotonic() + 120
    while first.poll() is None and time.monotonic() < deadline and not _ended_episodes(log):
        time.sleep(0.05)
    first.send_signal(signal.SIGKILL)
    first.wait()
    subprocess.run(line, env=environment, check=True, capture_output=True, timeout=300, cwd=ROOT)
    with LogReader(log) as reader:
        endings = reader.endings("r")
        episodes = reader.episodes("r", latest=True)
    assert len(endings) == len(episodes) == 120
    assert {ending.status for ending in endings.values()} == {"completed"}


def _ended_episodes(log: Path) -> int:
    if not log.exists():
        return 0
    with LogReader(log) as reader:
        return len(reader.endings("r"))
