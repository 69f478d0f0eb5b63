"""A benchmark's machine wrapped for people: the study's graph around the benchmark's task.

In a study with two seats, consent, instructions and questions are asked in a separate episode per person.
Their task is another episode, of two people or of one and a model (`simulator.studies.pairing`): so it has
the same rows as in any run, and what one person does before or after it does not hold up the other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, Final

from langgraph.graph import END

from logs.rows import Ending, Item, Judgment, Score, Turn
from simulator.errors import SeatError
from simulator.runner.compiling import CompiledGraph
from simulator.runner.machines import NO_OPTIONS, ActiveEpisode, AnyMachine, due_since, is_aside, make_turn
from simulator.seats import Reply
from simulator.studies import graph
from simulator.studies.graph import Context, State, Step
from simulator.studies.ledger import BENCHMARK, study_item
from simulator.studies.material import StudyMaterial


class StudyMachine:
    """An `EpisodeMachine` with the benchmark's items, seats and scores, which plays the study's graph.

    `own`: returns the steps that a study adds, by its run.
    """

    def __init__(
        self,
        machine: AnyMachine,
        outer_steps: Sequence[Step] = (),
        own: Callable[[str], Sequence[Step]] = lambda run: (),
    ) -> None:
        self._machine = machine
        self._outer_steps = tuple(outer_steps)
        self._own = own

    def __getattr__(self, name: str) -> Any:
        """Return attributes of the benchmark's machine that a study does not change."""
        return getattr(self._machine, name)

    def rebuild(self, turns: Sequence[Turn]) -> State:
        """Return the participation's state after `turns`."""
        played = [turn for turn in turns if not is_aside(turn)]
        task = self._machine.rebuild(played)
        if turns and is_aside(turns[-1]):
            # The next seat, in the task or after it, has been waiting since the last step.
            task = {**task, "since": due_since(turns)}
        return State(said=[graph.turn_entry(turn) for turn in turns], task=task, leaver="")

    async def advance(self, live: ActiveEpisode, state: State) -> State:
        """Play until the participation ends or a person is to move.

        Raises:
            SeatError: if a person leaves early, or a seat breaks the rules of the benchmark.
        """
        context = live.once(self._context)
        first = graph.current_node(context, state)
        if first == "task":
            # Most turns stay within the task; this saves them a step of the graph.
            update, first = await graph.play_task(context, state)
            state = {**update, "said": [*state["said"], *update["said"]]}
            if first == END:
                return state
        return await _compiled().play(state, context, first=first)

    async def withdraw(self, live: ActiveEpisode, seat: str) -> None:
        """Withdraw a person, at any point of the episode.

        Raises:
            SeatError: always; it describes the abort.
        """
        await self.advance(live, State(said=[], task=None, leaver=seat))

    def due(self, live: ActiveEpisode, state: State) -> str | None:
        """Return the seat that is to move; None at the end."""
        context = live.once(self._context)
        if graph.unmet_step(context, state) is not None:
            return None
        step = graph.next_step(context, state)
        return step.seat if step else self._machine.due(context.task(state), state["task"])

    def may_begin(self, live: ActiveEpisode, state: State, seat: str) -> bool:
        """Return True if the person in `seat` has not said anything yet and has a step to answer."""
        step = graph.next_step(live.once(self._context), state, seat)
        return step is not None and step.seat == seat and all(who != seat for who, *_ in state["said"])

    def accept(self, live: ActiveEpisode, state: State, seat: str, reply: Reply) -> Turn:
        """Return a person's reply as a turn.

        Raises:
            SeatError: if it is not that seat's turn or the reply breaks the rules.
        """
        context, number = live.once(self._context), len(state["said"])
        step = graph.next_step(context, state, seat)
        if graph.unmet_step(context, state) is not None or (step is not None and step.seat != seat):
            raise SeatError(f"It is not the {seat}'s turn.", seat, code="not_due")
        if step is None:
            turn = self._machine.accept(context.task(state), state["task"], seat, reply)
            # With two people, each turn names its participant, as the episode belongs to neither.
            people = live.episode.options.get("people", {})
            whose = {"participant_id": people[seat]} if seat in people else {}
            return replace(turn, number=number, payload={**turn.payload, **whose})
        text, payload = graph.read_answer(step, reply)
        since = state["task"]["since"]
        return make_turn(live.episode.id, number, seat, reply, text=text, payload=payload, since=since)

    def ending(self, live: ActiveEpisode, state: State) -> Ending | None:
        """Return the ending row of the participation; None if it has not ended."""
        context = live.once(self._context)
        going_on = graph.unmet_step(context, state) or graph.next_step(context, state)
        return None if going_on else self._machine.ending(context.task(state), state["task"])

    def view(
        self, live: ActiveEpisode, state: State, seat: str, ending: Ending | None, warning: str | None
    ) -> Any:
        """Return what a person in `seat` may see now; the task is hidden while a step is open."""
        context = live.once(self._context)
        stage = graph.stage_of(context, state, seat, ended=ending is not None)
        task = context.task(state)
        # No benchmark needs to know that its instructions are read for the second time.
        task = replace(task, stage=stage.removesuffix("_again")) if stage else task
        shown = self._machine.view(task, state["task"], seat, ending, warning)
        study = graph.occasion(live.episode.options) != "play"
        again = {"stage": stage} if stage.endswith("_again") else {}
        return replace(shown, number=len(state["said"]), study=study, **again)

    def _context(self, live: ActiveEpisode) -> Context:
        # For a task with an episode of its own, each person's steps are asked in a separate episode.
        task_only = "task" in live.episode.options and "people" in live.episode.options
        steps = () if task_only else graph.merge_steps(self._own(live.episode.run_id), self._outer_steps)
        return Context(machine=self._machine, episode=live, outer_steps=steps)


@cache
def _compiled() -> CompiledGraph[State, Context]:
    return CompiledGraph(graph.build_graph())


WAITING_ROOM: Final = "waiting"
"""The stage of a person who has reached the task."""


class Participation:
    """The benchmark's machine for a participant's own episode, which neither shows nor plays the task.

    `is_over`: returns True if the task of an episode, given its id, has been played to its end.
    """

    name = BENCHMARK

    def __init__(
        self,
        machine: AnyMachine,
        material: StudyMaterial[Any],
        is_over: Callable[[str], bool],
    ) -> None:
        self._machine = machine
        self._study = material.study
        self._material = material
        self._is_over = is_over

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the benchmark's machine."""
        return getattr(self._machine, name)

    def episode_seats(self, options: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the seat of the participant."""
        return (options["seat"],)

    def setup(self, kinds: Mapping[str, str]) -> Any:
        """Return the study's setup."""
        return self._study.setup

    def item_row(self, item: Any) -> Item:
        """Return the study as a row of the log."""
        return study_item(self._study)

    def read_item(self, row: Item) -> Any:
        """Return an item of the study, for pages that describe the task."""
        study = self._study
        return self._material.item(self._material.cells[0], study.seed, study.language)

    async def advance(self, live: ActiveEpisode, state: Any) -> Any:
        """Return the state unchanged."""
        return state

    def due(self, live: ActiveEpisode, state: Any) -> None:
        """Return None: the task is not played in this episode."""

    def ending(self, live: ActiveEpisode, state: Any) -> Ending | None:
        """Return the ending once the task is over; None before."""
        over = self._is_over(live.episode.id)
        return Ending(episode_id=live.episode.id, status="completed") if over else None

    def view(
        self, live: ActiveEpisode, state: Any, seat: str, ending: Ending | None, warning: str | None
    ) -> Any:
        """Return the benchmark's page without the task."""
        stage = live.stage or ("done" if ending else WAITING_ROOM)
        seats = dict.fromkeys(self._study.people, live.seats[seat])
        return self._machine.view(replace(live, stage=stage, seats=seats), state, seat, None, warning)

    def score(
        self,
        item: Any,
        turns: Sequence[Turn],
        judgments: Sequence[Judgment],
        options: Mapping[str, Any] = NO_OPTIONS,
    ) -> tuple[Score, ...]:
        """Return no scores: the task's episode has them."""
        return ()
