"""``offline/asker[:K]``: asks the up to K most informative questions, then carries the instruction out.

Belief: the robot reads the symbolic utterance and the answers to its questions, and considers all things
that match them equally likely. The value of a question is the entropy of its answer under that belief, in
bits per point; the robot asks the best one, reads the answer, and chooses again. Then it takes one of the
matching things, preferably one that the human has not handled, carries the instruction out, and stops.
``offline/partner`` is the same robot as a partner for people: it asks up to two questions, and at least one
even if the answer is uninformative, so that the person who gives the instruction is asked back.

Sight: in full mode it sees everything. In partial mode it searches the places until something matches; to
value questions and to decide where to look first, it samples households in place of the real one.
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

# Sampled households that are used, and how many are drawn at most to find ones with a matching thing.
_HOUSEHOLDS: Final = 5
_MOST_DRAWN: Final = 30


class AskingRobot:
    """The robot that asks (see the module docstring).

    Args:
        questions: largest number of questions; None: the episode's limit, or one if it has no limit.
        always: ask at least one question, even an uninformative one.
        name: name of the robot; by default derived from `questions`.
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
        limit = self._questions
        if limit is None:
            limit = 1 if allowed is None else allowed
        limit = limit if allowed is None else min(limit, allowed)
        return Reply(text=next_move(knows, limit, always=self._always))


def next_move(knows: InsiderKnows, limit: int, *, always: bool = False) -> str:
    """Return an informative question if fewer than `limit` were asked; else the next command.

    `always`: ask the first question even if it is uninformative.
    """
    play = knows.play
    belief = believe(play.task, knows.answers)
    asked = [command for command in knows.commands if command.startswith("question:")]
    acting = len(asked) < len(knows.commands)
    if len(asked) < limit and not acting:
        households = _imagine_households(play, belief, knows.seed)
        left = [question for question in questions_for(play) if f"question: {question.text}" not in asked]
        portable = belief if play.options.mode == "full" else belief.without_place()
        best = best_question(households, portable, left)
        if best is None and always and not asked:
            best = min(left, key=lambda question: question.cost, default=None)
        if best is not None:
            return f"question: {best.text}"
    return _act(knows, belief, len(asked))


class _Moment(NamedTuple):
    """The household after some of the commands, and the entities seen by then."""

    state: State
    seen: BitSet


def _act(knows: InsiderKnows, belief: Belief, asked: int) -> str:
    """Return a command: search until something matches, then follow the script for it.

    The search is replayed from the commands so far, to find the moment at which the script began.
    """
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
    """Return a matching thing and the argument of the help, if the thing and the tools have been seen."""
    world, utterance = play.task.world, play.task.utterance
    matches = candidates(world, moment.state, belief) & moment.seen
    handled = bit_set(action.args[0] for action in play.task.actions if "pick-up" in action.name)
    random = Random(derive_seed(seed, "target"))
    options = list(entities(matches & ~handled or matches))
    if not options:
        return None
    entity = one_of(random, options)
    argument = utterance.argument
    if utterance.quest == "move_to" and argument is None:
        used = [action.args[1] for action in play.task.actions if "-put-" in action.name]
        places = list(entities(destinations(world, belief) & moment.seen)) or list(world.locations)
        argument = world.names[one_of(random, [place for place in used if place in places] or places)]
    tools = tools_for(world, entity, utterance)
    return None if tools & ~moment.seen else (entity, argument)


def _look(play: Play, belief: Belief, moments: Sequence[_Moment], seed: int) -> str:
    """Open the place here if it is shut, else go to the likeliest unseen place; finally open containers."""
    world, state = play.task.world, moments[-1].state
    labels = world.labels
    if state.at >= 0 and not shows(world, state, state.at):
        return f"open {labels[state.at]}"
    visited = {moment.state.at for moment in moments}
    for place in _places(play, belief, seed):
        if place not in visited:
            return f"move to {labels[place]}"
    for entity in entities(
        moments[-1].seen & world.find_all("openable") & world.find_all("movable") & ~state.open
    ):
        place = location_of(world, state, entity)
        if place >= 0:
            return f"open {labels[entity]}" if state.at == place else f"move to {labels[place]}"
    return STOP


def _places(play: Play, belief: Belief, seed: int) -> list[int]:
    """Return all locations, first those named, then by the number of matches in the sampled households."""
    world = play.task.world
    named = belief.place & bit_set(world.locations)
    counts: dict[str, int] = {}
    for sample, state in _imagine_households(play, belief, seed):
        for entity in entities(candidates(sample, state, belief.without_place())):
            place = sample.names[location_of(sample, state, entity)]
            counts[place] = counts.get(place, 0) + 1
    start = play.game.start().state
    first = {
        *entities(named),
        *(location_of(world, start, entity) for entity in entities(belief.place & ~named)),
    }
    return sorted(
        world.locations,
        key=lambda location: (location not in first, -counts.get(world.names[location], 0), location),
    )


def _imagine_households(play: Play, belief: Belief, seed: int) -> list[tuple[World, State]]:
    """Return the household itself in full mode, else sampled households with a thing that matches."""
    if play.options.mode == "full":
        return [(play.task.world, play.game.start().state)]
    portable = belief.without_place()
    samples = (_sample_household(derive_seed(seed, "imagined", number)) for number in range(_MOST_DRAWN))
    return list(islice((sample for sample in samples if candidates(*sample, portable)), _HOUSEHOLDS))


@lru_cache(maxsize=128)
def _sample_household(seed: int) -> tuple[World, State]:
    return sample_scene(Random(seed))


# ---- the robot's belief about what is meant, and the value of a question


@dataclass(frozen=True, slots=True)
class Belief:
    """The robot's knowledge of the thing that is meant; all things that match are equally likely.

    Attributes:
        utterance: u.
        kinds: types, subclasses or classes named in answers.
        states: colour, size and states given in answers.
        place: bit set of the containers it may lie in or on; 0 if unknown.
        destination: bit set of the places it may be wanted; 0 if unknown.
        placed: whether the instruction or an answer says where it is.
    """

    utterance: Utterance
    kinds: tuple[str, ...] = ()
    states: tuple[Specifier, ...] = ()
    place: BitSet = 0
    destination: BitSet = 0
    placed: bool = False

    def without_place(self) -> Belief:
        """Return the belief without the place, for use in another household."""
        description = tuple(pair for pair in self.utterance.description if pair[0] not in PLACE_KEYS)
        utterance = replace(self.utterance, description=description)
        return replace(self, utterance=utterance, place=0)


def believe(task: Task, answers: Iterable[tuple[str, str]]) -> Belief:
    """Return the belief after the utterance and free-text questions and answers."""
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
            continue  # a place that is excluded says too little
        named = int(value) if key in ("place", "destination", "object") else 0
        goals = (world.find_all(str(value)) if key == "kind" else named) & world.find_all("receptacle")
        if "destination" in asked.asks and goals:
            belief = replace(belief, destination=goals)
        elif key == "place" or (key == "object" and int(value) & world.find_all("receptacle")):
            # An identifier in brackets picks one of the places named before it.
            belief = replace(belief, place=belief.place & int(value) or int(value), placed=True)
        elif key == "kind" and asked.asks:
            belief = replace(belief, kinds=(*belief.kinds, str(value)))
        elif key in STATE_KEYS and asked.asks:
            specifier = key, value if isinstance(value, bool) else str(value)
            belief = replace(belief, states=(*belief.states, specifier))
    return belief


def candidates(world: World, state: State, belief: Belief) -> BitSet:
    """Return the things that match; an answer that would leave none is ignored."""
    matches = matching(world, state, belief.utterance.description)
    if belief.utterance.quest == "change_state":
        matches &= changeable(world, belief.utterance.argument or "")
    for kind in belief.kinds:
        matches = matches & world.find_all(kind) or matches
    for specifier in belief.states:
        matches = matches & matching(world, state, describe([specifier])) or matches
    if belief.place:
        contents = bit_set(chain.from_iterable(map(state.contents, entities(belief.place))))
        matches = matches & contents or matches
    return matches


def destinations(world: World, belief: Belief) -> BitSet:
    """Return the receptacles where the thing may be wanted."""
    return belief.destination or world.find_all("receptacle")


def tools_for(world: World, entity: int, utterance: Utterance) -> BitSet:
    """Return the tools that the script for a change of state needs (`env.scripts`)."""
    if utterance.quest != "change_state":
        return 0
    tool = {"slice": KNIFE, "clean": cloth_for(world, entity)}.get(utterance.argument or "", "")
    return 1 << world.index[tool] if tool in world.index else 0


def best_question(
    households: Sequence[tuple[World, State]], belief: Belief, questions: Sequence[Question]
) -> Question | None:
    """Return the question with the most informative answer, in bits per point; None if all give 0 bits."""
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
        return entropy([tuple(get(world, state, thing) for get in _GETTERS.values()) for thing in things])
    keys = [*asked.asks, *(mention.key for mention in asked.mentions)]
    if belief.placed and keys == ["place"]:
        return 0.0
    return entropy(
        [tuple(_GETTERS[key](world, state, thing) for key in keys if key in _GETTERS) for thing in things]
    )


def entropy(outcomes: Sequence[object]) -> float:
    """Return the entropy in bits of a value, given the values of equally likely things."""
    counts = Counter(outcomes).values()
    return sum(count / len(outcomes) * log2(len(outcomes) / count) for count in counts)


def _state_of(name: str) -> Callable[[World, State, int], object]:
    def get(world: World, state: State, thing: int) -> object:
        if name not in world.kinds[thing].states:
            return None
        return bool(getattr(state, name) >> thing & 1)

    return get


_GETTERS: Final[Mapping[str, Callable[[World, State, int], object]]] = {
    "type": lambda world, state, thing: world.kinds[thing].name,
    "color": lambda world, state, thing: world.colors[thing],
    "size": lambda world, state, thing: world.sizes[thing],
    "place": lambda world, state, thing: state.container(thing),
    **{name: _state_of(name) for name in STATES},
}
