"""An episode as it is played: what may be done under which protocol, and where its commands have led.

Two protocols. ``free``: anything goes until the limit. ``paper``: the paper's study with people: one thing
may be taken, nothing may be asked, and the episode is over once the robot has carried the instruction out,
rightly or not.
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

# Why a command was not even tried: questions are not allowed (any more), or one thing has been taken already.
Refusal = Literal["", "no_questions", "no_more_questions", "one_thing"]
Over = Literal["", "success", "stopped", "limit"]
Protocol = Literal["free", "paper"]

ROBOT: Final = "robot"
HUMAN: Final = "human"
GIVER: Final = "offline/giver"
"""The built-in human."""
PARTNER: Final = "offline/partner"
"""With whom a person who gives the instruction plays, unless somebody else is chosen."""
_QUESTION: Final = re.compile(r"\s*(?:question|问题|提问)\s*[:：]\s*", re.IGNORECASE)
# verbs of commands that carry an instruction out; of change_state they depend on its argument
_EXECUTES: Final[Mapping[str, frozenset[str]]] = {
    "bring_me": frozenset({"give"}),
    "move_to": frozenset({"put-inside", "put-ontop"}),
    "toggle": frozenset({"toggle-on"}),
    **{verb: frozenset({verb}) for verb in ("heat", "cool", "slice", "soak", "clean", "open")},
}
_TAKES: Final = frozenset({"pick-up", "pick-up-from"})


class EpisodeRules(Fields):
    """Rules of episodes that a run and a study can set.

    Attributes:
        mode: what the robot sees; of a run its selection says it.
        limit: commands and questions after which the episode is cut.
        max_questions: None for as many as are asked.
        append_view: see spec 12.1 #26.
        commands: valid commands as published (``listed``) or exactly the applicable ones (``strict``).
    """

    mode: Annotated[Mode, HIDDEN] = "partial"
    limit: Annotated[PositiveInt, Option(name="turn_limit")] = Field(
        default=LIMIT, description="commands and questions per episode"
    )
    protocol: Protocol = Field(default="free", description="free, or paper: one thing, no questions, one try")
    max_questions: Annotated[int | None, Option(name="questions"), Field(ge=0)] = Field(
        default=None, description="questions that are answered; default: any number"
    )
    append_view: bool = Field(default=False, description="say what is seen after each command")
    commands: CommandList = Field(
        default="listed", description="commands that are offered: listed as published, or strict"
    )

    @property
    def questions(self) -> int | None:
        """Questions that are answered; None for as many as are asked."""
        return 0 if self.protocol == "paper" else self.max_questions


class Options(EpisodeRules, EpisodeOptions):
    """Options of an episode.

    Attributes:
        longest: characters of a command or question that are read; None for any number, as in logs that do
            not say.
    """

    longest: Annotated[int | None, HIDDEN] = LONGEST_COMMAND


class Step(NamedTuple):
    """A command or a question and what it led to.

    Attributes:
        refused: why it was not tried; empty if it was.
        over: how the episode was over after it; empty if it was not.
    """

    command: str
    outcome: Outcome
    refused: Refusal
    over: Over

    @property
    def game(self) -> GameState:
        """Return where the episode stands afterwards."""
        return self.outcome.game

    @property
    def question(self) -> bool:
        """Return True if the human was asked."""
        return self.outcome.kind == "question"


class Posed(NamedTuple):
    """A task and the language in which it is played: what the runner calls an item."""

    task: Task
    language: Language


class Play:
    """One task under given options. What it keeps only spares it replaying; it decides nothing.

    `text`: whether outcomes have words; scores need none.
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
        """Return the steps that `commands` (see `as_command`) make, up to the one that ends the episode."""
        kept = 0
        for step, command in zip(self._steps, commands, strict=False):
            if step.command != command:
                break
            kept += 1
        del self._steps[kept:]
        for command in commands[kept:]:
            if self._steps and self._steps[-1].over:
                break
            self._steps.append(self._step(command))
        return tuple(self._steps)

    def after(self, commands: Sequence[str]) -> GameState:
        """Return where the episode stands after `commands`."""
        steps = self.steps(commands)
        return steps[-1].game if steps else self.game.start()

    def valid(self, game: GameState) -> tuple[str, ...]:
        """Return the commands that are offered: those that name nothing which the robot cannot see.

        The published list names what is inside a shut appliance that is on (spec 9.4).
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
        """Return questions that will still be answered; None for any number."""
        most = self.options.questions
        return None if most is None else max(most - asked, 0)

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
            done = (step.outcome.command for step in self._steps if step.outcome.action)
            taken = next((before.args[0] for before in done if before.verb in _TAKES), None)
            if taken not in (None, command.args[0]):
                return "one_thing"
        return ""

    def carried_out(self, outcome: Outcome) -> bool:
        """Return True if by this the instruction has been carried out with some thing, rightly or not."""
        if outcome.action is None:
            return False
        quest, argument = self.task.utterance.quest, self.task.utterance.argument
        key = quest if quest != "change_state" else str(argument)
        # Cleaning the table on the way is not what was asked for.
        movable = self.task.world.kinds[outcome.command.args[0]].movable
        return movable and outcome.command.verb in _EXECUTES[key]


def as_command(text: str) -> str:
    """Return what somebody wrote, as the game reads it: words that ask something are put as a question."""
    line = " ".join(text.split())
    if mark := _QUESTION.match(line):
        return f"question: {line[mark.end() :]}"
    return f"question: {line}" if line.endswith(("?", "？")) else line


def bare_question(text: str) -> str:
    """Return a question without the word that marks it as one."""
    mark = _QUESTION.match(text)
    return text[mark.end() :] if mark else text


def ending_of(game: GameState) -> Over:
    """Return how an episode is over; empty if it is not."""
    if game.success:
        return "success"
    if game.stopped:
        return "stopped"
    return "limit" if game.truncated else ""
