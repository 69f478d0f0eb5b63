"""The machine of a declared benchmark: its rows, players and pages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from langgraph.graph import StateGraph
from pydantic import ValidationError

from logs.rows import Ending, Item, Judgment, Score, Turn, content_hash
from personas.templates import describe, languages_of, render
from simulator.benchmark import Due, SeatSpec, State
from simulator.blocks import Block, Talk
from simulator.catalog import warn_once
from simulator.errors import InputError
from simulator.fields import first_fault, read_fields
from simulator.form_blocks import Form
from simulator.model_forms import form_of, with_rules
from simulator.models import ChatModel, Message, Request
from simulator.runner.declared import (
    AnyBenchmark,
    AnyState,
    Context,
    GraphState,
    checked_outcome,
    checked_scores,
    moves_of,
    turn_taking,
)
from simulator.runner.machines import (
    NO_OPTIONS,
    ActiveEpisode,
    EpisodeMachine,
    Result,
    SeatPage,
    Take,
    due_since,
)
from simulator.seats import Kind, Reply, ScriptSeat, Seat, View


class DeclaredMachine(EpisodeMachine[Context, GraphState]):
    """The `EpisodeMachine` of a declared benchmark."""

    def __init__(self, benchmark: AnyBenchmark) -> None:
        self.benchmark = benchmark
        self.name = benchmark.name
        self.seats = tuple(seat.name for seat in benchmark.seats)

    def build_graph(self) -> StateGraph[Any, Any, Any, Any]:
        """Return the uncompiled graph: the benchmark's own, or that of turn-taking."""
        return self.benchmark.graph() if self.benchmark.graph else turn_taking(self.seats)

    def item_row(self, item: Any) -> Item:
        """Return an item as a row of the log, with every field of its model."""
        data = item.model_dump(mode="json")
        return Item(
            hash=content_hash(data),
            benchmark=self.name,
            name=self.benchmark.key(item),
            language=language_of(item),
            data=data,
        )

    def read_item(self, row: Item) -> Any:
        """Return the item of a row.

        Raises:
            InputError: if this version of the benchmark cannot read it.
        """
        assert self.benchmark.item is not None
        try:
            return self.benchmark.item.model_validate(row.data, by_name=True)
        except ValidationError as error:
            fault = first_fault(error, row.data)
            raise InputError(f"item {row.name} in the log is not an item of {self.name}: {fault}") from error

    def seat_for(
        self, seat: str, name: str, models: Callable[[str], ChatModel], options: Mapping[str, Any]
    ) -> Seat:
        """Return the occupant of `seat` with the name of a built-in player or a model."""
        spec = self.benchmark.seat(seat)
        if name in spec.players:
            return ScriptSeat(spec.players[name], name, "offline")
        is_offline = name.startswith("offline/") and not name.startswith("offline/script")
        if spec.prompt is None or is_offline or "/" not in name:
            known = ", ".join([*spec.players, *(["provider/model"] if spec.prompt else []), "script:FILE"])
            raise InputError(f"{name!r} cannot sit in the {seat}'s seat; known players: {known}.")
        return PromptedSeat(models(name), self.name, spec)

    def make_context(self, live: ActiveEpisode) -> Context:
        """Return the graph's context."""
        return Context(benchmark=self.benchmark, live=live, start=self.start(live.item, live.episode.options))

    def start(self, item: Any, options: Mapping[str, Any]) -> AnyState:
        """Return the state before the first move of an episode with these options.

        Raises:
            InputError: if the options are not valid rules.
        """
        assert self.benchmark.rules is not None
        rules = read_fields(self.benchmark.rules, options, f"the rules of {self.name}: ")
        return State(item=item, rules=rules, language=language_of(item))

    def steps(self, context: Context) -> int:
        """Return an upper bound of graph steps; `Benchmark.next_seat` ends an episode long before."""
        return 10_000

    def rebuild(self, turns: Sequence[Turn]) -> GraphState:
        """Return the graph's state after `turns`."""
        moves = [[move.seat, move.kind, move.text, dict(move.payload)] for move in moves_of(turns)]
        return GraphState(moves=moves, since=due_since(turns))

    def take(self, seat: str) -> Take[Context, GraphState]:
        """Return the function that converts a reply of `seat` to a turn."""
        return lambda context, current, reply: context.take(current, seat, reply)

    def seat_due(self, context: Context, state: GraphState) -> str | None:
        """Return the seat that is next to move; None at the end."""
        due = context.due(state)
        return due.seat if due else None

    def status(self, context: Context, state: GraphState) -> Literal["completed", "truncated"] | None:
        """Return the status of an ended episode; None if it has not ended."""
        return None if context.due(state) else checked_outcome(self.benchmark, context.state(state))

    def view(
        self, live: ActiveEpisode, state: GraphState, seat: str, ending: Ending | None, warning: str | None
    ) -> SeatPage:
        """Return the current page of a person in `seat`, without the task during a study's own stages."""
        context = self.context(live)
        current = context.state(state)
        due = context.due(state) if ending is None else None
        stage = live.stage or ("task" if due else "done")
        shown: Sequence[Block] = ()
        if stage == "task":
            shown = self.benchmark.view(current, seat) if self.benchmark.view else [Talk(current.moves)]
        my_turn = due is not None and due.seat == seat
        due_here = due if my_turn else self._last_due(current, seat)
        form = due_here.form if due_here is not None and stage == "task" else None
        if form is not None:
            shown = [with_rules(block, form) if isinstance(block, Form) else block for block in shown]
            shown = shown if any(isinstance(block, Form) for block in shown) else [*shown, form_of(form)]
        people = (other for other, who in live.seats.items() if who.kind == "person" and other != seat)
        return SeatPage(
            episode_id=live.episode.id,
            seat=seat,
            people=tuple(people),
            language=current.language,
            stage=stage,
            due=due_here,
            my_turn=my_turn,
            waits_for="" if my_turn or due is None else due.seat,
            blocks=tuple(shown),
            moves=current.moves if stage == "task" else (),
            first=live.first,
            number=live.first + len(current.moves),
            ending=ending,
            warning=warning,
        )

    def _last_due(self, state: AnyState, seat: str) -> Due | None:
        """Return the last move that a seat was asked for."""
        numbers = [number for number, move in enumerate(state.moves) if move.seat == seat]
        assert self.benchmark.next_seat is not None
        return self.benchmark.next_seat(replace(state, moves=state.moves[: numbers[-1]])) if numbers else None

    def replay(
        self,
        item: Any,
        turns: Sequence[Turn],
        judgments: Sequence[Judgment],
        options: Mapping[str, Any] = NO_OPTIONS,
    ) -> Result:
        """Return an ended episode as its players may see it; only the moves if it was broken off."""
        state = self.final(item, turns, options)
        assert self.benchmark.next_seat is not None
        if self.benchmark.next_seat(state) is not None:
            return Result(language=state.language, moves=state.moves)
        return Result(
            language=state.language,
            moves=state.moves,
            blocks=tuple(self.benchmark.reveal(state) if self.benchmark.reveal else ()),
            scores={score.metric: score.value for score in self.score(item, turns, judgments, options)},
        )

    def compute_scores(
        self,
        episode_id: str,
        item: Any,
        turns: Sequence[Turn],
        judgments: Sequence[Judgment],
        options: Mapping[str, Any],
    ) -> tuple[Score, ...]:
        """Return the scores of the final state."""
        return checked_scores(self.benchmark, self.final(item, turns, options), episode_id)

    def final(self, item: Any, turns: Sequence[Turn], options: Mapping[str, Any] = NO_OPTIONS) -> AnyState:
        """Return the state after the turns of an episode with these options."""
        return replace(self.start(item, options), moves=moves_of(turns))


def language_of(item: Any) -> str:
    """Return the language of an item's texts: its field ``language``, else English."""
    return str(getattr(item, "language", "en"))


class PromptedSeat:
    """A language model that gets the seat's prompt for each move, in the episode's language if there is one.

    Raises:
        TemplateError: if the prompt does not exist in any language.
    """

    kind: Kind = "model"

    def __init__(self, model: ChatModel, benchmark: str, spec: SeatSpec) -> None:
        self._prompt = f"{benchmark}/{spec.prompt}"
        self._languages = languages_of(self._prompt)
        if not self._languages:
            describe(self._prompt, "en")  # raises an error that lists the existing prompts
        self.name = model.name
        self._model = model
        self._spec = spec

    async def reply(self, view: View) -> Reply:
        """Ask the model.

        Raises:
            ModelError: if it fails.
            TemplateError: if the prompt cannot be rendered.
        """
        language = view.language
        if language not in self._languages:
            language = self._languages[0]
            warn_once(
                f"there is no prompt {self._prompt}.{view.language}; {self._prompt}.{language} is used."
            )
        prompt = render(self._prompt, language, {**view.task, "lines": view.lines})
        completion = await self._model.complete(
            Request(
                messages=(Message("user", prompt.text),),
                seed=view.seed,
                purpose=view.seat,
                prompt_version=prompt.version,
                episode_id=view.episode_id,
                turn_number=view.number,
                repeat=view.repeat,
            )
        )
        if self._spec.parse is not None:
            return self._spec.parse(completion.text)
        return Reply(text=completion.text.strip())
