"""Who answers AmbiBench's trials: built-in players and language models.

A model that can score given text reads a whole prompt once and gives the probabilities at every label
(`ScoringParticipant`). Another completes trial by trial; if it tells the probabilities of what it writes,
they count, else its text does (spec section 7).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Any, Final

from personas.templates import render
from simulator.ambibench.features import LABELS, Label
from simulator.ambibench.oracle import Belief, best_guess
from simulator.ambibench.playing import Options, PromptKnows, TrialKnows
from simulator.ambibench.prompt import whole_text
from simulator.ambibench.trials import PARTICIPANT
from simulator.errors import InputError, SeatError
from simulator.models import ChatModel, Completion, Message, Request, ScoreRequest, as_sent
from simulator.runner.rooms import NO_OPTIONS
from simulator.seats import Kind, Reply, Seat, View
from simulator.seeds import derive_seed

SEED: Final = 0
_TEXT_TOKENS: Final = 60  # of free text (spec sections 8 and 9)
Say = Callable[[Belief], Label | None]
"""What a built-in player says; None where it guesses."""


class OfflineParticipant:
    """Says what a rule makes of the learner's belief, and guesses by the turn's seed where that says nothing.

    Args:
        name: as the log names it.
        say: the rule.
    """

    kind: Kind = "offline"

    def __init__(self, name: str, say: Say) -> None:
        self.name = name
        self._say = say

    async def score_all(self, view: View) -> tuple[Reply, ...]:
        """See `playing.ScoresAll`."""
        knows: PromptKnows = view.task
        pairs = zip(knows.trials, knows.seeds, strict=True)
        return tuple(
            Reply(text=self._say(knows.beliefs[trial.k - 1]) or self._guess(seed), seconds=0.0)
            for trial, seed in pairs
        )

    def _guess(self, seed: int) -> Label:
        # Each player's guesses are its own: two of them must not agree by seed.
        return Random(derive_seed(seed, self.name)).choice(LABELS)

    async def reply(self, view: View) -> Reply:
        """Refuse to write free text.

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
SEATED: Final = f"{', '.join(PLAYERS)}, provider/model or script:FILE"


class ModelParticipant:
    """Completes trial by trial, in a chat or, where the model can, as plain text."""

    kind: Kind = "model"

    def __init__(self, model: ChatModel) -> None:
        self._model = model
        self.name = model.name

    async def reply(self, view: View) -> Reply:
        """Ask the model for what comes next; see `playing.label_payload` for the move."""
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
        # Naming a task is sampled, so that several answers to one prompt differ; the rest is greedy.
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
    """Reads a prompt with all its labels once, and is looked at where they stand; writes free text only."""

    async def score_all(self, view: View) -> tuple[Reply, ...]:
        """See `playing.ScoresAll`; `seconds` of an answer are its share of the one call, waiting included."""
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
        InputError: if an offline name means nothing here.
        ModelError: if the model cannot be loaded.
    """
    if name in PLAYERS:
        return OfflineParticipant(name, PLAYERS[name])
    if name.startswith("offline/") and not name.startswith("offline/script"):
        raise InputError(f"Nobody called {name!r} can sit in the {seat}'s seat; known are {SEATED}.")
    model = models(name)
    return ScoringParticipant(model) if model.capabilities.scoring else ModelParticipant(model)


def messages_for(
    view: View, knows: TrialKnows, options: Options, *, plain: bool
) -> tuple[tuple[Message, ...], str]:
    """Return the text of a trial, after a system prompt if it is a chat; and the version of that prompt."""
    asked = Message("user", knows.text)
    if plain or options.system == "none":
        return (asked,), ""
    system = render("ambibench/continue", view.language, {"answer": knows.answer})
    return (Message("system", system.text), asked), system.version


def label_table(completion: Completion) -> tuple[tuple[str, float], ...]:
    """Return tokens and log-probabilities where a label is expected: at the first that is not white space.

    If all of them are, at the first: white space then competes with the labels. Nothing written is an empty
    table.
    """
    written = completion.logprobs
    place = next((token for token in written if token.token.strip()), written[0] if written else None)
    if place is None:
        return ()
    # Some servers leave the token that was written out of its own alternatives.
    told = any(token == place.token for token, _ in place.top)
    return place.top if told else ((place.token, place.logprob), *place.top)


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
