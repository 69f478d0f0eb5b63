"""AmbiK's terms as types, the settings of sets and metrics, and the word tables (spec 1, 5, 7, 8, 10)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, Literal, get_args

from pydantic import ConfigDict, Field, Strict, TypeAdapter, ValidationError

from simulator.errors import InputError
from simulator.fields import Flag, Option, first_fault
from simulator.tables.builtin import read_yaml

Ambiguity = Literal["preferences", "common_sense_knowledge", "safety"]
AMBIGUITIES: Final[tuple[Ambiguity, ...]] = get_args(Ambiguity)
"""The source that resolves the ambiguity of a pair, in the order of the paper's tables."""

TaskType = Literal["unambiguous_direct", "preferences", "common_sense_knowledge", "safety"]
TASK_TYPES: Final[tuple[TaskType, ...]] = get_args(TaskType)
"""Types by which results are reported: clear members form a type of their own."""

Member = Literal["ambiguous", "clear"]
MEMBERS: Final[tuple[Member, ...]] = get_args(Member)
Part = Literal["calibration", "test"]
PARTS: Final[tuple[Part, ...]] = get_args(Part)
Context = Literal["full_plan", "action_only"]
Dialogue = Literal["before", "after"]

Method = Literal["knowno", "lap", "lofreecp", "binary", "nohelp"]
METHODS: Final[tuple[Method, ...]] = get_args(Method)
CONFORMAL: Final[tuple[Method, ...]] = ("knowno", "lap", "lofreecp")
"""Methods whose prediction sets need a calibration."""
NAMES: Final[dict[str, str]] = {
    "knowno": "KnowNo",
    "lap": "LAP",
    "lofreecp": "LofreeCP",
    "binary": "Binary",
    "nohelp": "NoHelp",
}

Role = Literal["generate", "generate_one", "choose", "afford", "certainty", "ask", "answer"]
"""Purposes of model calls (spec 6); ``ask`` and ``answer`` are the dialogue after a decision to ask."""
ROLES: Final[tuple[Role, ...]] = get_args(Role)
Certainty = Literal["certain", "uncertain", "invalid"]

APPLIANCES: Final = ("fridge", "oven", "kitchen table", "microwave", "dishwasher", "sink", "tea kettle")
"""Present in every scene, but not in the object columns (spec 2.3)."""
KNOWNO_APPLIANCES: Final = ("microwave", "cooktop")
"""Present in every KnowNo scene, in addition to drawers and bins (spec 9); prompts say so."""

DO_NOTHING: Final = "do nothing"
"""Filler for a missing option; never right, and never counted in a prediction set (spec 6)."""
NOT_LISTED: Final = "an option not listed here"


def task_type(member: Member, ambiguity: Ambiguity) -> TaskType:
    """Return the type under which a task's results are reported."""
    return "unambiguous_direct" if member == "clear" else ambiguity


@cache
def _read(file: str) -> Any:
    """Return the content of a package file; it is cached, so callers must not change it."""
    return read_yaml(Path(__file__).parent / file)


def table(name: str) -> Any:
    """Return the content of a file in ``tables``."""
    return _read(f"tables/{name}.yaml")


def remark(group: str, name: str) -> Any:
    """Return a sentence, or a list of sentences, from `remarks.yaml`."""
    return _read("remarks.yaml")[group][name]


def paper() -> dict[str, Any]:
    """Return the paper's figures from `paper.yaml`."""
    figures: dict[str, Any] = _read("paper.yaml")
    return figures


# ---- settings; each default is the paper's rule (spec 5, 7, 8, 10)

Tokens = Literal["merged", "raw_top5"]
Quantile = Literal["exact", "numpy_higher", "numpy_linear"]
CpRule = Literal["split", "reference"]
CalibrationTruth = Literal["variants", "intent_for_clear"]
IcrRule = Literal["set", "best_option"]
Metrics = Literal["paper", "reference"]
Weight = Annotated[float, Strict(), Field(allow_inf_nan=False)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The rules that turn a method's logged output into prediction sets, without asking a model again.

    Attributes:
        not_listed: True if there is a fifth option, "none of the others" (spec 8.1); on for KnowNo's data. It
            is fixed when options are generated, so it belongs to a run.
        help: ``size``: ask if the set has more than one element; ``original``: ask unless the set has exactly
            one element other than the fifth option (spec 8.1).
    """

    __pydantic_config__: ClassVar = ConfigDict(extra="forbid")

    target_success: Annotated[Weight, Field(gt=0, lt=1, description="1 - epsilon")] = 0.8
    temperature: Annotated[Weight, Field(gt=0, description="KnowNo, LAP: softmax temperature")] = 5.0
    tokens: Annotated[Tokens, Field(description="KnowNo, LAP: which tokens count")] = "merged"
    quantile: Annotated[Quantile, Field(description="how the threshold is computed")] = "exact"
    cp_rule: Annotated[CpRule, Field(description="reference: as in the published code")] = "split"
    not_listed: Annotated[
        Flag,
        Option(unset=True),
        Field(description="a fifth option, “none of these”; default: only with KnowNo's data"),
    ] = False
    help: Annotated[
        Literal["size", "original"],
        Option(name="help_rule"),
        Field(description="original: also ask if the set is empty or has the fifth option"),
    ] = "size"
    calibration_truth: Annotated[
        CalibrationTruth, Field(description="which options are right for clear members")
    ] = "variants"
    renormalise: Annotated[Flag, Field(description="LAP: scores are renormalised to add up to 1")] = False
    entropy_weight: Annotated[Weight, Field(description="LofreeCP: lambda 1")] = 0.1
    similarity_weight: Annotated[Weight, Field(description="LofreeCP: lambda 2")] = 0.1
    icr: Annotated[IcrRule, Field(description="how intent coverage reads a set")] = "set"
    metrics: Annotated[Metrics, Field(description="edge cases as in the paper, or in its code")] = "paper"


DEFAULT: Final = Settings()
_READER: Final = TypeAdapter(Settings)
_NAMES: Final = tuple(each.name for each in fields(Settings))


def settings_option(settings: Settings) -> dict[str, Any]:
    """Return settings as stored in an episode's options: the values that differ from the defaults."""
    values = ((name, getattr(settings, name)) for name in _NAMES)
    return {name: value for name, value in values if value != getattr(DEFAULT, name)}


def read_settings(option: object) -> Settings:
    """Return settings from plain values; missing ones get their defaults.

    Raises:
        InputError: if a setting does not exist or has an invalid value.
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
