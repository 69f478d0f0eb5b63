"""Agreement of annotators on the pairs that they make from the same drafts (spec 11, 11.1).

The paper reports an agreement above 95 % without saying on what. We report it field by field: for each draft
the share of pairs of annotators with equal values, averaged over drafts. Texts are compared with white space
squeezed, lists of things and variants as sets, plans line by line, the step as a number. Agreement on keeping
a row is computed for all drafts with two annotators, everything else for drafts that two or more kept. If an
annotator has several forms for a draft, the last counts.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import Any, Final

from simulator.ambik.items import Pair
from simulator.ambik.records import PairForm
from simulator.ambik.terms import AMBIGUITIES
from simulator.figures import Table
from simulator.judging.agreement import (
    Measure,
    alpha_measure,
    cohen_measure,
    intervals,
    masi_distance,
    mean_measure,
    modal_kappa,
    modal_subjects,
)
from simulator.stats import Interval

Ratings = Mapping[int, Mapping[str, Hashable]]
"""Ratings by the draft's index, then by annotator."""
FIELDS: Final = (
    *("clear", "objects", "scene", "indirect", "type", "ambiguous", "question", "answer"),
    *("clear_plan", "ambiguous_plan", "step", "shortlist", "intent", "variants"),
)
"""The fields compared, in the order of the work."""
_SETS: Final = ("objects", "shortlist", "variants")


def squeeze_blanks(text: str) -> str:
    """Return a text with single blanks."""
    return " ".join(text.split())


def field_value(pair: Pair, name: str) -> Hashable:
    """Return a field's value normalized for comparison."""
    value: Any = getattr(pair, name)
    if name == "intent":
        return squeeze_blanks(value.text) if value else ""
    if name == "variants":
        value = [variant.text for variant in value]
    if isinstance(value, str):
        return squeeze_blanks(value)
    if name in _SETS:
        return frozenset(map(squeeze_blanks, value))
    return tuple(map(squeeze_blanks, value)) if isinstance(value, tuple) else value


def all_values(pair: Pair) -> Hashable:
    """Return the values of all fields, normalized for comparison."""
    return tuple(field_value(pair, name) for name in FIELDS)


def differing_fields(pairs: Sequence[Pair]) -> tuple[str, ...]:
    """Return the fields in which the pairs differ."""
    return tuple(name for name in FIELDS if len({field_value(pair, name) for pair in pairs}) > 1)


def pair_agreement(forms: Sequence[PairForm]) -> dict[str, Any]:
    """Return the agreement of annotators on drafts, with intervals over drafts; None if undefined.

    Numbers of drafts: ``drafts`` with forms; ``single``: left out because they have only one annotator;
    ``deleted`` by all of two or more annotators; ``split``: deleted by some only; ``lone``: split drafts left
    out from the fields because only one annotator kept them; ``without_shortlist``: kept by two or more, but
    left out from the shortlists' agreement because fewer than two forms are about preferences and have one;
    ``other_raters``: left out from the type's kappa because the number of annotators who kept them is not the
    most common one. ``replaced``: earlier forms left out because the annotator filled in the draft again.

    Shares of pairs of annotators: ``kept`` (both keep or both delete a row), ``fields`` (equal values, by
    field; for shortlists over drafts in which anybody has one) and ``whole`` (equal in all fields). ``kappa``
    of ``kept_kappa`` and ``type_kappa`` is Cohen's if the same two people annotated everything, otherwise
    Fleiss'; ``shortlist_alpha`` has MASI as distance.
    """
    newest: dict[str, dict[str, PairForm]] = {}
    for form in forms:  # an annotator's last form counts
        newest.setdefault(form.draft, {})[form.annotator] = form
    several = [by_annotator for by_annotator in newest.values() if len(by_annotator) > 1]
    people = list(dict.fromkeys(who for by_annotator in several for who in by_annotator))
    number = len(several)
    kept = [{who: form.pair for who, form in drafted.items() if form.pair} for drafted in several]
    twice = {place: pairs for place, pairs in enumerate(kept) if len(pairs) > 1}
    keeps: Ratings = {
        place: {who: form.pair is not None for who, form in drafted.items()}
        for place, drafted in enumerate(several)
    }
    by_field = {name: _rate(twice, partial(field_value, name=name)) for name in FIELDS}
    types = by_field["type"]
    by_field["shortlist"] = {
        place: lists for place, lists in by_field["shortlist"].items() if any(lists.values())
    }
    shortlists = {place: _shortlists(pairs.values()) for place, pairs in twice.items()}
    shortlists = {place: lists for place, lists in shortlists.items() if len(lists) > 1}

    def share(ratings: Ratings) -> Measure:
        same = [
            [first == second for first, second in combinations(rated.values(), 2)]
            for rated in ratings.values()
        ]
        return mean_measure([sum(equal) / len(equal) for equal in same], list(ratings), number)

    def kappa(ratings: Ratings, values: Sequence[Hashable]) -> Measure:
        if len(people) == 2:
            both = [(rated[people[0]], rated[people[1]]) for rated in ratings.values()]
            return cohen_measure(both, values, list(ratings), number)
        rows = [list(rated.values()) for rated in ratings.values()]
        return modal_kappa(rows, values, list(ratings), number)

    measures = {
        "kept": share(keeps),
        "kept_kappa": kappa(keeps, (True, False)),
        "whole": share(_rate(twice, all_values)),
        "type_kappa": kappa(types, AMBIGUITIES),
        "shortlist_alpha": alpha_measure(list(shortlists.values()), masi_distance, list(shortlists), number),
    }
    counted = sum(map(len, newest.values()))
    known = intervals(measures)
    return {
        "drafts": len(newest),
        "annotators": len({who for by_annotator in newest.values() for who in by_annotator}),
        "forms": counted,
        "replaced": len(forms) - counted,
        "single": len(newest) - number,
        "deleted": sum(not pairs for pairs in kept),
        "split": sum(0 < len(pairs) < len(every) for pairs, every in zip(kept, several, strict=True)),
        "lone": sum(len(pairs) == 1 for pairs in kept),
        "without_shortlist": len(twice) - len(shortlists),
        "other_raters": len(types) - len(modal_subjects([list(rated) for rated in types.values()])),
        "kept": known["kept"],
        "kept_kappa": known["kept_kappa"],
        "fields": intervals({name: share(ratings) for name, ratings in by_field.items()}),
        "whole": known["whole"],
        "type_kappa": known["type_kappa"],
        "kappa": "cohen" if len(people) == 2 else "fleiss",
        "shortlist_alpha": known["shortlist_alpha"],
    }


def _rate(pairs: Mapping[int, Mapping[str, Pair]], field: Callable[[Pair], Hashable]) -> Ratings:
    return {place: {who: field(pair) for who, pair in rated.items()} for place, rated in pairs.items()}


def _shortlists(pairs: Iterable[Pair]) -> list[frozenset[str]]:
    listed = (pair for pair in pairs if pair.type == "preferences" and pair.shortlist)
    return [frozenset(map(squeeze_blanks, pair.shortlist)) for pair in listed]


def agreement_table(agreement: Mapping[str, Any], title: str = "Annotators' agreement") -> Table:
    """Return agreement as a table of measures with interval and number of drafts."""
    kappa = {"cohen": "Cohen's kappa", "fleiss": "Fleiss' kappa"}[agreement["kappa"]]
    measures: Mapping[str, Interval | None] = {
        "kept or deleted: share equal": agreement["kept"],
        f"kept or deleted: {kappa}": agreement["kept_kappa"],
        **{f"{name}: share equal": value for name, value in agreement["fields"].items()},
        "all fields: share equal": agreement["whole"],
        f"type: {kappa}": agreement["type_kappa"],
        "shortlist: Krippendorff's alpha (MASI)": agreement["shortlist_alpha"],
    }
    rows = [(name, value, value.n if value else 0) for name, value in measures.items()]
    return Table(("measure", "agreement", "drafts"), rows, title)
