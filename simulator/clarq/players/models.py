"""Language models in both seats: the provider's prompted experts and the seeker (paper IV, Algorithm 1).

The prompts are `personas/clarq/*.jinja`. Experts that judge see the nodes and answer in JSON; experts
that write a Response II see only the dialogue, so they have nothing to give away. The seeker has the paper's
two modes (Figs. 5 and 6; spec section 4).
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, Literal, TypeVar, get_args

from pydantic import BaseModel, Field

from personas.templates import quoted, render
from simulator.clarq.compose import strip_speaker
from simulator.clarq.data import SEEKER, Personas, SeekerKnows, template_name
from simulator.clarq.experts import Choice, Classification, Situation, TurnType, Verdict
from simulator.errors import InputError
from simulator.models import ChatModel, Message, Request
from simulator.models.schema import parse_answer
from simulator.seats import Kind, Line, Reply, View
from trees import Language, Node

SEED: Final = 8848  # paper VI-A, with temperature 0
# The three passes of a walk: the question, the question again with the first analysis, wrong assumptions.
_PASSES: Final = ("node", "node_again", "assumption")
# Phrases by which an explanation says that there are several options: in its note about what the seeker
# must have noticed, which nearly all published explanations have, or else anywhere.
_NOTE: Final = ("Note:", "注：")
_SEVERAL_NOTED: Final = ("there are multiple", "存在多个")
_SEVERAL: Final = ("there are multiple", "多个", "多种")

Reader = Literal["seeker", "judge"]
# Names of the seeker: in its own prompt, and for judges and experts.
_SEEKER: Final[dict[Language, dict[Reader, str]]] = {
    "en": {"seeker": "You", "judge": "Seeker"},
    "zh": {"seeker": "你", "judge": "提问者"},
}
# The same lines are quoted in every prompt of a dialogue.
_quoted = lru_cache(maxsize=8192)(quoted)


# The docstrings of these models are sent to the model with their JSON schema: they are prompts.
class OpeningAnswer(BaseModel):
    """Does the seeker ask about the task?"""

    reason: str
    relevant: bool


class TypeAnswer(BaseModel):
    """Which of the six types?"""

    reason: str
    type: int = Field(ge=1, le=6)


class RepeatedAnswer(BaseModel):
    """Has it really been answered before?"""

    reason: str
    repeated: bool


class NodeAnswer(BaseModel):
    """Is the node an appropriate response?"""

    analysis: str
    answers: bool


class JoinAnswer(BaseModel):
    """Several statements in one reply."""

    reply: str


A = TypeVar("A", bound=BaseModel)


class ModelExperts:
    """Experts that prompt a language model; stateless."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model
        self.name = model.name

    async def relevant(self, situation: Situation) -> Verdict:
        """Ask whether the utterance is about the task at all."""
        answer = await self._ask("opening", situation, OpeningAnswer)
        return Verdict(answer.relevant, answer.reason)

    async def classify(self, situation: Situation) -> Classification:
        """Ask for the type; confirm a repetition with a second question, else treat it as answerable."""
        nodes = situation.frontier.available
        answer = await self._ask("type", situation, TypeAnswer, nodes=_pairs(nodes))
        if answer.type != TurnType.REPEATED:
            return Classification(TurnType(answer.type), answer.reason)
        check = await self._ask("repeated", situation, RepeatedAnswer)
        return Classification(TurnType.REPEATED if check.repeated else TurnType.ANSWERABLE, check.reason)

    async def walk(self, situation: Situation, *, multi: bool) -> Choice:
        """Make up to three passes over the frontier; the first pass that finds a node ends the walk.

        The multi-info provider asks about all nodes in the first pass. In all other passes,
        the first suitable node ends the walk.
        """
        nodes = situation.frontier.available
        analyses: dict[str, str] = {}
        for name in _PASSES:
            chosen = await self._pass(name, situation, nodes, analyses, multi=multi and name == _PASSES[0])
            if chosen:
                reason = " ".join(analyses[index] for index in chosen)
                return Choice(chosen, reason, {"pass": name, "analyses": analyses})
        return Choice((), "No statement answers what was asked.", {"analyses": analyses})

    async def join(self, situation: Situation, nodes: tuple[Node, ...]) -> str:
        """Let the model join several nodes; `provider.respond_one` checks that each stays intact."""
        answer = await self._ask("join", situation, JoinAnswer, nodes=_pairs(nodes))
        return strip_speaker(answer.reply)

    async def respond(self, situation: Situation, type: TurnType) -> str:
        """Write a Response II from the dialogue alone."""
        # Type 2 without a suitable node is type 3, an unanswerable detail.
        number = 3 if type == TurnType.ANSWERABLE else int(type)
        request = self._request(f"respond_{number}", situation, _dialogue(situation))
        return strip_speaker((await self._model.complete(request)).text)

    async def _pass(
        self,
        name: str,
        situation: Situation,
        nodes: Sequence[Node],
        analyses: dict[str, str],
        *,
        multi: bool,
    ) -> tuple[str, ...]:
        async def suits(node: Node) -> bool:
            several = picks_one_of_several(node.explanation or "")
            answer = await self._ask(
                name, situation, NodeAnswer, node=node, several=several, analysis=analyses.get(node.index, "")
            )
            analyses[node.index] = answer.analysis
            return answer.answers

        if multi:
            answers = await asyncio.gather(*map(suits, nodes))
            return tuple(node.index for node, yes in zip(nodes, answers, strict=True) if yes)
        for node in nodes:
            if await suits(node):
                return (node.index,)
        return ()

    async def _ask(self, name: str, situation: Situation, schema: type[A], **variables: Any) -> A:
        background, utterance = situation.task.background, situation.utterance
        case = {**_dialogue(situation), "background": background, "utterance": utterance, **variables}
        request = self._request(name, situation, case, schema)
        answer: A = parse_answer(await self._model.complete(request), request).parsed
        return answer

    def _request(
        self,
        name: str,
        situation: Situation,
        variables: Mapping[str, Any],
        schema: type[BaseModel] | None = None,
    ) -> Request:
        prompt = render(f"clarq/{name}", situation.task.language, variables)
        message = Message("user", prompt.text)
        return request_of(situation, (message,), f"provider.{name}", prompt.version, schema)


def request_of(
    turn: Situation | View,
    messages: Sequence[Message],
    purpose: str,
    version: str,
    schema: type[BaseModel] | None = None,
) -> Request:
    """Return a request for a turn, with the paper's decoding parameters."""
    return Request(
        messages=tuple(messages),
        temperature=0.0,
        seed=SEED,
        schema=schema,
        purpose=purpose,
        prompt_version=version,
        episode_id=turn.episode_id or None,
        turn_number=turn.number,
        repeat=turn.repeat,
    )


def picks_one_of_several(explanation: str) -> bool:
    """Return True if an explanation says that the seeker must have noticed several options."""
    for mark in _NOTE:
        _, marked, note = explanation.partition(mark)
        if marked:
            return any(words in note for words in _SEVERAL_NOTED)
    return any(words in explanation for words in _SEVERAL)


def _dialogue(situation: Situation) -> dict[str, Any]:
    return {"dialogue": dialogue_text(situation.lines, situation.task.language, "judge")}


def _pairs(nodes: Sequence[Node]) -> list[tuple[str, str | None]]:
    return [(node.text, node.explanation) for node in nodes]


def dialogue_text(lines: Iterable[Line], language: Language, reader: Reader) -> str:
    """Return the dialogue as text, one paragraph per turn, beginning with the speaker.

    For a judge, each turn is quoted on one line, so that it cannot imitate another turn. Templates
    receive this text instead of a list, because attribute access in the sandbox is slow.
    """
    seeker = _SEEKER[language][reader]
    quote = str if reader == "seeker" else _quoted
    return "\n".join(f"{'Jax' if line.seat == 'provider' else seeker}: {quote(line.text)}" for line in lines)


Mode = Literal["completion", "chat"]
# Chat models often write speakers in bold type.
_JAX_ANSWERS = re.compile(r"\n\s*[*_]*Jax[*_]*\s*[:：]", re.IGNORECASE)
_YOU = re.compile(r"\A(?:(?P<m>[*_]+)(?:You|你)\s*[:：](?P=m)\s*|[*_]*(?:You|你)[*_]*\s*[:：]\s*)+")


class ModelSeeker:
    """A model as seeker.

    In completion mode it gets one user message with background and dialogue, in chat mode a conversation.
    """

    kind: Kind = "model"

    def __init__(
        self,
        model: ChatModel,
        mode: Mode = "completion",
        *,
        personas: Personas = "default",
    ) -> None:
        if personas not in get_args(Personas):
            raise InputError(f"Personas are {' or '.join(get_args(Personas))}, not {personas!r}.")
        if mode not in get_args(Mode):
            raise InputError(f"A seeker's mode is {' or '.join(get_args(Mode))}, not {mode!r}.")
        self._model = model
        self._mode = mode
        self._personas: Personas = personas
        self.name = model.name

    async def reply(self, view: View) -> Reply:
        """Ask the model for the next line."""
        messages, version = messages_for(view, self._mode, self._personas)
        completion = await self._model.complete(request_of(view, messages, SEEKER, version))
        return Reply(text=own_words(completion.text))


def messages_for(view: View, mode: Mode, personas: Personas = "default") -> tuple[tuple[Message, ...], str]:
    """Return the messages for `view` and the version of their template (empty in chat mode)."""
    task_view: SeekerKnows = view.task
    if mode == "completion":
        dialogue = dialogue_text(view.lines, task_view.language, "seeker")
        variables = {"background": task_view.prompt, "dialogue": dialogue}
        prompt = render(template_name("seeker_completion", personas), task_view.language, variables)
        return (Message("user", prompt.text),), prompt.version
    prefix = "Jax: " if personas == "paper" else ""
    spoken = (
        Message("assistant", line.text) if line.seat == SEEKER else Message("user", f"{prefix}{line.text}")
        for line in view.lines
    )
    return (Message("system", task_view.prompt), *spoken), ""


def own_words(text: str) -> str:
    """Return the seeker's own words, without a leading speaker name or an imagined answer of Jax's."""
    return _YOU.sub("", _JAX_ANSWERS.split(text.strip(), maxsplit=1)[0]).strip()
