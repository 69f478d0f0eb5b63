"""Linguists' forms in a logged run, and agreement between annotators who assign label sets.

Annotators are linguists (spec 3, our addition) and validators (spec 4). Agreement of linguists is computed
over rows with exactly two annotations; alpha, with MASI distance, over all rows. Rows discarded by any
linguist are excluded. Agreement of validators is computed over the examples that all of them saw and none
discarded.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Final
from weakref import WeakKeyDictionary

import numpy as np

from logs import LogReader
from simulator.ambient.annotation.rules import Annotation, read_annotation
from simulator.ambient.examples import Example
from simulator.ambient.intervals import Count, Values
from simulator.ambient.items import AnnotateItem
from simulator.ambient.labels import LABEL_SETS, LABELS, LabelSet
from simulator.ambient.playing import ANNOTATOR
from simulator.ambient.records import LinguistRecord
from simulator.ambient.trial_log import items_of, played_of
from simulator.errors import InputError
from simulator.judging.agreement import (
    Measure,
    alpha_measure,
    intervals,
    kappa_measure,
    masi_distance,
    mean_measure,
    modal_subjects,
    set_measures,
    tally,
)
from simulator.stats import Interval

Agreement = Mapping[str, Interval | None]
"""Measures by name, None where undefined.

Between label sets: Fleiss' kappa for each label (in the set or not), over the seven sets (``whole``) and for
several labels against one (``several``); the share of rows with ``identical`` sets, and of rows where one
set ``contains_all`` others. Between linguists' two sets and the example's final set: the share of rows where
the final set is the ``union`` of the two, equals ``either`` of them, or is ``contained`` in the union, and
the share of single annotations equal to it (``exact``, whose `n` counts annotations).
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """One linguist's form, with the seconds from seeing the example to submitting, if known.

    `merged`: True if the rewrites are those of all linguists. Published rows do not attribute rewrites
    (spec 3), so an import stores them all with the first form.
    """

    worker: str
    annotation: Annotation
    seconds: float | None = None
    merged: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerStatistics:
    """Statistics on one annotator (spec 3): median seconds per example, shares of ambiguous and discarded."""

    worker: str
    examples: int
    seconds: float | None
    ambiguous: float
    discarded: float


def linguist_measures(
    records: Sequence[LinguistRecord], finals: Mapping[str, LabelSet] | None = None
) -> Values:
    """Return the agreement of linguists with each other and with the dataset's final label sets by id.

    ``discarded`` rows are excluded. Measures are over rows with exactly two annotations, ``several`` over
    the single annotations in them, ``alpha`` over all rows with two or more. Those against final sets
    (``final_…``) are missing if `finals` is empty. ``twice``: ids of rows that name a worker twice, which
    count like any other. ``annotations`` maps the number of annotations to the number of rows.
    """
    valid = [record for record in records if not record.discarded]
    sizes = Counter(len(record.annotations) for record in valid)
    rows = [row for row, record in enumerate(valid) if len(record.annotations) == 2]
    two = [valid[row].annotations for row in rows]
    matched = [row for row in rows if valid[row].id in (finals or {})]
    agreement = intervals(_set_measures(two, rows, len(valid)))
    final = intervals(_final_measures(valid, matched, finals)) if finals else {}
    single = [float(len(labels) > 1) for sets in two for labels in sets]
    further = intervals(
        {
            "several": mean_measure(single, np.repeat(rows, 2).tolist(), len(valid)),
            "alpha": alpha_measure([record.annotations for record in valid], masi_distance),
        }
    )
    return {
        **{f"kappa_{label}": agreement[label] for label in LABELS},
        "kappa_sets": agreement["whole"],
        "kappa_several": agreement["several"],
        **{name: agreement[name] for name in ("identical", "contains_all")},
        **further,
        **{f"final_{name}": value for name, value in final.items()},
        "workers": Count(len({form.worker for form in single_annotations(records)})),
        "discarded": Count(len(records) - len(valid), len(records)),
        "annotations": dict(sorted(sizes.items())),
        "twice": [record.id for record in valid if len(set(record.workers)) < len(record.workers)],
        "rows_with_final": len(matched),
    }


def set_agreement(rows: Sequence[Sequence[LabelSet]]) -> Agreement:
    """Return the agreement over rows that all have the same number of label sets, at least two."""
    return intervals(_set_measures(rows, range(len(rows)), len(rows)))


def validator_measures(examples: Mapping[str, Sequence[LabelSet | None]]) -> Values:
    """Return the agreement of validators.

    Measures are over examples seen by the most common number of validators (``raters``) and ``discarded`` by
    none of them; ``other`` examples were seen by another number.

    Args:
        examples: by example, the label set that each validator gave, None if they discarded it.
    """
    sets = list(examples.values())
    full = [sets[place] for place in modal_subjects(sets)]
    rows = [[labels for labels in row if labels is not None] for row in full if None not in row]
    return {
        **set_agreement(rows),
        **intervals({"alpha": alpha_measure(rows, masi_distance)}),
        "raters": len(full[0]) if full else None,
        "rows": len(rows),
        "discarded": len(full) - len(rows),
        "other": len(examples) - len(full),
    }


def worker_statistics(forms: Iterable[Form]) -> tuple[WorkerStatistics, ...]:
    """Return the statistics of each annotator, those with most examples first."""
    by_worker: defaultdict[str, list[Form]] = defaultdict(list)
    for form in forms:
        by_worker[form.worker].append(form)
    statistics = (
        WorkerStatistics(
            worker=worker,
            examples=len(submitted),
            seconds=median(seconds) if seconds else None,
            ambiguous=fmean(len(form.annotation.labels) > 1 for form in submitted),
            discarded=fmean(form.annotation.discard is not None for form in submitted),
        )
        for worker, submitted in by_worker.items()
        for seconds in [[form.seconds for form in submitted if form.seconds is not None]]
    )
    return tuple(sorted(statistics, key=lambda each: (-each.examples, each.worker)))


def single_annotations(records: Sequence[LinguistRecord]) -> tuple[Form, ...]:
    """Return the forms behind records, row by row, without rewrites, which records do not attribute."""
    forms = list[Form]()
    for record in records:
        pairs = zip(record.workers, record.annotations, strict=True)
        forms += (Form(worker=worker, annotation=Annotation(labels=labels)) for worker, labels in pairs)
        discarded = (record.discarded or {}).items()
        forms += (Form(worker=worker, annotation=Annotation(discard=reason)) for worker, reason in discarded)
    return tuple(forms)


def _set_measures(sets: Sequence[Sequence[LabelSet]], rows: Sequence[int], number: int) -> dict[str, Measure]:
    """Return the measures between label sets, for the given `rows` out of `number`."""
    several = tally([[len(labels) > 1 for labels in row] for row in sets], (False, True))
    contains_all = [float(_union(row) in row) for row in sets]
    return {
        **set_measures(sets, LABELS, rows, number),
        "whole": kappa_measure(tally(sets, LABEL_SETS), rows, number),
        "several": kappa_measure(several, rows, number),
        "contains_all": mean_measure(contains_all, rows, number),
    }


def _final_measures(
    records: Sequence[LinguistRecord], matched: Sequence[int], finals: Mapping[str, LabelSet]
) -> dict[str, Measure]:
    """Return the measures against final sets, for the rows of `records` that have one."""
    pairs = [(records[row].annotations, finals[records[row].id]) for row in matched]
    shares = {
        "union": [float(final == _union(sets)) for sets, final in pairs],
        "either": [float(final in sets) for sets, final in pairs],
        "contained": [float(final <= _union(sets)) for sets, final in pairs],
    }
    exact = [float(final == labels) for sets, final in pairs for labels in sets]
    return {
        **{name: mean_measure(values, matched, len(records)) for name, values in shares.items()},
        "exact": mean_measure(exact, np.repeat(matched, 2).tolist(), len(records)),
    }


def _union(sets: Sequence[LabelSet]) -> LabelSet:
    return frozenset().union(*sets)


# ---- forms of a run, example by example

NEEDED: Final = 2
"""Annotations that an example needs before it is consolidated."""

# The desk reads the run again after each of a validator's forms, and thousands of episodes take seconds.
_CACHE: Final[
    WeakKeyDictionary[LogReader, dict[str, tuple[tuple[int, ...], dict[str, AnnotatedExample]]]]
] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotatedExample:
    """An example of a run with all forms on it, the oldest first.

    `key`: the hash of the example's item in the log.
    """

    key: str
    example: Example
    forms: tuple[Form, ...] = ()

    @property
    def dropped(self) -> bool:
        """Return True if a linguist discarded the example."""
        return any(form.annotation.discard is not None for form in self.forms)

    @property
    def complete(self) -> bool:
        """Return True if the example has enough annotations."""
        return len(self.forms) >= NEEDED


def annotated_examples(reader: LogReader, run_id: str) -> dict[str, AnnotatedExample]:
    """Return the examples of a run by key, in the order in which they were first assigned.

    Forms count as in `trial_log.linguist_records`, but only the latest of each person on an example.

    Raises:
        InputError: if the run has no examples that linguists annotate.
        NotInLog: if there is no such run.
    """
    version = _version(reader, reader.run(run_id).id)
    cached = _CACHE.setdefault(reader, {})
    if run_id not in cached or cached[run_id][0] != version:
        cached[run_id] = (version, _read(reader, run_id))
    return dict(cached[run_id][1])


def _version(reader: LogReader, run_id: str) -> tuple[int, ...]:
    """Return a value that changes with the run's forms, which count once their episode has ended."""
    with reader.connection() as connection:
        counts = connection.execute(
            "SELECT count(*), (SELECT count(*) FROM endings WHERE episode_id IN "
            "(SELECT id FROM episodes WHERE run_id = :run)) FROM episodes WHERE run_id = :run",
            {"run": run_id},
        ).fetchone()
    return *map(int, counts), hash(reader.uncounted_participants())


def _read(reader: LogReader, run_id: str) -> dict[str, AnnotatedExample]:
    items = items_of(reader, run_id)
    examples = {key: item.example for key, item in items.items() if isinstance(item, AnnotateItem)}
    if not examples:
        message = f"{run_id} has no examples for linguists to annotate: run the task annotate first."
        raise InputError(message, code="not_annotated", run=run_id)
    forms: dict[str, list[Form]] = {key: [] for key in examples}
    for played in played_of(reader, [run_id]):
        turn = next((turn for turn in played.turns if turn.payload.get("kind") == "annotate"), None)
        if turn is None or (key := played.episode.item_hash) not in forms:
            continue
        person = played.episode.participant_id
        other_forms = [form for form in forms[key] if person is None or form.worker != person]
        form = Form(
            worker=played.occupant(ANNOTATOR),
            annotation=read_annotation(turn.payload),
            seconds=turn.seconds,
            merged=bool(turn.payload.get("merged")),
        )
        forms[key] = [*other_forms, form]
    return {
        key: AnnotatedExample(key=key, example=example, forms=tuple(forms[key]))
        for key, example in examples.items()
    }


def worker_forms(reader: LogReader, run_id: str) -> tuple[Form, ...]:
    """Return every form of a run, for `worker_statistics`."""
    return tuple(form for example in annotated_examples(reader, run_id).values() for form in example.forms)
