"""Field types and models of the records in JSON files, with their validation."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from string import ascii_uppercase
from typing import Annotated, Any, Final

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Field,
    Strict,
    ValidationInfo,
    model_validator,
)

from simulator.ambik.prompts import read_certainty
from simulator.ambik.records import Affordance, Decision
from simulator.ambik.terms import Context, Dialogue, Member, Part
from simulator.fields import Finite, FiniteOrNone, Key, NonBlank, OptionalText, Whole, must, null_as
from simulator.tables.cells import snake_case

ROUNDING: Final = 1e-6
"""Tolerance for log-probabilities above 0, since programs add in single precision."""


def _or_none(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _options(options: dict[str, str]) -> dict[str, str]:
    for letter in options:
        if len(letter) != 1 or letter not in ascii_uppercase:
            # No token would be recognized as this option.
            raise ValueError(f"has {letter!r}; options are named by capital letters (A, B, C, …)")
    if not options:
        raise ValueError("is empty")
    return options


def _among_options(value: Any, info: ValidationInfo) -> Any:
    options: Mapping[str, str] = info.data.get("options", {})
    letters = ([value] if value else []) if isinstance(value, str) else value or ()
    for letter in letters:
        if options and letter not in options:
            raise ValueError(f"has {letter!r}, which is not an option")
    return value


def _moment(value: Any) -> str:
    """Return a time in the log's format; a time without a zone is taken as UTC."""
    if value is None or value == "":
        return ""
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            moment = datetime.fromtimestamp(value, UTC)
        else:
            moment = datetime.fromisoformat(value)
    except (ValueError, TypeError, OverflowError, OSError) as error:
        problem = f"is {str(value)[:40]!r}, not a time (ISO 8601, or seconds since 1970)"
        raise ValueError(problem) from error
    zoned = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return zoned.astimezone(UTC).isoformat(timespec="milliseconds")


NAN_AS_NONE = BeforeValidator(_or_none)
"""NaN and infinity, which pandas writes for missing values, are read as None."""
Share = Annotated[Finite, must(lambda share: 0 <= share <= 1, "is {:g}, not between 0 and 1".format)]
Count = Annotated[Whole, null_as(0)]
Flag = Annotated[
    Annotated[bool, Strict()] | None,
    BeforeValidator(lambda flag: bool(flag) if flag in (0, 1) else None if flag == "" else flag),
    NAN_AS_NONE,
]
"""True or false, also as 1 or 0; None where it is missing."""
Texts = Annotated[tuple[str, ...], null_as(())]
Spelled = BeforeValidator(lambda name: snake_case(name) if isinstance(name, str) else name)
"""A name in any spelling (letter case, separators)."""
Options = Annotated[dict[str, NonBlank], AfterValidator(_options)]
"""Option texts by letter."""
Letters = Annotated[tuple[str, ...], AfterValidator(_among_options)]
Letter = Annotated[str, null_as(""), AfterValidator(_among_options)]
"""A letter of the preceding field `options`; empty if there is none."""
Logprob = Annotated[
    Finite,
    must(lambda value: value <= ROUNDING, "is {:g}; the logarithm of a probability is at most 0".format),
]
"""A natural logarithm."""
Moment = Annotated[str, BeforeValidator(_moment)]
"""A time, ISO 8601 or seconds since 1970; empty if missing."""


PERSON: Final = "person"
METRICS: Final = ("icr", "hr", "chr", "ssc")


def _speech(value: Any) -> Any:
    """Return pairs of role and text from a list of objects, a list of texts, or an object."""
    if isinstance(value, Mapping):
        return [(role, text) for role, text in value.items() if isinstance(text, str)]
    if isinstance(value, list):
        return [
            ("", part) if isinstance(part, str) else (part.get("role"), part.get("text"))
            for part in value
            if isinstance(part, str | dict)
        ]
    return value or ()


def _tokens(value: Any) -> Any:
    """Return tokens with log-probabilities from a list of pairs, a list of objects, or an object."""
    if isinstance(value, Mapping):
        return list(value.items())
    if isinstance(value, list):
        return [
            (token.get("token"), token.get("logprob")) if isinstance(token, dict) else token
            for token in value
        ]
    return value


def _threshold(value: Any) -> Any:
    """Return a threshold from a number, or from a text if it is infinite."""
    try:
        number = (
            value if isinstance(value, bool) or not isinstance(value, int | float | str) else float(value)
        )
    except OverflowError as error:
        raise ValueError(": is too large for a number; write inf for infinity") from error
    except ValueError:
        return value
    if isinstance(number, float) and math.isnan(number):
        raise ValueError(": is not a number")
    return number


Speech = Annotated[tuple[tuple[str, str], ...], BeforeValidator(_speech)]
_DECIDED: Final = Decision.__dataclass_fields__.keys() - {"episode_id"}
"""Fields of a line that are passed to the decision; its episode's id may have to be generated."""


class LineFields(BaseModel):
    """The fields that lines of all methods share."""

    pair_id: Key = ""
    member: Annotated[Member | None, Spelled, NAN_AS_NONE] = None
    type: Annotated[OptionalText, NAN_AS_NONE] = ""
    part: Part | None = None
    run_id: OptionalText = ""
    episode_id: OptionalText = ""
    turn: Count = 0
    seed: Any = None
    context: Annotated[Context, null_as("full_plan")] = "full_plan"
    dialogue: Annotated[Dialogue, null_as("before")] = "before"
    generator: OptionalText = ""
    chooser: OptionalText = ""
    question: OptionalText = ""
    answer: OptionalText = ""
    action: OptionalText = ""
    prediction_set: Texts = ()
    asks: Flag = None
    help: Flag = None
    questions: Whole | None = None
    prompts: Speech = ()
    raw: Speech = Field(default=(), alias="raw_outputs")
    flags: Texts = ()
    seconds: FiniteOrNone = None
    dataset: OptionalText = ""
    dataset_version: OptionalText = ""
    robot: OptionalText = ""
    user: OptionalText = ""

    @property
    def asked(self) -> bool | None:
        """True if the robot asked; if not stated, inferred from an answer or from allowed questions."""
        asks = self.help if self.asks is None else self.asks
        return bool(self.answer) if asks is None and (self.answer or self.questions) else asks

    def decision_fields(self) -> Mapping[str, Any]:
        """Return the values for fields of `Decision`."""
        return {name: getattr(self, name) for name in type(self).model_fields.keys() & _DECIDED}


class _Acting(LineFields):
    def decision_fields(self) -> Mapping[str, Any]:
        return {**super().decision_fields(), "action": self.action or next(iter(self.prediction_set), "")}


class _Lettered(LineFields):
    options: Options
    filled: Annotated[Letters, null_as(())] = Field(default=(), alias="filled_options")
    tokens: Annotated[tuple[tuple[str, Logprob], ...], BeforeValidator(_tokens)] = Field(alias="token_table")
    right: Letters | None = None


class _Judgment(BaseModel):
    context: Share
    prompt: Annotated[Share | None, BeforeValidator(lambda share: None if share != share else share)] = None


_Affordance = Annotated[_Judgment, AfterValidator(lambda shares: Affordance(shares.context, shares.prompt))]


class _Judged(_Lettered):
    affordance: dict[str, _Affordance]


class _Sampled(LineFields):
    samples: Annotated[
        dict[str, Whole],
        must(
            lambda samples: all(number > 0 for number in samples.values()),
            "has an answer with a count below 1",
        ),
    ]
    similarities: Annotated[dict[str, Finite], BeforeValidator(lambda value: value or {})] = Field(
        default_factory=dict
    )
    draws: Annotated[
        Whole | None, must(lambda draws: (draws or 0) >= 0, "is {}; it must not be negative".format)
    ] = None

    def decision_fields(self) -> Mapping[str, Any]:
        draws = sum(self.samples.values()) if self.draws is None else self.draws
        return {**super().decision_fields(), "draws": draws}


class _Certain(_Acting):
    certainty: Annotated[str, AfterValidator(read_certainty)]

    def decision_fields(self) -> Mapping[str, Any]:
        flags = (*self.flags, *(("invalid_certainty",) if self.certainty == "invalid" else ()))
        return {**super().decision_fields(), "flags": tuple(dict.fromkeys(flags))}


class _Marked(LineFields):
    chosen: tuple[str, ...] = Field(alias="marked")

    @model_validator(mode="before")
    @classmethod
    def _marked_or_predicted(cls, record: Mapping[str, Any]) -> Mapping[str, Any]:
        marked = record.get("marked") if record.get("marked") is not None else record.get("prediction_set")
        return {**record, "marked": marked}


FIELDS: Final[Mapping[str, type[LineFields]]] = {
    "knowno": _Lettered,
    "lap": _Judged,
    "lofreecp": _Sampled,
    "binary": _Certain,
    "nohelp": _Acting,
    "offline": _Marked,
    PERSON: _Marked,
}
"""The model of a line's fields, by method or kind of robot."""


class CalibrationFields(BaseModel):
    """The threshold in force, and its calibration."""

    q_hat: Annotated[float, BeforeValidator(_threshold), Strict()]
    epsilon: Share
    n: Whole = Field(alias="n_calibration")
    rank: Whole
    run: OptionalText = Field(default="", alias="calibration_run")


class LineDetails(BaseModel, frozen=True):
    """Details of a line in addition to its decision; empty or None if missing.

    Attributes:
        time: time of the decision, ISO 8601, UTC.
        help: stored decision to ask, according to the set.
        icr, hr, chr, ssc: stored metrics; None where they did not apply.
    """

    seed: Count = 0
    time: Moment = ""
    answered_at: Moment = ""
    actor: Annotated[OptionalText, AfterValidator(lambda actor: "" if actor == PERSON else actor)] = ""
    shown_at: Annotated[Moment | None, AfterValidator(lambda moment: moment or None)] = None
    typed_text: OptionalText = ""
    seconds: FiniteOrNone = None
    version: OptionalText = ""
    decoding: Annotated[Mapping[str, Any], null_as({})] = Field(default_factory=dict)
    prediction_set: tuple[str, ...] | None = None
    help: Flag = None
    offered: Texts = ()
    icr: Finite | None = None
    hr: Finite | None = None
    chr: Finite | None = None
    ssc: Finite | None = None

    @property
    def made_at(self) -> str:
        """The time of the decision or answer; empty if missing."""
        return self.time or self.answered_at

    @property
    def scores(self) -> dict[str, float | None]:
        """The metrics in the line."""
        return {name: getattr(self, name) for name in METRICS if name in self.model_fields_set}
