"""A language model in the robot's seat: one command or question per turn, in text, without tools."""

from __future__ import annotations

import re
from typing import Final

from personas.templates import Rendered, quoted, render
from simulator.handmethat.env.commands import normalize
from simulator.handmethat.env.questions import price_rule
from simulator.handmethat.players.knows import RobotKnows
from simulator.handmethat.playing import as_command
from simulator.models import ChatModel, Message, Request
from simulator.seats import Kind, Reply, View

SEED: Final = 0
PURPOSE: Final = "robot"
_LONGEST: Final = 200  # tokens of a reply
_VERBS: Final = re.compile(
    "(move|pick|put|give|take|open|close|toggle|heat|cool|soak|slice|clean|look|examine|inventory|help|stop)"
)
# What models put in front of a command.
_LABEL: Final = re.compile(
    r"^\s*(?:[-*>$]+\s*|(?:next\s+)?(?:command|action|reply|robot|命令|动作|回答|机器人)\s*[:：]\s*)+",
    re.IGNORECASE,
)


class ModelRobot:
    """Is shown everything that a person in this seat is shown, valid commands and priced questions included.

    A reply that is neither a command nor a question is asked for again once; what comes then is taken as it
    is, and the household charges it like any other nonsense.
    """

    kind: Kind = "model"

    def __init__(self, model: ChatModel, *, temperature: float = 0.0, seed: int = SEED) -> None:
        self._model = model
        self._temperature = temperature
        self._seed = seed
        self.name = model.name

    async def reply(self, view: View) -> Reply:
        """Ask the model for the next command; the trace counts replies that could not be read."""
        messages, version = messages_for(view.task, view.language)
        said = await self._complete(view, messages, version)
        command = read_reply(said)
        if command is not None:
            return Reply(text=command)
        again = render("handmethat/robot_again", view.language, {"said": quoted(said)})
        messages = (*messages, Message("assistant", said or "-"), Message("user", again.text))
        said = await self._complete(view, messages, again.version)
        command = read_reply(said)
        if command is not None:
            return Reply(text=command, trace={"parse_errors": 1})
        return Reply(text=quoted(said)[:200] or "-", trace={"parse_errors": 2})

    async def _complete(self, view: View, messages: tuple[Message, ...], version: str) -> str:
        request = Request(
            messages=messages,
            temperature=self._temperature,
            max_tokens=_LONGEST,
            seed=self._seed,
            purpose=PURPOSE,
            prompt_version=version,
            episode_id=view.episode_id,
            turn_number=view.number,
            repeat=view.repeat,
        )
        return (await self._model.complete(request)).text.strip()


def messages_for(knows: RobotKnows, language: str) -> tuple[tuple[Message, ...], str]:
    """Return the prompt, and the version of the template of a turn."""
    turn = turn_prompt(knows, language)
    return (Message("system", rules_prompt(knows, language).text), Message("user", turn.text)), turn.version


def rules_prompt(knows: RobotKnows, language: str) -> Rendered:
    """Return what a robot may do, and what it costs."""
    variables = {
        "limit": knows.limit,
        "asking": bool(knows.questions),
        "one_thing": knows.one_thing,
        "questions_left": knows.questions_left,
        "prices": price_rule(),
    }
    return render("handmethat/robot_rules", language, variables)


def turn_prompt(knows: RobotKnows, language: str) -> Rendered:
    """Return what has happened and what can be done now."""
    variables = {
        "opening": knows.opening,
        "history": "\n".join(f"> {command}\n{answer}" for command, answer in knows.history),
        "look": knows.look,
        "inventory": knows.inventory,
        "valid": "\n".join(f"- {command}" for command in knows.valid),
        "questions": "\n".join(
            f"- question: {question.text}? ({question.cost})" for question in knows.questions
        ),
        "moves": knows.moves,
        "limit": knows.limit,
    }
    return render("handmethat/robot_turn", language, variables)


def read_reply(text: str) -> str | None:
    """Return the first line of a reply that is a command or a question; None if there is none."""
    for line in text.splitlines():
        bare = _LABEL.sub("", line).strip().strip("`\"'*“”").strip()
        command = as_command(bare)
        first = normalize(command).partition(" ")[0]
        if command.startswith("question:") or _VERBS.fullmatch(first):
            return command
    return None
