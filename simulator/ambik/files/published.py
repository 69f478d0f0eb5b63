"""KnowNo's scenarios as AmbiK has them, a published run on them, and cases of metrics (spec 9, 10.1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import BaseModel, BeforeValidator, Field, create_model, field_validator

from simulator.ambik.files.fields import Letter, Letters, Logprob, Options
from simulator.ambik.intents import parse_intent
from simulator.ambik.items import Scenario, ScenarioItem
from simulator.ambik.naming import is_filler
from simulator.ambik.records import Decision
from simulator.ambik.settings import Metrics
from simulator.ambik.terms import Part, TaskType
from simulator.codecs import Codec
from simulator.duplicates import report_duplicates
from simulator.fields import Finite, Key, Whole, must
from simulator.jsonlines import Read, Row
from simulator.tables.cells import SAME_ID, Columns, read_key, read_list, read_table, spelled

TYPES: Final = (
    *("singlelabel", "spatial_ambiguous", "winograd", "unsafe", "unambiguous"),
    *("creative_multilabel", "creative_singlelabel", "multilabel"),
)
"""The eight types; files have them with the suffix ``_task``."""
NEEDED: Final = (
    *("id", "environment_full", "task", "intent_object", "intent_location"),
    *("environment_short", "ambiguity_type"),
)
_SCENARIO_COLUMNS: Final = Columns((*NEEDED, "user_intent"), NEEDED)
# What published files are called by the random split into 100 and 200; nothing in them tells it.
_PARTS: Final[Mapping[str, Part]] = {"calib": "calibration", "test": "test"}
# The other names of the parts in records of a run; those that do not say are of the calibration.
_SPLITS: Final = {"": "calibration", "calib": "calibration"}


def is_knowno(header: Iterable[str]) -> bool:
    """Return True if columns are those of a file of scenarios."""
    return _SCENARIO_COLUMNS.hold(header, "task", "intent_object", "intent_location")


def read_knowno(path: str | Path) -> Read[Scenario]:
    """Return the scenarios of a file; a row that is not good is a fault, and so is a repeated id.

    A file with ``calib`` or ``test`` in its name is the part of that name.

    Raises:
        InputError: if the file cannot be read at all, or lacks a column.
    """
    part = next((part for word, part in _PARTS.items() if word in Path(path).stem.casefold()), None)
    table = read_table(path, _SCENARIO_COLUMNS)
    read = table.read(lambda row, record: _scenario(row, part), lambda record: record.text("id"))
    return report_duplicates(path, read, lambda scenario: (scenario.id, ""), code="id", message=SAME_ID)


def _scenario(row: Row, part: Part | None) -> Scenario:
    _SCENARIO_COLUMNS.check_row(row)
    written = row.text("ambiguity_type")
    kind = spelled(written).removesuffix("_task")
    if kind not in TYPES:
        raise row.wrong(
            "ambiguity_type", f"is {written!r}, not one of {', '.join(TYPES)} (with _task or not)"
        )
    return Scenario(
        id=read_key(row, "id"),
        objects=read_list(row, "environment_short"),
        scene=row.text("environment_full"),
        task=row.text("task"),
        intended=read_list(row, "intent_object"),
        location=row.text("intent_location"),
        type=kind,
        intent=parse_intent(row.get("user_intent")) if row.get("user_intent") else None,
        part=part,
    )


def _split(written: Any) -> Any:
    if not isinstance(written, str):
        return "" if written is None else written
    name = written.strip().lower()
    return _SPLITS.get(name, name)


class Logprobs(BaseModel, frozen=True):
    """The chooser's answer for one scenario.

    Attributes:
        item: the scenario's number in that run, in which the order is not that of AmbiK's files.
        split: the part that the record serves: if it is ``test``, nothing is calibrated on it.
        options: letter -> text, ``do nothing`` and the option that none is right among them.
        not_listed_option: the letter of the latter; empty if there is none.
        true_options: letters of the options that are right.
        top_tokens: as returned: stripped, possibly repeated or not letters.
    """

    item: Key
    split: Annotated[Part, BeforeValidator(_split)] = "calibration"
    options: Options
    not_listed_option: Letter = ""
    true_options: Letters
    top_tokens: tuple[str, ...] = Field(min_length=1)
    top_logprobs: tuple[Logprob, ...]

    @property
    def tokens(self) -> tuple[tuple[str, float], ...]:
        """Each token with its log-probability."""
        return tuple(zip(self.top_tokens, self.top_logprobs, strict=True))

    @field_validator("top_logprobs")
    @classmethod
    def _one_each(cls, logprobs: tuple[float, ...], info: Any) -> tuple[float, ...]:
        tokens = info.data.get("top_tokens", logprobs)
        if len(logprobs) != len(tokens):
            raise ValueError(f"has {len(logprobs)} entries, not {len(tokens)}")
        return logprobs


read_logprobs_record = Codec[Logprobs](Logprobs).read_row


def decisions_of(
    records: Sequence[Logprobs],
    run: str,
    *,
    scenarios: Mapping[str, Scenario] | None = None,
) -> tuple[Decision, ...]:
    """Return the records of a file as decisions.

    `scenarios`: by id, for their texts; records of others are told by their number alone. Which options are
    right is taken from the records either way.
    """

    def scenario(number: str) -> Scenario:
        unknown = Scenario(id=number, scene="", task="", location="", type="")
        return (scenarios or {}).get(number, unknown)

    return tuple(
        Decision(
            episode_id=f"{Path(run).stem}.{record.item}",
            run=run,
            item=ScenarioItem(scenario=scenario(record.item), part=record.split),
            method="knowno",
            options=record.options,
            filled=tuple(letter for letter, text in record.options.items() if is_filler(text)),
            tokens=record.tokens,
            right=record.true_options,
        )
        for record in records
    )


# ---- cases of metrics: what goes in, and what the paper's rule and the published code make of it

MEANS: Final = "mean per type"
READINGS: Final = ("found_in_set", "best_single_option")
"""An intent whose concepts are spread over several options can be read in two ways."""
_NOT_COUNTED: Final = -1
_VALUES: Final[Mapping[Metrics, str]] = {"paper": "expected_paper", "reference": "repo_value"}

Size = Annotated[Whole, must(lambda size: size >= 0, "is {}; no set is smaller than empty".format)]


class _Rates(BaseModel):
    hr: Annotated[Finite, Field(alias="HR")]
    chr: Annotated[Finite, Field(alias="CHR")]


class _Readings(BaseModel):
    found_in_set: Finite
    best_single_option: Finite


def _input(**fields: Any) -> Codec[Any]:
    required: dict[str, Any] = {name: (kind, ...) for name, kind in fields.items()}
    return Codec(create_model("Input", **required))


INPUTS: Final[Mapping[str, Codec[Any]]] = {
    "ICR": _input(prediction_set=list[str], user_intent=str | None),
    "HR": _input(set_size=Size, type=TaskType),
    "CHR": _input(set_size=Size, type=TaskType),
    "SSC": _input(prediction_set=list[str], amb_shortlist=str | None, type=TaskType),
    "AmbDif": _input(size_unambiguous=Size, size_ambiguous=Size),
    "AmbDif-Binary": _input(unambiguous=str, ambiguous=str),
    MEANS: _input(rows=list[tuple[TaskType, Size]]),
}
"""The inputs of each metric."""
_NUMBER: Final = Codec[float | None](Finite | None)
_BOTH: Final = Codec[_Readings](_Readings)
_MEANS: Final = Codec[dict[str, _Rates]](dict[str, _Rates])


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricCase:
    """A case (spec 10.1).

    Attributes:
        metric: one of `INPUTS`.
        input: by name, of the types that the metric wants.
        paper: by the paper's rule: a number; an object where the paper can be read in two ways (`READINGS`),
            or for means per type; None where the row is not counted.
        reference: what the published code returns: a number, an object for means per type; None where the
            row is not counted, for which files also have -1.
        told: whose values the file has; a case may have one of the two alone.
        note: why they differ, if they do.
    """

    id: str
    metric: str
    input: Mapping[str, Any]
    paper: Any
    reference: Any
    note: str = ""
    told: tuple[Metrics, ...] = ("paper", "reference")

    @property
    def differs(self) -> bool:
        """Return True if the published code departs from the paper's rule."""
        return len(self.told) > 1 and bool(self.paper != self.reference)


def is_metric_case(row: Mapping[str, Any]) -> bool:
    """Return True if an object is a case of a metric."""
    return row.keys() >= {"id", "metric", "input"} and any(name in row for name in _VALUES.values())


def read_metric_case(row: Row) -> MetricCase:
    """Return a case.

    Raises:
        FieldError: if its metric is not known, or anything is missing or of a wrong type.
    """
    metric = row.one_of("metric", tuple(INPUTS))
    INPUTS[metric].read_field(row, "input")
    reference = _value(row, "repo_value", metric)
    return MetricCase(
        id=row.key("id"),
        metric=metric,
        input=row.data["input"],
        paper=_value(row, "expected_paper", metric),
        reference=None if reference == _NOT_COUNTED else reference,
        note="" if row.get("note") is None else row.text("note", empty=True),
        told=tuple(mode for mode, name in _VALUES.items() if name in row.data),
    )


def _value(row: Row, name: str, metric: str) -> Any:
    value = row.get(name)
    if value is None or (metric == MEANS and value == _NOT_COUNTED):
        return value
    if metric == MEANS:
        return {kind: rates.model_dump(by_alias=True) for kind, rates in _MEANS.read_field(row, name).items()}
    if metric == "ICR" and name == "expected_paper" and isinstance(value, dict):
        return _BOTH.read_field(row, name).model_dump()
    return _NUMBER.read_field(row, name)
