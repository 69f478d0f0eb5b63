"""Switches of calibration, sets and metrics, each with the paper's rule as default (spec 5, 7, 8, 10)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

Tokens = Literal["merged", "raw_top5"]
Quantile = Literal["exact", "numpy_higher", "numpy_linear"]
CpRule = Literal["split", "reference"]
CalibrationTruth = Literal["variants", "intent_for_clear"]
IcrRule = Literal["set", "best_option"]
Metrics = Literal["paper", "reference"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How prediction sets are made of what a method logged. None of it needs a model again.

    Attributes:
        target_success: 1 - epsilon (spec 5).
        temperature: of the softmax over log-probabilities of KnowNo and LAP (spec 7).
        tokens: which of the returned tokens count (spec 7).
        quantile: of the calibration's nonconformities (spec 7).
        cp_rule: ``reference`` does what the published code does (spec 8.1 to 8.3).
        not_listed: there is a fifth option that none of the others is right (spec 8.1); it is on for KnowNo's
            data. Chosen when options are made: a run has it or has not.
        help: ``size``: a set of more than one asks; ``original``: one that has not exactly one element, or
            has the fifth option, does (spec 8.1).
        calibration_truth: what is right for rows used in their clear form (spec 7.1).
        renormalise: scores of LAP are made to add up to 1 again after the multiplication (spec 8.2).
        entropy_weight: lambda 1 of LofreeCP (spec 8.3).
        similarity_weight: lambda 2 of LofreeCP.
        icr: how intent coverage reads a set (spec 10.1).
        metrics: ``reference``: the edge cases as in the published code (spec 10.1).
    """

    target_success: float = 0.8
    temperature: float = 5.0
    tokens: Tokens = "merged"
    quantile: Quantile = "exact"
    cp_rule: CpRule = "split"
    not_listed: bool = False
    help: Literal["size", "original"] = "size"
    calibration_truth: CalibrationTruth = "variants"
    renormalise: bool = False
    entropy_weight: float = 0.1
    similarity_weight: float = 0.1
    icr: IcrRule = "set"
    metrics: Metrics = "paper"


DEFAULT: Final = Settings()
ORIGINAL_KNOWNO: Final = Settings(
    tokens="raw_top5", quantile="numpy_higher", not_listed=True, help="original"
)
"""KnowNo's published rule (spec 8.1, 9)."""
