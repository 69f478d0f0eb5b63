"""AmbiEnt episodes with people in them, free play and studies: what the web app calls."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any, Literal, get_args
from uuid import uuid4

from pydantic import BaseModel

from simulator.ambient.data import load_examples
from simulator.ambient.items import Item
from simulator.ambient.playing import ANNOTATOR
from simulator.ambient.prepare import annotate_items, crowd_items, true_false_items
from simulator.runner.declared import read_rules
from simulator.runner.lobby import require_choice
from simulator.seeds import derive_seed
from simulator.studies.declared import PlaySessions
from simulator.studies.graph import CONSENT, READY
from trees import Language

PlayedTask = Literal["crowd", "annotate", "true_false"]
"""What is played freely; the evaluation of a model's rewrites needs some."""


class Play(BaseModel, frozen=True):
    """The choice of free play: the task."""

    task: PlayedTask = "crowd"


class AmbientSessions(PlaySessions):
    """Free play and studies.

    What a person says in a step of the task is `Reply.move`, the step's form (see `payloads.read_form`), with
    ``keys_used`` and ``shown_at`` beside its fields.
    """

    choices = Play
    around = (CONSENT, READY)

    async def start(
        self,
        *,
        seat: str = ANNOTATOR,
        others: Mapping[str, str] | None = None,
        rules: Mapping[str, Any],
        item: int | None = None,
        language: str = "en",
    ) -> str:
        """See `PlaySessions.start`; the benchmark's own text is English, whatever the pages' language."""
        seats = self.seated(seat, others or {})
        play = Play.model_validate(read_rules(Play, rules))
        options = {"language": require_choice("language", language, get_args(Language))}
        drawn = _drawn_item(play.task, uuid4().int >> 97)
        # The item's own name is an example's, which may be looked up; an episode's id may be seen.
        return await self.start_item(drawn, seats, options, name=play.task)


def _drawn_item(task: PlayedTask, seed: int) -> Item:
    """Return an item of a built-in example; linguists also get such as are not ambiguous."""
    random = Random(derive_seed(seed, "play"))
    examples = load_examples()
    if task == "annotate":
        return random.choice(annotate_items(examples))
    if task == "crowd":
        return random.choice(crowd_items(examples, seed=seed))
    return random.choice(true_false_items(examples))
