"""What the robot can see of a household (spec 9.3)."""

from __future__ import annotations

from simulator.handmethat.views import Mode
from simulator.handmethat.world import HUMAN, BitSet, State, World, bit_set, is_unlocked


def shows(world: World, state: State, container: int) -> bool:
    """Whether what lies in or on `container` can be seen from beside it: no shut lid is over it."""
    return world.relation(container) == "ontop" or is_unlocked(world, state, container)


def visible(world: World, state: State, mode: Mode, *, quirk: bool = False) -> BitSet:
    """The entities that the robot sees now, what it holds and the locations included.

    Args:
        world: the household.
        state: its state now.
        mode: ``full``: everything; ``partial``: where the robot stands, no deeper than a shut lid.
        quirk: in full mode, lids hide things at the current place alone, as in the published program.
    """
    everything = (1 << len(world)) - 1
    seen = bit_set(world.locations) | _held(state)
    if mode == "full" and not quirk:
        return everything
    if mode == "full":
        here = BitSet(0) if state.at == HUMAN else _at(world, state, state.at, lids=False)
        return everything & ~(here & ~_at_place(world, state))
    return seen | _at_place(world, state) | (state.given if state.at == HUMAN else 0)


def _held(state: State) -> BitSet:
    return 1 << state.holding if state.holding >= 0 else 0


def _at_place(world: World, state: State) -> BitSet:
    return 0 if state.at == HUMAN else _at(world, state, state.at, lids=True)


def _at(world: World, state: State, container: int, lids: bool) -> BitSet:
    """What lies at `container`, directly or deeper; with `lids`, only what no shut lid hides."""
    if lids and not shows(world, state, container):
        return 0
    seen = 0
    for one in state.contents(container):
        seen |= 1 << one
        if world.kinds[one].receptacle:
            seen |= _at(world, state, one, lids)
    return seen
