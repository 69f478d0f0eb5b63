"""The replay of a dialogue that is over: every turn with what could be given, and the tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from logs.rows import Judgment, Turn
from simulator.clarq.score import DialogueScores, score_episode, spoken_lines
from simulator.runner.turns import task_turns
from simulator.seats import Line
from simulator.tree_blocks import NodeState
from trees import OPENING, Frontier, Task


@dataclass(frozen=True, slots=True)
class ProviderNode:
    """A node of the tree and whether it may be given now."""

    index: str
    text: str
    explanation: str | None
    state: NodeState


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
