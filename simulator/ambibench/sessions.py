"""AmbiBench episodes with people in them, free play and studies: what the web app calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any, Literal, get_args
from uuid import uuid4

from pydantic import BaseModel, Field

from logs.rows import Judgment
from simulator.ambibench.assignment import Played, drawn_prompt
from simulator.ambibench.features import FEATURES, FORMATS, Feature, Format, Kind
from simulator.ambibench.show import Replay, result_blocks
from simulator.errors import InputError
from simulator.runner.lobby import require_choice
from simulator.runner.machines import Result
from simulator.seeds import derive_seed
from simulator.studies.declared import Drawn, PlaySessions
from simulator.studies.graph import COMMENT, CONSENT, READY
from trees import Language


class Play(BaseModel, frozen=True):
    """The choices of free play; what is None is drawn.

    Attributes:
        setting: ``instruction`` (4.2) or ``multiple`` (4.3).
    """

    setting: Literal["multiple", "instruction"] = "multiple"
    kind: Kind = Field("uninformative", json_schema_extra={"fitting": {"wug": {"setting": ["multiple"]}}})
    format: Format | None = None
    feature: Feature | None = None

    @property
    def played(self) -> Played:
        """Return the setting that length and instruction come to: ``wug`` is 4.3 with that word (App. D).

        Raises:
            InputError: if the two do not go together.
        """
        if self.kind != "wug":
            return self.setting
        if self.setting == "instruction":
            raise InputError("The made-up word goes with twenty sentences only.", code="wug_length")
        return "wug"


class AmbiBenchSessions(PlaySessions):
    """Free play and studies.

    What a person says in a trial is what was typed; at the end comes the comment, which may be empty. In a
    trial `Reply.move` holds ``keys_used`` and ``shown_at``.
    """

    choices = Play
    # What their pages measured was never logged.
    around = tuple(replace(step, measured=False) for step in (CONSENT, READY, COMMENT))

    async def drawn(
        self, rules: Mapping[str, Any], seat: str, seats: Mapping[str, str], item: int | None, language: str
    ) -> Drawn:
        """See `PlaySessions.drawn`; the benchmark's own text is English, whatever the pages' language."""
        play = Play.model_validate(rules)
        seed = uuid4().int >> 97
        random = Random(derive_seed(seed, "play"))
        prompt = drawn_prompt(
            seed,
            play.played,
            play.kind,
            random.choice(FEATURES) if play.feature is None else play.feature,
            random.choice(FORMATS) if play.format is None else play.format,
        )
        options = {"language": require_choice("language", language, get_args(Language))}
        # The item's own name tells what the labels follow, and an episode's id may be seen.
        return Drawn(prompt, options, play.played)

    def _revealed(self, here: Any, judgments: Sequence[Judgment]) -> Result:
        replay = super()._revealed(here, tuple(judgments))
        blocks = result_blocks(replay) if isinstance(replay, Replay) else ()
        return Result(language="en", moves=(), blocks=blocks)
