"""Answers computed from model scores: true or false (spec 7), continuations (8), label sets (9).

Label sets are predicted by NLI models in a folder, which also score paraphrases of claims (10).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from typing import Any, Final, Generic, TypeVar

from simulator.ambient.claims import THRESHOLD, scored_move, with_scores
from simulator.ambient.continuations import one_sentence
from simulator.ambient.items import ContinueItem, Item, NliItem, TrueFalseItem
from simulator.ambient.labels import Label, format_labels, in_order
from simulator.ambient.nli.families import CLASSES, Scores, label_set, plain_threshold
from simulator.ambient.nli.predict import Predictor, load_predictor
from simulator.ambient.playing import ANNOTATOR, Knows, Options, request_context, request_of, statements
from simulator.ambient.records import Paraphrase
from simulator.ambient.true_false import FALSE, TRUE, true_false_prompt
from simulator.errors import SeatError
from simulator.models import ChatModel, Likelihood, ScoreRequest, as_sent, sample
from simulator.models.decoding import decoding_values
from simulator.seats import Kind, Reply, View

_STOPS: Final = (".", "!", "?")
_SHORTEST: Final = 2
"""Minimum length of a continuation in characters (spec 8)."""


async def judge_all(model: ChatModel, view: View, item: TrueFalseItem) -> tuple[Reply, ...]:
    """Return a model's judgments on the remaining statements, requested concurrently.

    A model that scores texts gives the probabilities of both words, one that continues texts with
    probabilities a table of the likeliest words, and any other model one word.
    """
    knows: Knows = view.task
    every, ask = statements(item), _word
    if model.capabilities.scoring:
        ask = _scores
    elif model.capabilities.plain and model.capabilities.logprobs:
        ask = _table
    remaining = (every[step.number] for step in knows.steps)
    prompts = (true_false_prompt(each.template, item.sentence, each.rewrite) for each in remaining)
    return tuple(await asyncio.gather(*(ask(model, view, *prompt) for prompt in enumerate(prompts))))


async def _scores(model: ChatModel, view: View, place: int, prompt: str) -> Reply:
    """Return the log-probabilities of both words from one pass, or of their first tokens if longer."""
    asked = request_context(view, "true_false", place)
    both = await model.score(ScoreRequest(text=prompt, continuations=(TRUE, FALSE), top=0, **asked))
    if all(likelihood.logprob is not None and likelihood.tokens == 1 for likelihood in both.likelihoods):
        true, false = (likelihood.logprob for likelihood in both.likelihoods)
        return _judgment_reply(model, true, false, both.seconds)
    return await _first_tokens(model, view, place, prompt)


def _judgment_reply(model: ChatModel, true: float | None, false: float | None, seconds: float) -> Reply:
    decoding = {"service": model.name, "scored": True}
    return Reply(move={"scores": {"True": true, "False": false}, "decoding": decoding}, seconds=seconds)


async def _first_tokens(model: ChatModel, view: View, place: int, prompt: str) -> Reply:
    """Return the log-probabilities of the first token of each word."""
    asked = request_context(view, "true_false", place)
    requests = [
        ScoreRequest(text=prompt + word, offsets=(len(prompt) + 1,), top=0, **asked) for word in (TRUE, FALSE)
    ]
    scored = await asyncio.gather(*map(model.score, requests))
    true, false = (scores.positions[0].logprob for scores in scored)
    return _judgment_reply(model, true, false, max(scores.seconds for scores in scored))


async def _table(model: ChatModel, view: View, place: int, prompt: str) -> Reply:
    top = Options.read(view.options).top
    request = request_of(view, "true_false", prompt, place, plain=True, max_tokens=1, top_logprobs=top)
    answer = await model.complete(request)
    table: dict[str, float] = {}
    for token in answer.logprobs[:1]:
        # Some servers do not list the generated token among its alternatives.
        table = {token.token: token.logprob, **dict(token.top)}
    decoding = {"service": model.name, "temperature": 0.0, "max_tokens": 1, "top": top, "plain": True}
    return Reply(text=answer.text, move={"table": table, "decoding": decoding}, seconds=answer.seconds)


async def _word(model: ChatModel, view: View, place: int, prompt: str) -> Reply:
    plain = model.capabilities.plain
    request = as_sent(model, request_of(view, "true_false", prompt, place, plain=plain, max_tokens=1))
    answer = await model.complete(request)
    decoding = {"service": model.name, **decoding_values(request)}
    return Reply(text=answer.text, move={"decoding": decoding}, seconds=answer.seconds)


async def continue_all(model: ChatModel, view: View, item: ContinueItem) -> tuple[Reply, ...]:
    """Return continuations of each remaining option, with their probabilities after it and the original.

    An option takes one request for all its samples and two for their probabilities.
    """
    knows: Knows = view.task
    places = range(len(knows.steps))
    return tuple(await asyncio.gather(*(_continue(model, view, item, place) for place in places)))


async def _continue(model: ChatModel, view: View, item: ContinueItem, place: int) -> Reply:
    knows: Knows = view.task
    _, sentence = item.options[knows.steps[place].number]
    own, original = item.stem + sentence, item.stem + item.sentence
    asked = request_of(
        view,
        "continue",
        own,
        place,
        plain=True,
        temperature=1.0,
        max_tokens=item.max_tokens,
        seed=knows.seeds[place],
        stop=_STOPS,
        samples=item.wanted,
    )
    request = as_sent(model, asked)
    answers = await sample(model, request)
    texts = [one_sentence(text) if text.strip() else "" for text in answers.samples]
    (after_own, own_seconds), (after_original, original_seconds) = await asyncio.gather(
        *(_likelihoods(model, view, place, before, texts) for before in (own, original))
    )
    move: dict[str, Any] = {
        "continuations": texts,
        "own": [each.logprob for each in after_own],
        "original": [each.logprob for each in after_original],
        "tokens": [each.tokens for each in after_own],
        "decoding": {
            "service": model.name,
            **decoding_values(request),
            "top_p": request.top_p,
            "stop": list(_STOPS),
            "samples": item.wanted,
            "stem": item.stem,
        },
    }
    return Reply(move=move, seconds=answers.seconds + max(own_seconds, original_seconds))


async def _likelihoods(
    model: ChatModel, view: View, place: int, before: str, texts: list[str]
) -> tuple[list[Likelihood], float]:
    """Return the likelihood of each text after `before`, without a value for texts that are too short."""
    long_enough = [text for text in texts if len(text) >= _SHORTEST]
    if not long_enough:
        return [Likelihood(None, 0)] * len(texts), 0.0
    asked = request_context(view, "continue", place)
    scored = await model.score(ScoreRequest(text=before, continuations=tuple(long_enough), top=0, **asked))
    scores = iter(scored.likelihoods)
    likelihoods = [next(scores) if len(text) >= _SHORTEST else Likelihood(None, 0) for text in texts]
    return likelihoods, scored.seconds


PREFIX: Final = "nli:"
Pair = tuple[str, str]
T = TypeVar("T")


class BatchedCalls(Generic[T]):
    """A function of pairs whose concurrent calls are combined into batches, in a separate thread."""

    def __init__(self, read: Callable[[Sequence[Pair]], list[T]]) -> None:
        self._read = read
        self._thread = ThreadPoolExecutor(1, "inference")
        self._lock = Lock()
        self._waiting: list[tuple[Sequence[Pair], Future[list[T]]]] = []

    async def __call__(self, pairs: Sequence[Pair]) -> list[T]:
        """Return the function's result for each pair."""
        future: Future[list[T]] = Future()
        with self._lock:
            self._waiting.append((pairs, future))
        self._thread.submit(self._run_batch)
        return await asyncio.wrap_future(future)

    def _run_batch(self) -> None:
        with self._lock:
            waiting, self._waiting = self._waiting, []
        calls = [call for call in waiting if call[1].set_running_or_notify_cancel()]
        if not calls:
            return
        try:
            results = iter(self._read([pair for pairs, _ in calls for pair in pairs]))
        except Exception as error:
            for _, future in calls:
                future.set_exception(error)
            return
        for pairs, future in calls:
            future.set_result([next(results) for _ in pairs])


class NliAnnotator:
    """The player ``nli:FOLDER``, which predicts label sets in the task nli only."""

    kind: Kind = "model"

    def __init__(self, name: str, predictor: Predictor) -> None:
        self.name = name
        self._names = CLASSES[predictor.output]
        self._threshold = predictor.threshold
        self._scores: BatchedCalls[Scores] = BatchedCalls(predictor.scores)

    def answers_all(self, item: Item) -> bool:
        """Return True: all pairs of an item are scored together."""
        return True

    async def answer_all(self, view: View) -> tuple[Reply, ...]:
        """Return a label set for each remaining pair.

        Raises:
            SeatError: if the task is not nli.
        """
        knows: Knows = view.task
        if not isinstance(knows.item, NliItem):
            raise SeatError(f"{self.name} predicts label sets; it cannot do {knows.item.task}.", ANNOTATOR)
        pairs = knows.item.pairs
        scored = await self._scores([pairs[step.number] for step in knows.steps])
        return tuple(self._reply(scores) for scores in scored)

    async def reply(self, view: View) -> Reply:
        """Return the label set of the current pair."""
        return (await self.answer_all(view))[0]

    def _reply(self, scores: Scores) -> Reply:
        labels = label_set(scores, self._threshold)
        return Reply(
            text=format_labels(labels),
            move={
                "prediction": in_order(labels),
                "logits": dict(zip(self._names, scores, strict=True)),
                "threshold": plain_threshold(self._threshold),
            },
        )


def load_annotator(name: str) -> NliAnnotator:
    """Return the player ``nli:FOLDER``.

    Raises:
        Unsupported: if torch or transformers is missing.
        InputError: if the folder contains no NLI model, or the model has no threshold.
    """
    predictor = load_predictor(name.removeprefix(PREFIX))
    predictor.label_sets([])  # raises if the threshold is missing
    return NliAnnotator(name, predictor)


class ClaimScorer:
    """A scorer of claims' paraphrases, which may be called concurrently."""

    def __init__(self, predictor: Predictor) -> None:
        self.name = predictor.name
        self._probabilities: BatchedCalls[dict[Label, float]] = BatchedCalls(predictor.probabilities)

    async def __call__(self, cleaned: str, paraphrases: Sequence[str]) -> tuple[Paraphrase, ...]:
        """Return scored paraphrases, with the claim as premise."""
        return with_scores(paraphrases, await self._probabilities([(cleaned, text) for text in paraphrases]))


def load_scorer(folder: str) -> ClaimScorer:
    """Return a scorer that uses the NLI model in `folder`.

    Raises:
        Unsupported: if torch or transformers is missing.
        InputError: if the folder contains no model that gives label probabilities.
    """
    predictor = load_predictor(folder)
    predictor.probabilities([("", "")])  # raises if the model gives no probabilities
    return ClaimScorer(predictor)


def scored_claim(paraphrases: Sequence[Paraphrase], service: str) -> Reply:
    """Return the reply of a claim's scoring step."""
    move = scored_move(paraphrases)
    text = "" if move["score"] is None else f"{move['score']:.4f}"
    return Reply(text=text, move={**move, "decoding": {"service": service, "threshold": THRESHOLD}})
