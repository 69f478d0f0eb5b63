"""A benchmark as people meet it: around its task, an episode goes through the machine of studies.

In a study with two seats, consent, instructions and questions are asked in an episode of the person's own.
Its task is another episode, which belongs to two people or to one and a model (`simulator.studies.pairing`):
so that one is the same row as any run's, and what one of two people does before or after it holds up nobody.
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
from simulator.studies.graph import State, Step, Table
from simulator.studies.ledger import BENCHMARK, study_item
from simulator.studies.material import StudyMaterial


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


WAITING_ROOM: Final = "waiting"
"""The stage at which somebody has come to the task."""


class Participation:
    """The benchmark's machine, as a participant's own episode has it: of the task it shows and plays nothing.

    `is_over`: returns True if the task of an episode, by its id, has been played to its end.
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
        """Return what is the benchmark's."""
        return getattr(self._machine, name)

    def seated(self, options: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the seat of the participant."""
        return (options["seat"],)

    def setup(self, kinds: Mapping[str, str]) -> Any:
        """Return the study's."""
        return self._study.setup

    def item_row(self, item: Any) -> Item:
        """Return the study as a row of the log."""
        return study_item(self._study)

    def read_item(self, row: Item) -> Any:
        """Return an item of the study, for pages that describe the task."""
        study = self._study
        return self._material.item(self._material.cells[0], study.seed, study.language)

    async def advance(self, live: ActiveEpisode, state: Any) -> Any:
        """Return the state as it is."""
        return state

    def due(self, live: ActiveEpisode, state: Any) -> None:
        """Return None: in the task, nobody moves here."""

    def ending(self, live: ActiveEpisode, state: Any) -> Ending | None:
        """Return that the task is over, once it is."""
        over = self._is_over(live.episode.id)
        return Ending(episode_id=live.episode.id, status="completed") if over else None

    def view(
        self, live: ActiveEpisode, state: Any, seat: str, ending: Ending | None, warning: str | None
    ) -> Any:
        """Return the benchmark's page, which shows nothing of the task at any stage of the study."""
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
        """Return nothing: the task has the scores."""
        return ()
