"""Unit cases of the metrics, a JSON list: what goes in, and what the paper's rule and the code make of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final

from pydantic import BaseModel, Field

from simulator.ambik.settings import Metrics
from simulator.ambik.terms import TaskType
from simulator.codecs import Codec
from simulator.fields import Finite, Whole, must
from simulator.jsonlines import Row

MEANS: Final = "mean per type"
READINGS: Final = ("found_in_set", "best_single_option")
"""An intent whose concepts are spread over several options can be read in two ways."""
_NOT_COUNTED: Final = -1
_VALUES: Final[Mapping[Metrics, str]] = {"paper": "expected_paper", "reference": "repo_value"}

Size = Annotated[Whole, must(lambda size: size >= 0, "is {}; no set is smaller than empty".format)]


class _Coverage(BaseModel):
    prediction_set: list[str]
    user_intent: str | None


class _Asking(BaseModel):
    set_size: Size
    type: TaskType


class _Shortlist(BaseModel):
    prediction_set: list[str]
    amb_shortlist: str | None
    type: TaskType


class _Sizes(BaseModel):
    size_unambiguous: Size
    size_ambiguous: Size


class _Certainties(BaseModel):
    unambiguous: str
    ambiguous: str


class _Rows(BaseModel):
    rows: list[tuple[TaskType, Size]]


class _Rates(BaseModel):
    hr: Annotated[Finite, Field(alias="HR")]
    chr: Annotated[Finite, Field(alias="CHR")]


class _Readings(BaseModel):
    found_in_set: Finite
    best_single_option: Finite


INPUTS: Final[Mapping[str, Codec[Any]]] = {
    "ICR": Codec(_Coverage),
    "HR": Codec(_Asking),
    "CHR": Codec(_Asking),
    "SSC": Codec(_Shortlist),
    "AmbDif": Codec(_Sizes),
    "AmbDif-Binary": Codec(_Certainties),
    MEANS: Codec(_Rows),
}
"""What a metric is computed of."""
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
