"""Language models in the participant's seat.

A model that can score given text reads a whole prompt once and gives the probabilities at every label
(`ScoringParticipant`). Another completes trial by trial; if it tells the probabilities of what it writes,
they count, else its text does (spec section 7).
"""

from __future__ import annotations

from typing import Any, Final

from personas.templates import render
from simulator.ambibench.players.knows import PromptKnows, TrialKnows
from simulator.ambibench.playing import PARTICIPANT, Options
from simulator.ambibench.prompt import whole_text
from simulator.models import ChatModel, Completion, Message, Request, ScoreRequest, TokenLogprob, as_sent
from simulator.seats import Kind, Reply, View

SEED: Final = 0
PURPOSE: Final = PARTICIPANT
_TEXT_TOKENS: Final = 60  # of free text (spec sections 8 and 9)


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
            purpose=PURPOSE,
            prompt_version=version,
            episode_id=view.episode_id,
            turn_number=view.number,
            repeat=view.repeat,
        )


class ScoringParticipant(ModelParticipant):
    """Reads a prompt with all its labels once, and is looked at where they stand; writes free text only."""

    async def score_all(self, view: View) -> tuple[Reply, ...]:
        """See `ScoresAll`. The `seconds` of each answer are its share of the one call, waiting included."""
        knows: PromptKnows = view.task
        options = Options.read(view.options)
        offsets = tuple(trial.offset for trial in knows.trials if trial.offset is not None)
        scored = await self._model.score(
            ScoreRequest(
                text=whole_text(knows.prompt),
                offsets=offsets,
                top=options.top,
                purpose=PURPOSE,
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


def messages_for(
    view: View, knows: TrialKnows, options: Options, *, plain: bool
) -> tuple[tuple[Message, ...], str]:
    """Return the text of a trial, after a system prompt if it is a chat; and the version of that prompt."""
    asked = Message("user", knows.text)
    if plain or options.system == "none":
        return (asked,), ""
    said = render("ambibench/continue", view.language, {"answer": knows.answer})
    return (Message("system", said.text), asked), said.version


def label_table(completion: Completion) -> tuple[tuple[str, float], ...]:
    """Tokens and log-probabilities where a label is expected: at the first token that is not white space.

    If all of them are, at the first: white space then competes with the labels. Nothing written is an empty
    table.
    """
    written = completion.logprobs
    place = next((token for token in written if token.token.strip()), written[0] if written else None)
    return () if place is None else _alternatives(place)


def _alternatives(place: TokenLogprob) -> tuple[tuple[str, float], ...]:
    # Some servers leave the token that was written out of its own alternatives.
    if any(token == place.token for token, _ in place.top):
        return place.top
    return ((place.token, place.logprob), *place.top)


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
