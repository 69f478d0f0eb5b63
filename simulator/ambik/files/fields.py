"""Fields of records in JSON files: what they hold, and what may be wrong with them."""

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
from simulator.fields import Finite, FiniteOrNone, Key, OptionalText, Said, Whole, must, null_as
from simulator.tables.cells import spelled

ROUNDING: Final = 1e-6
"""By how much a log-probability may be above 0: programs add in single precision."""


def _or_none(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _options(options: dict[str, str]) -> dict[str, str]:
    for letter in options:
        if len(letter) != 1 or letter not in ascii_uppercase:
            # No token of a model's would be taken for it.
            raise ValueError(f"has {letter!r}; options go by capital letters (A, B, C, …)")
    if not options:
        raise ValueError("is empty")
    return options


def _among_options(value: Any, info: ValidationInfo) -> Any:
    options: Mapping[str, str] = info.data.get("options", {})
    letters = ([value] if value else []) if isinstance(value, str) else value or ()
    for letter in letters:
        if options and letter not in options:
            raise ValueError(f"has {letter!r}, which is none of the options")
    return value


def _moment(value: Any) -> str:
    """Return a moment as the log writes it. Without a zone it is UTC."""
    if value is None or value == "":
        return ""
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            moment = datetime.fromtimestamp(value, UTC)
        else:
            moment = datetime.fromisoformat(value)
    except (ValueError, TypeError, OverflowError, OSError) as error:
        problem = f"is {str(value)[:40]!r}, no moment (ISO 8601, or seconds since 1970)"
        raise ValueError(problem) from error
    zoned = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return zoned.astimezone(UTC).isoformat(timespec="milliseconds")


NAN_AS_NONE = BeforeValidator(_or_none)
"""What JSON has no number for is nothing, as pandas writes it."""
Share = Annotated[Finite, must(lambda share: 0 <= share <= 1, "is {:g}, not between 0 and 1".format)]
Count = Annotated[Whole, null_as(0)]
Flag = Annotated[
    Annotated[bool, Strict()] | None,
    BeforeValidator(lambda flag: bool(flag) if flag in (0, 1) else None if flag == "" else flag),
    NAN_AS_NONE,
]
"""True or false, also as 1 or 0; None where it is missing."""
Texts = Annotated[tuple[str, ...], null_as(())]
Spelled = BeforeValidator(lambda name: spelled(name) if isinstance(name, str) else name)
"""One of some names, whatever its letter case."""
Options = Annotated[dict[str, Said], AfterValidator(_options)]
"""Letter -> text."""
Letters = Annotated[tuple[str, ...], AfterValidator(_among_options)]
Letter = Annotated[str, null_as(""), AfterValidator(_among_options)]
"""A letter of the field `options`, which stands before; empty if there is none."""
Logprob = Annotated[
    Finite,
    must(lambda value: value <= ROUNDING, "is {:g}; the logarithm of a probability is at most 0".format),
]
"""A natural logarithm."""
Moment = Annotated[str, BeforeValidator(_moment)]
"""A moment in time, ISO 8601 or seconds since 1970; empty if it is missing."""


PERSON: Final = "person"
METRICS: Final = ("icr", "hr", "chr", "ssc")


def _speech(value: Any) -> Any:
    """Return texts by role: out of a list of objects, of texts alone, or an object."""
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
    """Return tokens with their log-probabilities, out of a list of pairs or objects, or an object."""
    if isinstance(value, Mapping):
        return list(value.items())
    if isinstance(value, list):
        return [
            (token.get("token"), token.get("logprob")) if isinstance(token, dict) else token
            for token in value
        ]
    return value


def _threshold(value: Any) -> Any:
    """Return a threshold, which JSON has as a number, or as a text where it is infinite."""
    try:
        number = (
            value if isinstance(value, bool) or not isinstance(value, int | float | str) else float(value)
        )
    except OverflowError as error:
        raise ValueError(": is too large for a number; infinity is written inf") from error
    except ValueError:
        return value
    if isinstance(number, float) and math.isnan(number):
        raise ValueError(": is no number")
    return number


Speech = Annotated[tuple[tuple[str, str], ...], BeforeValidator(_speech)]
_DECIDED: Final = Decision.__dataclass_fields__.keys() - {"episode_id"}
"""Fields of a line that are the decision's; an episode without a name is called by what was decided in it."""


class LineFields(BaseModel):
    """The fields of a line of any method."""

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
        """Return True if it asked. Unless that is said: who was answered did, who could have been did not."""
        asks = self.help if self.asks is None else self.asks
        return bool(self.answer) if asks is None and (self.answer or self.questions) else asks

    def made_of(self) -> Mapping[str, Any]:
        """Return what the decision is made of, by field of `Decision`."""
        return {name: getattr(self, name) for name in type(self).model_fields.keys() & _DECIDED}


class _Acting(LineFields):
    def made_of(self) -> Mapping[str, Any]:
        return {**super().made_of(), "action": self.action or next(iter(self.prediction_set), "")}


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
            "has an answer that was drawn less than once",
        ),
    ]
    similarities: Annotated[dict[str, Finite], BeforeValidator(lambda value: value or {})] = Field(
        default_factory=dict
    )
    draws: Annotated[
        Whole | None, must(lambda draws: (draws or 0) >= 0, "is {}; so many answers cannot be drawn".format)
    ] = None

    def made_of(self) -> Mapping[str, Any]:
        drawn = sum(self.samples.values()) if self.draws is None else self.draws
        return {**super().made_of(), "draws": drawn}


class _Certain(_Acting):
    certainty: Annotated[str, AfterValidator(read_certainty)]

    def made_of(self) -> Mapping[str, Any]:
        flags = (*self.flags, *(("invalid_certainty",) if self.certainty == "invalid" else ()))
        return {**super().made_of(), "flags": tuple(dict.fromkeys(flags))}


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
"""By method, or who else decided."""


class CalibrationFields(BaseModel):
    """The threshold that was in force, and what it rests on."""

    q_hat: Annotated[float, BeforeValidator(_threshold), Strict()]
    epsilon: Share
    n: Whole = Field(alias="n_calibration")
    rank: Whole
    run: OptionalText = Field(default="", alias="calibration_run")


class LineDetails(BaseModel, frozen=True):
    """The details of a line beside its decision; empty or None where it has none.

    Attributes:
        time: when it was made, ISO 8601, UTC.
        decoding: by role: what requests were made with.
        help: what the set said, as stored.
        icr, hr, chr, ssc: metrics as stored; None where they did not count.
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
        """Return when it was made; empty where that is not said."""
        return self.time or self.answered_at

    @property
    def scores(self) -> dict[str, float | None]:
        """Metrics that the line has."""
        return {name: getattr(self, name) for name in METRICS if name in self.model_fields_set}
