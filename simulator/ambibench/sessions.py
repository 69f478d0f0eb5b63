"""AmbiBench episodes with people, in free play and studies, for the web app."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any, Literal, get_args
from uuid import uuid4

from pydantic import BaseModel, Field

from logs.rows import Judgment
from simulator.ambibench.assignment import Played, draw_prompt
from simulator.ambibench.features import FEATURES, FORMATS, Feature, Format, Kind
from simulator.ambibench.show import Replay, result_blocks
from simulator.errors import InputError
from simulator.runner.lobby import require_choice
from simulator.runner.machines import Result
from simulator.seeds import derive_seed
from simulator.studies.declared import DrawnItem, PlaySessions
from simulator.studies.graph import COMMENT, CONSENT, READY
from trees import Language


class Play(BaseModel, frozen=True):
    """The choices of free play (4.2 or 4.3); None means a random choice."""

    setting: Literal["multiple", "instruction"] = "multiple"
    kind: Kind = Field("uninformative", json_schema_extra={"fitting": {"wug": {"setting": ["multiple"]}}})
    format: Format | None = None
    feature: Feature | None = None

    @property
    def played(self) -> Played:
        """The setting by length and instruction; ``wug`` is 4.3 with that word (App. D).

        Raises:
            InputError: if the two cannot be combined.
        """
        if self.kind != "wug":
            return self.setting
        if self.setting == "instruction":
            raise InputError("The made-up word is only available with twenty sentences.", code="wug_length")
        return "wug"


class AmbiBenchSessions(PlaySessions):
    """Sessions of free play and studies.

    A person's reply in a trial is the text typed, with ``keys_used`` and ``shown_at`` in `Reply.move`; the
    last reply is the comment, which may be empty.
    """

    choices = Play
    # Measurements of these pages were never logged.
    outer_steps = tuple(replace(step, measured=False) for step in (CONSENT, READY, COMMENT))

    async def draw_item(
        self, rules: Mapping[str, Any], seat: str, seats: Mapping[str, str], item: int | None, language: str
    ) -> DrawnItem:
        """See `PlaySessions.draw_item`; the benchmark's own text is English, whatever the pages' language."""
        play = Play.model_validate(rules)
        seed = uuid4().int >> 97
        random = Random(derive_seed(seed, "play"))
        prompt = draw_prompt(
            seed,
            play.played,
            play.kind,
            random.choice(FEATURES) if play.feature is None else play.feature,
            random.choice(FORMATS) if play.format is None else play.format,
        )
        options = {"language": require_choice("language", language, get_args(Language))}
        # The episode's id may be visible, so it must not contain the item's name, which reveals the task.
        return DrawnItem(prompt, options, play.played)

    def _reveal(self, here: Any, judgments: Sequence[Judgment]) -> Result:
        replay = super()._reveal(here, tuple(judgments))
        blocks = result_blocks(replay) if isinstance(replay, Replay) else ()
        return Result(language="en", moves=(), blocks=blocks)
