"""AmbiEnt episodes with people in them, free play and studies: what the web app calls."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any, Literal, get_args
from uuid import uuid4

from pydantic import BaseModel

from simulator.ambient.data import load_examples
from simulator.ambient.items import Item
from simulator.ambient.prepare import annotate_items, crowd_items, true_false_items
from simulator.runner.lobby import require_choice
from simulator.seeds import derive_seed
from simulator.studies.declared import Drawn, PlaySessions
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

    async def drawn(
        self, rules: Mapping[str, Any], seat: str, seats: Mapping[str, str], item: int | None, language: str
    ) -> Drawn:
        """See `PlaySessions.drawn`; the benchmark's own text is English, whatever the pages' language."""
        play = Play.model_validate(rules)
        options = {"language": require_choice("language", language, get_args(Language))}
        # The item's own name is an example's, which may be looked up; an episode's id may be seen.
        return Drawn(_drawn_item(play.task, uuid4().int >> 97), options, play.task)


def _drawn_item(task: PlayedTask, seed: int) -> Item:
    """Return an item of a built-in example; linguists also get such as are not ambiguous."""
    random = Random(derive_seed(seed, "play"))
    examples = load_examples()
    if task == "annotate":
        return random.choice(annotate_items(examples))
    if task == "crowd":
        return random.choice(crowd_items(examples, seed=seed))
    return random.choice(true_false_items(examples))
