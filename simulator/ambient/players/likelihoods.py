"""Models that are looked at for probabilities: true or false (spec 7), continuations (spec 8)."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from simulator.ambient.continuations import one_sentence
from simulator.ambient.items import ContinueItem, TrueFalseItem
from simulator.ambient.playing import Options, statements
from simulator.ambient.true_false import FALSE, TRUE, true_false_prompt
from simulator.ambient.views import Knows, asked_in
from simulator.models import ChatModel, Likelihood, Message, Request, ScoreRequest, as_sent, sample
from simulator.models.decoding import drawn
from simulator.seats import Reply, View

SEED: Final = 0
_STOPS: Final = (".", "!", "?")
_SHORTEST: Final = 2
"""Letters of a continuation that counts (spec 8)."""


async def judge_all(model: ChatModel, view: View, item: TrueFalseItem) -> tuple[Reply, ...]:
    """Return whether a model takes each of the statements that are left for true; all are asked at once.

    A model that scores texts is asked for the probabilities of both words, one that continues texts and
    tells probabilities for a table of the likeliest words, and any other for one word.
    """
    knows: Knows = view.task
    every, ask = statements(item), _word
    if model.capabilities.scoring:
        ask = _scores
    elif model.capabilities.plain and model.capabilities.logprobs:
        ask = _table
    asked = (every[step.number] for step in knows.steps)
    prompts = (true_false_prompt(each.template, item.sentence, each.rewrite) for each in asked)
    return tuple(await asyncio.gather(*(ask(model, view, *prompt) for prompt in enumerate(prompts))))


async def _scores(model: ChatModel, view: View, place: int, prompt: str) -> Reply:
    """Return the log-probabilities of both words in one pass; of a word of several tokens, of its first."""
    both = await model.score(
        ScoreRequest(
            text=prompt,
            continuations=(TRUE, FALSE),
            top=0,
            **asked_in(view, "true_false", place),
        )
    )
    if all(likelihood.logprob is not None and likelihood.tokens == 1 for likelihood in both.likelihoods):
        true, false = (likelihood.logprob for likelihood in both.likelihoods)
        return _judged(model, true, false, both.seconds)
    return await _first_tokens(model, view, place, prompt)


def _judged(model: ChatModel, true: float | None, false: float | None, seconds: float) -> Reply:
    decoding = {"service": model.name, "scored": True}
    return Reply(move={"scores": {"True": true, "False": false}, "decoding": decoding}, seconds=seconds)


async def _first_tokens(model: ChatModel, view: View, place: int, prompt: str) -> Reply:
    """Return the log-probabilities of the first token of either word, where one has several."""
    first = len(prompt) + 1
    scored = await asyncio.gather(
        *(
            model.score(
                ScoreRequest(
                    text=prompt + word,
                    offsets=(first,),
                    top=0,
                    **asked_in(view, "true_false", place),
                )
            )
            for word in (TRUE, FALSE)
        )
    )
    true, false = (scores.positions[0].logprob for scores in scored)
    return _judged(model, true, false, max(scores.seconds for scores in scored))


async def _table(model: ChatModel, view: View, place: int, prompt: str) -> Reply:
    top = Options.read(view.options).top
    request = _one_token(view, place, prompt, plain=True, top=top)
    answer = await model.complete(request)
    table: dict[str, float] = {}
    for token in answer.logprobs[:1]:
        # Some servers leave the token that was written out of its own alternatives.
        table = {token.token: token.logprob, **dict(token.top)}
    decoding = {"service": model.name, "temperature": 0.0, "max_tokens": 1, "top": top, "plain": True}
    return Reply(text=answer.text, move={"table": table, "decoding": decoding}, seconds=answer.seconds)


async def _word(model: ChatModel, view: View, place: int, prompt: str) -> Reply:
    request = as_sent(model, _one_token(view, place, prompt, plain=model.capabilities.plain))
    answer = await model.complete(request)
    decoding = {"service": model.name, **drawn(request)}
    return Reply(text=answer.text, move={"decoding": decoding}, seconds=answer.seconds)


def _one_token(view: View, place: int, prompt: str, *, plain: bool, top: int | None = None) -> Request:
    return Request(
        messages=(Message("user", prompt),),
        plain=plain,
        temperature=0.0,
        max_tokens=1,
        seed=SEED,
        top_logprobs=top,
        repeat=view.repeat,
        **asked_in(view, "true_false", place),
    )


async def continue_all(model: ChatModel, view: View, item: ContinueItem) -> tuple[Reply, ...]:
    """Return continuations of each option that is left, and how probable each is after it and the original.

    An option is one request for all its samples and two for their probabilities.
    """
    knows: Knows = view.task
    places = range(len(knows.steps))
    return tuple(await asyncio.gather(*(_continue(model, view, item, place) for place in places)))


async def _continue(model: ChatModel, view: View, item: ContinueItem, place: int) -> Reply:
    knows: Knows = view.task
    _, sentence = item.options[knows.steps[place].number]
    own, original = item.stem + sentence, item.stem + item.sentence
    request = as_sent(
        model,
        Request(
            messages=(Message("user", own),),
            plain=True,
            temperature=1.0,
            max_tokens=item.max_tokens,
            seed=knows.seeds[place],
            stop=_STOPS,
            samples=item.wanted,
            repeat=view.repeat,
            **asked_in(view, "continue", place),
        ),
    )
    answers = await sample(model, request)
    texts = [one_sentence(text) if text.strip() else "" for text in answers.samples]
    (after_own, took), (after_original, more) = await asyncio.gather(
        *(_likelihoods(model, view, place, before, texts) for before in (own, original))
    )
    move: dict[str, Any] = {
        "continuations": texts,
        "own": [each.logprob for each in after_own],
        "original": [each.logprob for each in after_original],
        "tokens": [each.tokens for each in after_own],
        "decoding": {
            "service": model.name,
            **drawn(request),
            "top_p": request.top_p,
            "stop": list(_STOPS),
            "samples": item.wanted,
            "stem": item.stem,
        },
    }
    return Reply(move=move, seconds=answers.seconds + max(took, more))


async def _likelihoods(
    model: ChatModel, view: View, place: int, before: str, texts: list[str]
) -> tuple[list[Likelihood], float]:
    """Return what each text's probability is after `before`; those that are too short to count have none."""
    counted = [text for text in texts if len(text) >= _SHORTEST]
    if not counted:
        return [Likelihood(None, 0)] * len(texts), 0.0
    scored = await model.score(
        ScoreRequest(
            text=before,
            continuations=tuple(counted),
            top=0,
            **asked_in(view, "continue", place),
        )
    )
    likelihoods = iter(scored.likelihoods)
    kept = [next(likelihoods) if len(text) >= _SHORTEST else Likelihood(None, 0) for text in texts]
    return kept, scored.seconds
