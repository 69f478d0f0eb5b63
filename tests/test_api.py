"""The public API: whatever `askback.__all__` names, on a log of the test's own."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from pydantic import BaseModel, Field

import askback
from logs.errors import LogError, NotInLog
from simulator import catalog
from simulator.ambik.data import load_pairs
from simulator.benchmark import Due, Metric, SeatSpec, State

MOST_LINES = 200


class Number(BaseModel, frozen=True):
    """The number to guess."""

    name: str
    value: int


class Rules(BaseModel, frozen=True):
    """The number of guesses allowed."""

    guesses: int = Field(3, ge=1, description="guesses that may be made")


def next_seat(state: State[Number, Rules]) -> Due | None:
    guesses = state.texts("guess")
    over = str(state.item.value) in guesses or len(guesses) >= state.rules.guesses
    return None if over else Due("guesser", "guess")


GUESSING = askback.Benchmark[Number, Rules](
    name="guessing",
    title="Guessing",
    item=Number,
    rules=Rules,
    load=lambda data: [Number(name=f"n{value}", value=value) for value in range(5)],
    seats=(SeatSpec(name="guesser", players={"offline/counter": lambda view: str(view.moves)}),),
    next_seat=next_seat,
    score=lambda state: {"success": float(str(state.item.value) in state.texts("guess"))},
    metrics=(Metric("success", "success", unsuccessful=0.0),),
    folder=Path(__file__).parent,
)


class Two:
    """An agent that has never heard of Askback."""

    def reply(self, view: askback.View) -> str:
        return "2"


class Named:
    """A live seat by the protocol."""

    name, kind = "mine", "script"

    async def reply(self, view: askback.View) -> askback.Reply:
        return askback.Reply(text=str(view.moves + 3))


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASKBACK_HOME", str(tmp_path))
    monkeypatch.delenv("ASKBACK_LOG", raising=False)
    monkeypatch.setattr(catalog, "_REGISTERED", {})


def successes(run: str) -> dict[str, float]:
    with askback.load_log() as log:
        frame = log.frame(run)
    return dict(zip(frame["item"], frame["success"], strict=True))


def test_the_facade_is_small_and_names_what_it_has():
    assert len(Path(askback.__file__).read_text("utf-8").splitlines()) <= MOST_LINES
    assert sorted(set(askback.__all__)) == sorted(askback.__all__)
    assert all(hasattr(askback, name) for name in askback.__all__)
    public = {
        name
        for name, value in vars(askback).items()
        if not name.startswith("_") and getattr(value, "__module__", "") == "askback"
    }
    assert public <= set(askback.__all__)


def test_a_benchmark_is_played_by_name(tmp_path):
    run = askback.run("clarq", seeker="offline/seeker", provider="offline/experts", limit=3, seed=4)
    with askback.load_log() as log:
        assert log.path == tmp_path / "log.sqlite"
        assert log.runs() == [run]
        frame = log.frame(run)
        assert log.frame().equals(frame)
        assert len(frame) == 3
        assert set(frame["seat.seeker"]) == {"offline/seeker"}
        assert {"success", "aqd", "aql"} <= set(frame.columns)
        turns = log.turns(run)
        assert turns.groupby("episode").size().to_dict() == frame.set_index("episode")["turns"].to_dict()
        assert set(turns["seat"]) == {"seeker", "provider"}
        assert log.judgments(run).empty
        assert log.calls(run).empty
        assert {episode.id for episode in log.episodes(run)} == set(frame["episode"])
        assert repr(log) == f"Log({str(log.path)!r}, 1 runs)"
    # The same call plays nothing again; without names the first players sit there, which are the same.
    assert askback.run("clarq", limit=3, seed=4) == run
    assert len(askback.load_log(tmp_path / "log.sqlite").frame(run)) == 3


def test_anything_that_replies_can_sit_in_a_seat():
    expected = {f"n{value}": float(value == 2) for value in range(5)}
    for number, agent in enumerate((Two(), Two, lambda view: "2", partial(str.format, "2"))):
        run = askback.run(GUESSING, guesser=agent, name=f"two-{number}")
        assert successes(run) == expected
    run = askback.run(GUESSING, guesser=Named(), name="mine")
    assert successes(run) == {f"n{value}": float(value >= 3) for value in range(5)}
    with askback.load_log() as log:
        assert set(log.frame("mine")["seat.guesser"]) == {"mine"}
        assert log.frame("two-0", "two-1")["seat.guesser"].nunique() == 1
        assert set(log.frame()["run"]) == {"two-0", "two-1", "two-2", "two-3", "mine"}


def test_rules_items_repeats_and_limit_are_those_of_the_call():
    assert successes(askback.run(GUESSING, rules={"guesses": 5})) == {f"n{value}": 1.0 for value in range(5)}
    run = askback.run(GUESSING, items=[Number(name="far", value=7)], rules={"guesses": 1}, repeat=2)
    with askback.load_log() as log:
        frame = log.frame(run)
        assert [*frame["item"]] == ["far", "far"]
        assert sorted(frame["repeat"]) == [0, 1]
        assert [episode.options for episode in log.episodes(run)] == [{"guesses": 1}] * 2
    assert len(successes(askback.run(GUESSING, limit=2, seed=1, name="few"))) == 2


def test_a_run_within_an_event_loop_is_the_same_run():
    async def notebook() -> str:
        return askback.run(GUESSING, guesser=Two(), limit=2)

    assert sum(successes(asyncio.run(notebook())).values()) <= 1


def test_a_seat_that_fails_is_unsuccessful():
    run = askback.run(GUESSING, guesser=lambda view: "", name="mute")
    assert successes(run) == {f"n{value}": 0.0 for value in range(5)}
    with askback.load_log() as log:
        assert log.frame(run, exclude_aborted=True).empty


def test_a_benchmark_of_ones_own_is_registered():
    assert "guessing" not in askback.benchmarks()
    askback.register(GUESSING)
    assert askback.benchmarks()[-1] == "guessing"
    assert len(successes(askback.run("guessing"))) == 5
    with pytest.raises(askback.InputError, match="another name"):
        askback.register(replace(catalog.find("clarq")))
    askback.register(catalog.find("clarq"))  # the very one that is installed


def test_a_benchmark_that_is_defined_anew_takes_the_place_of_the_former_one():
    assert len(successes(askback.run(GUESSING, name="first"))) == 5
    anew = replace(GUESSING, score=lambda state: {"success": 0.25})
    assert {*successes(askback.run(anew, name="second")).values()} == {0.25}


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: askback.run("chess"), ["chess", "clarq"]),
        (lambda: askback.run(GUESSING, robot="offline/counter"), ["robot", "guesser"]),
        (lambda: askback.run(GUESSING, guesser="offline/nobody"), ["offline/nobody", "offline/counter"]),
        (lambda: askback.run(GUESSING, guesser=3), ["reply"]),
        (lambda: askback.run(GUESSING, rules={"lives": 3}), ["lives", "guesses"]),
        (lambda: askback.run(GUESSING, rules={"guesses": 0}), ["guesses", "1"]),
        (lambda: askback.run("clarq", rules={"turns": 3}), ["clarq has no rule turns", "turn_limit"]),
        # Items would stay English: the language is a rule of pages alone.
        (lambda: askback.run("clarq", rules={"language": "zh"}), ["clarq has no rule language"]),
        (lambda: askback.run("clarq", rules={"turn_limit": 0}), ["turn_limit is 0", "greater than 0"]),
        (lambda: askback.run("clarq", items=["gather-resources-1"]), ["'gather-resources-1' is not an item"]),
        (lambda: askback.run(GUESSING, items=["n1"]), ["'n1' is not a Number"]),
        (lambda: askback.run(GUESSING, items=[]), ["items is empty"]),
        (lambda: askback.run("ambik", items=[1]), ["1 is not an item"]),
        # A pair has an id, too, but is not one of its two tasks.
        (lambda: askback.run("ambik", items=load_pairs()[:1]), ["is not an item"]),
        # The log could not be read again after a seed that is no whole number.
        (lambda: askback.run(GUESSING, seed=1.0), ["seed is 1.0, not a whole number"]),
        (lambda: askback.run(GUESSING, seed=True), ["seed is True, not a whole number"]),
        (lambda: askback.run(GUESSING, repeat=0), ["repeat is 0; it must be at least 1"]),
        (lambda: askback.run(GUESSING, limit=-1), ["limit is -1; it must be at least 1"]),
        (lambda: askback.run("clarq", seeker="openai/gpt-4o", limit=1), ["OPENAI_API_KEY"]),
    ],
)
def test_mistakes_are_errors_of_askback(call, named, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(askback.AskbackError) as refused:
        call()
    assert all(word in str(refused.value) for word in named)


def test_numbers_of_numpy_are_numbers():
    run = askback.run(GUESSING, seed=np.int64(3), repeat=np.int64(2), limit=np.int64(2))
    assert run == askback.run(GUESSING, seed=3, repeat=2, limit=2)


def test_what_is_not_in_the_log_is_an_error(tmp_path):
    with pytest.raises(LogError):
        askback.load_log(tmp_path / "gone.sqlite")
    askback.run(GUESSING, limit=1, name="r")
    with askback.load_log() as log:
        for read in (log.frame, log.turns, log.judgments, log.episodes):
            with pytest.raises(NotInLog, match="gone"):
                read("gone")
    with pytest.raises(askback.InputError, match="another name"):
        askback.run(GUESSING, limit=2, name="r")
