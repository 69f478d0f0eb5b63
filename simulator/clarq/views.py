"""What people see of a dialogue: the seat's view while it lasts, the replay when it is over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from logs.rows import Ending, Judgment, Turn
from simulator.clarq import graph
from simulator.clarq.playing import PROVIDER
from simulator.clarq.score import DialogueScores, score_episode, spoken_lines
from simulator.runner.turns import task_turns
from simulator.seats import Line
from trees import OPENING, Background, Frontier, Language, Task

NodeState = Literal["available", "given", "locked"]


@dataclass(frozen=True, slots=True)
class ProviderNode:
    """A node of the tree and whether it may be given now."""

    index: str
    text: str
    explanation: str | None
    state: NodeState


@dataclass(frozen=True, slots=True)
class ProviderTree:
    """The tree as its provider sees it; before the opening has been given, only that is available."""

    opening: str
    opened: bool
    nodes: tuple[ProviderNode, ...]
    multi: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SeatView:
    """All that a person in a seat may see.

    Attributes:
        number: number that the next turn will have; part of a submission's idempotency key.
        first: number of the dialogue's first turn; those of a study's steps are before it.
        stage: what a study shows in place of the dialogue; empty while that goes on, at the end ``done``.
        waiting_for: the seat that is to move, if it is not this one.
        ending: how it ended, once it has.
        tree: for the provider's seat only.
        warning: something went wrong opposite, and what happens next.
        study: whether it is part of a study, not free play.
    """

    episode_id: str
    seat: str
    language: Language
    number: int
    lines: tuple[Line, ...]
    my_turn: bool
    waiting_for: str | None
    ended: bool
    ending: Ending | None
    seeker_turns: int
    turn_limit: int
    background: Background
    tree: ProviderTree | None
    warning: str | None = None
    first: int = 0
    stage: str = ""
    study: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayStep:
    """One turn as it was, with what its seat decided and the frontier around it.

    Attributes:
        opened: whether the opening response had been given before it.
    """

    number: int
    seat: str
    text: str
    gave: tuple[str, ...]
    type: int | None
    reason: str
    available_before: tuple[str, ...]
    available_after: tuple[str, ...]
    guards: tuple[str, ...] = ()
    opened: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """An ended dialogue, with the tree."""

    task: Task
    lines: tuple[Line, ...]
    steps: tuple[ReplayStep, ...]
    nodes: tuple[ProviderNode, ...]
    opening: str
    scores: DialogueScores


def seat_view(
    table: graph.Table,
    state: graph.State,
    seat: str,
    ending: Ending | None = None,
    warning: str | None = None,
    *,
    first: int = 0,
    stage: str = "",
) -> SeatView:
    """Return what a person in `seat` may see after `state`; `ending` if the log holds one."""
    task = table.task
    seat_due = None if ending else graph.due(state, table.turn_limit)
    frontier = graph.frontier(task, state)
    return SeatView(
        episode_id=table.episode_id,
        seat=seat,
        language=task.language,
        number=len(state["lines"]),
        lines=tuple(Line(who, text) for who, text in state["lines"]),
        my_turn=seat_due == seat,
        waiting_for=seat_due if seat_due != seat else None,
        ended=ending is not None,
        ending=ending,
        seeker_turns=graph.seeker_turns(state),
        turn_limit=table.turn_limit,
        background=task.background,
        tree=provider_tree(frontier, multi=table.multi) if seat == PROVIDER else None,
        warning=warning,
        first=first,
        stage="done" if ending else stage,
    )


def provider_tree(frontier: Frontier, *, multi: bool) -> ProviderTree:
    """Return the tree with every node's state."""
    return ProviderTree(frontier.tree.opening, frontier.opened, provider_nodes(frontier), multi)


def provider_nodes(frontier: Frontier) -> tuple[ProviderNode, ...]:
    """Return every node and whether it is given, available or locked."""
    available = {node.index for node in frontier.available}

    def state(index: str) -> NodeState:
        if index in frontier.given:
            return "given"
        return "available" if index in available else "locked"

    return tuple(
        ProviderNode(node.index, node.text, node.explanation, state(node.index))
        for node in frontier.tree.nodes
    )


def replay(task: Task, turns: Sequence[Turn], judgments: Sequence[Judgment] = ()) -> Replay:
    """Return an episode with everything that was hidden, out of its logged turns.

    The frontier of each turn is computed from the tree and the nodes given, so a dialogue that was
    imported and logged no frontier is shown as well.
    """
    steps: list[ReplayStep] = []
    frontier = Frontier(task.tree)
    for turn in task_turns(turns):
        gave = tuple(turn.payload.get("give", ()))
        after = frontier.open() if OPENING in gave and not frontier.opened else frontier
        after = after.give(index for index in gave if index != OPENING)
        steps.append(
            ReplayStep(
                number=turn.number,
                seat=turn.seat,
                text=turn.text,
                gave=gave,
                type=turn.payload.get("type"),
                reason=turn.payload.get("reason", ""),
                available_before=tuple(node.index for node in frontier.available),
                available_after=tuple(node.index for node in after.available),
                guards=tuple(turn.payload.get("guards", ())),
                opened=frontier.opened,
            )
        )
        frontier = after
    return Replay(
        task=task,
        lines=spoken_lines(turns),
        steps=tuple(steps),
        nodes=provider_nodes(frontier),
        opening=task.tree.opening,
        scores=score_episode(task, turns, judgments),
    )
