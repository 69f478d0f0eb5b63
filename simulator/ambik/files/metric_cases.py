"""Unit cases of the metrics, a JSON list: what goes in, and what the paper's rule and the code make of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from simulator.ambik.files.jsonlist import read_records
from simulator.jsonlines import Read, Row

INPUTS: Final[Mapping[str, tuple[str, ...]]] = {
    "ICR": ("prediction_set", "user_intent"),
    "HR": ("set_size", "type"),
    "CHR": ("set_size", "type"),
    "SSC": ("prediction_set", "amb_shortlist", "type"),
    "AmbDif": ("size_unambiguous", "size_ambiguous"),
    "AmbDif-Binary": ("unambiguous", "ambiguous"),
    "mean per type": ("rows",),
}
"""What a metric is computed of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricCase:
    """A case (spec 10.1).

    Attributes:
        metric: one of `INPUTS`.
        input: by name.
        paper: by the paper's rule: a number; an object where the paper can be read in two ways, or for means
            per type; None where the row is not counted.
        reference: what the published code returns; likewise.
        note: why they differ, if they do.
    """

    id: str
    metric: str
    input: Mapping[str, Any]
    paper: Any
    reference: Any
    note: str = ""

    @property
    def differs(self) -> bool:
        """Whether the published code departs from the paper's rule."""
        return bool(self.paper != self.reference)


def is_metric_case(row: Mapping[str, Any]) -> bool:
    """Whether an object is a case of a metric."""
    return row.keys() >= {"id", "metric", "input", "expected_paper", "repo_value"}


def read_metric_cases(path: str | Path) -> Read[MetricCase]:
    """The cases of a file; one of an unknown metric, or without what it is computed of, is a fault.

    Raises:
        InputError: if the file cannot be read at all.
    """
    return read_records(path, _case, lambda case: case.id, name="id")


def _case(row: Row) -> MetricCase:
    metric = row.one_of("metric", tuple(INPUTS))
    given = row.object("input").data
    missing = [name for name in INPUTS[metric] if name not in given]
    if missing:
        raise row.wrong("input", f"has no {', '.join(missing)}, of which {metric} is computed")
    return MetricCase(
        id=row.key("id"),
        metric=metric,
        input=given,
        paper=row.get("expected_paper"),
        reference=row.get("repo_value"),
        note=row.text("note", empty=True) if row.get("note") is not None else "",
    )
