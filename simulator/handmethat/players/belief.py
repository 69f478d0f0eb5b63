"""What a robot believes that is meant, after the utterance and answers, and what a question is worth."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import log2
from typing import Final

from simulator.handmethat.env.asking import read_mentions, read_question
from simulator.handmethat.env.scripts import KNIFE, cloth_for
from simulator.handmethat.hierarchy import STATES
from simulator.handmethat.meanings.model import (
    PLACE_KEYS,
    STATE_KEYS,
    VERBS,
    Specifier,
    Utterance,
    describe,
    matching,
)
from simulator.handmethat.players.knows import Question
from simulator.handmethat.players.listening import polarity
from simulator.handmethat.task import Task
from simulator.handmethat.world import BitSet, State, World, bit_set, entities


@dataclass(frozen=True, slots=True)
class Belief:
    """The knowledge of what is meant; everything that fits is equally likely.

    Attributes:
        utterance: u.
        kinds: types, subclasses or classes that answers have named.
        states: colour, size and states that answers have told.
        place: bit set of containers in or on which it lies; 0 if that is not known.
        destination: bit set of where it is to go; 0 if that is not known.
        placed: whether the instruction or an answer says where it lies.
    """

    utterance: Utterance
    kinds: tuple[str, ...] = ()
    states: tuple[Specifier, ...] = ()
    place: BitSet = 0
    destination: BitSet = 0
    placed: bool = False

    def somewhere(self) -> Belief:
        """Return the same without what is known of its place: for a household with other containers."""
        description = tuple(pair for pair in self.utterance.description if pair[0] not in PLACE_KEYS)
        utterance = replace(self.utterance, description=description)
        return replace(self, utterance=utterance, place=0)


def believe(task: Task, answers: Iterable[tuple[str, str]]) -> Belief:
    """Return what follows from the utterance and from each question with its answer, in anybody's words."""
    world = task.world
    places = (world.index.get(str(task.utterance.get(key))) for key in PLACE_KEYS)
    argument = task.utterance.argument if task.utterance.quest == "move_to" else None
    belief = Belief(
        task.utterance,
        place=bit_set(place for place in places if place is not None),
        destination=0 if argument is None else 1 << world.entity(argument),
    )
    belief = replace(belief, placed=bool(belief.place))
    for question, answer in answers:
        belief = _learn(world, belief, question, answer)
    return belief


def _learn(world: World, belief: Belief, question: str, answer: str) -> Belief:
    asked = read_question(world, question.partition(":")[2] if ":" in question else question)
    for mention in asked.mentions:
        verdict = polarity(answer)
        if mention.key in STATES and verdict:
            holds = (bool(mention.value) != mention.negated) == (verdict == "yes")
            belief = replace(belief, states=(*belief.states, (mention.key, holds)))
    for key, value, negated in read_mentions(world, answer):
        if negated:
            continue  # where it is not tells too little to go by
        if "destination" in asked.asks and key in ("place", "destination", "object", "kind"):
            bits = world.of(str(value)) if key == "kind" else int(value)
            belief = replace(belief, destination=bits & world.of("receptacle") or belief.destination)
        elif key == "place" or (key == "object" and int(value) & world.of("receptacle")):
            # An identifier in brackets says which of the places named before it.
            belief = replace(belief, place=belief.place & int(value) or int(value), placed=True)
        elif key == "kind" and asked.asks:
            belief = replace(belief, kinds=(*belief.kinds, str(value)))
        elif key in STATE_KEYS and asked.asks:
            wanted = value if isinstance(value, bool) else str(value)
            belief = replace(belief, states=(*belief.states, (key, wanted)))
    return belief


def candidates(world: World, state: State, belief: Belief) -> BitSet:
    """Return the things that fit; what contradicts the utterance is not believed."""
    described = matching(world, state, belief.utterance.description)
    if belief.utterance.quest == "change_state":
        able = 0
        for ability in VERBS.get(belief.utterance.argument or "", ()):
            able |= world.of(ability)
        described &= able
    fitting = described
    for kind in belief.kinds:
        fitting = fitting & world.of(kind) or fitting
    for specifier in belief.states:
        fitting = fitting & matching(world, state, describe([specifier])) or fitting
    if belief.place:
        fitting = fitting & _contents(state, belief.place) or fitting
    return fitting


def destinations(world: World, belief: Belief) -> BitSet:
    """Return where it may be meant to go."""
    return belief.destination or world.of("receptacle")


def tools_for(world: World, entity: int, utterance: Utterance) -> BitSet:
    """Return what the script for a change of state takes besides the thing (`env.scripts`)."""
    if utterance.quest != "change_state":
        return 0
    tool = {"slice": KNIFE, "clean": cloth_for(world, entity)}.get(utterance.argument or "", "")
    return 1 << world.index[tool] if tool in world.index else 0


def best_question(
    households: Sequence[tuple[World, State]], belief: Belief, questions: Sequence[Question]
) -> Question | None:
    """Return the question whose answer tells most, in bits per point; None if none tells anything."""
    best, most = None, 0.0
    for question in questions:
        bits = sum(_bits(world, state, belief, question) for world, state in households)
        worth = bits / max(question.cost, 1)
        if worth > most + 1e-9:
            best, most = question, worth
    return best


def _bits(world: World, state: State, belief: Belief, question: Question) -> float:
    things = list(entities(candidates(world, state, belief)))
    asked = read_question(world, question.text)
    if "destination" in asked.asks:
        return log2(max(destinations(world, belief).bit_count(), 1))
    if "clear" in asked.asks:
        return entropy([tuple(tell(world, state, thing) for tell in _TELLS.values()) for thing in things])
    keys = [*asked.asks, *(mention.key for mention in asked.mentions)]
    if belief.placed and keys == ["place"]:
        return 0.0
    return entropy(
        [tuple(_TELLS[key](world, state, thing) for key in keys if key in _TELLS) for thing in things]
    )


def entropy(outcomes: Sequence[object]) -> float:
    """Return how much, in bits, `outcomes` of one of several equally likely things tells."""
    counts = Counter(outcomes).values()
    return sum(count / len(outcomes) * log2(len(outcomes) / count) for count in counts)


def _state_of(name: str) -> Callable[[World, State, int], object]:
    def tell(world: World, state: State, thing: int) -> object:
        if name not in world.kinds[thing].states:
            return None
        return bool(getattr(state, name) >> thing & 1)

    return tell


_TELLS: Final[Mapping[str, Callable[[World, State, int], object]]] = {
    "type": lambda world, state, thing: world.kinds[thing].name,
    "color": lambda world, state, thing: world.colors[thing],
    "size": lambda world, state, thing: world.sizes[thing],
    "place": lambda world, state, thing: state.container(thing),
    **{name: _state_of(name) for name in STATES},
}


def _contents(state: State, containers: BitSet) -> BitSet:
    return bit_set(content for container in entities(containers) for content in state.contents(container))
