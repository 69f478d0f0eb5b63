"""Bots over real HTTP: they take part like people, and say what was lost, doubled or not booked."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from typer.testing import CliRunner

from logs import LogReader, LogWriter
from logs.rows import Episode, Item, Run, Turn
from simulator.errors import InputError
from simulator.studies.questions import Question
from ui.bots import _answer, _Page
from ui.bots_command import bots_command, lost_and_doubled, own_server


def test_bots_take_part_over_http_and_nothing_is_lost(tmp_path: Path) -> None:
    import typer

    command, log = typer.Typer(add_completion=False), tmp_path / "log.sqlite"
    command.command()(bots_command)
    habits = ["--think", "0", "--leave", "0.02", "--reload", "0.2", "--twice", "0.4", "--seed", "3"]
    done = CliRunner().invoke(command, ["ambik-robot", "--n", "3", *habits, "--log", str(log)])
    assert done.exit_code == 0, done.output
    assert "0 acknowledged turns lost, 0 doubled; the books balance" in done.output
    with LogReader(log) as reader:
        turns = [
            turn for episode in reader.episodes("study-ambik-robot") for turn in reader.turns(episode.id)
        ]
        assert len({row.participant_id for row in reader.assignments()}) == 3
    assert f"{len([turn for turn in turns if turn.seat == 'robot'])} turns in" in done.output


def test_a_server_that_does_not_start_says_why(tmp_path: Path) -> None:
    (tmp_path / "wrong.yaml").write_text("benchmark: nobodys\n", encoding="utf-8")
    with (
        pytest.raises(InputError, match="did not start"),
        own_server(str(tmp_path / "wrong.yaml"), tmp_path / "log.sqlite"),
    ):
        pass


def test_what_is_lost_or_doubled_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "log.sqlite"
    with LogWriter(path, durable=False) as log:
        log.put(Run(id="r", benchmark="clarq", setup="H2L", seed=0))
        log.put(Item(hash="h", benchmark="clarq", name="i", language="en", data={}))
        log.put(Episode(id="e", run_id="r", item_hash="h", language="en", seats={}, seed=0))
        log.put(Turn(episode_id="e", number=0, seat="seeker", text="a", key="0.k"))
        log.put(Turn(episode_id="e", number=1, seat="provider", text="b", key="1.p"))
    with LogReader(path) as reader:
        assert lost_and_doubled(reader, "seeker", [("e", "0.k")]) == (0, 0)
        assert lost_and_doubled(reader, "seeker", [("e", "0.k"), ("e", "1.k")]) == (1, 0)
    with LogWriter(path, durable=False) as log:
        log.put(Turn(episode_id="e", number=2, seat="seeker", text="a", key="2.k"))
    with LogReader(path) as reader:
        assert lost_and_doubled(reader, "seeker", [("e", "0.k")]) == (0, 1)


def test_a_page_says_where_its_episode_stands() -> None:
    html = '<div data-episode="e" data-number="3" data-stage="task" data-my-turn="1" data-ended="0">'
    html += '<li data-number="0">'
    page = _Page.read(html)
    assert page is not None
    assert (page.episode, page.number, page.stage, page.my_turn, page.ended) == ("e", 3, "task", True, False)
    assert _Page.read("<p>no episode</p>") is None


QUESTIONS = [
    Question(id="a", text="?", kind="choice", choices={"x": "X", "y": "Y"}),
    Question(id="a", text="?", kind="choices", choices={"x": "X", "y": "Y"}),
    Question(id="a", text="?", kind="scale", points=5),
    Question(id="a", text="?", kind="number", least=18),
    Question(id="a", text="?", kind="number", most=3),
    Question(id="a", text="?", kind="text"),
    Question(id="a", text="?", kind="choice", choices={"x": "X", "y": "Y"}, when="comprehension", right="y"),
]


@pytest.mark.each("question", QUESTIONS)
def test_every_question_is_answered_in_its_kind(question: Question) -> None:
    answer = question.read(_answer(question, Random(0)), "seeker")
    assert question.right is None or question.is_right(answer)
