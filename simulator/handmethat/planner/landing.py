"""The abstract actions of the robot: what may be asked of it, and where that leads (spec 3.2)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from simulator.handmethat.actions import Action, domain
from simulator.handmethat.meanings.model import VERBS, Grounding, Quest
from simulator.handmethat.world import NOTHING, BitSet, State, World, entities

_BRING: Final = "robot-move-obj-to-human"
_PLACE: Final = {"inside": "robot-move-obj-from-rec-into-rec", "ontop": "robot-move-obj-from-rec-onto-rec"}
_CHANGES: Final[Mapping[str, str]] = {
    schema.argument: schema.name for schema in domain("teleport").values() if schema.serves == "change_state"
}


def groundings(
    world: World, state: State, quest: Quest, some: BitSet, places: tuple[int, ...]
) -> Iterator[Grounding]:
    """What may be asked of the robot, thing by thing in the order of creation.

    Args:
        world: the household.
        state: the human waits, with an empty hand.
        quest: the quest type.
        some: the things asked about.
        places: destinations of move_to.
    """
    if quest == "change_state":
        bits = {verb: _changeable(world, state, verb) for verb in VERBS}
        yield from ((one, verb) for one in entities(some) for verb, able in bits.items() if able >> one & 1)
        return
    placed = (one for one in entities(some & world.of("movable")) if state.container(one) != NOTHING)
    if quest == "bring_me":
        yield from ((one, None) for one in placed)
        return
    movable, nesting = world.of("movable"), world.of("receptacle")
    names = [(place, world.names[place], movable >> place & 1) for place in places]
    for one in placed:
        nests = nesting >> one & 1
        yield from ((one, name) for place, name, inner in names if not (inner and nests) and place != one)


def action_for(world: World, state: State, grounding: Grounding) -> Action:
    """The abstract action that a grounding stands for."""
    entity, argument = grounding
    if argument is None:
        return Action(_BRING, (entity, state.container(entity)))
    if argument in _CHANGES:
        return Action(_CHANGES[argument], (entity,))
    place = world.entity(argument)
    return Action(_PLACE[world.relation(place)], (entity, state.container(entity), place))


def landed(world: World, state: State, grounding: Grounding) -> State | None:
    """The state after the robot has done what a grounding asks for; None if it cannot be asked for.

    Args:
        world: the household.
        state: the human waits, with an empty hand.
        grounding: what is asked for.
    """
    name, args = action_for(world, state, grounding)
    schema = domain("teleport")[name]
    # Only the first argument's place can be missing: that of a thing in nobody's reach.
    if NOTHING in args or not schema.applicable(world, state, args):
        return None
    return schema.apply(state, args)


def _changeable(world: World, state: State, verb: str) -> BitSet:
    bits = 0
    for ability in VERBS[verb]:
        bits |= world.of(ability)
    return bits & ~state.toggled if verb == "toggle" else bits
