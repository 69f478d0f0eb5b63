"""Bots over real HTTP: they take part like people, and say what was lost, doubled or not booked."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random
from typing import Literal

import pytest
import typer
from click.testing import Result
from pydantic import BaseModel, Field
from typer.testing import CliRunner

from logs import LogReader, LogWriter
from logs.rows import Ending, Episode, Item, Run, Turn
from simulator.errors import InputError
from simulator.studies.bots.command import (
    bots_command,
    broken_by,
    completion,
    example_of,
    lost_and_doubled,
    serve_study,
)
from simulator.studies.bots.player import Page, answer_question
from simulator.studies.questions import Question


def play_bots(*words: str) -> Result:
    """The command, with these words."""
    command = typer.Typer(add_completion=False)
    command.command()(bots_command)
    return CliRunner().invoke(command, words)


@pytest.mark.slow
def test_bots_take_part_over_http_and_nothing_is_lost(tmp_path: Path) -> None:
    log = tmp_path / "log.sqlite"
    habits = ["--think", "0", "--leave", "0.02", "--reload", "0.2", "--twice", "0.4", "--seed", "3"]
    done = play_bots("ambik-robot", "--n", "3", *habits, "--log", str(log))
    assert done.exit_code == 0, done.output
    assert "0 acknowledged turns lost, 0 doubled; the books balance" in done.output
    with LogReader(log) as reader:
        turns = [
            turn for episode in reader.episodes("study-ambik-robot") for turn in reader.turns(episode.id)
        ]
        assert len({row.participant_id for row in reader.assignments()}) == 3
    assert f"{len([turn for turn in turns if turn.seat == 'robot'])} turns in" in done.output


@pytest.mark.slow
def test_bots_qualify_for_a_study_that_asks_for_it(tmp_path: Path) -> None:
    log = tmp_path / "log.sqlite"
    done = play_bots("ambient-crowd", "--n", "1", "--think", "0", "--seed", "3", "--log", str(log))
    assert done.exit_code == 0, done.output
    with LogReader(log) as reader:
        first = reader.episodes("study-ambient-crowd")[0]
        kinds = [turn.payload["kind"] for turn in reader.turns(first.id)]
        assert kinds == ["consent", "ready", *["qualification"] * 5, "label", "plausible", "relabel"]


PAIRS = """
id: pairs
title: Two at once
benchmark: clarq
language: en
setup: H2H
seats: [seeker, provider]
pairing: {wait_minutes: 0.1, after_loss: wait}
settings: {data: builtin, split: test, turn_limit: 4}
judgments_per_item: 2
completion_codes: {complete: C, returned: R, paid_exit: P}
"""


@pytest.mark.slow
def test_bots_who_are_paired_meet_and_both_come_to_an_end(tmp_path: Path) -> None:
    log = tmp_path / "log.sqlite"
    (tmp_path / "pairs.yaml").write_text(PAIRS, encoding="utf-8")
    habits = ["--think", "0", "--leave", "0", "--reload", "0.2", "--twice", "0.4"]
    done = play_bots(str(tmp_path / "pairs.yaml"), "--n", "3", *habits, "--log", str(log))
    assert done.exit_code == 0, done.output
    assert "0 acknowledged turns lost, 0 doubled; the books balance" in done.output
    assert "bots done 2, unpaired 1" in done.output
    with LogReader(log) as reader:
        (dialogue,) = reader.episodes("study-pairs")
        assert dialogue.seats == {"seeker": "person", "provider": "person"}
        assert len(reader.turns(dialogue.id)) == 8
        (verdict,) = reader.judgments(episode_id=dialogue.id)
        assert (verdict.annotator, verdict.kind) == ("provider", "success")


SLOW = """
id: slow
title: A model seeks
benchmark: clarq
language: en
setup: L2H
seat: provider
settings: {opposite: openai/any, data: builtin, split: test, turn_limit: 2}
judgments_per_item: 1
completion_codes: {complete: C}
"""


@pytest.mark.slow
def test_a_stand_in_answers_for_a_model_and_takes_its_time(tmp_path: Path) -> None:
    log, study = tmp_path / "log.sqlite", tmp_path / "slow.yaml"
    study.write_text(SLOW, encoding="utf-8")
    habits = ["--think", "0", "--leave", "0", "--reload", "0", "--twice", "0", "--model-seconds", "0.2"]
    done = play_bots(str(study), "--n", "2", *habits, "--log", str(log))
    assert done.exit_code == 0, done.output
    assert "0 acknowledged turns lost, 0 doubled; the books balance" in done.output
    with LogReader(log) as reader:
        calls = reader.model_calls(run_id="study-slow")
        assert len(calls) == 4 and all(call.seconds >= 0.2 and call.model == "openai/any" for call in calls)
    # It was also asked whether it is there.
    assert re.search(r"the model was asked \d+ times, 0\.2 s each", done.output)


def test_a_stand_in_needs_a_model_and_a_server_of_its_own(tmp_path: Path) -> None:
    words = ("ambik-robot", "--model-seconds", "1", "--log", str(tmp_path / "log.sqlite"))
    assert "no remote model plays with people" in str(play_bots(*words).exception)
    assert "starts its own server" in str(play_bots(*words, "--site", "http://127.0.0.1:9").exception)


class _Part(BaseModel):
    ready: bool
    kind: Literal["one", "other"]


class _Whole(BaseModel):
    parts: list[_Part] = Field(min_length=2)
    none: None
    number: int = Field(ge=3)
    words: str
    perhaps: str | None


def test_what_a_stand_in_answers_fits_the_schema_that_is_asked_for() -> None:
    _Whole.model_validate(example_of(_Whole.model_json_schema()))
    body = {"model": "m", "messages": [], "logprobs": True, "n": 2}
    choices = completion(body)["choices"]
    assert (
        len(choices) == 2
        and choices[0]["logprobs"]["content"][0]["token"] == choices[0]["message"]["content"]
    )
    assert completion({"model": "m", "prompt": "?"})["choices"][0]["text"]


@pytest.mark.slow
def test_a_server_that_does_not_start_says_why(tmp_path: Path) -> None:
    (tmp_path / "wrong.yaml").write_text("benchmark: nobodys\n", encoding="utf-8")
    with (
        pytest.raises(InputError, match="did not start"),
        serve_study(str(tmp_path / "wrong.yaml"), tmp_path / "log.sqlite"),
    ):
        pass


SEATS = {"seeker": "person", "provider": "offline/experts"}


def test_what_is_lost_or_doubled_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "log.sqlite"
    with LogWriter(path, durable=False) as log:
        log.put(Run(id="r", benchmark="clarq", setup="H2L", seed=0))
        log.put(Item(hash="h", benchmark="clarq", name="i", language="en", data={}))
        log.put(Episode(id="e", run_id="r", item_hash="h", language="en", seats=SEATS, seed=0))
        log.put(Turn(episode_id="e", number=0, seat="seeker", text="a", key="0.k"))
        log.put(Turn(episode_id="e", number=1, seat="provider", text="b", key="1.p"))
    with LogReader(path) as reader:
        assert lost_and_doubled(reader, [("e", "0.k")]) == (0, 0)
        assert lost_and_doubled(reader, [("e", "0.k"), ("e", "1.k")]) == (1, 0)
    with LogWriter(path, durable=False) as log:
        log.put(Turn(episode_id="e", number=2, seat="seeker", text="a", key="2.k"))
    with LogReader(path) as reader:
        assert lost_and_doubled(reader, [("e", "0.k")]) == (0, 1)
        assert not broken_by(reader, [("e", "0.k")])


def test_aborted_episodes_name_the_seat_and_why(tmp_path: Path) -> None:
    path = tmp_path / "log.sqlite"
    with LogWriter(path, durable=False) as log:
        log.put(Run(id="r", benchmark="clarq", setup="H2L", seed=0))
        log.put(Item(hash="h", benchmark="clarq", name="i", language="en", data={}))
        for number, (name, status) in enumerate((("a", "aborted"), ("b", "aborted"), ("c", "completed"))):
            seats = {"seats": SEATS, "attempt": number}
            log.put(Episode(id=name, run_id="r", item_hash="h", language="en", seed=0, **seats))
            log.put(Ending(episode_id=name, status=status, cause="provider", message="not a form"))
    with LogReader(path) as reader:
        acknowledged = [(name, key) for name in "abc" for key in ("0.k", "1.k")]
        assert broken_by(reader, acknowledged) == {"provider: not a form": 2}


def test_a_page_says_where_its_episode_stands() -> None:
    html = '<div data-episode="e" data-number="3" data-stage="task" data-my-turn="1" data-ended="0">'
    html += '<li data-number="0">'
    page = Page.read(html)
    assert isinstance(page, Page)
    assert (page.episode, page.number, page.stage, page.my_turn, page.ended) == ("e", 3, "task", True, False)
    assert Page.read('<div data-code="full">') == "full"


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
    answer = question.read(answer_question(question, Random(0)), "seeker")
    assert question.right is None or question.is_right(answer)
