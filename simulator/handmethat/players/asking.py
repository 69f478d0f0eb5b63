"""``offline/asker[:K]``: takes the instruction literally, asks the K most telling questions, then fetches.

What it goes by. It reads the symbolic utterance and the answers to its questions, and believes every thing
that fits them equally likely. A question is worth the entropy of its answer under that belief, in bits per
point; it asks the best one, reads the answer, and chooses anew. Then it takes one of the things that fit,
one that the human has not handled itself if there is one, carries the instruction out, and stops.
``offline/partner`` is the same for people to play with: of up to two questions it always asks one, whether
or not its answer tells anything, so that whoever gives the instruction is asked back.

What it sees. In full mode, everything. In partial mode, what it has seen: it looks through the places until
something fits. What it has not seen it imagines: sampled households of its own stand for the real one when
it weighs questions and decides where to look first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain, islice
from math import log2
from random import Random
from typing import Final, NamedTuple

from simulator.handmethat.env.asking import read_mentions, read_question
from simulator.handmethat.env.observe import visible
from simulator.handmethat.env.scripts import KNIFE, cloth_for, script_for
from simulator.handmethat.hierarchy import STATES
from simulator.handmethat.items import Task
from simulator.handmethat.meanings.model import (
    PLACE_KEYS,
    STATE_KEYS,
    Specifier,
    Utterance,
    changeable,
    describe,
    matching,
)
from simulator.handmethat.players.knows import InsiderKnows, Question, polarity, questions_for
from simulator.handmethat.players.robots import STOP
from simulator.handmethat.playing import Play
from simulator.handmethat.scene import sample_scene
from simulator.handmethat.world import BitSet, State, World, bit_set, entities, location_of, shows
from simulator.seats import Kind, Reply, View
from simulator.seeds import derive_seed, one_of

# Households that it imagines, and how many it draws at most to find such as hold what is asked for.
_DREAMS: Final = 5
_DRAWN: Final = 30


class AskingRobot:
    """See the module.

    Args:
        questions: how many it asks at most; None: as many as the episode's options allow, at least one.
        always: one question is asked even where it tells nothing.
        name: what it is called; by default after `questions`.
    """

    kind: Kind = "offline"
    insider = True

    def __init__(
        self, questions: int | None = None, *, always: bool = False, name: str | None = None
    ) -> None:
        self._questions, self._always = questions, always
        self.name = name or ("offline/asker" if questions is None else f"offline/asker:{questions}")

    async def reply(self, view: View) -> Reply:
        """Return the next question or command."""
        knows: InsiderKnows = view.task
        allowed = knows.play.options.questions
        many = self._questions
        if many is None:
            many = 1 if allowed is None else allowed
        many = many if allowed is None else min(many, allowed)
        return Reply(text=next_move(knows, many, always=self._always))


def next_move(knows: InsiderKnows, many: int, *, always: bool = False) -> str:
    """Return a question while there are telling ones and fewer than `many` were asked; else the next command.

    `always`: the first question is asked even if it tells nothing.
    """
    play = knows.play
    belief = believe(play.task, knows.answers)
    asked = [command for command in knows.commands if command.startswith("question:")]
    acting = len(asked) < len(knows.commands)
    if len(asked) < many and not acting:
        households = _imagine_households(play, belief, knows.seed)
        left = [question for question in questions_for(play) if f"question: {question.text}" not in asked]
        weighed = belief if play.options.mode == "full" else belief.somewhere()
        best = best_question(households, weighed, left)
        if best is None and always and not asked:
            best = min(left, key=lambda question: question.cost, default=None)
        if best is not None:
            return f"question: {best.text}"
    return _act(knows, belief, len(asked))


class _Moment(NamedTuple):
    """The household after some of the commands, and what had been seen by then."""

    state: State
    seen: BitSet


def _act(knows: InsiderKnows, belief: Belief, asked: int) -> str:
    """Look until something fits, then play the script for it; what was found when follows from the steps."""
    play, done = knows.play, len(knows.commands) - asked
    moments = list(_moments(play, knows.commands))[asked:]
    for number, moment in enumerate(moments):
        target = _target(play, belief, moment, knows.seed)
        if target is None:
            continue
        entity, argument = target
        world, quest = play.task.world, play.task.utterance.quest
        script = script_for(world, moment.state, quest, entity, argument) or ()
        here = world.labels[moment.state.at] if moment.state.at >= 0 else ""
        if script and script[0] == f"move to {here}":
            script = script[1:]
        return script[done - number] if done - number < len(script) else STOP
    return _look(play, belief, moments, knows.seed)


def _moments(play: Play, commands: Sequence[str]) -> Iterator[_Moment]:
    world, mode = play.task.world, play.options.mode
    state = play.game.start().state
    handled = bit_set(entity for action in play.task.actions for entity in action.args if entity >= 0)
    seen = handled | visible(world, state, mode)
    yield _Moment(state, seen)
    for step in play.steps(commands):
        seen |= visible(world, step.game.state, mode)
        yield _Moment(step.game.state, seen)


def _target(play: Play, belief: Belief, moment: _Moment, seed: int) -> tuple[int, str | None] | None:
    """Return one thing that fits and what to do with it, if it and what that takes have been seen."""
    world, utterance = play.task.world, play.task.utterance
    fitting = candidates(world, moment.state, belief) & moment.seen
    handled = bit_set(action.args[0] for action in play.task.actions if "pick-up" in action.name)
    random = Random(derive_seed(seed, "target"))
    options = list(entities(fitting & ~handled or fitting))
    if not options:
        return None
    entity = one_of(random, options)
    argument = utterance.argument
    if utterance.quest == "move_to" and argument is None:
        put = [action.args[1] for action in play.task.actions if "-put-" in action.name]
        places = list(entities(destinations(world, belief) & moment.seen)) or list(world.locations)
        argument = world.names[one_of(random, [place for place in put if place in places] or places)]
    tools = tools_for(world, entity, utterance)
    return None if tools & ~moment.seen else (entity, argument)


def _look(play: Play, belief: Belief, moments: Sequence[_Moment], seed: int) -> str:
    """Open what is shut here, else go to the likeliest place not seen; in the end open what lies about."""
    world, state = play.task.world, moments[-1].state
    labels = world.labels
    if state.at >= 0 and not shows(world, state, state.at):
        return f"open {labels[state.at]}"
    looked = {moment.state.at for moment in moments}
    for place in _places(play, belief, seed):
        if place not in looked:
            return f"move to {labels[place]}"
    for entity in entities(moments[-1].seen & world.of("openable") & world.of("movable") & ~state.open):
        place = location_of(world, state, entity)
        if place >= 0:
            return f"open {labels[entity]}" if state.at == place else f"move to {labels[place]}"
    return STOP


def _places(play: Play, belief: Belief, seed: int) -> list[int]:
    """Return all locations, those first where most of what fits would lie in the imagined household."""
    world = play.task.world
    named = belief.place & bit_set(world.locations)
    counts: dict[str, int] = {}
    for dream, state in _imagine_households(play, belief, seed):
        for entity in entities(candidates(dream, state, belief.somewhere())):
            place = dream.names[location_of(dream, state, entity)]
            counts[place] = counts.get(place, 0) + 1
    held = {location_of(world, play.game.start().state, entity) for entity in entities(belief.place & ~named)}
    first = {*entities(named), *held}
    return sorted(
        world.locations,
        key=lambda location: (location not in first, -counts.get(world.names[location], 0), location),
    )


def _imagine_households(play: Play, belief: Belief, seed: int) -> list[tuple[World, State]]:
    """Return the household itself where everything is seen, else some of the robot's own making.

    They are such as the instruction lets expect: they hold what it is about.
    """
    if play.options.mode == "full":
        return [(play.task.world, play.game.start().state)]
    somewhere = belief.somewhere()
    drawn = (_sample_household(derive_seed(seed, "imagined", number)) for number in range(_DRAWN))
    return list(islice((dream for dream in drawn if candidates(*dream, somewhere)), _DREAMS))


@lru_cache(maxsize=128)
def _sample_household(seed: int) -> tuple[World, State]:
    return sample_scene(Random(seed))


# ---- What a robot believes that is meant, after the utterance and answers, and what a question is worth


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
    utterance = task.utterance
    place = utterance.place and world.index.get(utterance.place[1])
    argument = utterance.argument if utterance.quest == "move_to" else None
    belief = Belief(
        utterance,
        place=0 if place is None else 1 << place,
        destination=0 if argument is None else 1 << world.entity(argument),
        placed=place is not None,
    )
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
        described &= changeable(world, belief.utterance.argument or "")
    fitting = described
    for kind in belief.kinds:
        fitting = fitting & world.of(kind) or fitting
    for specifier in belief.states:
        fitting = fitting & matching(world, state, describe([specifier])) or fitting
    if belief.place:
        there = bit_set(chain.from_iterable(map(state.contents, entities(belief.place))))
        fitting = fitting & there or fitting
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
        bits = sum(_bits_gained(world, state, belief, question) for world, state in households)
        worth = bits / max(question.cost, 1)
        if worth > most + 1e-9:
            best, most = question, worth
    return best


def _bits_gained(world: World, state: State, belief: Belief, question: Question) -> float:
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
