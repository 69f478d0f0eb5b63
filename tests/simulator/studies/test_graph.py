"""The machine of studies, around a benchmark of three lines: somebody says two numbers."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.graph import START, StateGraph

from logs.rows import Ending, Episode, Turn
from simulator.errors import InputError, SeatError
from simulator.runner.machines import ActiveEpisode, EpisodeMachine, make_turn, task_turns
from simulator.seats import PersonSeat, Reply, ScriptSeat, View
from simulator.studies.graph import (
    AFTER,
    BEFORE,
    COMMENT,
    CONSENT,
    READY,
    WAYS_OUT,
    Step,
    build_graph,
    occasion,
    turn_entry,
)
from simulator.studies.machine import StudyMachine

QUIZ = Step(node="comprehension", kind="quiz", wants="four")
SCREEN = Step(node="qualification", kind="screen", wants="blue", when=("first", "further"))
EVERYTHING = (
    Step(node="welcome", kind="welcome"),
    CONSENT,
    READY,
    QUIZ,
    SCREEN,
    Step(node="questions_before", kind="age"),
    COMMENT,
    Step(node="debriefing", kind="debriefing"),
    Step(node="completion", kind="thanks", measured=False),
)
ANSWERS = {"consent": "yes", "quiz": "four", "screen": " blue", "age": "40 ", "comment": "Odd."}


class Numbers(TypedDict):
    replies: Annotated[list[str], operator.add]
    since: float


@dataclass(frozen=True)
class Seen:
    stage: str
    number: int = 0
    study: bool = False


class Counting(EpisodeMachine[ActiveEpisode, Numbers]):
    """Says two numbers in the seat ``counter``; the word "out" screens whoever says it out."""

    seats = ("counter",)

    def build_graph(self) -> Any:
        graph = StateGraph(Numbers, context_schema=ActiveEpisode)
        graph.add_node("count", self._count)
        graph.add_edge(START, "count")
        return graph

    async def _count(self, state: Numbers, runtime: Any) -> dict[str, list[str]]:
        live: ActiveEpisode = runtime.context
        if state["replies"][-1:] == ["out"]:
            raise SeatError("Out.", "counter", code="screened_out")
        replies: list[str] = []
        while live.seats["counter"].kind != "person" and len(replies) < 2:
            view = View(episode_id="e", seat="counter", number=0, language="en", lines=(), task=None, seed=0)
            reply = await live.seats["counter"].reply(view)
            await live.record(self.turn(live, {**state, "replies": replies}, "counter", reply))
            replies.append(reply.text)
        return {"replies": replies}

    def turn(self, live: ActiveEpisode, state: Any, seat: str, reply: Reply) -> Turn:
        if not reply.text.isalnum():
            raise SeatError("No number.", seat, code="number")
        number = len(state["replies"])
        payload = {"first": live.first}
        return make_turn("e", number, seat, reply, text=reply.text, payload=payload, since=state["since"])

    def take(self, seat: str) -> Any:
        return lambda live, state, reply: (self.turn(live, state, seat, reply), {})

    def make_context(self, live: ActiveEpisode) -> ActiveEpisode:
        return live

    def steps(self, context: ActiveEpisode) -> int:
        return 5

    def rebuild(self, turns: Sequence[Turn]) -> Numbers:
        return Numbers(replies=[turn.text for turn in turns], since=0.0)

    def seat_due(self, context: ActiveEpisode, state: Numbers) -> str | None:
        return "counter" if len(state["replies"]) < 2 else None

    def status(self, context: ActiveEpisode, state: Numbers) -> Any:
        return None if self.seat_due(context, state) else "completed"

    def view(
        self, live: ActiveEpisode, state: Numbers, seat: str, ending: Ending | None, warning: str | None
    ) -> Seen:
        over = ending or self.due(live, state) is None
        return Seen(live.stage or ("done" if over else "count"))


Counting.__abstractmethods__ = frozenset()  # only what is played here is there


class Person:
    """Somebody whose every reply is a turn; the machine starts anew from the turns each time."""

    def __init__(self, steps: Sequence[Step], seats: Sequence[str] = ("counter",), **options: Any) -> None:
        machine: Any = Counting()
        self.machine = StudyMachine(machine, steps)
        self.turns: list[Turn] = []
        row = Episode(
            id="e",
            run_id="r",
            item_hash="h",
            language="en",
            seats={},
            seed=0,
            options={"study": True, **options},
        )
        who: dict[str, Any] = {seat: PersonSeat() for seat in seats}
        self.live = ActiveEpisode(episode=row, item="two", seats=who, record=self.record)

    async def record(self, turn: Turn) -> None:
        self.turns.append(turn)

    @property
    def state(self) -> Any:
        return self.machine.rebuild(self.turns)

    def stage(self, seat: str = "counter") -> str:
        return str(self.machine.view(self.live, self.state, seat, self.ending, None).stage)

    @property
    def ending(self) -> Ending | None:
        return self.machine.ending(self.live, self.state)

    async def say(self, text: str, seat: str = "counter") -> None:
        self.turns.append(self.machine.accept(self.live, self.state, seat, Reply(text=text)))
        after = await self.machine.advance(self.live, self.state)
        assert after["said"] == self.state["said"], "what the machine has is what the log tells"

    async def through(self, **answers: str) -> list[str]:
        """Go on to the end; the pages on the way."""
        stages = []
        while (stage := self.stage()) != "done":
            stages.append(stage)
            await self.say({**ANSWERS, **answers}.get(stage, "7"))
        return stages


async def test_every_step_in_its_order() -> None:
    person = Person(EVERYTHING)
    stages = ["welcome", "consent", "instructions", "quiz", "screen", "age"]
    stages += ["count", "count", "comment", "debriefing", "thanks"]
    assert await person.through() == stages
    assert person.ending is not None
    assert person.ending.status == "completed"
    kinds = [turn.payload.get("kind") for turn in person.turns]
    assert kinds == ["welcome", "consent", "ready", *stages[3:6], None, None, *stages[8:]]
    assert [turn.number for turn in person.turns] == list(range(11))
    assert [turn.text for turn in person.turns[2:9]] == ["ready", "four", "blue", "40", "7", "7", "Odd."]
    assert person.turns[6].payload == {"first": 6}
    assert person.turns[3].payload == {
        "kind": "quiz",
        "study": "comprehension",
        "person": True,
        "private": [],
        "shown_at": None,
        "keys_used": None,
    }
    assert person.turns[10].payload == {"kind": "thanks", "study": "completion"}


async def test_what_a_study_has_not_is_passed_over() -> None:
    assert await Person(()).through() == ["count", "count"]
    assert await Person((CONSENT, COMMENT)).through() == ["consent", "count", "count", "comment"]
    further = Person(EVERYTHING, begun=True)
    assert await further.through() == ["screen", "count", "count", "comment"]
    assert further.turns[1].payload == {"first": 1}
    assert await Person(EVERYTHING, study=False).through() == ["instructions", "count", "count"]


@pytest.mark.each(
    ("answers", "way_out", "stages"),
    [
        ({"consent": "no"}, "declined", 2),
        ({"quiz": "five"}, "screened_out", 4),
        ({"screen": "red"}, "screened_out", 5),
        ({"count": "out"}, "screened_out", 7),
    ],
)
async def test_the_ways_out(answers: dict[str, str], way_out: Any, stages: int) -> None:
    person = Person(EVERYTHING)
    with pytest.raises(SeatError, match=WAYS_OUT[way_out]) as error:
        await person.through(**answers)
    assert (error.value.code, error.value.cause, len(person.turns)) == (way_out, "counter", stages)
    assert person.ending is None
    if "count" not in answers:
        assert (person.stage(), person.machine.due(person.live, person.state)) == ("done", None)
        with pytest.raises(SeatError, match="not the counter's turn"):
            person.machine.accept(person.live, person.state, "counter", Reply(text="yes"))


async def test_who_withdraws_may_be_anywhere() -> None:
    person = Person(EVERYTHING)
    for texts in ([], ["x", "yes", "x", "four"]):
        for text in texts:
            await person.say(text)
        with pytest.raises(SeatError, match="withdrew") as error:
            await person.machine.withdraw(replace(person.live, item=None, seats={}), "counter")
        assert (error.value.code, error.value.cause) == ("withdrawn", "counter")


async def test_an_answer_that_is_none_may_be_given_again() -> None:
    person = Person((CONSENT, COMMENT))
    for wrong, code in (("perhaps", "consent"), ("", "consent")):
        with pytest.raises(SeatError) as error:
            await person.say(wrong)
        assert (error.value.code, person.stage()) == (code, "consent")
    await person.say(" yes ")
    with pytest.raises(SeatError, match="No number"):
        await person.say("?")
    await person.say("1")
    await person.say("2")
    with pytest.raises(SeatError, match="characters"):
        await person.say("x" * 4001)
    await person.say("")
    with pytest.raises(SeatError, match="turn"):
        await person.say("more")


async def test_nobody_but_people_is_asked() -> None:
    person = Person(EVERYTHING)
    person.live = replace(person.live, seats={"counter": ScriptSeat(["1", "2"])})
    after = await person.machine.advance(person.live, person.state)
    assert [turn.text for turn in person.turns] == ["1", "1"]
    assert after["said"] == person.state["said"]
    assert person.ending is not None


async def test_two_people_are_each_asked_in_their_own_time() -> None:
    informed = replace(READY, kind="told", page="tell", when=("first",), seat="watcher")
    pair = Person((CONSENT, informed), ("counter", "watcher"))
    live, machine = pair.live, pair.machine
    assert (pair.stage("counter"), pair.stage("watcher")) == ("consent", "consent")
    assert machine.may_begin(live, pair.state, "watcher")
    await pair.say("yes", "watcher")
    assert (pair.stage("counter"), pair.stage("watcher")) == ("consent", "tell")
    assert not machine.may_begin(live, pair.state, "watcher")
    await pair.say("read", "watcher")
    assert (pair.stage("counter"), pair.stage("watcher")) == ("consent", "gather")
    with pytest.raises(SeatError, match="not the watcher's turn"):
        await pair.say("more", "watcher")
    await pair.say("yes")
    assert pair.stage("counter") == "count"
    declined = Person((CONSENT,), ("counter", "watcher"))
    with pytest.raises(SeatError) as error:
        await declined.say("no", "watcher")
    assert (error.value.code, error.value.cause) == ("declined", "watcher")


def test_the_nodes_have_the_names_of_what_is_asked() -> None:
    nodes = build_graph().nodes
    assert tuple(nodes) == (*BEFORE, *AFTER, "task", *WAYS_OUT)


def test_occasions() -> None:
    assert [occasion({}), occasion({"study": True}), occasion({"study": True, "begun": True})] == [
        "play",
        "first",
        "further",
    ]
    for wrong in ({"study": "no"}, {"study": 1}, {"begun": "yes"}):
        with pytest.raises(InputError, match=f"{next(iter(wrong))} .*true or false"):
            occasion(wrong)


def test_steps_of_logs_from_before_they_were_marked_are_known_by_their_kind() -> None:
    new = Turn(episode_id="e", number=1, seat="participant", text="yes", payload={"kind": "consent"})
    old = replace(new, number=0, created_at="2026-01-05T09:34:44.250+00:00")
    assert turn_entry(old) == ["participant", "consent", "yes"]
    assert turn_entry(new) == ["participant", "", "yes"]  # a move of a benchmark's, whatever it is called
    assert task_turns([old, new]) == (replace(new, number=0),)
