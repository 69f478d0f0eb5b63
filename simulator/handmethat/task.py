"""A HandMeThat episode before anybody plays it: the household, what the human did, said and meant.

In Askback's words it is an item; the published files call it an episode (spec 10.1).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

from simulator.handmethat.actions import Action
from simulator.handmethat.meanings.model import Grounding, Meaning, Utterance
from simulator.handmethat.world import State, World

Level = Literal[1, 2, 3, 4]
LEVELS: Final[tuple[Level, ...]] = (1, 2, 3, 4)


@dataclass(frozen=True, kw_only=True)
class Task:
    """One item.

    Attributes:
        id: the file's name without ``.json``.
        level: hardness (spec 8).
        goal_index: number of the goal's template; None if unknown.
        task_index: running number within goal and quest type; None if unknown.
        world: the household.
        initial: its first state.
        current: its state when the human asks, correct, or as the file gives it (stale states).
        goal: the goal's formula.
        subgoal: formula of the subgoal that the request serves; None if unknown.
        actions: what the human did, T of them.
        solution: the human's whole plan.
        meaning: m.
        utterance: u.
        heard: r, what a pragmatic listener takes u to mean.
        in_meaning: A(m).
        in_utterance: A(u).
        useful: A(G).
        in_heard: A(r).
        demo: expert commands; empty if there is none.
        demo_full: what the expert reads before each command, fully observable (see `env.history`).
        demo_partial: the same, partially observable.
        description: the published rendering of the story and the utterance; None if there is none.
        seed: the wording of the utterance descends from it.
        profile: the profile it was generated with, ``official`` for a published file.
        listener: L(m' | u) of the ten likeliest readings, likeliest first; empty if unknown.
        extra: keys of a published file that none of the above holds, so that it is written again whole.
    """

    id: str
    level: Level
    goal_index: int | None
    task_index: int | None
    world: World
    initial: State
    current: State
    goal: str
    subgoal: str | None
    actions: tuple[Action, ...]
    solution: tuple[Action, ...]
    meaning: Meaning
    utterance: Utterance
    heard: Meaning
    in_meaning: tuple[Grounding, ...]
    in_utterance: tuple[Grounding, ...]
    useful: tuple[Grounding, ...]
    in_heard: tuple[Grounding, ...]
    demo: tuple[str, ...] = ()
    demo_full: tuple[str, ...] = ()
    demo_partial: tuple[str, ...] = ()
    description: str | None = None
    seed: int = 0
    profile: str = "official"
    listener: tuple[tuple[Meaning, float], ...] = ()
    extra: dict[str, object] = field(default_factory=dict)
