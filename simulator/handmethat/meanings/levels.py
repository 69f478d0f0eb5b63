"""A(.) of meanings and utterances, and how hard an instruction is (spec 6.3, 8)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from simulator.handmethat.meanings.model import Grounding, Meaning, matching
from simulator.handmethat.planner.relevance import Targets
from simulator.handmethat.profiles import Profile
from simulator.handmethat.task import Level
from simulator.handmethat.world import State, World, entities


class Hardness(NamedTuple):
    """The hardness of an instruction.

    Attributes:
        level: 1 to 4.
        strict: whether it is so by the paper's definition; else it is of level 4 for want of a better.
    """

    level: Level
    strict: bool


def groundings_of(world: World, state: State, meaning: Meaning, targets: Targets) -> tuple[Grounding, ...]:
    """Return a(.): the movable things that fit, each with the argument, in the order of creation.

    Of move_to without a destination: each with every POSITION target.

    `targets`: what the goal is about; matters only for an utterance that leaves the destination open.
    """
    arguments: tuple[str | None, ...] = (meaning.argument,)
    if meaning.quest == "move_to" and meaning.argument is None:
        arguments = tuple(world.names[where] for where in targets.position)
    fits = entities(matching(world, state, meaning.description))
    return tuple((fit, argument) for fit in fits for argument in arguments)


def level_of(
    in_meaning: Iterable[Grounding],
    in_utterance: Iterable[Grounding],
    in_reading: Iterable[Grounding],
    useful: Iterable[Grounding],
    profile: Profile,
) -> Hardness | None:
    """Return the level of an instruction, tested from 1 upwards.

    `profile`: `useful_reading` and `strict_level4` matter here.

    Returns:
        None if it is of no level of the paper and the profile drops such instructions.
    """
    meant, uttered, heard, helps = map(frozenset, (in_meaning, in_utterance, in_reading, useful))
    if meant == uttered:
        return Hardness(1, True)
    if meant == uttered & helps:
        return Hardness(2, True)
    if meant == (heard & helps if profile.useful_reading else heard):
        return Hardness(3, True)
    strict = meant < heard
    return Hardness(4, strict) if strict or not profile.strict_level4 else None
