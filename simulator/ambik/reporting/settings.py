"""What `askback report ambik` can be told: whose decisions count, and how sets are made of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import typer

from simulator.ambik.settings import (
    CalibrationTruth,
    CpRule,
    IcrRule,
    Metrics,
    Quantile,
    Settings,
    Tokens,
    read_settings,
    settings_option,
)
from simulator.duplicates import DuplicatesOption
from simulator.fields import Fields

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
    def of(cls, **values: Any) -> Switches:
        """Return those that are not None.

        Raises:
            InputError: if a value is out of range.
        """
        named = {name: value for name, value in values.items() if value is not None}
        read_settings(named)
        return cls(named)

    def over(self, settings: Settings) -> Settings:
        """Return settings with these in place of their own."""
        return read_settings({**settings_option(settings), **self.given})

    def changed(self, settings: Settings) -> dict[str, tuple[Any, Any]]:
        """Return field -> what it was and what it is, of those that these make another."""
        return {
            name: (getattr(settings, name), value)
            for name, value in self.given.items()
            if getattr(settings, name) != value
        }


NONE: Final = Switches({})


class ReportSettings(Fields):
    """The settings of a report; those of prediction sets are, if None, as a run was played."""

    calibration: Annotated[
        tuple[Path, ...], typer.Option(help="a file of decisions on calibration items; may be repeated")
    ] = ()
    data: Annotated[
        str | None,
        typer.Option(
            help="the pairs that files of decisions are of, where they do not say: a name or a path"
        ),
    ] = None
    part: Annotated[
        Literal["all", "released", "added"],
        typer.Option(help="of the pairs: of the paper's kind, or as added in 2025; all: both, told apart"),
    ] = "all"
    target_success: Annotated[float | None, typer.Option(help="1 - epsilon", show_default="0.8")] = None
    temperature: Annotated[
        float | None, typer.Option(help="KnowNo, LAP: of the softmax", show_default="5")
    ] = None
    tokens: Annotated[
        Tokens | None, typer.Option(help="KnowNo, LAP: which tokens count", show_default="merged")
    ] = None
    quantile: Annotated[
        Quantile | None, typer.Option(help="how the threshold is taken", show_default="exact")
    ] = None
    cp_rule: Annotated[
        CpRule | None, typer.Option(help="reference: as the published code", show_default="split")
    ] = None
    help_rule: Annotated[
        Literal["size", "original"] | None,
        typer.Option(help="original: empty sets and the fifth option ask, too", show_default="size"),
    ] = None
    calibration_truth: Annotated[
        CalibrationTruth | None,
        typer.Option(help="what is right for pairs in their clear form", show_default="variants"),
    ] = None
    renormalise: Annotated[
        bool | None,
        typer.Option(
            "--renormalise/--no-renormalise", help="LAP: scores add up to 1 again", show_default="no"
        ),
    ] = None
    entropy_weight: Annotated[float | None, typer.Option(help="LofreeCP: lambda 1", show_default="0.1")] = (
        None
    )
    similarity_weight: Annotated[
        float | None, typer.Option(help="LofreeCP: lambda 2", show_default="0.1")
    ] = None
    icr: Annotated[
        IcrRule | None, typer.Option(help="how intent coverage reads a set", show_default="set")
    ] = None
    metrics: Annotated[
        Metrics | None, typer.Option(help="edge cases as in the paper, or as published", show_default="paper")
    ] = None
    task: Annotated[
        tuple[str, ...],
        typer.Option(help="App. K: show scene, plans and all sets of this pair (or all); may be repeated"),
    ] = ()
    lines: Annotated[
        Path | None, typer.Option(help="write every decision of the runs, JSON lines, calibrations first")
    ] = None
    export: Annotated[
        Path | None, typer.Option(help="write the runs' decisions and a table of results into this folder")
    ] = None
    duplicates: DuplicatesOption = "refuse"

    @property
    def switches(self) -> Switches:
        """The settings of prediction sets that were chosen.

        Raises:
            InputError: if a value is out of range.
        """
        names = (*OF_SCORES, "icr", "metrics")
        return Switches.of(**{name: getattr(self, name) for name in names}, help=self.help_rule)
