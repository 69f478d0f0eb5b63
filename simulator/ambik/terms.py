"""AmbiK's terms as types, the switches of sets and metrics, and tables of words (spec 1, 5, 7, 8, 10)."""

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
"""What resolves the ambiguity of a pair; the order in which the paper's tables have them."""

TaskType = Literal["unambiguous_direct", "preferences", "common_sense_knowledge", "safety"]
TASK_TYPES: Final[tuple[TaskType, ...]] = get_args(TaskType)
"""Types by which results are told: the clear member of a pair is a type of its own."""

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
"""What a model is asked for (spec 6); ``ask`` and ``answer`` are the exchange after a question."""
ROLES: Final[tuple[Role, ...]] = get_args(Role)
Certainty = Literal["certain", "uncertain", "invalid"]

APPLIANCES: Final = ("fridge", "oven", "kitchen table", "microwave", "dishwasher", "sink", "tea kettle")
"""In every scene, and not in the object columns (spec 2.3)."""
KNOWNO_APPLIANCES: Final = ("microwave", "cooktop")
"""What stands in every scene of KnowNo's data besides drawers and bins (spec 9); prompts say so."""

DO_NOTHING: Final = "do nothing"
"""Stands for an option that is missing; never right, and in no prediction set that is measured (spec 6)."""
NOT_LISTED: Final = "an option not listed here"


def task_type(member: Member, ambiguity: Ambiguity) -> TaskType:
    """Return the type under which a task's results are told."""
    return "unambiguous_direct" if member == "clear" else ambiguity


@cache
def _read(file: str) -> Any:
    """Return what a file of the package holds, read once; nobody changes it."""
    return read_yaml(Path(__file__).parent / file)


def table(name: str) -> Any:
    """Return what one of the tables holds."""
    return _read(f"tables/{name}.yaml")


def remark(group: str, name: str) -> Any:
    """Return a sentence, or several, by group and name."""
    return _read("remarks.yaml")[group][name]


def paper() -> dict[str, Any]:
    """Return all that the paper prints of its results."""
    held: dict[str, Any] = _read("paper.yaml")
    return held


# ---- switches, each with the paper's rule as default (spec 5, 7, 8, 10)

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
