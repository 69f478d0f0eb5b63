"""An episode as a pure function of states and commands (spec 9), shared by all ways of playing it.

A `Game` has the unchanging parts (task, costs, words); a `GameState` is a value. There is no randomness and
no hidden state, so several commands can be tried from the same state.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal, NamedTuple

from simulator.handmethat.actions import Action, domain
from simulator.handmethat.env.commands import (
    LONGEST_COMMAND,
    Command,
    CommandError,
    CommandKind,
    Offers,
    Reader,
    normalize,
)
from simulator.handmethat.env.observe import Mode, Observer, TextStyle, collapse, reference_text
from simulator.handmethat.env.questions import Answer, answer, official_questions, question_cost
from simulator.handmethat.items import Task
from simulator.handmethat.meanings.model import Grounding, Quest
from simulator.handmethat.meanings.render import render_description, render_utterance
from simulator.handmethat.world import NOTHING, BitSet, State, World, bit_set
from trees import Language

LIMIT: Final = 40
CommandList = Literal["listed", "strict"]
# change_state verb -> the state it brings about; "clean" is handled separately.
_BRINGS: Final = {
    "slice": "sliced",
    "open": "open",
    "toggle": "toggled",
    "heat": "cooked",
    "cool": "frozen",
    "soak": "soaked",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """Points (spec 9.5).

    Attributes:
        command: cost of every command, valid or not.
        look: cost of looking; 0 in the published second version (12.1 #22).
        success: reward for success, in addition to the cost of the command.
        failure: the paper's score of every failed episode.
        questions: costs by key of the question that override tables/questions.yaml.
    """

    command: int = 1
    look: int = 1
    success: int = 100
    failure: int = -40
    questions: Mapping[str, int] | None = None


class GameState(NamedTuple):
    """The state of an episode.

    Attributes:
        score: running sum of rewards.
        question_cost: points spent on questions, a positive number.
        success: whether an object of A(m) is as the human wants it.
        stopped: whether the robot has given up.
        truncated: whether the limit of moves was reached.
    """

    state: State
    moves: int = 0
    score: int = 0
    question_cost: int = 0
    success: bool = False
    stopped: bool = False
    truncated: bool = False

    @property
    def done(self) -> bool:
        """True if the episode is over."""
        return self.success or self.stopped or self.truncated


class Outcome(NamedTuple):
    """The outcome of a command.

    Attributes:
        observation: the text for the robot; empty if texts are off.
        error: why the command had no effect; None without an error.
        reason: the precondition that does not hold, in the words of tables/actions.yaml, or the unknown
            word; else empty.
        action: the action carried out, if any.
    """

    game: GameState
    kind: CommandKind
    observation: str
    reward: int
    error: CommandError | None
    reason: str
    command: Command
    action: Action | None = None
    answer: Answer | None = None

    @property
    def done(self) -> bool:
        """True if the episode is over."""
        return self.game.done


class Game:
    """The rules and words of one task.

    Args:
        limit: number of commands after which the episode is truncated.
        style: ``reference``: texts as the published wrapper prints them (B15).
        quirk: see `Observer.view`.
        text: whether outcomes have observations; a step without them is several times faster.
        longest: largest number of characters of a command or question; None: unlimited.
    """

    def __init__(
        self,
        task: Task,
        *,
        mode: Mode = "partial",
        limit: int = LIMIT,
        costs: Costs | None = None,
        language: Language = "en",
        style: TextStyle = "readable",
        quirk: bool = False,
        text: bool = True,
        longest: int | None = LONGEST_COMMAND,
    ) -> None:
        self.task, self.mode, self.limit = task, mode, limit
        self.text, self.longest = text, longest
        self.costs = costs or Costs()
        self.language, self.style, self.quirk = language, style, quirk
        self.reader = Reader(task.world)
        self._reached = success_test(task.world, task.meaning.quest, task.in_meaning)
        self._domain = domain("robot")

    def in_mode(self, mode: Mode) -> Game:
        """Return the same game in another mode; both share cached texts."""
        other = copy(self)
        other.observer = self.observer
        other.mode = mode
        return other

    @cached_property
    def observer(self) -> Observer:
        """The observer, which describes states in words."""
        return Observer(self.task.world, self.language)

    @cached_property
    def offers(self) -> Offers:
        """The lists of valid commands."""
        return Offers(self.task.world)

    @cached_property
    def utterance(self) -> str:
        """The human's instruction."""
        task = self.task
        return render_utterance(task.world, task.utterance, self.language, task.seed)

    @cached_property
    def description(self) -> str:
        """The human's actions and instruction; for a published file in English, the file's own text."""
        published = self.task.profile == "official" or self.style == "reference"
        if self.task.description is not None and self.language == "en" and published:
            return self.styled(self.task.description)
        task = self.task
        text = render_description(task.world, task.actions, self.utterance, self.language)
        return self.styled(text)

    def start(self) -> GameState:
        """Return the first state: the robot at the floor, the hands of both empty (spec 9.1)."""
        state = self.task.current
        floor = self.task.world.entity("floor")
        return GameState(state._replace(at=floor, holding=NOTHING, given=0, waiting=False))

    def act(self, game: GameState, text: str) -> Outcome:
        """Return the outcome of a command; an invalid one has no effect but is charged.

        Raises:
            ValueError: if the episode is over.
        """
        if game.done:
            raise ValueError("The episode is over; start a new one.")
        if self.longest is not None and len(text) > self.longest:
            command = Command("invalid", error="length")
        else:
            command = self.reader.read(text)
        if command.kind == "action":
            return self._manipulate(game, command)
        if command.kind == "question":
            return self.ask(game, answer(self.task, command.text, self.language), command)
        cost = self.costs.look if command.kind == "look" else self.costs.command
        after = self._charge(game, game.state, -cost)
        if command.kind == "stop":
            after = after._replace(stopped=True, truncated=False)
        words = self._style_observation(self._plain_words(after, command)) if self.text else ""
        return Outcome(after, command.kind, words, -cost, command.error, command.text, command)

    def ask(self, game: GameState, answer: Answer, command: Command | None = None) -> Outcome:
        """Return the outcome of a question, given the human's answer."""
        cost = question_cost(answer.key, self.costs.questions)
        after = self._charge(game, game.state, -cost)._replace(question_cost=game.question_cost + cost)
        text = self.observer.table["answered"].format(answer=answer.text) if self.text else ""
        command = command or Command("question")
        return Outcome(
            after, "question", self._style_observation(text), -cost, None, "", command, answer=answer
        )

    def refuse(self, game: GameState, text: str) -> Outcome:
        """Return the outcome of a command that is charged but not executed."""
        cost = self.costs.command
        after = self._charge(game, game.state, -cost)
        return Outcome(after, "invalid", "", -cost, None, "", self.reader.read(text))

    def look(self, game: GameState) -> str:
        """Return the robot's current view."""
        return self.styled(self._view(game.state))

    def _view(self, state: State) -> str:
        return self.observer.view(state, self.mode, quirk=self.quirk)

    def inventory(self, game: GameState) -> str:
        """Return what the robot holds, followed by the task description."""
        return self.styled(f"{self.observer.inventory(game.state)}\n{self.description}")

    def opening(self, *, with_task: bool = True) -> str:
        """Return the first observation; histories have it without the task description (spec 9.6)."""
        task = self.description if with_task else None
        state = self.start().state
        return self._style_observation(self.observer.opening(state, task, self._view(state)))

    def valid(
        self,
        game: GameState,
        which: CommandList = "listed",
        *,
        extended: bool = False,
        reference: bool = False,
    ) -> tuple[str, ...]:
        """Return the commands that make sense now (spec 9.4).

        `which`: ``listed``: as published, including some that are not applicable; ``strict``: exactly the
        applicable ones. `extended`: include look, inventory, help and the questions. `reference`: names
        without "#" (B15); in ``listed``, no lids of empty receptacles (B11).
        """
        offers = self.offers
        if which == "listed":
            commands = offers.listed(game.state, only_filled=reference)
        else:
            commands = offers.strict(game.state)
        if extended:
            questions = (f"question: {text}" for text in official_questions(self.language))
            commands += ("look", "inventory", "help", *questions)
        published = reference or self.style == "reference"
        return tuple(map(reference_text, commands)) if published else commands

    def paper_score(self, game: GameState) -> int:
        """Return the paper's metric: the running sum for a success, a fixed score for a failure."""
        return game.score if game.success else self.costs.failure

    def _manipulate(self, game: GameState, command: Command) -> Outcome:
        state, reason = game.state, ""
        error: CommandError | None = None
        action = self.reader.ground(command, state.at)
        if action is None:
            error = "grounding"
        else:
            schema = self._domain[action.name]
            unmet = schema.unmet(self.task.world, state, action.args)
            if unmet is None:
                state = schema.apply(state, action.args)
            else:
                error, reason, action = "precondition", unmet, None
        reward = -self.costs.command
        success = self._reached(state)
        if success:
            reward += self.costs.success
        after = self._charge(game, state, reward)
        if success:
            after = after._replace(success=True, truncated=False)
        words = ""
        if self.text:
            words = self.observer.failure(error) if error else self.observer.confirmation(command)
            words = self.styled(words)
        return Outcome(after, "action", words, reward, error, reason, command, action)

    def _charge(self, game: GameState, state: State, reward: int) -> GameState:
        moves = game.moves + 1
        return GameState(state, moves, game.score + reward, game.question_cost, truncated=moves >= self.limit)

    def _plain_words(self, game: GameState, command: Command) -> str:
        if command.kind == "look":
            return self.look(game)
        if command.kind == "inventory":
            return self.inventory(game)
        if command.kind == "help":
            return self.styled(self.observer.help)
        if command.kind == "stop":
            return self.styled(self.observer.table["stopped"])
        return self.styled(self.observer.failure(command.error or "parse"))

    def command_text(self, text: str) -> str:
        """Return a command, written in any form (``apple 1``), as this game lists it."""
        command = normalize(text)
        return self.styled(" ".join(command.split()))

    def styled(self, text: str) -> str:
        """Return `text` in this game's style."""
        return reference_text(text) if self.style == "reference" else text

    def _style_observation(self, text: str) -> str:
        """Return an observation as `styled`; in the published style also with white space collapsed."""
        return collapse(reference_text(text)) if self.style == "reference" else text


def success_test(world: World, quest: Quest, meant: tuple[Grounding, ...]) -> Callable[[State], bool]:
    """Return a function that tests whether an object of A(m) is as the human wants it (spec 9.5)."""
    if quest == "bring_me":
        things = bit_set(thing for thing, _ in meant)
        return lambda state: bool(state.given & things)
    if quest == "move_to":
        pairs = tuple((thing, world.entity(place)) for thing, place in meant if place is not None)
        return lambda state: any(state.place[thing] == place for thing, place in pairs)
    by_verb: dict[str, BitSet] = {}
    for thing, verb in meant:
        if verb is not None:
            by_verb[verb] = by_verb.get(verb, 0) | 1 << thing
    return lambda state: any(_has_changed(state, verb, things) for verb, things in by_verb.items())


def _has_changed(state: State, verb: str, things: BitSet) -> bool:
    if verb == "clean":
        return bool(things & ~state.dusty & ~state.stained)
    bits: BitSet = getattr(state, _BRINGS[verb])
    return bool(things & bits)
