"""Switches of `settings.Settings` on the command line: None stands for what a run was played with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

import typer

from simulator.ambik.playing import read_settings, settings_option
from simulator.ambik.settings import CalibrationTruth, CpRule, IcrRule, Metrics, Quantile, Settings, Tokens

TargetOption = Annotated[
    float | None, typer.Option("--target-success", help="1 - epsilon", show_default="0.8")
]
TemperatureOption = Annotated[
    float | None, typer.Option("--temperature", help="KnowNo, LAP: of the softmax", show_default="5")
]
TokensOption = Annotated[
    Tokens | None, typer.Option("--tokens", help="KnowNo, LAP: which tokens count", show_default="merged")
]
QuantileOption = Annotated[
    Quantile | None, typer.Option("--quantile", help="how the threshold is taken", show_default="exact")
]
CpRuleOption = Annotated[
    CpRule | None, typer.Option("--cp-rule", help="reference: as the published code", show_default="split")
]
HelpRuleOption = Annotated[
    Literal["size", "original"] | None,
    typer.Option(
        "--help-rule", help="original: empty sets and the fifth option ask, too", show_default="size"
    ),
]
TruthOption = Annotated[
    CalibrationTruth | None,
    typer.Option(
        "--calibration-truth", help="what is right for pairs in their clear form", show_default="variants"
    ),
]
RenormaliseOption = Annotated[
    bool | None,
    typer.Option("--renormalise/--no-renormalise", help="LAP: scores add up to 1 again", show_default="no"),
]
EntropyOption = Annotated[
    float | None, typer.Option("--entropy-weight", help="LofreeCP: lambda 1", show_default="0.1")
]
SimilarityOption = Annotated[
    float | None, typer.Option("--similarity-weight", help="LofreeCP: lambda 2", show_default="0.1")
]
IcrOption = Annotated[
    IcrRule | None, typer.Option("--icr", help="how intent coverage reads a set", show_default="set")
]
MetricsOption = Annotated[
    Metrics | None,
    typer.Option("--metrics", help="edge cases as in the paper, or as published", show_default="paper"),
]
OF_SCORES: Final = (
    *("target_success", "temperature", "tokens", "quantile", "cp_rule", "calibration_truth", "renormalise"),
    *("entropy_weight", "similarity_weight"),
)
"""Settings on which a threshold rests: with others it has to be taken anew."""


@dataclass(frozen=True, slots=True)
class Switches:
    """Settings that are laid over those of a run.

    Attributes:
        given: by field of `Settings`.
    """

    given: Mapping[str, Any]

    @classmethod
    def of(cls, **given: Any) -> Switches:
        """Those that are not None.

        Raises:
            InputError: if a value is out of range.
        """
        named = {name: value for name, value in given.items() if value is not None}
        read_settings(named)
        return cls(named)

    def over(self, settings: Settings) -> Settings:
        """Settings with these in place of their own."""
        return read_settings({**settings_option(settings), **self.given})

    def changed(self, settings: Settings) -> dict[str, tuple[Any, Any]]:
        """Field -> what it was and what it is, of those that these make another."""
        return {
            name: (getattr(settings, name), value)
            for name, value in self.given.items()
            if getattr(settings, name) != value
        }


NONE: Final = Switches({})
