"""Measures of crowdworkers' votes on the dataset (spec 5.3; paper 3, Table 1) and models' rewrites (6.5).

All are computed from `CrowdRecord`s, read from a published file or the log. A *reading* is a candidate with
a label (a true slot); the distractor has none. Intervals resample rows, so the readings of one row stay
together.

==================== ================================================================ ==============
measure              rule                                                             `Interval.n`
==================== ================================================================ ==============
kappa_original       Fleiss over the labels of the original pair                      rows
kappa_disambiguated  Fleiss over the labels of the pairs of all readings              readings
alpha_…              Krippendorff, nominal, of the same for any number of workers     rows, readings
true_plausible       mean share of yes over all readings                              readings
distractor_plausible mean share of yes over rows with two readings and a distractor   rows
accepts_all          mean share of workers who say yes to every reading of the row    rows
agreement            share of rows where, for every reading, more than half of the    rows
                     workers say yes and its label has the plurality
==================== ================================================================ ==============
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Final, Literal, NamedTuple, get_args

from simulator.ambient.examples import squeeze
from simulator.ambient.intervals import Values, mean_interval
from simulator.ambient.labels import LABELS, Label
from simulator.ambient.records import CrowdRecord
from simulator.judging.agreement import (
    alpha_measure,
    intervals,
    mean_measure,
    modal_kappa,
    modal_raters,
    nominal_distance,
)

Tie = Literal["first", "strict", "lenient", "majority"]
TIES: Final[tuple[Tie, ...]] = get_args(Tie)
"""The label that wins a tie: the alphabetically first of the tied labels; none of them; each of them;
``majority``: only a label chosen by more than half of the workers."""


class SlotVotes(NamedTuple):
    """The votes on one candidate: labels of the pair that contains it, and whether it is plausible."""

    sentence: str
    label: Label | None
    votes: Mapping[Label, int]
    plausible: int
    workers: int


def crowd_measures(records: Sequence[CrowdRecord], tie: Tie = "first") -> Values:
    """Return all measures of crowdworkers' votes; ``undefined`` says why some are None.

    Rows without votes or readings are ``left_out`` of all measures. Kappas cover the subjects with the most
    common number of votes (``raters``); ``other_raters`` counts the other subjects.
    ``repeated_distractors`` counts rows whose distractor is the ambiguous sentence or a reading shown;
    ``distractor_plausible_told_apart`` excludes them. ``ties``: readings with two or three most chosen
    labels.
    """
    used = [record for record in records if record.workers and record.true_slots]
    number = len(used)
    pooled = [(row, slot) for row, record in enumerate(used) for slot in record.true_slots]
    every = [(row, slot) for row, record in enumerate(used) for slot in range(len(record.labels))]
    rows = [row for row, _ in pooled]
    original, readings, shown = (
        [record.original for record in used],
        [used[row].relabelled[slot] for row, slot in pooled],
        [used[row].relabelled[slot] for row, slot in every],
    )
    fooled = {
        row: record.plausible[record.distractor]
        for row, record in enumerate(used)
        if len(record.true_slots) == 2 and record.distractor is not None
    }
    apart = {row: votes for row, votes in fooled.items() if not repeats_a_reading(used[row])}
    measures = {
        "kappa_original": modal_kappa(original, LABELS, range(number), number),
        "kappa_disambiguated": modal_kappa(readings, LABELS, rows, number),
        "kappa_with_distractor": modal_kappa(shown, LABELS, [row for row, _ in every], number),
        "alpha_original": alpha_measure(original, nominal_distance, range(number), number),
        "alpha_disambiguated": alpha_measure(readings, nominal_distance, rows, number),
        "true_plausible": mean_measure(
            [fmean(used[row].plausible[slot]) for row, slot in pooled], rows, number
        ),
        "distractor_plausible": mean_measure([*map(fmean, fooled.values())], [*fooled], number),
        "distractor_plausible_told_apart": mean_measure([*map(fmean, apart.values())], [*apart], number),
        "accepts_all": mean_measure([_accepting(record) for record in used]),
        "agreement": mean_measure([float(agrees(record, tie)) for record in used]),
    }
    known = intervals(measures)
    raters = {"original": modal_raters(original), "disambiguated": modal_raters(readings)}
    ties = Counter(len(most_chosen(votes)) for votes in readings)
    return {
        **known,
        "tie": tie,
        "undefined": {
            name: _why_undefined(name, bool(used)) for name, value in known.items() if value is None
        },
        "left_out": len(records) - number,
        "readings": len(pooled),
        "three_readings": sum(len(record.true_slots) == 3 for record in used),
        "repeated_distractors": len(fooled) - len(apart),
        "ties": {"two": ties[2], "three": ties[3]},
        "workers": worker_counts(used),
        "raters": raters,
        "other_raters": {
            name: sum(bool(vote) and len(vote) != raters[name] for vote in votes)
            for name, votes in {"original": original, "disambiguated": readings}.items()
        },
    }


def slot_votes(record: CrowdRecord) -> tuple[SlotVotes, ...]:
    """Return the votes on each candidate of an example, in the order shown (Table 1)."""
    slots = zip(record.interpretations, record.labels, record.relabelled, record.plausible, strict=True)
    return tuple(
        SlotVotes(sentence, label, count_labels(votes), sum(plausible), len(plausible))
        for sentence, label, votes, plausible in slots
    )


def count_labels(votes: Sequence[Label]) -> dict[Label, int]:
    """Return label -> votes, in canonical order."""
    return {label: votes.count(label) for label in LABELS}


def wins(votes: Sequence[Label], label: Label, tie: Tie = "first") -> bool:
    """Return True if a label has the plurality of votes; `tie` decides ties."""
    tied = most_chosen(votes)
    match tie:
        case "first":
            return tied[0] == label
        case "strict":
            return tied == [label]
        case "lenient":
            return label in tied
        case "majority":
            return 2 * votes.count(label) > len(votes)


def most_chosen(votes: Sequence[Label]) -> list[Label]:
    """Return the labels with the most votes, in canonical order."""
    counts = count_labels(votes)
    return [label for label in LABELS if counts[label] == max(counts.values())]


def is_plausible(votes: Sequence[bool]) -> bool:
    """Return True if more than half of the workers say yes."""
    return 2 * sum(votes) > len(votes)


def agrees(record: CrowdRecord, tie: Tie = "first") -> bool:
    """Return True if every reading of a row is voted plausible and its label wins.

    False for a row without readings.
    """
    readings = [(slot, label) for slot, label in enumerate(record.labels) if label is not None]
    return bool(readings) and all(
        is_plausible(record.plausible[slot]) and wins(record.relabelled[slot], label, tie)
        for slot, label in readings
    )


def repeats_a_reading(record: CrowdRecord) -> bool:
    """Return True if the distractor is the ambiguous sentence itself or one of the readings shown."""
    if record.distractor is None:
        return False
    original = record.premise if record.side == "premise" else record.hypothesis
    others = (original, *(record.interpretations[slot] for slot in record.true_slots))
    return squeeze(record.interpretations[record.distractor]) in map(squeeze, others)


def _accepting(record: CrowdRecord) -> float:
    """Return the share of workers who say yes to every reading."""
    readings = (record.plausible[slot] for slot in record.true_slots)
    return fmean(map(all, zip(*readings, strict=True)))


def worker_counts(records: Iterable[CrowdRecord]) -> dict[int, int]:
    """Return the number of rows by number of workers."""
    return dict(sorted(Counter(record.workers for record in records).items()))


def _why_undefined(name: str, any_rows: bool) -> str:
    if not any_rows:
        return "no row has votes"
    if name == "distractor_plausible":
        return "no row has two readings and a distractor"
    if name == "distractor_plausible_told_apart":
        return "no row has two readings and a distractor that differs from them"
    return "no subject has two votes, or all votes are for one label"


# ---- judgments of models' rewrites (spec 6.5)

NEEDED: Final = 2
"""Labelled rewrites that a correct row needs: fewer disambiguate nothing."""


def is_correct(record: CrowdRecord, tie: Tie = "first") -> bool:
    """Return True if a row has two labelled rewrites or more, and the votes agree with each of them."""
    return len(record.true_slots) >= NEEDED and agrees(record, tie)


def evaluation_measures(records: Sequence[CrowdRecord], tie: Tie = "first") -> dict[str, Values]:
    """Return the share of correct rows by model, models in the order of their first row.

    Rows with ``few_rewrites`` always count as wrong; rows ``without_votes`` are left out of ``correct``.
    """
    by_model: dict[str, list[CrowdRecord]] = {}
    for record in records:
        by_model.setdefault(record.origin, []).append(record)
    return {model: _evaluation(rows, tie) for model, rows in by_model.items()}


def _evaluation(records: Sequence[CrowdRecord], tie: Tie) -> Values:
    few = [record for record in records if len(record.true_slots) < NEEDED]
    asked = [record for record in records if len(record.true_slots) >= NEEDED]
    judged = [record for record in asked if record.workers]
    return {
        "correct": mean_interval([0.0] * len(few) + [float(is_correct(record, tie)) for record in judged]),
        "rows": len(records),
        "few_rewrites": len(few),
        "without_votes": len(asked) - len(judged),
        "workers": worker_counts(records),
    }
