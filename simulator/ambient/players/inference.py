"""Models of inference in a folder: label sets of pairs, scores of paraphrases (spec 9, 10)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from typing import Final, Generic, TypeVar

from simulator.ambient.claims import THRESHOLD, second_highest
from simulator.ambient.items import Item, NliItem
from simulator.ambient.labels import LABELS, Label, LabelSet
from simulator.ambient.nli.families import CLASSES, Scores, label_set, plain_threshold
from simulator.ambient.nli.predict import Predictor, load_predictor
from simulator.ambient.playing import ANNOTATOR
from simulator.ambient.records import Paraphrase
from simulator.ambient.views import Knows
from simulator.errors import SeatError
from simulator.seats import Kind, Reply, View

PREFIX: Final = "nli:"
Pair = tuple[str, str]
T = TypeVar("T")


class Together(Generic[T]):
    """Pairs that are asked about at about the same time are read together, in a thread of their own."""

    def __init__(self, read: Callable[[Sequence[Pair]], list[T]]) -> None:
        self._read = read
        self._thread = ThreadPoolExecutor(1, "inference")
        self._lock = Lock()
        self._waiting: list[tuple[Sequence[Pair], Future[list[T]]]] = []

    async def __call__(self, pairs: Sequence[Pair]) -> list[T]:
        """Return what is found for each pair.

        Raises:
            Exception: whatever reading them raised.
        """
        future: Future[list[T]] = Future()
        with self._lock:
            self._waiting.append((pairs, future))
        self._thread.submit(self._round)
        return await asyncio.wrap_future(future)

    def _round(self) -> None:
        with self._lock:
            waiting, self._waiting = self._waiting, []
        calls = [call for call in waiting if call[1].set_running_or_notify_cancel()]
        if not calls:
            return
        try:
            found = iter(self._read([pair for pairs, _ in calls for pair in pairs]))
        except Exception as error:
            for _, future in calls:
                future.set_exception(error)
            return
        for pairs, future in calls:
            future.set_result([next(found) for _ in pairs])


class NliAnnotator:
    """``nli:FOLDER`` gives every pair of an item a label set; of other tasks it does none.

    Args:
        name: as the log names it.
        predictor: the model.
    """

    kind: Kind = "model"

    def __init__(self, name: str, predictor: Predictor) -> None:
        self.name = name
        self._names = CLASSES[predictor.output]
        self._threshold = predictor.threshold
        self._scores: Together[Scores] = Together(predictor.scores)

    def answers_all(self, item: Item) -> bool:
        """Return all pairs of an item at once."""
        return True

    async def answer_all(self, view: View) -> tuple[Reply, ...]:
        """Return a label set for each pair that is left.

        Raises:
            SeatError: in another task.
        """
        knows: Knows = view.task
        if not isinstance(knows.item, NliItem):
            raise SeatError(f"{self.name} gives label sets; it does no task {knows.item.task}.", ANNOTATOR)
        every = knows.item.pairs
        found = await self._scores([every[step.number] for step in knows.steps])
        return tuple(self._reply(scores) for scores in found)

    async def reply(self, view: View) -> Reply:
        """Return one pair."""
        return (await self.answer_all(view))[0]

    def _reply(self, scores: Scores) -> Reply:
        labels: LabelSet = label_set(scores, self._threshold)
        return Reply(
            text=", ".join(label for label in LABELS if label in labels),
            move={
                "prediction": [label for label in LABELS if label in labels],
                "logits": dict(zip(self._names, scores, strict=True)),
                "threshold": plain_threshold(self._threshold),
            },
        )


def load_annotator(name: str) -> NliAnnotator:
    """Return the seat ``nli:FOLDER``.

    Raises:
        Unsupported: if torch or transformers is missing.
        InputError: if the folder holds no such model, or none that makes label sets.
    """
    predictor = load_predictor(name.removeprefix(PREFIX))
    predictor.label_sets([])  # says what is missing, before anything is played
    return NliAnnotator(name, predictor)


class ClaimScorer:
    """Scores the paraphrases of claims; `score` may be called for several claims at a time.

    Args:
        predictor: a model that gives each label a probability.
    """

    def __init__(self, predictor: Predictor) -> None:
        self.name = predictor.name
        self._probabilities: Together[dict[Label, float]] = Together(predictor.probabilities)

    async def __call__(self, cleaned: str, paraphrases: Sequence[str]) -> tuple[Paraphrase, ...]:
        """Paraphrases with their scores, the claim being the premise."""
        found = await self._probabilities([(cleaned, text) for text in paraphrases])
        pairs = zip(paraphrases, found, strict=True)
        return tuple(Paraphrase(text, second_highest(some), some) for text, some in pairs)


def load_scorer(folder: str) -> ClaimScorer:
    """Return the model in `folder` for claims.

    Raises:
        Unsupported: if torch or transformers is missing.
        InputError: if the folder holds no such model, or one that gives no probabilities.
    """
    predictor = load_predictor(folder)
    predictor.probabilities([("", "")])  # says what is missing, before anything is played
    return ClaimScorer(predictor)


def scored_claim(paraphrases: Sequence[Paraphrase], service: str) -> Reply:
    """Return the reply of a claim's second step."""
    score = max((paraphrase.score for paraphrase in paraphrases), default=None)
    return Reply(
        text="" if score is None else f"{score:.4f}",
        move={
            "paraphrases": [
                {
                    "text": paraphrase.text,
                    "probabilities": dict(paraphrase.probabilities or {}),
                    "score": paraphrase.score,
                }
                for paraphrase in paraphrases
            ],
            "score": score,
            "flagged": score is not None and score > THRESHOLD,
            "decoding": {"service": service, "threshold": THRESHOLD},
        },
    )
