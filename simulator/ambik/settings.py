"""Switches of calibration, sets and metrics, each with the paper's rule as default (spec 5, 7, 8, 10)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import ConfigDict, Field, Strict, TypeAdapter, ValidationError

from simulator.errors import InputError
from simulator.field_faults import first_fault
from simulator.field_options import Option
from simulator.fields import Flag

Tokens = Literal["merged", "raw_top5"]
Quantile = Literal["exact", "numpy_higher", "numpy_linear"]
CpRule = Literal["split", "reference"]
CalibrationTruth = Literal["variants", "intent_for_clear"]
IcrRule = Literal["set", "best_option"]
Metrics = Literal["paper", "reference"]
Weight = Annotated[float, Strict(), Field(allow_inf_nan=False)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The rules by which prediction sets are made of what a method logged. None of it needs a model again.

    Attributes:
        not_listed: there is a fifth option that none of the others is right (spec 8.1); it is on for KnowNo's
            data. Chosen when options are made: a run has it or has not.
        help: ``size``: a set of more than one asks; ``original``: one that has not exactly one element, or
            has the fifth option, does (spec 8.1).
    """

    __pydantic_config__: ClassVar = ConfigDict(extra="forbid")

    target_success: Annotated[Weight, Field(gt=0, lt=1, description="1 - epsilon")] = 0.8
    temperature: Annotated[Weight, Field(gt=0, description="KnowNo, LAP: of the softmax")] = 5.0
    tokens: Annotated[Tokens, Field(description="KnowNo, LAP: which tokens count")] = "merged"
    quantile: Annotated[Quantile, Field(description="how the threshold is taken")] = "exact"
    cp_rule: Annotated[CpRule, Field(description="reference: as the published code")] = "split"
    not_listed: Annotated[
        Flag,
        Option(unset=True),
        Field(description="a fifth option that none is right; default: with KnowNo's data"),
    ] = False
    help: Annotated[
        Literal["size", "original"],
        Option(name="help_rule"),
        Field(description="original: asks also of empty sets and the fifth option"),
    ] = "size"
    calibration_truth: Annotated[
        CalibrationTruth, Field(description="what is right for pairs used in their clear form")
    ] = "variants"
    renormalise: Annotated[Flag, Field(description="LAP: scores add up to 1 again")] = False
    entropy_weight: Annotated[Weight, Field(description="LofreeCP: lambda 1")] = 0.1
    similarity_weight: Annotated[Weight, Field(description="LofreeCP: lambda 2")] = 0.1
    icr: Annotated[IcrRule, Field(description="how intent coverage reads a set")] = "set"
    metrics: Annotated[Metrics, Field(description="edge cases as in the paper, or as published")] = "paper"


DEFAULT: Final = Settings()
ORIGINAL_KNOWNO: Final = Settings(
    tokens="raw_top5", quantile="numpy_higher", not_listed=True, help="original"
)
"""KnowNo's published rule (spec 8.1, 9)."""
_READER: Final = TypeAdapter(Settings)
_NAMES: Final = tuple(each.name for each in fields(Settings))


def settings_option(settings: Settings) -> dict[str, Any]:
    """Return settings as an episode's options hold them: what differs from the default."""
    values = ((name, getattr(settings, name)) for name in _NAMES)
    return {name: value for name, value in values if value != getattr(DEFAULT, name)}


def read_settings(option: object) -> Settings:
    """Return settings out of plain values; what is not named is as by default.

    Raises:
        InputError: if there is no such setting, or a value is none that it can have.
    """
    if isinstance(option, Settings):
        return option
    if not isinstance(option, Mapping):
        raise InputError(f"settings {option!r}: must be an object of settings")
    try:
        return _READER.validate_python(option)
    except ValidationError as error:
        fault = first_fault(error, option, known=", ".join(_NAMES))
        raise InputError(f"settings: {fault}") from error
