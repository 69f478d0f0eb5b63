"""How far annotators agree on the pairs that they make of the same drafts (spec 11, 11.1).

The paper tells an agreement above 95 % and not of what. Here it is told field by field: of each draft the
share of pairs of its annotators who left the same in the field, and the mean over drafts. Texts are compared
with white space squeezed, lists of things and variants as sets, plans line by line, the step as a number.
Whether a row is kept is told of all drafts with two annotators; everything else of those forms that keep it,
if there are two. Of an annotator with several forms on a draft the last counts.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final, Literal, NamedTuple

import numpy as np

from simulator.agreement import (
    Measure,
    alpha_measure,
    intervals,
    kappa_measure,
    masi_distance,
    mean_measure,
    modal_raters,
    tally,
)
from simulator.ambik.pairs import Pair
from simulator.ambik.records import PairForm
from simulator.ambik.terms import AMBIGUITIES
from simulator.figures import Table
from simulator.resampling import Floats
from simulator.stats import Interval

Kappa = Literal["cohen", "fleiss"]
KEEPS: Final = (True, False)


def squeezed(text: str) -> str:
    """A text with single blanks."""
    return " ".join(text.split())


def _things(names: Iterable[str]) -> Hashable:
    return frozenset(map(squeezed, names))


def _steps(plan: Iterable[str]) -> Hashable:
    return tuple(map(squeezed, plan))


FIELDS: Final[Mapping[str, Callable[[Pair], Hashable]]] = {
    "clear": lambda pair: squeezed(pair.clear),
    "objects": lambda pair: _things(pair.objects),
    "scene": lambda pair: squeezed(pair.scene),
    "indirect": lambda pair: squeezed(pair.indirect),
    "type": lambda pair: pair.type,
    "ambiguous": lambda pair: squeezed(pair.ambiguous),
    "question": lambda pair: squeezed(pair.question),
    "answer": lambda pair: squeezed(pair.answer),
    "clear_plan": lambda pair: _steps(pair.clear_plan),
    "ambiguous_plan": lambda pair: _steps(pair.ambiguous_plan),
    "step": lambda pair: pair.step,
    "shortlist": lambda pair: _things(pair.shortlist),
    "intent": lambda pair: squeezed(pair.intent.text) if pair.intent else "",
    "variants": lambda pair: _things(one.text for one in pair.variants),
}
"""What is compared of each field, in the order of the work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairAgreement:
    """Agreement on drafts; None where a measure is undefined. Intervals are over drafts, which `n` counts.

    Attributes:
        drafts: with forms.
        annotators: distinct ones.
        forms: that count.
        replaced: left out: earlier forms of somebody who filled in the same draft again.
        single: drafts left out, with one annotator alone.
        deleted: drafts that all of their annotators (two or more) deleted.
        split: drafts that some deleted and some kept.
        lone: of those, left out from the fields because one annotator alone kept the row.
        without_shortlist: drafts with two kept forms or more, left out from the shortlists' agreement: fewer
            than two of them are about preferences and have one.
        other_raters: drafts left out from the type's kappa: another number of annotators kept them than keep
            most.
        kept: share of pairs of annotators who both keep or both delete a row.
        kept_kappa: kappa of the same.
        fields: share of pairs of annotators who left the same, by field; of shortlists among those of whom
            one at least has one.
        whole: share of those who left the same in all fields.
        type_kappa: kappa of the type.
        kappa: whose kappa: Cohen's where the same two people annotated everything, else Fleiss'.
        shortlist_alpha: Krippendorff's alpha of shortlists, with MASI as distance.
    """

    drafts: int
    annotators: int
    forms: int
    replaced: int
    single: int
    deleted: int
    split: int
    lone: int
    without_shortlist: int
    other_raters: int
    kept: Interval | None
    kept_kappa: Interval | None
    fields: Mapping[str, Interval | None]
    whole: Interval | None
    type_kappa: Interval | None
    kappa: Kappa
    shortlist_alpha: Interval | None


class _Rated(NamedTuple):
    """What some annotators said, by annotator, and the place of the draft."""

    place: int
    ratings: Mapping[str, Hashable]


def pair_agreement(forms: Sequence[PairForm], *, seed: int = 0) -> PairAgreement:
    """Agreement of annotators.

    Args:
        forms: of any number of annotators on any number of drafts, in the order in which they were made.
        seed: of the resampling.
    """
    newest = newest_forms(forms)
    several = [some for some in newest.values() if len(some) > 1]
    kept = [{who: one.pair for who, one in some.items() if one.pair is not None} for some in several]
    number = len(several)
    people = tuple(dict.fromkeys(who for some in several for who in some))
    whose: Kappa = "cohen" if len(people) == 2 else "fleiss"
    twice = [(place, some) for place, some in enumerate(kept) if len(some) > 1]
    keeping = [
        _Rated(place, {who: one.pair is not None for who, one in some.items()})
        for place, some in enumerate(several)
    ]
    typed = [_Rated(place, {who: pair.type for who, pair in some.items()}) for place, some in twice]
    listed = [(place, lists) for place, some in twice if len(lists := _shortlists(some.values())) > 1]
    kept_kappa, _ = _kappa(keeping, KEEPS, people, number, whose)
    type_kappa, other = _kappa(typed, AMBIGUITIES, people, number, whose)
    measures = {
        "kept": _share([(one.place, _equal(list(one.ratings.values()))) for one in keeping], number),
        "kept_kappa": kept_kappa,
        "whole": _share(
            [(place, _equal([_all(pair) for pair in some.values()])) for place, some in twice], number
        ),
        "type_kappa": type_kappa,
        "alpha": alpha_measure(
            [lists for _, lists in listed], masi_distance, [place for place, _ in listed], number
        ),
        **{f"field.{name}": _field(name, twice, number) for name in FIELDS},
    }
    found = intervals(measures, seed=seed)
    return PairAgreement(
        drafts=len(newest),
        annotators=len({who for some in newest.values() for who in some}),
        forms=sum(map(len, newest.values())),
        replaced=len(forms) - sum(map(len, newest.values())),
        single=len(newest) - number,
        deleted=sum(not some for some in kept),
        split=sum(0 < len(some) < len(every) for some, every in zip(kept, several, strict=True)),
        lone=sum(len(some) == 1 for some in kept),
        without_shortlist=len(twice) - len(listed),
        other_raters=other,
        kept=found["kept"],
        kept_kappa=found["kept_kappa"],
        fields={name: found[f"field.{name}"] for name in FIELDS},
        whole=found["whole"],
        type_kappa=found["type_kappa"],
        kappa=whose,
        shortlist_alpha=found["alpha"],
    )


def agreement_table(found: PairAgreement, title: str = "Annotators' agreement") -> Table:
    """Agreement as a table: what is measured, and its value with interval and number of drafts."""
    whose = {"cohen": "Cohen's kappa", "fleiss": "Fleiss' kappa"}[found.kappa]
    told: Mapping[str, Interval | None] = {
        "kept or deleted: share equal": found.kept,
        f"kept or deleted: {whose}": found.kept_kappa,
        **{f"{name}: share equal": value for name, value in found.fields.items()},
        "all fields: share equal": found.whole,
        f"type: {whose}": found.type_kappa,
        "shortlist: Krippendorff's alpha (MASI)": found.shortlist_alpha,
    }
    rows = [(name, value, value.n if value else 0) for name, value in told.items()]
    return Table(("measure", "agreement", "drafts"), rows, title)


def newest_forms(forms: Iterable[PairForm]) -> dict[str, dict[str, PairForm]]:
    """By draft and annotator, in the order of the first forms; of several the last counts."""
    found: dict[str, dict[str, PairForm]] = {}
    for one in forms:
        found.setdefault(one.draft, {})[one.annotator] = one
    return found


def differing(pairs: Sequence[Pair]) -> tuple[str, ...]:
    """The fields in which some pairs are not all the same."""
    return tuple(name for name, said in FIELDS.items() if len({said(pair) for pair in pairs}) > 1)


def _all(pair: Pair) -> Hashable:
    return tuple(said(pair) for said in FIELDS.values())


def _equal(said: Sequence[Hashable]) -> float:
    """The share of pairs of annotators who said the same."""
    same = [one == other for one, other in combinations(said, 2)]
    return sum(same) / len(same)


def _share(values: Sequence[tuple[int, float]], number: int) -> Measure:
    return mean_measure([value for _, value in values], [place for place, _ in values], number)


def _field(name: str, twice: Sequence[tuple[int, Mapping[str, Pair]]], number: int) -> Measure:
    said = FIELDS[name]
    counted = [
        (place, _equal([said(pair) for pair in some.values()]))
        for place, some in twice
        if name != "shortlist" or any(pair.shortlist for pair in some.values())
    ]
    return _share(counted, number)


def _shortlists(pairs: Iterable[Pair]) -> list[frozenset[str]]:
    return [
        frozenset(map(squeezed, pair.shortlist))
        for pair in pairs
        if pair.type == "preferences" and pair.shortlist
    ]


def _kappa(
    rated: Sequence[_Rated], categories: Sequence[Hashable], people: Sequence[str], number: int, whose: Kappa
) -> tuple[Measure, int]:
    """The measure, and how many drafts do not count for it."""
    size = modal_raters([list(one.ratings.values()) for one in rated])
    counted = [one for one in rated if len(one.ratings) == size]
    places = [one.place for one in counted]
    if whose == "cohen":
        said = [[one.ratings[who] for who in people] for one in counted]
        return _cohen(said, categories, places, number), len(rated) - len(counted)
    counts = tally([list(one.ratings.values()) for one in counted], categories)
    return kappa_measure(counts, places, number), len(rated) - len(counted)


def _cohen(
    said: Sequence[Sequence[Hashable]], categories: Sequence[Hashable], places: Sequence[int], number: int
) -> Measure:
    """Cohen's kappa as a statistic of sums: agreements, then what each of the two said."""
    width = len(categories)
    columns = np.zeros((number, 1 + 2 * width))
    for place, (one, other) in zip(places, said, strict=True):
        columns[place, 0] += one == other
        columns[place, 1 + categories.index(one)] += 1
        columns[place, 1 + width + categories.index(other)] += 1

    def statistic(sums: Floats) -> Floats:
        first, second = sums[:, 1 : 1 + width], sums[:, 1 + width :]
        total = first.sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            chance = (first * second).sum(axis=1) / total**2
            observed: Floats = np.where(chance < 1, (sums[:, 0] / total - chance) / (1 - chance), np.nan)
        return observed

    return Measure(columns, statistic, len(said))
