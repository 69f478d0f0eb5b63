"""AmbiBench's participants: built-in players and language models.

A model that can score text reads a complete prompt once and returns the probabilities at every label
(`ScoringParticipant`). Other models complete trial by trial; if they return token probabilities, these are
scored, else the text is (spec section 7). The first part of the module has an episode's options, the task
given to a seat, and the payloads logged with its answers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any, Final, Literal, Protocol, runtime_checkable

from pydantic import Field, PositiveInt

from personas.templates import render
from simulator.ambibench.aws import AwsPrompt, classify
from simulator.ambibench.benchmark import BENCHMARK
from simulator.ambibench.features import LABELS, Label, Setting
from simulator.ambibench.prompt import PARTICIPANT, Belief, Item, Prompt, Trial, best_guess, whole_text
from simulator.ambibench.score import Mode, Tie, read_reply
from simulator.errors import SeatError
from simulator.fields import EpisodeOptions
from simulator.forms import checked_length, measurements
from simulator.models import ChatModel, Completion, Message, Request, ScoreRequest, as_sent
from simulator.runner.machines import NO_OPTIONS, refuse_unknown
from simulator.seats import Kind, Reply, Seat, View
from simulator.seeds import derive_seed

System = Literal["continue", "none"]
# Payload fields that reveal a person's answer, to be deleted with it on erasure (see `logs.erase`).
_PRIVATE: Final = ["raw_answer", "answer", "normalised", "correct", "strict", "valid", "category"]


class Options(EpisodeOptions):
    """The rules of an episode (spec 7.1)."""

    score_mode: Mode = Field(default="strip", description="how tables of token probabilities are read")
    tie: Tie = Field(default="wrong", description="how a tie for the first place counts")
    top: PositiveInt = Field(default=20, description="number of token probabilities requested per label")
    max_tokens: PositiveInt = Field(
        default=2, description="tokens a model may write for a label (more if it reasons first)"
    )
    system: System = Field(default="continue", description="chat models: our system prompt, or none")


@dataclass(frozen=True, slots=True)
class TrialKnows:
    """One trial (`View.task`): the text to continue or answer, as a person in this seat would see it."""

    text: str
    answer: Literal["label", "text"]
    setting: Setting


@dataclass(frozen=True, slots=True)
class PromptKnows:
    """A complete prompt with all labels, for seats whose answers depend only on the text before each label.

    Attributes:
        trials: the trials still to answer, in order.
        beliefs: of the Bayes-optimal learner at each position of the prompt, from the first.
        seed: the episode's seed, for guesses.
    """

    prompt: Prompt
    trials: tuple[Trial, ...]
    beliefs: tuple[Belief, ...]
    seed: int


@runtime_checkable
class ScoresAll(Protocol):
    """A seat that can answer all trials of a prompt in one call."""

    async def score_all(self, view: View) -> tuple[Reply, ...]:
        """Return one reply per trial of `view.task`, a `PromptKnows`, in order.

        Raises:
            ModelError: if its model fails.
        """


def gives_feedback(item: Item) -> bool:
    """Return True if the right label is shown after each answer: in settings with several answers (4.3)."""
    return not isinstance(item, AwsPrompt) and item.setting in ("multiple", "wug", "ft_eval")


def label_payload(
    trial: Trial, reply: Reply, belief: Belief, options: Options, *, person: bool
) -> dict[str, Any]:
    """Return the payload of an answer to a trial that asks for a label (spec section 15).

    `Reply.move` may have the table of token probabilities at the label's position (``table``), the parameters
    of the model call (``decoding``) and measurements of the page (``shown_at``, ``keys_used``). `belief`: of
    the Bayes-optimal learner before it sees this label. `person`: whether a person answers, who may use lower
    case.
    """
    assert trial.gold is not None
    table = (reply.move or {}).get("table")
    reading = read_reply(
        reply.text, table, trial.gold, lower=person, mode=options.score_mode, tie=options.tie
    )
    fields = dict(vars(reading))
    mode = fields.pop("mode")
    return {
        "kind": "answer",
        "k": trial.k,
        "gold": trial.gold,
        "raw_answer": reply.text,
        **fields,
        "table": None if table is None else [list(pair) for pair in table],
        "score_mode": mode,
        "tie_rule": options.tie,
        "oracle_p": belief.p_gold,
        "oracle_identified": belief.identified,
        **_circumstances(reply.move or {}, person=person),
    }


def text_payload(item: Item, reply: Reply, *, person: bool) -> dict[str, Any]:
    """Return the payload of an answer in free text."""
    return {
        "kind": "text",
        "raw_answer": reply.text,
        "category": classify(reply.text) if isinstance(item, AwsPrompt) else None,
        **_circumstances(reply.move or {}, person=person),
    }


def _circumstances(move: Mapping[str, Any], *, person: bool) -> dict[str, Any]:
    """Return the parameters of the model call, or when a person saw the trial and whether keys were used."""
    fields = {"decoding": dict(move["decoding"]) if "decoding" in move else None}
    if not person:
        return fields
    return {**fields, "person": True, "private": _PRIVATE, **measurements(move, PARTICIPANT)}


def person_text(text: str) -> str:
    """Return a person's text in a trial, as logged.

    Raises:
        SeatError: if it is empty or too long.
    """
    if not text.strip():
        raise SeatError("Nothing was answered.", PARTICIPANT, code="nothing_said")
    return checked_length(text, PARTICIPANT)


SEED: Final = 0
_TEXT_TOKENS: Final = 60  # for free text (spec sections 8 and 9)
Say = Callable[[Belief], Label | None]
"""Rule of a built-in player: the label it says; None if it guesses."""


class OfflineParticipant:
    """A built-in player that applies a rule to the learner's belief, and else guesses by the turn's seed."""

    kind: Kind = "offline"

    def __init__(self, name: str, say: Say) -> None:
        self.name = name
        self._say = say

    async def score_all(self, view: View) -> tuple[Reply, ...]:
        """See `ScoresAll`."""
        knows: PromptKnows = view.task
        return tuple(
            Reply(
                text=self._say(knows.beliefs[trial.k - 1]) or self._guess(derive_seed(knows.seed, number)),
                seconds=0.0,
            )
            for number, trial in enumerate(knows.trials, start=view.number)
        )

    def _guess(self, seed: int) -> Label:
        # The name is part of the seed, so that two players do not make the same guesses.
        return Random(derive_seed(seed, self.name)).choice(LABELS)

    async def reply(self, view: View) -> Reply:
        """Raise an error: built-in players do not write free text.

        Raises:
            SeatError: always.
        """
        raise SeatError(
            f"{self.name} answers with labels, not in free text.", PARTICIPANT, code="labels_only"
        )


PLAYERS: Final[dict[str, Say]] = {
    "offline/oracle": lambda belief: best_guess(belief.p_x),
    "offline/oracle:literal": lambda belief: best_guess(belief.p_x) if belief.identified else None,
    "offline/random": lambda belief: None,
}
"""The Bayes-optimal learner; ``:literal`` guesses until one hypothesis is left (spec section 12)."""


class ModelParticipant:
    """A model that completes trial by trial, as plain text if it can, else in a chat."""

    kind: Kind = "model"

    def __init__(self, model: ChatModel) -> None:
        self._model = model
        self.name = model.name

    async def reply(self, view: View) -> Reply:
        """Return the model's completion of a trial; see `label_payload` for the move."""
        knows: TrialKnows = view.task
        options = Options.read(view.options)
        request = as_sent(self._model, self._request(view, knows, options))
        completion = await self._model.complete(request)
        move: dict[str, Any] = {"decoding": _decoding(request, self.name, options)}
        if request.top_logprobs is not None:
            move["table"] = label_table(completion)
        return Reply(text=completion.text, move=move, seconds=completion.seconds)

    def _request(self, view: View, knows: TrialKnows, options: Options) -> Request:
        can = self._model.capabilities
        label = knows.answer == "label"
        messages, version = messages_for(view, knows, options, plain=can.plain)
        # Naming the task is sampled, so that repeated answers to a prompt differ; the rest is greedy.
        sampled = knows.setting == "verbalise"
        return Request(
            messages=messages,
            plain=can.plain,
            temperature=1.0 if sampled else 0.0,
            max_tokens=options.max_tokens if label else _TEXT_TOKENS,
            seed=view.seed if sampled else SEED,
            stop=("\n",) if knows.setting == "aws" else (),
            top_logprobs=options.top if label and can.logprobs else None,
            purpose=PARTICIPANT,
            prompt_version=version,
            episode_id=view.episode_id,
            turn_number=view.number,
            repeat=view.repeat,
        )


class ScoringParticipant(ModelParticipant):
    """A model that scores all labels of a prompt in one call, and only writes free text."""

    async def score_all(self, view: View) -> tuple[Reply, ...]:
        """See `ScoresAll`; `seconds` of an answer are its share of the call, including waiting."""
        knows: PromptKnows = view.task
        options = Options.read(view.options)
        offsets = tuple(trial.offset for trial in knows.trials if trial.offset is not None)
        scored = await self._model.score(
            ScoreRequest(
                text=whole_text(knows.prompt),
                offsets=offsets,
                top=options.top,
                purpose=PARTICIPANT,
                episode_id=view.episode_id,
                turn_number=view.number,
            )
        )
        decoding = {"service": self.name, "scored": True, "top": options.top}
        share = scored.seconds / len(offsets)
        return tuple(
            Reply(
                text=position.top[0][0] if position.top else "",
                move={"table": position.top, "decoding": decoding},
                seconds=share,
            )
            for position in scored.positions
        )


def seat_for(
    seat: str, name: str, models: Callable[[str], ChatModel], options: Mapping[str, Any] = NO_OPTIONS
) -> Seat:
    """Return the seat called `name`: a built-in player, else a language model.

    Raises:
        InputError: if there is no such built-in player.
        ModelError: if the model cannot be loaded.
    """
    if name in PLAYERS:
        return OfflineParticipant(name, PLAYERS[name])
    refuse_unknown(seat, name, BENCHMARK.seat(seat).known)
    model = models(name)
    return ScoringParticipant(model) if model.capabilities.scoring else ModelParticipant(model)


def messages_for(
    view: View, knows: TrialKnows, options: Options, *, plain: bool
) -> tuple[tuple[Message, ...], str]:
    """Return the messages of a trial, with a system prompt in a chat, and the version of that prompt."""
    trial = Message("user", knows.text)
    if plain or options.system == "none":
        return (trial,), ""
    system = render("ambibench/continue", view.language, {"answer": knows.answer})
    return (Message("system", system.text), trial), system.version


def label_table(completion: Completion) -> tuple[tuple[str, float], ...]:
    """Return tokens with log-probabilities at the label's position: the first token that is not white space.

    If all tokens are white space, it is the first one: white space then competes with the labels. The table
    is empty if nothing was written.
    """
    tokens = completion.logprobs
    place = next((token for token in tokens if token.token.strip()), tokens[0] if tokens else None)
    if place is None:
        return ()
    # Some servers omit the token written from its alternatives.
    listed = any(token == place.token for token, _ in place.top)
    return place.top if listed else ((place.token, place.logprob), *place.top)


def _decoding(request: Request, service: str, options: Options) -> dict[str, Any]:
    return {
        "service": service,
        "temperature": request.temperature,
        "max_tokens": request.max_tokens,
        **({"top_p": request.top_p} if request.top_p != 1 else {}),
        "top": request.top_logprobs,
        "plain": request.plain,
        "system": "none" if request.plain else options.system,
        "seed": request.seed,
    }
