"""The rules of an episode, and the replay of its commands.

There are two protocols. ``free``: every command until the limit. ``paper``, as in the paper's study with
people: the robot may take one thing and ask nothing, and the episode ends once it has carried the instruction
out, rightly or wrongly.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Final, Literal, NamedTuple

from pydantic import Field, PositiveInt

from simulator.fields import HIDDEN, EpisodeOptions, Fields, Option
from simulator.handmethat.env.commands import LONGEST_COMMAND
from simulator.handmethat.env.game import LIMIT, CommandList, Game, GameState, Outcome
from simulator.handmethat.env.observe import Mode, visible
from simulator.handmethat.items import Task
from trees import Language

# Why a command was not executed: no (more) questions are allowed, or one thing has been taken already.
Refusal = Literal["", "no_questions", "no_more_questions", "one_thing"]
Over = Literal["", "success", "stopped", "limit"]
Protocol = Literal["free", "paper"]

ROBOT: Final = "robot"
HUMAN: Final = "human"
GIVER: Final = "offline/giver"
"""The built-in human."""
PARTNER: Final = "offline/partner"
"""The default partner of a person who gives the instruction."""
_QUESTION: Final = re.compile(r"\s*(?:question|问题|提问)\s*[:：]\s*", re.IGNORECASE)
# quest type, or argument of change_state -> verbs of the commands that carry the instruction out
_EXECUTES: Final[Mapping[str, frozenset[str]]] = {
    "bring_me": frozenset({"give"}),
    "move_to": frozenset({"put-inside", "put-ontop"}),
    "toggle": frozenset({"toggle-on"}),
    **{verb: frozenset({verb}) for verb in ("heat", "cool", "slice", "soak", "clean", "open")},
}
_TAKES: Final = frozenset({"pick-up", "pick-up-from"})


class EpisodeRules(Fields):
    """Rules of episodes that a run and a study can set."""

    mode: Annotated[Mode, HIDDEN] = "partial"
    limit: Annotated[PositiveInt, Option(name="turn_limit")] = Field(
        default=LIMIT, description="commands and questions per episode"
    )
    protocol: Protocol = Field(default="free", description="free, or paper: one thing, no questions, one try")
    max_questions: Annotated[int | None, Option(name="questions"), Field(ge=0)] = Field(
        default=None, description="largest number of questions; default: no limit"
    )
    append_view: bool = Field(default=False, description="show the view after each command")
    commands: CommandList = Field(
        default="listed", description="commands offered: listed (as published) or strict"
    )

    @property
    def questions(self) -> int | None:
        """The largest number of questions under the protocol; None: no limit."""
        return 0 if self.protocol == "paper" else self.max_questions


class Options(EpisodeRules, EpisodeOptions):
    """Options of an episode; `longest`: characters of a command, None: no limit, as in older logs."""

    longest: Annotated[int | None, HIDDEN] = LONGEST_COMMAND


class Step(NamedTuple):
    """A command or question, its outcome, why it was refused, and how the episode ended with it, if so."""

    command: str
    outcome: Outcome
    refused: Refusal
    over: Over

    @property
    def game(self) -> GameState:
        """The state of the game afterwards."""
        return self.outcome.game

    @property
    def question(self) -> bool:
        """True if it is a question to the human."""
        return self.outcome.kind == "question"


class Posed(NamedTuple):
    """A task with the language of its dialogue: the runner's item."""

    task: Task
    language: Language


class Play:
    """One task under given options. Its cached steps only save replaying them.

    `text`: whether outcomes have texts; scores do not need them.
    """

    def __init__(self, task: Task, language: Language, options: Options, *, text: bool = True) -> None:
        self.task, self.language, self.options = task, language, options
        self.game = Game(
            task,
            mode=options.mode,
            limit=options.limit,
            language=language,
            text=text,
            longest=options.longest,
        )
        self._steps: list[Step] = []

    def steps(self, commands: Sequence[str]) -> tuple[Step, ...]:
        """Return the steps of `commands` (see `as_command`), up to the one that ends the episode."""
        common = 0
        for step, command in zip(self._steps, commands, strict=False):
            if step.command != command:
                break
            common += 1
        del self._steps[common:]
        for command in commands[common:]:
            if self._steps and self._steps[-1].over:
                break
            self._steps.append(self._step(command))
        return tuple(self._steps)

    def after(self, commands: Sequence[str]) -> GameState:
        """Return the state of the game after `commands`."""
        steps = self.steps(commands)
        return steps[-1].game if steps else self.game.start()

    def valid(self, game: GameState) -> tuple[str, ...]:
        """Return the commands that are offered: the valid ones about things that the robot can see.

        The published list also names the contents of a shut appliance that is on (spec 9.4).
        """
        if self.options.mode == "full":
            return self.game.valid(game, self.options.commands)
        world = self.task.world
        seen = visible(world, game.state, "partial")
        return tuple(
            text
            for text in self.game.valid(game, self.options.commands)
            if all(entity < 0 or seen >> entity & 1 for entity in self.game.reader.read(text).args)
        )

    def questions_left(self, asked: int) -> int | None:
        """Return the number of questions left; None: no limit."""
        limit = self.options.questions
        return None if limit is None else max(limit - asked, 0)

    def _step(self, command: str) -> Step:
        before = self._steps[-1].game if self._steps else self.game.start()
        refused = self._refusal(command)
        if refused:
            outcome = self.game.refuse(before, command)
            return Step(command, outcome, refused, ending_of(outcome.game))
        outcome = self.game.act(before, command)
        # The paper's protocol ends here.
        if not outcome.done and self.options.protocol == "paper" and self.carried_out(outcome):
            outcome = outcome._replace(game=outcome.game._replace(stopped=True))
        return Step(command, outcome, "", ending_of(outcome.game))

    def _refusal(self, text: str) -> Refusal:
        command = self.game.reader.read(text)
        if command.kind == "question":
            asked = sum(step.question for step in self._steps)
            if self.questions_left(asked) == 0:
                return "no_more_questions" if self.options.questions else "no_questions"
        changes = self.task.utterance.quest == "change_state"
        if self.options.protocol == "paper" and command.verb in _TAKES and not changes:
            executed = (step.outcome.command for step in self._steps if step.outcome.action)
            taken = next((earlier.args[0] for earlier in executed if earlier.verb in _TAKES), None)
            if taken not in (None, command.args[0]):
                return "one_thing"
        return ""

    def carried_out(self, outcome: Outcome) -> bool:
        """Return True if the command carries the instruction out, with the right thing or a wrong one."""
        if outcome.action is None:
            return False
        quest, argument = self.task.utterance.quest, self.task.utterance.argument
        key = quest if quest != "change_state" else str(argument)
        # Cleaning a location on the way does not count.
        movable = self.task.world.kinds[outcome.command.args[0]].movable
        return movable and outcome.command.verb in _EXECUTES[key]


def as_command(text: str) -> str:
    """Return a person's or model's text as a command; a question gets the prefix ``question:``."""
    line = " ".join(text.split())
    if mark := _QUESTION.match(line):
        return f"question: {line[mark.end() :]}"
    return f"question: {line}" if line.endswith(("?", "？")) else line


def bare_question(text: str) -> str:
    """Return a question without the prefix ``question:``."""
    mark = _QUESTION.match(text)
    return text[mark.end() :] if mark else text


def ending_of(game: GameState) -> Over:
    """Return how an episode has ended; empty if it goes on."""
    if game.success:
        return "success"
    if game.stopped:
        return "stopped"
    return "limit" if game.truncated else ""
