"""Linguists' forms in a run of the log, and how far annotators agree who give sets of labels.

These are linguists (spec 3, our addition) and validators (4).

Linguists' agreement is counted over rows with exactly two annotations; alpha, whose distance of two sets is
MASI, over all rows. Rows that somebody discarded are dropped. Validators' agreement is counted over the
examples that all of them saw and none of them discarded.
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
"""Measures by name, None where one is undefined.

Of label sets: Fleiss' kappa for each label (in the set, or not), ``whole`` over the seven sets and
``several`` for several labels against one; the shares of rows with ``identical`` sets, and of those where
one set ``contains_all`` others. Of linguists' two sets against the final set of their example: the shares
of rows where that is the ``union`` of the two, equals ``either`` of them, or is ``contained`` in the union,
and the share of single annotations that are ``exact``, whose `n` counts annotations.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """One linguist's form, with the seconds from seeing the example to submitting, if known.

    `merged`: its rewrites are those of all linguists together, which a published row does not attribute
    (spec 3); they stand with the first alone because they have to stand somewhere.
    """

    worker: str
    annotation: Annotation
    seconds: float | None = None
    merged: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerStatistics:
    """An organiser's account of an annotator (spec 3): median seconds on the page, shares of the examples."""

    worker: str
    examples: int
    seconds: float | None
    ambiguous: float
    discarded: float


def linguist_measures(
    records: Sequence[LinguistRecord], finals: Mapping[str, LabelSet] | None = None
) -> Values:
    """Return how far linguists agree with each other, and with the final label sets of the dataset, by id.

    Rows that somebody ``discarded`` are dropped. Measures are over rows with exactly two annotations,
    ``several`` over their single ones, ``alpha`` over all rows with two or more; those against final sets
    (``final_…``) are missing without any. ``twice``: ids of rows that name one worker twice, which count like
    any other. ``annotations``: number of annotations -> rows.
    """
    kept = [record for record in records if not record.discarded]
    sizes = Counter(len(record.annotations) for record in kept)
    rows = [row for row, record in enumerate(kept) if len(record.annotations) == 2]
    two = [kept[row].annotations for row in rows]
    matched = [row for row in rows if kept[row].id in (finals or {})]
    agreement = intervals(_set_measures(two, rows, len(kept)))
    final = intervals(_final_measures(kept, matched, finals)) if finals else {}
    single = [float(len(labels) > 1) for sets in two for labels in sets]
    further = intervals(
        {
            "several": mean_measure(single, np.repeat(rows, 2).tolist(), len(kept)),
            "alpha": alpha_measure([record.annotations for record in kept], masi_distance),
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
        "discarded": Count(len(records) - len(kept), len(records)),
        "annotations": dict(sorted(sizes.items())),
        "twice": [record.id for record in kept if len(set(record.workers)) < len(record.workers)],
        "rows_with_final": len(matched),
    }


def set_agreement(rows: Sequence[Sequence[LabelSet]]) -> Agreement:
    """Return the agreement over rows that all have the same number of label sets, two at least."""
    return intervals(_set_measures(rows, range(len(rows)), len(rows)))


def validator_measures(examples: Mapping[str, Sequence[LabelSet | None]]) -> Values:
    """Return how far validators agree: by example the set of every one who saw it, None if discarded.

    Examples count that as many have seen as most (``raters``), and that none of them ``discarded``; ``other``
    were seen by another number.
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
    """Return what an organiser is told of each annotator, those with most examples first."""
    by_worker: defaultdict[str, list[Form]] = defaultdict(list)
    for form in forms:
        by_worker[form.worker].append(form)
    statistics = (
        WorkerStatistics(
            worker=worker,
            examples=len(own),
            seconds=median(seconds) if seconds else None,
            ambiguous=fmean(len(form.annotation.labels) > 1 for form in own),
            discarded=fmean(form.annotation.discard is not None for form in own),
        )
        for worker, own in by_worker.items()
        for seconds in [[form.seconds for form in own if form.seconds is not None]]
    )
    return tuple(sorted(statistics, key=lambda each: (-each.examples, each.worker)))


def single_annotations(records: Sequence[LinguistRecord]) -> tuple[Form, ...]:
    """Return the forms of which records are made, row by row, without rewrites, which are nobody's."""
    forms = list[Form]()
    for record in records:
        pairs = zip(record.workers, record.annotations, strict=True)
        forms += (Form(worker=worker, annotation=Annotation(labels=labels)) for worker, labels in pairs)
        discarded = (record.discarded or {}).items()
        forms += (Form(worker=worker, annotation=Annotation(discard=reason)) for worker, reason in discarded)
    return tuple(forms)


def _set_measures(sets: Sequence[Sequence[LabelSet]], rows: Sequence[int], number: int) -> dict[str, Measure]:
    """Return the measures of label sets of some of `number` rows."""
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
    """Return the measures of the rows of records whose final set is known."""
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
"""Annotations that an example needs before anybody consolidates it."""

# Validators ask for the same run after every form of theirs, and reading thousands of episodes takes seconds.
_KEPT: Final[WeakKeyDictionary[LogReader, dict[str, tuple[tuple[int, ...], dict[str, Annotated]]]]] = (
    WeakKeyDictionary()
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotated:
    """An example of a run with all forms on it, the oldest first.

    Attributes:
        key: names it in the log: its item's hash.
    """

    key: str
    example: Example
    forms: tuple[Form, ...] = ()

    @property
    def dropped(self) -> bool:
        """Return True if a linguist discarded it."""
        return any(form.annotation.discard is not None for form in self.forms)

    @property
    def complete(self) -> bool:
        """Return True if it has the annotations that it needs."""
        return len(self.forms) >= NEEDED


def annotated(reader: LogReader, run_id: str) -> dict[str, Annotated]:
    """Return the examples of a run by key, in the order in which they were first given to somebody.

    Forms count as in `trial_log.linguist_records`, but of one person on one example the newest alone.

    Raises:
        InputError: if the run has no such examples.
        NotInLog: if there is no such run.
    """
    state = _state(reader, reader.run(run_id).id)
    kept = _KEPT.setdefault(reader, {})
    if run_id not in kept or kept[run_id][0] != state:
        kept[run_id] = (state, _read(reader, run_id))
    return dict(kept[run_id][1])


def _state(reader: LogReader, run_id: str) -> tuple[int, ...]:
    """Return what is another as soon as a form has come or gone: forms count once their episode has ended."""
    with reader.connection() as connection:
        counts = connection.execute(
            "SELECT count(*), (SELECT count(*) FROM endings WHERE episode_id IN "
            "(SELECT id FROM episodes WHERE run_id = :run)) FROM episodes WHERE run_id = :run",
            {"run": run_id},
        ).fetchone()
    return *map(int, counts), hash(reader.uncounted_participants())


def _read(reader: LogReader, run_id: str) -> dict[str, Annotated]:
    items = items_of(reader, run_id)
    examples = {key: item.example for key, item in items.items() if isinstance(item, AnnotateItem)}
    if not examples:
        message = f"{run_id} has no examples that linguists annotate: run the task annotate first."
        raise InputError(message, code="not_annotated", run=run_id)
    forms: dict[str, list[Form]] = {key: [] for key in examples}
    for played in played_of(reader, [run_id]):
        turn = next((turn for turn in played.turns if turn.payload.get("kind") == "annotate"), None)
        if turn is None or (key := played.episode.item_hash) not in forms:
            continue
        person = played.episode.participant_id
        others = [form for form in forms[key] if person is None or form.worker != person]
        form = Form(
            worker=played.who(ANNOTATOR),
            annotation=read_annotation(turn.payload),
            seconds=turn.seconds,
            merged=bool(turn.payload.get("merged")),
        )
        forms[key] = [*others, form]
    return {
        key: Annotated(key=key, example=example, forms=tuple(forms[key])) for key, example in examples.items()
    }


def worker_forms(reader: LogReader, run_id: str) -> tuple[Form, ...]:
    """Return every form of a run, for `worker_statistics`."""
    return tuple(form for example in annotated(reader, run_id).values() for form in example.forms)
