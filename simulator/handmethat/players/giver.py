"""The instruction giver: built in, answering from the true meaning, or a language model that is told it."""

from __future__ import annotations

from typing import Final

from personas.templates import quoted, render
from simulator.handmethat.meanings.render import render_meaning, render_utterance
from simulator.handmethat.players.knows import AskedKnows
from simulator.handmethat.players.listening import guards
from simulator.models import ChatModel, Message, Request
from simulator.seats import Kind, Reply, View


class OfflineGiver:
    """``offline/giver``: the expert's answer as it is (`env.questions`)."""

    kind: Kind = "offline"
    name = "offline/giver"

    async def reply(self, view: View) -> Reply:
        """Answer the question that is pending."""
        knows: AskedKnows = view.task
        return Reply(text=knows.heard.answer.text)


SEED: Final = 0
PURPOSE: Final = "human.answer"
_LONGEST: Final = 120  # tokens of an answer


class ModelGiver:
    """A model that is told m in words. What it may not say is replaced by the built-in expert's answer."""

    kind: Kind = "model"

    def __init__(self, model: ChatModel, *, temperature: float = 0.0, seed: int = SEED) -> None:
        self._model = model
        self._temperature = temperature
        self._seed = seed
        self.name = model.name

    async def reply(self, view: View) -> Reply:
        """Answer the question that is pending; the trace says what the model said and why it was replaced."""
        knows: AskedKnows = view.task
        messages, version = messages_for(knows)
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
        text = " ".join((await self._model.complete(request)).text.split())
        faults = guards(knows.task, knows.heard, text) if text else ("misses",)
        if faults:
            return Reply(text=knows.heard.answer.text, trace={"guards": list(faults), "model": text})
        return Reply(text=text)


def messages_for(knows: AskedKnows) -> tuple[tuple[Message, ...], str]:
    """Return the prompt, and the version of the template that holds the question."""
    task, language = knows.task, knows.language
    told = "\n".join(f"- {quoted(asked)} -> {quoted(said)}" for asked, said in knows.exchange)
    variables = {
        "meaning": render_meaning(task.world, task.current, task.meaning, language),
        "instruction": render_utterance(task.world, task.current, task.utterance, language, task.seed),
        "exchange": told,
        "question": quoted(knows.heard.text),
    }
    rules = render("handmethat/giver_rules", language, {})
    asked = render("handmethat/giver_answer", language, variables)
    return (Message("system", rules.text), Message("user", asked.text)), asked.version
