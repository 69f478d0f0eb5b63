"""Language models in either seat: one text reply per turn, without tools."""

from __future__ import annotations

import re
from typing import Final

from personas.templates import Rendered, quoted, render
from simulator.handmethat.env.commands import normalize
from simulator.handmethat.env.questions import price_rule
from simulator.handmethat.meanings.render import render_meaning, render_utterance
from simulator.handmethat.players.knows import AskedKnows, RobotKnows, guards
from simulator.handmethat.playing import as_command
from simulator.models import ChatModel, Message, Request
from simulator.seats import Kind, Reply, View

SEED: Final = 0
ROBOT_PURPOSE: Final = "robot"
GIVER_PURPOSE: Final = "human.answer"
_VERBS: Final = re.compile(
    "(move|pick|put|give|take|open|close|toggle|heat|cool|soak|slice|clean|look|examine|inventory|help|stop)"
)
# Labels that models put in front of a command.
_LABEL: Final = re.compile(
    r"^\s*(?:[-*>$]+\s*|(?:next\s+)?(?:command|action|answer|reply|robot|命令|动作|回答|机器人)\s*[:：]\s*)+",
    re.IGNORECASE,
)
Messages = tuple[Message, ...]


class _ModelSeat:
    """A model in a seat; `longest` is the token limit of a reply."""

    kind: Kind = "model"
    purpose: str
    longest: int

    def __init__(self, model: ChatModel, *, temperature: float = 0.0, seed: int = SEED) -> None:
        self._model, self._temperature, self._seed = model, temperature, seed
        self.name = model.name

    async def complete(self, view: View, messages: Messages, version: str) -> str:
        """Return the model's reply; `version`: version of the prompt template."""
        request = Request(
            messages=messages,
            temperature=self._temperature,
            max_tokens=self.longest,
            seed=self._seed,
            purpose=self.purpose,
            prompt_version=version,
            episode_id=view.episode_id,
            turn_number=view.number,
            repeat=view.repeat,
        )
        return (await self._model.complete(request)).text.strip()


class ModelRobot(_ModelSeat):
    """A model as the robot. It gets all that a person gets, including valid commands and priced questions.

    After a reply that is neither a command nor a question it is asked once more. The second reply is used
    unchanged, and charged like any other invalid command.
    """

    purpose = ROBOT_PURPOSE
    longest = 200

    async def reply(self, view: View) -> Reply:
        """Ask the model for the next command; the trace counts replies that could not be read."""
        turn = turn_prompt(view.task, view.language)
        messages: Messages = (
            Message("system", rules_prompt(view.task, view.language).text),
            Message("user", turn.text),
        )
        text = await self.complete(view, messages, turn.version)
        command = read_reply(text)
        if command is not None:
            return Reply(text=command)
        again = render("handmethat/robot_again", view.language, {"said": quoted(text)})
        messages = (*messages, Message("assistant", text or "-"), Message("user", again.text))
        text = await self.complete(view, messages, again.version)
        command = read_reply(text)
        if command is not None:
            return Reply(text=command, trace={"parse_errors": 1})
        return Reply(text=quoted(text)[:200] or "-", trace={"parse_errors": 2})


def rules_prompt(knows: RobotKnows, language: str) -> Rendered:
    """Return the system prompt: the robot's rules and prices."""
    variables = {
        "limit": knows.limit,
        "asking": bool(knows.questions),
        "one_thing": knows.one_thing,
        "questions_left": knows.questions_left,
        "prices": price_rule(),
    }
    return render("handmethat/robot_rules", language, variables)


def turn_prompt(knows: RobotKnows, language: str) -> Rendered:
    """Return the prompt of a turn: history, current view and options."""
    questions = (f"- question: {question.text}? ({question.cost})" for question in knows.questions)
    variables = {
        "opening": knows.opening,
        "history": "\n".join(f"> {command}\n{answer}" for command, answer in knows.history),
        "look": knows.look,
        "inventory": knows.inventory,
        "valid": "\n".join(f"- {command}" for command in knows.valid),
        "questions": "\n".join(questions),
        "moves": knows.moves,
        "limit": knows.limit,
    }
    return render("handmethat/robot_turn", language, variables)


def read_reply(text: str) -> str | None:
    """Return the first command or question in a reply, or None."""
    for line in text.splitlines():
        command = as_command(_LABEL.sub("", line).strip().strip("`\"'*“”").strip())
        first = normalize(command).partition(" ")[0]
        if command.startswith("question:") or _VERBS.fullmatch(first):
            return command
    return None


class ModelGiver(_ModelSeat):
    """A model as the human, given m in words. The built-in expert's answer replaces one that is rejected."""

    purpose = GIVER_PURPOSE
    longest = 120

    async def reply(self, view: View) -> Reply:
        """Answer the pending question; if replaced, the trace has the model's answer and the reasons."""
        knows: AskedKnows = view.task
        task, language = knows.task, knows.language
        exchange = (f"- {quoted(question)} -> {quoted(answer)}" for question, answer in knows.exchange)
        variables = {
            "meaning": render_meaning(task.world, task.meaning, language),
            "instruction": render_utterance(task.world, task.utterance, language, task.seed),
            "exchange": "\n".join(exchange),
            "question": quoted(knows.heard.text),
        }
        rules = render("handmethat/giver_rules", language, {})
        prompt = render("handmethat/giver_answer", language, variables)
        messages = (Message("system", rules.text), Message("user", prompt.text))
        text = " ".join((await self.complete(view, messages, prompt.version)).split())
        faults = guards(task, knows.heard, text) if text else ("misses",)
        if faults:
            return Reply(text=knows.heard.answer.text, trace={"guards": list(faults), "model": text})
        return Reply(text=text)


class OfflineGiver:
    """``offline/giver``: the built-in expert's answers (`env.questions`)."""

    kind: Kind = "offline"
    name = "offline/giver"

    async def reply(self, view: View) -> Reply:
        """Answer the pending question."""
        knows: AskedKnows = view.task
        return Reply(text=knows.heard.answer.text)
