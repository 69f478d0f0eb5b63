"""What the statistics of episodes count: the facts of one episode, small enough to keep for thousands."""

from __future__ import annotations

from dataclasses import dataclass

from simulator.handmethat.meanings.model import Quest
from simulator.handmethat.meanings.render import render_utterance
from simulator.handmethat.task import Level, Task


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """One episode.

    Attributes:
        level: hardness.
        strict: whether the paper defines that level for it (spec 12.1 #19); None if unknown.
        quest: what is asked for.
        goal: number of the goal's template; None if unknown.
        subgoals: conjuncts of the goal; None if unknown.
        plan: actions of the human's whole plan.
        shown: actions that the human has done before asking, T.
        objects: entities of the household, locations included.
        pool: meanings that might be meant; None if unknown.
        specifiers: of the utterance.
        words: of the utterance in English.
        meant: |A(m)|.
        said: |A(u)|.
        useful: |A(G)|.
        heard: |A(r)|.
        demo: expert commands; None if there is no demonstration.
    """

    level: Level
    strict: bool | None
    quest: Quest
    goal: int | None
    subgoals: int | None
    plan: int
    shown: int
    objects: int
    pool: int | None
    specifiers: int
    words: int
    meant: int
    said: int
    useful: int
    heard: int
    demo: int | None


def facts_of(
    task: Task, *, pool: int | None = None, strict: bool | None = None, subgoals: int | None = None
) -> Facts:
    """Return the facts of a task; `pool`, `strict` and `subgoals` are known only to who generated it."""
    spoken = render_utterance(task.world, task.utterance, "en", task.seed)
    return Facts(
        level=task.level,
        strict=strict,
        quest=task.meaning.quest,
        goal=task.goal_index,
        subgoals=subgoals,
        plan=len(task.solution),
        shown=len(task.actions),
        objects=len(task.world),
        pool=pool,
        specifiers=len(task.utterance.description),
        words=len(spoken.split()),
        meant=len(task.in_meaning),
        said=len(task.in_utterance),
        useful=len(task.useful),
        heard=len(task.in_heard),
        demo=len(task.demo) or None,
    )
