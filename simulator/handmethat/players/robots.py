"""Robots that do not ask: Random, Heuristic, the expert, and trained ones (spec 9.6, 11)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import log2
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Final, TypeVar

from simulator.errors import InputError, SeatError
from simulator.handmethat.env.asking import read_mentions, read_question
from simulator.handmethat.env.scripts import KNIFE, cloth_for, expert_commands, script_for
from simulator.handmethat.hierarchy import STATES
from simulator.handmethat.items import Task
from simulator.handmethat.learn.seen import read, reading_game
from simulator.handmethat.meanings.model import (
    PLACE_KEYS,
    STATE_KEYS,
    Specifier,
    Utterance,
    changeable,
    describe,
    matching,
)
from simulator.handmethat.players.knows import InsiderKnows, Question, polarity
from simulator.handmethat.world import BitSet, State, World, bit_set, entities
from simulator.seats import Kind, Reply, View
from simulator.seeds import derive_seed

if TYPE_CHECKING:
    from simulator.handmethat.learn.train import Policy

T = TypeVar("T")
STOP: Final = "stop"
LEARNED: Final = ("seq2seq", "drrn", "drrn-greedy")
"""What names of trained robots begin with; their checkpoint follows, after a colon."""


class RandomRobot:
    """``offline/random``: any of the valid commands."""

    kind: Kind = "offline"
    insider = True
    name = "offline/random"

    async def reply(self, view: View) -> Reply:
        """Return the next command."""
        knows: InsiderKnows = view.task
        valid = knows.play.valid(knows.game)
        return Reply(text=random_command(valid, knows.seed, len(knows.commands)))


def random_command(valid: Sequence[str], seed: int, moves: int) -> str:
    """Return one of the valid commands, after so many `moves` of the episode of this `seed`."""
    return one_of(Random(derive_seed(seed, "random", moves)), valid)


def one_of(random: Random, options: Sequence[T]) -> T:
    """Return any of the options."""
    return options[int(random.random() * len(options))]


class HeuristicRobot:
    """``offline/heuristic``: more of what the human has been picking up.

    It sees everything and reads the symbolic utterance and A(u). It makes one guess, plays a script for it
    and stops.

    Args:
        changes: ``offline/heuristic:changes``: it also has scripts for change_state, which the published
            robot gives up (spec 12.1 #28).
    """

    kind: Kind = "offline"
    insider = True

    def __init__(self, *, changes: bool = False) -> None:
        self._changes = changes
        self.name = "offline/heuristic:changes" if changes else "offline/heuristic"

    async def reply(self, view: View) -> Reply:
        """Return the next command of its one guess."""
        knows: InsiderKnows = view.task
        commands, moves = plan(knows.play.task, knows.seed, changes=self._changes), len(knows.commands)
        return Reply(text=commands[moves] if moves < len(commands) else STOP)


def plan(task: Task, seed: int, *, changes: bool = False) -> tuple[str, ...]:
    """Return all commands of `HeuristicRobot`, ``stop`` the last; nothing that is meant tells in them."""
    random, world = Random(seed), task.world
    quest, argument = task.utterance.quest, task.utterance.argument
    candidates = _candidates(task)
    if not candidates or (quest == "change_state" and not changes):
        return (STOP,)
    entity = one_of(random, candidates)
    if quest == "move_to" and argument is None:
        # Where the human has put things, each once, in the order of its actions.
        places = list(dict.fromkeys(action.args[1] for action in task.actions if "-put-" in action.name))
        if not places:
            return (STOP,)
        argument = world.names[one_of(random, places)]
    state = task.current._replace(at=world.entity("floor"), given=0, waiting=False)
    return (*(script_for(world, state, quest, entity, argument) or ()), STOP)


def _candidates(task: Task) -> tuple[int, ...]:
    """Return objects of A(u) of types that the human picked up, except those it picked up; else all."""
    kinds = task.world.kinds
    picked = {action.args[0] for action in task.actions if "pick-up" in action.name}
    names = {kinds[entity].name for entity in picked}
    uttered = tuple(dict.fromkeys(entity for entity, _ in task.in_utterance))
    return (
        tuple(entity for entity in uttered if kinds[entity].name in names and entity not in picked) or uttered
    )


class ExpertRobot:
    """``offline/expert``: plays the demonstration of the file, or a script for an object of A(m)."""

    kind: Kind = "offline"
    insider = True
    name = "offline/expert"

    async def reply(self, view: View) -> Reply:
        """Return the next command of the demonstration; it stops where that is over."""
        knows: InsiderKnows = view.task
        task, moves = knows.play.task, len(knows.commands)
        demo = task.demo or expert_commands(task, derive_seed(knows.seed, "demo"))
        if not demo:
            raise SeatError(f"{task.id}: no script of the expert's succeeds.", "robot")
        return Reply(text=demo[moves] if moves < len(demo) else STOP)


class LearnedRobot:
    """A trained policy: it reads what it was trained to read, in the published wrapper's style."""

    kind: Kind = "model"
    insider = True

    def __init__(self, name: str, policy: Policy) -> None:
        self._policy = policy
        self.name = name

    async def reply(self, view: View) -> Reply:
        """Return the next command; an empty one is said as a dash, which nobody understands."""
        knows: InsiderKnows = view.task
        game = reading_game(knows.play.task, knows.play.options.mode, knows.play.options.limit)
        seen = read(game, knows.commands, self._policy.oracle)
        seed = derive_seed(knows.seed, "policy", len(knows.commands))
        return Reply(text=self._policy.command(seen, seed).strip() or "-")


def load_robot(name: str) -> LearnedRobot:
    """Return the robot of a checkpoint: ``seq2seq:FILE``, ``drrn:FILE`` or ``drrn-greedy:FILE``.

    Raises:
        InputError: if the name or the file is none of that kind, or torch is not installed.
    """
    file = name.partition(":")[2]
    if not Path(file).is_file():  # torch takes seconds to import
        raise InputError(
            f"{name}: there is no checkpoint {file!r}; train one with `askback train handmethat`."
        )
    try:
        from simulator.handmethat.learn.train import load_policy
    except ModuleNotFoundError as error:
        raise InputError(
            f"{name}: learned robots need torch; install it with `pip install 'askback[local]'`."
        ) from error
    return LearnedRobot(name, load_policy(name))


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


def _contents(state: State, containers: BitSet) -> BitSet:
    return bit_set(content for container in entities(containers) for content in state.contents(container))
