"""What crowdworkers' votes say of the dataset (spec 5.3; paper 3 and Table 1).

All measures come from `CrowdRecord`s, of a published file or of the log. A *reading* is a candidate with a
label, a true slot; the distractor has none. Rows are resampled whole for the intervals, so the readings of
one row stay together.

==================== ================================================================ ==============
measure              rule                                                             `Interval.n`
==================== ================================================================ ==============
kappa_original       Fleiss over the labels of the original pair                      rows
kappa_disambiguated  Fleiss over the labels of the pairs of all readings              readings
alpha_…              Krippendorff, nominal: the same of any number of workers         rows, readings
true_plausible       mean share of yes over all readings                              readings
distractor_plausible mean share of yes over rows with two readings and a distractor   rows
accepts_all          mean share of workers who say yes to every reading of the row    rows
agreement            share of rows where every reading has a yes of more than half    rows
                     of the workers, and its label the plurality
==================== ================================================================ ==============
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, get_args

from simulator.ambient.examples import squeeze
from simulator.ambient.labels import LABELS, Label, Side
from simulator.ambient.records import CrowdRecord
from simulator.judging.agreement import (
    Measure,
    alpha_measure,
    intervals,
    mean_measure,
    modal_kappa,
    modal_raters,
    nominal_distance,
)
from simulator.stats import Interval

Tie = Literal["first", "strict", "lenient", "majority"]
TIES: Final[tuple[Tie, ...]] = get_args(Tie)
"""Which label wins where votes are split evenly: the alphabetically first of those with most votes; none of
them; each of them; and ``majority``: only a label that more than half of the workers chose."""


class SlotVotes(NamedTuple):
    """The votes on one candidate.

    Attributes:
        sentence: the candidate.
        label: of the reading; None for a distractor.
        votes: label -> workers, for the pair with the candidate in it.
        plausible: workers who say it is a possible interpretation.
        workers: all of them.
    """

    sentence: str
    label: Label | None
    votes: Mapping[Label, int]
    plausible: int
    workers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class VoteTable:
    """The votes on one example, as in the paper's Table 1.

    Attributes:
        original: label -> workers, for the original pair; all 0 where it was not asked for.
        slots: candidates in the order in which they were shown.
    """

    id: str
    premise: str
    hypothesis: str
    side: Side
    original: Mapping[Label, int]
    slots: tuple[SlotVotes, ...]

    @property
    def readings(self) -> tuple[SlotVotes, ...]:
        """The candidates that are no distractors."""
        return tuple(slot for slot in self.slots if slot.label is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class CrowdMeasures:
    """All measures, each None where it is undefined; `undefined` says why.

    Attributes:
        rows: that were given.
        left_out: of them, those without any vote or reading; no measure counts them.
        readings: of the other rows.
        three_readings: rows with three of them and no distractor, which distractor_plausible leaves out.
        two_way_ties: readings on whose label the votes are split evenly between two labels.
        three_way_ties: likewise, between all three.
        repeated_distractors: rows whose distractor is the ambiguous sentence or one of the readings shown;
            distractor_plausible counts them, distractor_plausible_told_apart does not.
        workers: votes on a row -> rows.
        raters_original: votes that a row needs to count for kappa_original: what most rows have.
        raters_disambiguated: likewise for kappa_disambiguated.
        other_original: rows with votes that kappa_original leaves out, for their number of votes.
        other_disambiguated: likewise, readings.
        tie: how `agreement` was counted.
        undefined: measure -> why it is None.
    """

    rows: int
    left_out: int
    readings: int
    three_readings: int
    two_way_ties: int
    three_way_ties: int
    repeated_distractors: int
    workers: Mapping[int, int]
    raters_original: int | None
    raters_disambiguated: int | None
    other_original: int
    other_disambiguated: int
    kappa_original: Interval | None
    kappa_disambiguated: Interval | None
    kappa_with_distractor: Interval | None
    alpha_original: Interval | None
    alpha_disambiguated: Interval | None
    true_plausible: Interval | None
    distractor_plausible: Interval | None
    distractor_plausible_told_apart: Interval | None
    accepts_all: Interval | None
    agreement: Interval | None
    tie: Tie
    undefined: Mapping[str, str]


def crowd_measures(records: Sequence[CrowdRecord], tie: Tie = "first") -> CrowdMeasures:
    """Return all measures of crowdworkers' votes."""
    used = [record for record in records if record.workers and record.true_slots]
    pooled = [(row, slot) for row, record in enumerate(used) for slot in record.true_slots]
    rows = [row for row, _ in pooled]
    original = _labelling([record.original for record in used], range(len(used)), len(used))
    readings = _labelling([used[row].relabelled[slot] for row, slot in pooled], rows, len(used))
    every = [(row, slot) for row, record in enumerate(used) for slot in range(len(record.labels))]
    shown = _labelling(
        [used[row].relabelled[slot] for row, slot in every], [row for row, _ in every], len(used)
    )
    ties = Counter(_tied(used[row].relabelled[slot]) for row, slot in pooled)
    fooled = [
        row
        for row, record in enumerate(used)
        if len(record.true_slots) == 2 and record.distractor is not None
    ]
    apart = [row for row in fooled if not repeats_a_reading(used[row])]
    measures = {
        "kappa_original": original.kappa,
        "kappa_disambiguated": readings.kappa,
        "kappa_with_distractor": shown.kappa,
        "alpha_original": original.alpha,
        "alpha_disambiguated": readings.alpha,
        "true_plausible": mean_measure(
            [_share(used[row].plausible[slot]) for row, slot in pooled], rows, len(used)
        ),
        "distractor_plausible": mean_measure(
            [_share(used[row].plausible[used[row].distractor or 0]) for row in fooled], fooled, len(used)
        ),
        "distractor_plausible_told_apart": mean_measure(
            [_share(used[row].plausible[used[row].distractor or 0]) for row in apart], apart, len(used)
        ),
        "accepts_all": mean_measure([_share(_accepting(record)) for record in used]),
        "agreement": mean_measure([float(agrees(record, tie)) for record in used]),
    }
    known = intervals(measures)
    return CrowdMeasures(
        rows=len(records),
        left_out=len(records) - len(used),
        readings=len(pooled),
        repeated_distractors=len(fooled) - len(apart),
        two_way_ties=ties[2],
        three_way_ties=ties[3],
        three_readings=sum(len(record.true_slots) == 3 for record in used),
        workers=worker_counts(used),
        raters_original=original.raters,
        raters_disambiguated=readings.raters,
        other_original=original.others,
        other_disambiguated=readings.others,
        **known,
        tie=tie,
        undefined={name: _why(name, bool(used)) for name, value in known.items() if value is None},
    )


def vote_table(record: CrowdRecord) -> VoteTable:
    """Return the distribution of votes on an example and on each of its candidates."""
    slots = zip(record.interpretations, record.labels, record.relabelled, record.plausible, strict=True)
    return VoteTable(
        id=record.id,
        premise=record.premise,
        hypothesis=record.hypothesis,
        side=record.side,
        original=count_labels(record.original),
        slots=tuple(
            SlotVotes(sentence, label, count_labels(votes), sum(plausible), len(plausible))
            for sentence, label, votes, plausible in slots
        ),
    )


def count_labels(votes: Sequence[Label]) -> dict[Label, int]:
    """Return label -> votes, in canonical order."""
    return {label: votes.count(label) for label in LABELS}


def wins(votes: Sequence[Label], label: Label, tie: Tie = "first") -> bool:
    """Return True if the plurality of votes is for a label."""
    counts = count_labels(votes)
    most = max(counts.values())
    tied = [each for each in LABELS if counts[each] == most]
    match tie:
        case "first":
            return tied[0] == label
        case "strict":
            return tied == [label]
        case "lenient":
            return label in tied
        case "majority":
            return 2 * counts[label] > len(votes)


def is_plausible(votes: Sequence[bool]) -> bool:
    """Return True if more than half of the workers say yes."""
    return 2 * sum(votes) > len(votes)


def agrees(record: CrowdRecord, tie: Tie = "first") -> bool:
    """Return True if the votes agree with a row's labels: each reading is possible, and its label wins.

    A row without readings agrees with nothing.
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


class _Labelling(NamedTuple):
    """Agreement on labels.

    Attributes:
        raters: that a subject of kappa has: what most have.
        others: subjects with votes that kappa leaves out, for their number of votes.
    """

    kappa: Measure
    alpha: Measure
    raters: int | None
    others: int


def _labelling(votes: Sequence[Sequence[Label]], rows: Sequence[int], number: int) -> _Labelling:
    """Return the agreement of votes on subjects, each of which is of one of `number` rows."""
    raters = modal_raters(votes)
    return _Labelling(
        modal_kappa(votes, LABELS, rows, number),
        alpha_measure(votes, nominal_distance, rows, number),
        raters,
        sum(bool(vote) and len(vote) != raters for vote in votes),
    )


def _tied(votes: Sequence[Label]) -> int:
    """Return how many labels have the most votes."""
    counts = count_labels(votes)
    return sum(count == max(counts.values()) for count in counts.values())


def _share(votes: Sequence[bool]) -> float:
    return sum(votes) / len(votes)


def _accepting(record: CrowdRecord) -> list[bool]:
    """Return per worker whether they say yes to every reading."""
    readings = (record.plausible[slot] for slot in record.true_slots)
    return [all(answers) for answers in zip(*readings, strict=True)]


def worker_counts(records: Iterable[CrowdRecord]) -> dict[int, int]:
    """Return how many rows have so many workers."""
    return dict(sorted(Counter(record.workers for record in records).items()))


def _why(name: str, any_rows: bool) -> str:
    if not any_rows:
        return "no row has votes"
    if name == "distractor_plausible":
        return "no row has two readings and a distractor"
    if name == "distractor_plausible_told_apart":
        return "no row has two readings and a distractor that is none of them"
    return "nothing has two votes, or all votes are for one label"
