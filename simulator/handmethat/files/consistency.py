"""Whether what an episode says of itself agrees: its sets, its level, its story, its demonstration.

An episode that does not agree can be played all the same; so these are things worth a look, not errors.
States of published files may be stale (spec 10.2), so descriptions are tested against the replayed story.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from simulator.handmethat.actions import domain
from simulator.handmethat.env.game import Game
from simulator.handmethat.goals.templates import templates
from simulator.handmethat.meanings.model import Grounding, Meaning, matching
from simulator.handmethat.task import Task
from simulator.handmethat.world import State, entities


class Doubt(NamedTuple):
    """Something of an episode that does not fit the rest of it.

    Attributes:
        code: what it is about: ``goal``, ``meaning``, ``level``, ``story`` or ``demo``.
        message: the key of the file, and what is odd.
    """

    code: str
    message: str


_KEYS: Final = (
    ("_objects_in_meaning", "_meaning"),
    ("_objects_in_utterance", "utterance"),
    ("_objects_in_rsa_meaning", "_rsa_meaning"),
)


def doubts(task: Task) -> Iterator[Doubt]:
    """Yield what does not agree, in the order of the file's keys."""
    count = len(templates())
    if task.goal_index is not None and not 0 <= task.goal_index < count:
        yield Doubt("goal", f"goal_idx: {task.goal_index} is no template; they are numbered 0 to {count - 1}")
    yield from _level_doubts(task)
    state = _replayed(task)
    if isinstance(state, Doubt):
        yield state
        state = task.current
    elif state.place != task.current.place:
        yield Doubt("story", "current_object_dict: things are not where action_list leaves them")
    yield from _meaning_doubts(task, state)
    yield from _demo_doubts(task)


def _level_doubts(task: Task) -> Iterator[Doubt]:
    meant, said, heard, useful = map(
        frozenset, (task.in_meaning, task.in_utterance, task.in_heard, task.useful)
    )
    if meant == said:
        level = 1
    elif meant == said & useful:
        level = 2
    else:
        # The paper compares with A(r), the published program with the useful part of it.
        level = 3 if meant in (heard, heard & useful) else 4
    if level != task.level:
        yield Doubt("level", f"level: {task.level}, but the sets of objects make it {level}")


def _replayed(task: Task) -> State | Doubt:
    state = task.initial
    for i, (name, args) in enumerate(task.actions):
        schema = domain("human")[name]
        unmet = schema.unmet(task.world, state, args)
        if unmet is not None:
            return Doubt("story", f"action_list.{i}: {name} cannot be done then: needs {unmet}")
        state = schema.apply(state, args)
    return state


def _meaning_doubts(task: Task, state: State) -> Iterator[Doubt]:
    if not task.in_meaning:
        yield Doubt("meaning", "_objects_in_meaning: is empty, so nobody can succeed")
    listed = (task.in_meaning, task.in_utterance, task.in_heard)
    meanings = (task.meaning, task.utterance, task.heard)
    for (key, of), meaning, given in zip(_KEYS, meanings, listed, strict=True):
        if meaning.quest != task.meaning.quest:
            yield Doubt("meaning", f"{of}: is about {meaning.quest}, _meaning about {task.meaning.quest}")
        elif _things(task, state, meaning) != {entity for entity, _ in given}:
            yield Doubt("meaning", f"{key}: is not what fits {of}")
        elif meaning.argument is not None and not _all_with(given, meaning.argument):
            yield Doubt("meaning", f"{key}: has other arguments than {of}, {meaning.argument}")


def _things(task: Task, state: State, meaning: Meaning) -> set[int]:
    return set(entities(matching(task.world, state, meaning.description)))


def _all_with(groundings: tuple[Grounding, ...], argument: str) -> bool:
    return all(given == argument for _, given in groundings)


def _demo_doubts(task: Task) -> Iterator[Doubt]:
    game = Game(task, text=False, limit=len(task.demo) + 1)
    state = game.start()
    for i, command in enumerate(task.demo):
        if state.done:
            yield Doubt("demo", f"demo_actions.{i}: the episode is over by then")
            return
        state = game.act(state, command).game
    if task.demo and not state.success:
        yield Doubt("demo", "demo_actions: do not succeed")
