"""AmbiEnt episodes played by people, in free play and studies, as served by the web app."""

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
from simulator.studies.declared import DrawnItem, PlaySessions
from simulator.studies.graph import CONSENT, READY
from trees import Language

PlayedTask = Literal["crowd", "annotate", "true_false"]
"""The tasks of free play; ``evaluate`` is not one, since it needs a model's rewrites."""


class Play(BaseModel, frozen=True):
    """The choice of free play: the task."""

    task: PlayedTask = "crowd"


class AmbientSessions(PlaySessions):
    """Free play and studies.

    A person answers a step with `Reply.move`: the fields of the step's form (`payloads.read_form`), and
    ``keys_used`` and ``shown_at``.
    """

    choices = Play
    outer_steps = (CONSENT, READY)

    async def draw_item(
        self, rules: Mapping[str, Any], seat: str, seats: Mapping[str, str], item: int | None, language: str
    ) -> DrawnItem:
        """See `PlaySessions.draw_item`; sentences are English in every language of the pages."""
        play = Play.model_validate(rules)
        options = {"language": require_choice("language", language, get_args(Language))}
        # An example's name could be looked up, so the episode is named after the task.
        return DrawnItem(_drawn_item(play.task, uuid4().int >> 97), options, play.task)


def _drawn_item(task: PlayedTask, seed: int) -> Item:
    """Return an item of a random built-in example; linguists also get unambiguous ones."""
    random = Random(derive_seed(seed, "play"))
    examples = load_examples()
    if task == "annotate":
        return random.choice(annotate_items(examples))
    if task == "crowd":
        return random.choice(crowd_items(examples, seed=seed))
    return random.choice(true_false_items(examples))
