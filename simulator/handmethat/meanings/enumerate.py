"""Which descriptions a household allows (spec 6.2).

A description of a thing is a subset of what is true of it. Most things share what is true of them with
others, and most of their descriptions too: they are collected as codes, one bit per specifier, together
with the bit set of what fits, and put into words only where somebody wants to read them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Protocol

from simulator.handmethat.hierarchy import Kind
from simulator.handmethat.meanings.model import (
    KEYS,
    VERBS,
    Grounding,
    Quest,
    Specifier,
    extension,
)
from simulator.handmethat.profiles import Profile
from simulator.handmethat.world import NOTHING, BitSet, State, World, entities

# The first entity of the same type, and what is true of an entity but its kind.
_Signature = tuple[int, tuple[Specifier, ...]]
_RANK: Final = {key: rank for rank, key in enumerate(KEYS)}


class RewardsLike(Protocol):
    """What help is worth (planner.rewards): R of each grounding, and those in A(G)."""

    @property
    def values(self) -> Mapping[Grounding, float]:
        """R of each applicable grounding that is not worthless."""
        ...

    @property
    def useful(self) -> tuple[Grounding, ...]:
        """A(G)."""
        ...


class TargetsLike(Protocol):
    """What a goal is about (planner.relevance)."""

    @property
    def position(self) -> tuple[int, ...]:
        """Where things may be wanted: the destinations of move_to."""
        ...


@dataclass(frozen=True)
class Descriptions:
    """Some descriptions.

    Attributes:
        specifiers: bit i of a code stands for ``specifiers[i]``; in the order of `KEYS`.
        extents: code -> the entities that fit.
        codes: of each entity described, its own; those of like entities are one list.
    """

    specifiers: tuple[Specifier, ...]
    extents: dict[int, BitSet]
    codes: Mapping[int, list[int]]

    @cached_property
    def numbers(self) -> Mapping[int, int]:
        """Code -> its place among `extents`."""
        return {code: i for i, code in enumerate(self.extents)}

    def decode(self, code: int) -> tuple[Specifier, ...]:
        """Return the description of a code, in canonical order."""
        pairs = []
        while code:
            low = code & -code
            pairs.append(self.specifiers[low.bit_length() - 1])
            code ^= low
        return tuple(pairs)


def arguments_of(world: World, quest: Quest, targets: TargetsLike) -> tuple[str | None, ...]:
    """Return what a meaning of `quest` may have as its argument."""
    if quest == "bring_me":
        return (None,)
    return tuple(VERBS) if quest == "change_state" else tuple(world.names[i] for i in targets.position)


def able(world: World, verb: str) -> BitSet:
    """Return the movable entities that may undergo `verb`."""
    bits = 0
    for ability in VERBS[verb]:
        bits |= world.of(ability)
    return bits & world.of("movable")


def has_subclasses(quest: Quest, profile: Profile) -> bool:
    """Return True if meanings of `quest` may name a subclass (B3)."""
    return quest == "bring_me" or profile.subclasses_everywhere


def descriptions(
    world: World, state: State, of: BitSet, *, subclasses: bool = True, among: BitSet | None = None
) -> Descriptions:
    """Return every description of the entities `of`.

    Args:
        world: the household.
        state: its state.
        of: movable entities.
        subclasses: also describe things by their subclass.
        among: who may fit a description; default: everything movable.
    """
    signature_of = {entity: _signature(world, state, entity) for entity in entities(of)}
    signatures = list(dict.fromkeys(signature_of.values()))
    kinds = [_kinds(world.kinds[one], subclasses) for one, _ in signatures]
    found = dict.fromkeys(pair for pair in _all_specifiers(kinds, [rest for _, rest in signatures]))
    specifiers = tuple(sorted(found, key=lambda pair: _RANK[pair[0]]))
    bits = {pair: (1 << i, extension(world, state, pair[0], pair[1])) for i, pair in enumerate(specifiers)}
    everybody = world.of("movable") if among is None else among
    extents: dict[int, BitSet] = {}
    codes_of: dict[_Signature, list[int]] = {}
    for kind, signature in zip(kinds, signatures, strict=True):
        codes, fits = [0], [everybody]
        for pair in kind:
            bit, fit = bits[pair]
            codes.append(bit)
            fits.append(everybody & fit)
        for pair in signature[1]:
            bit, fit = bits[pair]
            codes += [code | bit for code in codes]
            fits += [one & fit for one in fits]
        extents.update(zip(codes, fits, strict=True))
        codes_of[signature] = codes
    return Descriptions(
        specifiers, extents, {one: codes_of[signature] for one, signature in signature_of.items()}
    )


def useful_by_argument(rewards: RewardsLike) -> dict[str | None, BitSet]:
    """Return a(G) as a bit set of entities for each argument."""
    sets: dict[str | None, BitSet] = {}
    for entity, argument in rewards.useful:
        sets[argument] = sets.get(argument, 0) | 1 << entity
    return sets


def sources(
    world: World, quest: Quest, argument: str | None, useful: Mapping[str | None, BitSet], profile: Profile
) -> BitSet:
    """Return the entities whose descriptions are to be enumerated."""
    if not profile.all_meanings:
        return useful.get(argument, 0) & world.of("movable")
    if quest == "change_state" and argument is not None:
        return able(world, argument)
    return world.of("movable")


def universe(world: World, profile: Profile) -> BitSet:
    """Return the entities that may fit a description: the movable ones, or all (B5)."""
    return (1 << len(world)) - 1 if profile.locations_count else world.of("movable")


def _signature(world: World, state: State, entity: int) -> _Signature:
    """Return the first entity of the same type, and what is true of this one but its kind."""
    kind = world.kinds[entity]
    pairs: list[Specifier] = []
    container = state.container(entity)
    if container != NOTHING:
        pairs.append((world.relation(container), world.names[container]))
    pairs += [(name, bool(getattr(state, name) >> entity & 1)) for name in kind.states]
    if color := world.colors[entity]:
        pairs.append(("color", color))
    if size := world.sizes[entity]:
        pairs.append(("size", size))
    same = world.of(kind.name)
    return (same & -same).bit_length() - 1, tuple(pairs)


def _kinds(kind: Kind, subclasses: bool) -> tuple[Specifier, ...]:
    if subclasses:
        return (("class", kind.cls), ("subclass", kind.subclass), ("type", kind.name))
    return (("class", kind.cls), ("type", kind.name))


def _all_specifiers(*parts: Sequence[tuple[Specifier, ...]]) -> Iterator[Specifier]:
    return (pair for part in parts for group in part for pair in group)
