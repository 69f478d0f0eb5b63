"""Cells of a study and the prompt of each participant's place (spec section 10).

A cell is a salient feature, a format and a polarity (the value labelled X), such as ``("subject", "arrow",
"human")``. A study file sets the number of participants per feature; formats and polarities are balanced
within it. The prompt is drawn from the seed of the place, which derives from the study's, so it can be
reproduced.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Final, Literal, Self

from pydantic import Field, model_validator

from simulator.ambibench.features import (
    BRACKETED,
    FEATURES,
    FORMATS,
    VALUES,
    Feature,
    Format,
    Kind,
    LocationWord,
    value_code,
)
from simulator.ambibench.generation import draw_instruction, draw_multiple
from simulator.ambibench.items import BENCHMARK
from simulator.ambibench.prompt import PARTICIPANT, Prompt
from simulator.errors import InputError
from simulator.seeds import derive_seed
from simulator.studies import Cell, cell_name, parse_cell
from simulator.studies.material import StudyMaterial
from simulator.studies.parts import StudySettings
from trees import Language

Played = Literal["instruction", "multiple", "wug"]
_KINDS: Final[Mapping[Played, tuple[Kind, ...]]] = {
    "instruction": (*BRACKETED, "wug"),
    "multiple": BRACKETED,
    "wug": ("wug",),
}


class Settings(StudySettings):
    """AmbiBench's part of a study file: its ``settings``."""

    setting: Played
    kind: Kind = Field(default_factory=lambda read: _KINDS[read["setting"]][0])
    location_word: LocationWord = "setting"

    @model_validator(mode="after")
    def _require_fitting(self) -> Self:
        if self.kind not in (kinds := _KINDS[self.setting]):
            raise ValueError(f"kind is {self.kind!r}; it must be one of {', '.join(kinds)}")
        return self


class PatternStudy(StudyMaterial[Settings]):
    """Studies in which participants find the pattern: each plays a prompt of one cell."""

    benchmark = BENCHMARK
    seats = (PARTICIPANT,)
    reads = Settings

    @property
    def task(self) -> str:
        """The setting."""
        return self.settings.setting

    @property
    def cells(self) -> Sequence[Cell]:
        """The cells that the study lists, else all features, formats and polarities.

        Raises:
            InputError: if a condition is not a cell.
        """
        named = tuple(map(parse_cell, self.study.conditions))
        for cell in named:
            self._parts(cell)
        return named or tuple(
            (feature, form, value) for feature in FEATURES for form in FORMATS for value in VALUES[feature]
        )

    def item(self, cell: Cell, seed: int, language: Language = "en") -> Prompt:
        """Return the prompt of a place; format and polarity are drawn if the cell does not set them.

        Raises:
            InputError: if the cell is not valid.
        """
        feature, form, x_is = self._parts(cell)
        return draw_prompt(
            seed,
            self.settings.setting,
            self.settings.kind,
            feature,
            form if form is not None else Random(derive_seed(seed, "format")).choice(FORMATS),
            x_is=x_is,
            location_word=self.settings.location_word,
            name=f"{self.study.id}-{seed}",
        )

    def _parts(self, cell: Cell) -> tuple[Feature, Format | None, bool | None]:
        """Return salient feature, format and polarity of a cell; None for a part that is not set."""
        name, form, value = (*cell, None, None)[:3]
        feature = next((feature for feature in FEATURES if feature == name), None)
        format = next((format for format in FORMATS if format == form), None)
        wrong = len(cell) > 3 or (form and not format)
        if wrong or feature is None or (value and value not in VALUES[feature]):
            raise InputError(
                f"study {self.study.id!r}: there is no condition {cell_name(cell)!r}; write a feature "
                f"({', '.join(FEATURES)}), optionally followed by a format and the value labelled X, "
                "such as subject/arrow/human"
            )
        return feature, format, value_code(feature, value) if value else None


def draw_prompt(
    seed: int,
    setting: Played,
    kind: Kind,
    feature: Feature,
    form: Format,
    *,
    x_is: bool | None = None,
    location_word: LocationWord = "setting",
    name: str = "",
) -> Prompt:
    """Return one prompt of a setting that people play.

    Raises:
        InputError: if the setting is not played with that kind of instruction.
    """
    if kind not in _KINDS[setting]:
        raise InputError(
            f"{setting} is played with {' or '.join(_KINDS[setting])}, not with {kind}.", code="not_together"
        )
    draw = draw_instruction if setting == "instruction" else draw_multiple
    return draw(seed, feature, form, kind, x_is=x_is, location_word=location_word, name=name)
