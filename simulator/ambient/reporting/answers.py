"""The answers of models and people in files and runs, and what they are compared with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from simulator.ambient.examples import Example
from simulator.ambient.files.dataset import CategoryRecord
from simulator.ambient.reporting.measures import Results, Value, worded
from simulator.ambient.reporting.settings import ReportSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """The answers of a model, or of some people, in one file or run.

    Attributes:
        kind: of results.
        name: the model's, or the file's.
        rows: one record each.
        files: what they were read from: a file, or ``run NAME``.
        left_out: rows that could not be read.
        remarks: on what is not among them.
    """

    kind: str
    name: str
    rows: Sequence[Any]
    files: tuple[str, ...] = ()
    left_out: int = 0
    remarks: tuple[str, ...] = ()

    def results(self, values: Mapping[str, Value], **parts: Any) -> Results:
        """Return what they come to.

        Args:
            values: of the measures, by their keys.
            parts: of the `Results`; what else is given goes to `worded`.
        """
        own = {name: parts.pop(name) for name in ("tables", "exact", "data", "remarks") if name in parts}
        measures = parts.pop("measures", None) or worded(self.kind, values, **parts)
        return Results(
            kind=self.kind,
            name=self.name,
            measures=measures,
            files=self.files,
            rows=len(self.rows),
            left_out=self.left_out,
            **own | {"remarks": (*own.get("remarks", ()), *self.remarks)},
        )


@dataclass(frozen=True, kw_only=True)
class Context:
    """What answers are compared with.

    Attributes:
        settings: of the report.
        examples: the dataset; empty if there is none.
        categories: rows with kinds of ambiguity.
    """

    settings: ReportSettings = field(default_factory=ReportSettings)
    examples: tuple[Example, ...] = ()
    categories: Sequence[CategoryRecord] = ()

    @cached_property
    def by_id(self) -> Mapping[str, Example]:
        """The examples by id."""
        return {example.id: example for example in self.examples}

    @property
    def tested(self) -> tuple[Example, ...]:
        """The test split; all examples if they have no splits."""
        return tuple(example for example in self.examples if example.split == "test") or self.examples


def by_text(counts: Mapping[int, int]) -> dict[str, int]:
    """Return counts as JSON can hold them."""
    return {str(size): count for size, count in counts.items()}
