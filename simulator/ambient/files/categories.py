"""Files of examples with kinds of ambiguity (spec 1.3).

Their rows are older than the dataset and some are not whole: the hypothesis, the labels, and the labels of
disambiguations may be null. Disambiguations are a text that holds a list in Python's notation.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from simulator.ambient.examples import Example
from simulator.ambient.labels import LABELS, Category, Label, LabelSet, format_labels
from simulator.ambient.rows import read_categories, read_labels
from simulator.errors import InputError
from simulator.jsonlines import Row
from simulator.tables.spec import TableSpec


class Rewrite(NamedTuple):
    """A disambiguation that need not be whole; None for what is not there."""

    premise: str
    hypothesis: str | None
    label: Label | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CategoryRecord:
    """An example with its kinds of ambiguity.

    Attributes:
        id: with a suffix, ``_g`` (generated) or ``_c`` (curated); not that of the dataset.
        hypothesis: None if there is none.
        labels: empty if there are none.
        rewrites: the disambiguations.
        categories: in the order of the file.
    """

    id: str
    premise: str
    hypothesis: str | None
    premise_ambiguous: bool
    hypothesis_ambiguous: bool
    labels: LabelSet
    rewrites: tuple[Rewrite, ...]
    categories: tuple[Category, ...]

    @property
    def missing(self) -> tuple[str, ...]:
        """The fields that are null or empty, and ``label`` if a disambiguation has none."""
        there = {
            "hypothesis": self.hypothesis is not None,
            "labels": bool(self.labels),
            "disambiguations": bool(self.rewrites),
            "label": all(rewrite.label is not None for rewrite in self.rewrites),
        }
        return tuple(name for name, is_there in there.items() if not is_there)

    @property
    def whole(self) -> bool:
        """Whether nothing is missing."""
        return not self.missing


def category_record(example: Example) -> CategoryRecord:
    """Return the row of an example whose kinds of ambiguity are known."""
    return CategoryRecord(
        id=example.id,
        premise=example.premise,
        hypothesis=example.hypothesis,
        premise_ambiguous=example.premise_ambiguous,
        hypothesis_ambiguous=example.hypothesis_ambiguous,
        labels=example.labels,
        rewrites=tuple(
            Rewrite(disambiguation.premise, disambiguation.hypothesis, disambiguation.label)
            for disambiguation in example.disambiguations
        ),
        categories=example.categories,
    )


def read_category_row(row: Row) -> CategoryRecord:
    """Return a row of such a file.

    Raises:
        FieldError: names the field that is missing or wrong.
    """
    row.parsed("category", _not_none)
    rewrites = Row({"disambiguations": row.parsed("disambiguations", _literal)}, row.where)
    return CategoryRecord(
        id=row.key("id"),
        premise=row.text("premise"),
        hypothesis=_text_or_none(row, "hypothesis"),
        premise_ambiguous=row.flag("premise_ambiguous"),
        hypothesis_ambiguous=row.flag("hypothesis_ambiguous"),
        labels=frozenset() if row.get("labels", "") is None else read_labels(row, "labels"),
        rewrites=tuple(map(_rewrite, rewrites.rows("disambiguations"))),
        categories=read_categories(row),
    )


def category_line(record: CategoryRecord) -> str:
    """Return the record as a line of JSON, without blanks, as published."""
    rewrites = [
        {"premise": rewrite.premise, "hypothesis": rewrite.hypothesis, "label": rewrite.label}
        for rewrite in record.rewrites
    ]
    data = {
        "id": record.id,
        "premise": record.premise,
        "hypothesis": record.hypothesis,
        "category": ", ".join(record.categories),
        "premise_ambiguous": record.premise_ambiguous,
        "hypothesis_ambiguous": record.hypothesis_ambiguous,
        "labels": format_labels(record.labels) or None,
        "disambiguations": repr(rewrites),
    }
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))


def _rewrite(row: Row) -> Rewrite:
    label = None if row.get("label", "") is None else row.one_of("label", LABELS)
    return Rewrite(row.text("premise"), _text_or_none(row, "hypothesis"), label)


def _text_or_none(row: Row, name: str) -> str | None:
    return None if row.get(name, "") is None else row.text(name)


def _not_none(value: Any) -> Any:
    if value is None:
        raise InputError("names no kind of ambiguity")
    return value


def _literal(value: Any) -> list[Any]:
    """Return a list in Python's notation, which is read and never run."""
    if not isinstance(value, str):
        raise InputError("not a text that holds a list in Python's notation")
    try:
        found = ast.literal_eval(value)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError) as error:
        raise InputError("a text that holds no list in Python's notation") from error
    if not isinstance(found, list):
        raise InputError(f"a text that holds {type(found).__name__}, not a list, in Python's notation")
    return found


def _is_category_row(row: Mapping[str, Any]) -> bool:
    fields = {"id", "premise", "hypothesis", "category"}
    return fields <= row.keys() and isinstance(row.get("disambiguations"), str)


CATEGORY_ROWS: Final = TableSpec[CategoryRecord](
    name="categories",
    title="kinds of ambiguity",
    is_of=_is_category_row,
    parse=read_category_row,
    key=lambda record: (record.id, repr(record)),
    line=category_line,
)
