"""Language models in the annotator's seat, in every task."""

from __future__ import annotations

import asyncio

from simulator.ambient.items import ClaimItem, ContinueItem, GenerateItem, Item, NliItem, TrueFalseItem
from simulator.ambient.players.inference import ClaimScorer, scored_claim
from simulator.ambient.players.knows import Knows
from simulator.ambient.players.likelihoods import continue_all, judge_all
from simulator.ambient.players.writing import FILLED, fill_in, generate, paraphrase
from simulator.ambient.playing import ANNOTATOR
from simulator.errors import SeatError
from simulator.models import ChatModel
from simulator.seats import Kind, Reply, View


class ModelAnnotator:
    """A language model. Where steps do not rest on each other, all of an item's are asked at once.

    Args:
        model: the model.
        scorer: scores its paraphrases of claims; only that task needs one.
    """

    kind: Kind = "model"

    def __init__(self, model: ChatModel, scorer: ClaimScorer | None = None) -> None:
        self._model = model
        self._scorer = scorer
        self.name = model.name

    def answers_all(self, item: Item) -> bool:
        """Return True if steps do not rest on each other: those of a crowdworker do."""
        return isinstance(item, TrueFalseItem | ContinueItem | NliItem)

    async def answer_all(self, view: View) -> tuple[Reply, ...]:
        """See `AnswersAll`."""
        knows: Knows = view.task
        match knows.item:
            case TrueFalseItem():
                return await judge_all(self._model, view, knows.item)
            case ContinueItem():
                return await continue_all(self._model, view, knows.item)
        places = range(len(knows.steps))
        return tuple(await asyncio.gather(*(fill_in(self._model, view, place) for place in places)))

    async def reply(self, view: View) -> Reply:
        """Do the step that is due.

        Raises:
            SeatError: if paraphrases are to be scored, and there is nothing to score them with.
            ModelError: if the model fails.
        """
        knows: Knows = view.task
        item, kind = knows.item, knows.steps[0].kind
        if kind in FILLED:
            return await fill_in(self._model, view)
        if isinstance(item, GenerateItem):
            return await generate(self._model, view, item)
        if isinstance(item, ClaimItem) and kind == "paraphrase":
            return await paraphrase(self._model, view, item)
        if isinstance(item, ClaimItem) and self._scorer is not None:
            kept = [text for text in dict(knows.said)["paraphrase"].split("\n") if text]
            return scored_claim(await self._scorer(item.cleaned, kept), self._scorer.name)
        raise SeatError(f"{self.name} cannot do the step {kind} here.", ANNOTATOR, code="task")
