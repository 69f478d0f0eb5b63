"""Sorting ambiguous examples into kinds of ambiguity (spec 1.3).

An annotator names one kind for each ambiguity of an example; where several kinds fit one ambiguity, the one
that comes first in `labels.CATEGORIES` holds (`winner`). Two annotators sort each example, blind to each
other; where they differ, one form more decides. A form is a `Judgment` on the example's item:

==================== ========== ==============================================
kind                 about      value
==================== ========== ==============================================
``ambient.category`` an item    ``categories``, ``data``, ``note``, ``decides``
==================== ========== ==============================================

Of each annotator the newest form counts, in the place of the first; of those that decide, the newest.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, NamedTuple

from logs import LogReader
from logs.rows import Item, Judgment
from simulator.agreement import (
    Measure,
    alpha_interval,
    intervals,
    kappa_measure,
    masi_distance,
    mean_measure,
    modal_raters,
    tally,
)
from simulator.ambient.examples import Example
from simulator.ambient.files.categories import CategoryRecord, Rewrite, write_categories_file
from simulator.ambient.items import AnnotateItem
from simulator.ambient.labels import CATEGORIES, Category
from simulator.ambient.rows import item_row
from simulator.errors import InputError
from simulator.forms import desk_row, in_own_order
from simulator.stats import Interval

KIND: Final = "ambient.category"
ANNOTATORS: Final = 2
Kinds = tuple[Category, ...]
"""In the order of their priority, each once."""


class Categorised(NamedTuple):
    """The rows that a form makes, to be written in this order.

    Attributes:
        item: the example; the log has it once, however often it is sorted.
        judgment: what the annotator says of it.
    """

    item: Item
    judgment: Judgment


@dataclass(frozen=True, slots=True, kw_only=True)
class Sorted:
    """How far an example is.

    Attributes:
        kinds: annotator -> kinds, without forms that decide.
        notes: annotator -> what they wrote beside.
        decided: the kinds that ended a discussion.
    """

    example: Example
    kinds: Mapping[str, Kinds] = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)
    decided: Kinds | None = None

    @property
    def settled(self) -> Kinds | None:
        """What holds: decided, or said by all; None before there is such a thing."""
        if self.decided is not None:
            return self.decided
        said = set(self.kinds.values())
        return said.pop() if len(said) == 1 else None

    @property
    def differs(self) -> bool:
        """Whether annotators differ and nobody has decided."""
        return bool(self.kinds) and self.settled is None


@dataclass(frozen=True, slots=True, kw_only=True)
class CategoryAgreement:
    """How far annotators sort alike, over the examples that the usual number of them sorted.

    Attributes:
        raters: that number; None if no example has two.
        examples: sorted by so many; `other` by another number, one at least.
        alpha: Krippendorff's with MASI, over all examples that two or more sorted.
        identical: share of examples with the same kinds from everybody.
        category: Fleiss' kappa for each kind: named, or not.
    """

    raters: int | None
    examples: int
    other: int
    alpha: Interval | None
    identical: Interval | None
    category: Mapping[Category, Interval | None]


def winner(fitting: Iterable[Category]) -> Category:
    """The kind that holds of one ambiguity that several fit.

    Raises:
        InputError: if none does.
    """
    fits = set(fitting)
    for category in CATEGORIES:
        if category in fits:
            return category
    raise InputError(
        "Name a kind of ambiguity; if none fits, it is of another kind (other).", code="kindless"
    )


def sort_example(
    example: Example,
    annotator: str,
    categories: Iterable[str],
    *,
    data: str,
    submission: str,
    note: str = "",
    decides: bool = False,
    single: bool = False,
) -> Categorised:
    """The rows that an annotator's form makes; nothing is written here.

    Args:
        example: an ambiguous one.
        annotator: the annotator's pseudonym.
        categories: one for each ambiguity; the same kind twice is that kind once.
        data: names the data set or run that the example is of.
        submission: the same is the same form, however often it is sent.
        note: anything else.
        decides: whether it ends a discussion.
        single: whether all of them fit one and the same ambiguity, of which one alone then holds (`winner`).

    Raises:
        InputError: if the example is not ambiguous, or a kind is missing or unknown.
    """
    if not example.ambiguous:
        raise InputError(
            f"Example {example.id} is not ambiguous, so it is of no kind.",
            code="not_ambiguous",
            example=example.id,
        )
    if not annotator.strip():
        raise InputError("Say who sorts: a name, or any other pseudonym.", code="nameless")
    given = list(categories)
    if unknown := [one for one in given if one not in CATEGORIES]:
        raise InputError(
            f"{unknown[0]!r} is no kind of ambiguity; they are {', '.join(CATEGORIES)}.",
            code="no_choice",
            value=unknown[0],
        )
    if not given:
        raise InputError(
            "Name a kind of ambiguity; if none fits, it is of another kind (other).", code="kindless"
        )
    fitting = _kinds(given)
    kinds = [winner(fitting)] if single else list(fitting)
    item = _item(example)
    value = {"categories": kinds, "data": data, "note": note, "decides": decides}
    return Categorised(item, desk_row(KIND, data, item.hash, annotator, value, submission=submission))


def sorted_examples(reader: LogReader, examples: Iterable[Example], data: str) -> tuple[Sorted, ...]:
    """How far every ambiguous example is, in their order.

    Args:
        reader: of the log.
        examples: of a data set; forms on an example that has been changed since are not found.
        data: as in `sort_example`.
    """
    forms: dict[str, list[Judgment]] = {}
    for one in reader.judgments(kind=KIND):
        # The values of annotators who have been erased are gone.
        if one.item_hash is not None and one.value.get("data") == data:
            forms.setdefault(one.item_hash, []).append(one)
    ambiguous = [example for example in examples if example.ambiguous]
    return tuple(_sorted(one, forms.get(_item(one).hash, [])) for one in ambiguous)


def to_sort(
    examples: Sequence[Sorted], annotator: str, *, annotators: int = ANNOTATORS
) -> tuple[Example, ...]:
    """The examples that an annotator is to sort next, in an order of the annotator's own.

    Left out is what the annotator has sorted, what `annotators` others have, and what is decided.
    """
    due = [one.example for one in examples if _is_due(one, annotator, annotators)]
    return in_own_order(due, "categories", annotator, lambda one: one.id)


def to_settle(
    examples: Sequence[Sorted], annotator: str, *, annotators: int = ANNOTATORS
) -> tuple[Sorted, ...]:
    """The examples on which annotators differ, without those that `annotator` has yet to sort alone."""
    return tuple(one for one in examples if one.differs and not _is_due(one, annotator, annotators))


def category_agreement(examples: Sequence[Sorted], *, seed: int = 0) -> CategoryAgreement:
    """How far annotators sort alike.

    Args:
        examples: out of `sorted_examples`.
        seed: of the resampling of examples.
    """
    units = [[frozenset(kinds) for kinds in one.kinds.values()] for one in examples if one.kinds]
    raters = modal_raters(units)
    usual = [unit for unit in units if len(unit) == raters]
    measures: dict[str, Measure] = {
        category: kappa_measure(
            tally([[category in kinds for kinds in unit] for unit in usual], (False, True))
        )
        for category in CATEGORIES
    }
    measures["identical"] = mean_measure([float(len(set(unit)) == 1) for unit in usual])
    found = intervals(measures, seed=seed)
    return CategoryAgreement(
        raters=raters,
        examples=len(usual),
        other=len(units) - len(usual),
        alpha=alpha_interval(units, masi_distance, seed=seed),
        identical=found["identical"],
        category={category: found[category] for category in CATEGORIES},
    )


def category_records(examples: Sequence[Sorted]) -> tuple[CategoryRecord, ...]:
    """The settled examples as rows of the published format, ids with their suffix (spec 1.3)."""
    return tuple(
        CategoryRecord(
            id=_suffixed(one.example.id),
            premise=one.example.premise,
            hypothesis=one.example.hypothesis,
            premise_ambiguous=one.example.premise_ambiguous,
            hypothesis_ambiguous=one.example.hypothesis_ambiguous,
            labels=one.example.labels,
            rewrites=tuple(Rewrite(d.premise, d.hypothesis, d.label) for d in one.example.disambiguations),
            categories=one.settled,
        )
        for one in examples
        if one.settled is not None
    )


def export_categories(examples: Sequence[Sorted], path: str | Path) -> int:
    """Write the settled examples in the published format.

    Returns:
        How many there are.

    Raises:
        InputError: if there are none, or the file cannot be written.
    """
    records = category_records(examples)
    if not records:
        raise InputError("No example is sorted yet, so there is nothing to write.")
    write_categories_file(path, records)
    return len(records)


def _item(example: Example) -> Item:
    # What is not part of the annotated pair may come and go without its forms being lost.
    bare = replace(example, split="", categories=(), distractors={}, meta=None)
    return item_row(AnnotateItem(id=example.id, example=bare))


def _sorted(example: Example, forms: Sequence[Judgment]) -> Sorted:
    blind = {one.annotator: one for one in forms if not one.value["decides"]}
    deciding = [one for one in forms if one.value["decides"]]
    return Sorted(
        example=example,
        kinds={name: _kinds(one.value["categories"]) for name, one in blind.items()},
        notes={name: one.value["note"] for name, one in blind.items() if one.value["note"]},
        decided=_kinds(deciding[-1].value["categories"]) if deciding else None,
    )


def _is_due(one: Sorted, annotator: str, annotators: int) -> bool:
    return one.decided is None and annotator not in one.kinds and len(one.kinds) < annotators


def _kinds(given: Iterable[str]) -> Kinds:
    there = set(given)
    return tuple(category for category in CATEGORIES if category in there)


def _suffixed(id: str) -> str:
    return id if id.endswith(("_c", "_g")) else f"{id}_g"
