"""A benchmark as people meet it: around its task, an episode goes through the machine of studies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from langgraph.graph import END

from logs.rows import Ending, Turn
from simulator.errors import SeatError
from simulator.runner.compiling import CompiledGraph
from simulator.runner.machines import ActiveEpisode, AnyMachine, due_since, is_aside, make_turn
from simulator.seats import Reply
from simulator.studies import graph
from simulator.studies.graph import State, Step, Table


class StudyMachine:
    """An `EpisodeMachine` with the benchmark's items, seats and scores, whose episodes are participations.

    `own`: steps of a study's own, by its run.
    """

    def __init__(
        self,
        machine: AnyMachine,
        around: Sequence[Step] = (),
        own: Callable[[str], Sequence[Step]] = lambda run: (),
    ) -> None:
        self._machine = machine
        self._around = tuple(around)
        self._own = own

    def __getattr__(self, name: str) -> Any:
        """Return what a study changes nothing about."""
        return getattr(self._machine, name)

    def rebuild(self, turns: Sequence[Turn]) -> State:
        """Return the participation's state after `turns`."""
        played = [turn for turn in turns if not is_aside(turn)]
        task = self._machine.rebuild(played)
        if turns and is_aside(turns[-1]):
            # Whoever is due next, in the task or after it, has been so since the last step.
            task = {**task, "since": due_since(turns)}
        return State(said=[graph.line(turn) for turn in turns], task=task, leaver="")

    async def advance(self, live: ActiveEpisode, state: State) -> State:
        """Play until the participation ends or a person is due.

        Raises:
            SeatError: if somebody leaves before the end, or a seat breaks the rules of the benchmark.
        """
        table = self._table(live)
        first = graph.current_node(table, state)
        if first == "task":
            # Most turns stay within the task: the machine around it would take a step to find that out.
            update, first = await graph.play_task(table, state)
            state = {**update, "said": [*state["said"], *update["said"]]}
            if first == END:
                return state
        return await _compiled().play(state, table, first=first)

    async def withdraw(self, live: ActiveEpisode, seat: str) -> None:
        """Leave, whoever sits where and whatever has been played.

        Raises:
            SeatError: always; it says how the episode is aborted.
        """
        await self.advance(live, State(said=[], task=None, leaver=seat))

    def due(self, live: ActiveEpisode, state: State) -> str | None:
        """Return the seat that is to move; None at the end."""
        table = self._table(live)
        if graph.refused(table, state) is not None:
            return None
        step = graph.next_step(table, state)
        return step.seat if step else self._machine.due(table.task(state), state["task"])

    def may_begin(self, live: ActiveEpisode, state: State, seat: str) -> bool:
        """Return True if the person in `seat` has said nothing yet and is asked something."""
        step = graph.next_step(self._table(live), state, seat)
        return step is not None and step.seat == seat and all(who != seat for who, *_ in state["said"])

    def accept(self, live: ActiveEpisode, state: State, seat: str, reply: Reply) -> Turn:
        """Return a person's reply as a turn.

        Raises:
            SeatError: if it is not that seat's turn or the reply breaks the rules.
        """
        table, number = self._table(live), len(state["said"])
        step = graph.next_step(table, state, seat)
        if graph.refused(table, state) is not None or (step is not None and step.seat != seat):
            raise SeatError(f"It is not the {seat}'s turn.", seat, code="not_due")
        if step is None:
            turn = self._machine.accept(table.task(state), state["task"], seat, reply)
            # Where two play, each turn says whose it is: the episode is neither's.
            people = live.episode.options.get("people", {})
            whose = {"participant_id": people[seat]} if seat in people else {}
            return replace(turn, number=number, payload={**turn.payload, **whose})
        text, payload = graph.read_answer(step, reply)
        since = state["task"]["since"]
        return make_turn(live.episode.id, number, seat, reply, text=text, payload=payload, since=since)

    def ending(self, live: ActiveEpisode, state: State) -> Ending | None:
        """Return how the participation ended, as a row of the log."""
        table = self._table(live)
        going_on = graph.refused(table, state) or graph.next_step(table, state)
        return None if going_on else self._machine.ending(table.task(state), state["task"])

    def view(
        self, live: ActiveEpisode, state: State, seat: str, ending: Ending | None, warning: str | None
    ) -> Any:
        """Return what a person in `seat` may see now: of the task nothing while the study asks for a step."""
        table = self._table(live)
        stage = graph.stage_of(table, state, seat, ended=ending is not None)
        shown = self._machine.view(
            replace(table.task(state), stage=stage), state["task"], seat, ending, warning
        )
        study = graph.occasion(live.episode.options) != "play"
        return replace(shown, number=len(state["said"]), study=study)

    def _table(self, live: ActiveEpisode) -> Table:
        # Around a task that stands by itself, each of its people is asked in an episode of their own.
        alone = "task" in live.episode.options and "people" in live.episode.options
        around = () if alone else graph.merge_steps(self._own(live.episode.run_id), self._around)
        return Table(machine=self._machine, episode=live, around=around)


@cache
def _compiled() -> CompiledGraph[State, Table]:
    return CompiledGraph(graph.build_graph())
