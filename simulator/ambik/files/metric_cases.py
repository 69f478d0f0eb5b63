"""Unit cases of the metrics, a JSON list: what goes in, and what the paper's rule and the code make of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from simulator.ambik.settings import Metrics
from simulator.ambik.terms import TASK_TYPES
from simulator.jsonlines import Row

MEANS: Final = "mean per type"
READINGS: Final = ("found_in_set", "best_single_option")
"""An intent whose concepts are spread over several options can be read in two ways."""
_NOT_COUNTED: Final = -1
_VALUES: Final[Mapping[Metrics, str]] = {"paper": "expected_paper", "reference": "repo_value"}


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
        """Whether the published code departs from the paper's rule."""
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
    values = row.object("input")
    missing = [name for name in INPUTS[metric] if name not in values.data]
    if missing:
        raise row.wrong("input", f"has no {', '.join(missing)}, of which {metric} is computed")
    for name, check in INPUTS[metric].items():
        check(values, name)
    return MetricCase(
        id=row.key("id"),
        metric=metric,
        input=values.data,
        paper=_paper(row, metric),
        reference=_reference(row, metric),
        note=row.text("note", empty=True) if row.get("note") is not None else "",
        told=tuple(mode for mode, name in _VALUES.items() if name in row.data),
    )


def _paper(row: Row, metric: str) -> Any:
    value = row.get("expected_paper")
    if metric == "ICR" and isinstance(value, dict):
        both = row.object("expected_paper")
        return {name: both.number(name) for name in READINGS}
    return _value(row, "expected_paper", metric)


def _reference(row: Row, metric: str) -> Any:
    value = _value(row, "repo_value", metric)
    return None if value == _NOT_COUNTED else value


def _value(row: Row, name: str, metric: str) -> Any:
    value = row.get(name)
    if value is None or (metric == MEANS and value == _NOT_COUNTED):
        return value
    if metric != MEANS:
        return row.number(name)
    means = row.object(name)
    return {kind: {rate: means.object(kind).number(rate) for rate in ("HR", "CHR")} for kind in means.data}


def _texts(row: Row, name: str) -> None:
    for place, one in enumerate(row.list(name)):
        if not isinstance(one, str):
            raise row.wrong(f"{name}[{place}]", "is not a text")


def _said(row: Row, name: str) -> None:
    row.text(name, empty=True)


def _maybe_said(row: Row, name: str) -> None:
    if row.get(name) is not None:
        row.text(name, empty=True)


def _size(row: Row, name: str) -> None:
    if row.whole(name) < 0:
        raise row.wrong(name, f"is {row.get(name)}; no set is smaller than empty")


def _type(row: Row, name: str) -> None:
    row.one_of(name, TASK_TYPES)


def _rows(row: Row, name: str) -> None:
    for place, one in enumerate(row.list(name)):
        if not isinstance(one, list) or len(one) != 2:
            raise row.wrong(f"{name}[{place}]", "is not a type with the size of a set")
        pair = Row({"type": one[0], "size": one[1]}, f"{row.where}{name}[{place}].")
        _type(pair, "type")
        _size(pair, "size")


_Check = Callable[[Row, str], None]
_ASKING: Final[Mapping[str, _Check]] = {"set_size": _size, "type": _type}
INPUTS: Final[Mapping[str, Mapping[str, _Check]]] = {
    "ICR": {"prediction_set": _texts, "user_intent": _maybe_said},
    "HR": _ASKING,
    "CHR": _ASKING,
    "SSC": {"prediction_set": _texts, "amb_shortlist": _maybe_said, "type": _type},
    "AmbDif": {"size_unambiguous": _size, "size_ambiguous": _size},
    "AmbDif-Binary": {"unambiguous": _said, "ambiguous": _said},
    MEANS: {"rows": _rows},
}
"""What a metric is computed of, and what of it must be of which type."""
