"""Agreement of annotators on drafts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from simulator.ambik.annotation.agreement import FIELDS, agreement_table, differing_fields, pair_agreement
from simulator.ambik.records import PairForm
from simulator.ambik.terms import AMBIGUITIES
from simulator.judging.agreement import Measure, alpha_measure, intervals, kappa_measure, masi_distance, tally
from simulator.stats import cohen_kappa, wilson


def point(measure: Measure) -> float:
    """The estimate alone."""
    interval = intervals({"": measure})[""]
    assert interval is not None
    return interval.value


def form_by(form: PairForm, annotator: str, draft: str, **changes: Any) -> PairForm:
    assert form.pair is not None
    pair = replace(form.pair, id=draft, **changes)
    return replace(form, annotator=annotator, draft=draft, pair=pair)


def deleted(annotator: str, draft: str) -> PairForm:
    return PairForm(annotator=annotator, draft=draft, pair=None, delete="Absurd.")


def test_the_same_forms_agree_in_everything(form: PairForm) -> None:
    agreement = pair_agreement([form_by(form, who, draft) for draft in "xyz" for who in ("ann", "bob")])
    assert {
        name: share and (share.value, share.low, share.high, share.n)
        for name, share in agreement["fields"].items()
    } == (dict.fromkeys(FIELDS, (1, pytest.approx(wilson(3, 3).low), 1, 3)))
    assert agreement["whole"] == pytest.approx(wilson(3, 3))
    assert agreement["kept"] == pytest.approx(wilson(3, 3))
    # One category alone: there is no chance to correct for.
    assert (agreement["type_kappa"], agreement["kept_kappa"], agreement["shortlist_alpha"]) == (
        None,
        None,
        None,
    )


def test_white_space_and_the_order_of_lists_do_not_matter(form: PairForm) -> None:
    assert form.pair is not None
    other = form_by(
        form,
        "bob",
        "x1",
        clear=f" {form.pair.clear.replace(' ', '  ')}",
        objects=form.pair.objects[::-1],
        shortlist=form.pair.shortlist[::-1],
        variants=form.pair.variants[::-1],
    )
    assert differing_fields([form.pair, other.pair]) == ()  # type: ignore[list-item]
    swapped = replace(form.pair, clear_plan=form.pair.clear_plan[::-1], step=0, answer="None.")
    assert differing_fields([form.pair, swapped]) == ("answer", "clear_plan", "step")


def test_shares_are_of_pairs_of_annotators_and_means_over_drafts(form: PairForm) -> None:
    forms = [
        *(
            form_by(form, who, "x", answer=answer)
            for who, answer in zip("abc", ["A.", "A.", "B."], strict=True)
        ),
        *(form_by(form, who, "y", answer="A.") for who in "ab"),
    ]
    agreement = pair_agreement(forms)
    answer = agreement["fields"]["answer"]
    assert answer is not None
    assert answer.value == pytest.approx((1 / 3 + 1) / 2)
    assert answer.n == 2
    assert answer.low == pytest.approx(1 / 3) and answer.high == 1
    assert agreement["whole"] == answer
    assert agreement["kappa"] == "fleiss"
    assert agreement["other_raters"] == 1


def test_two_annotators_have_cohens_kappa(form: PairForm) -> None:
    first = [AMBIGUITIES[n] for n in (0, 1, 2, 0, 0, 1)]
    second = [AMBIGUITIES[n] for n in (0, 1, 0, 0, 1, 1)]
    forms = [
        form_by(form, who, f"d{place}", type=kind)
        for who, kinds in (("ann", first), ("bob", second))
        for place, kind in enumerate(kinds)
    ]
    agreement = pair_agreement(forms)
    assert agreement["kappa"] == "cohen" and agreement["type_kappa"] is not None
    assert agreement["type_kappa"].value == pytest.approx(cohen_kappa(first, second))
    assert agreement["type_kappa"].n == 6
    assert agreement["type_kappa"].low < agreement["type_kappa"].value < agreement["type_kappa"].high
    assert agreement["fields"]["type"] is not None and agreement["fields"]["type"].value == pytest.approx(
        4 / 6
    )


def test_several_annotators_have_fleiss_kappa(form: PairForm) -> None:
    kinds = [[AMBIGUITIES[n] for n in row] for row in ((0, 0, 1), (1, 1, 1), (2, 0, 2))]
    forms = [
        form_by(form, who, f"d{place}", type=kind)
        for place, row in enumerate(kinds)
        for who, kind in zip("abc", row, strict=True)
    ]
    agreement = pair_agreement(forms)
    assert agreement["kappa"] == "fleiss" and agreement["type_kappa"] is not None
    assert agreement["type_kappa"].value == pytest.approx(point(kappa_measure(tally(kinds, AMBIGUITIES))))


def test_shortlists_are_compared_as_sets_where_there_are_two(form: PairForm) -> None:
    lists = {"x": (("a", "b"), ("b", "a", "c")), "y": (("a", "b"), ("c", "d"))}
    forms = [
        form_by(form, who, draft, shortlist=shortlist)
        for draft, both in lists.items()
        for who, shortlist in zip(("ann", "bob"), both, strict=True)
    ]
    forms += [form_by(form, "ann", "z"), form_by(form, "bob", "z", type="safety", shortlist=())]
    forms += [form_by(form, who, "w", type="safety", shortlist=()) for who in ("ann", "bob")]
    agreement = pair_agreement(forms)
    units = [[frozenset(shortlist) for shortlist in both] for both in lists.values()]
    assert agreement["shortlist_alpha"] is not None
    assert agreement["shortlist_alpha"].value == pytest.approx(point(alpha_measure(units, masi_distance)))
    assert (agreement["shortlist_alpha"].n, agreement["without_shortlist"]) == (2, 2)
    share = agreement["fields"]["shortlist"]
    # Two forms without a shortlist say nothing of how well shortlists agree.
    assert share is not None and (share.value, share.n) == (0, 3)


def test_deleted_rows_count_only_for_keeping(form: PairForm) -> None:
    forms = [
        *(form_by(form, who, "x") for who in ("ann", "bob")),
        form_by(form, "ann", "y"),
        deleted("bob", "y"),
        *(deleted(who, "z") for who in ("ann", "bob")),
        form_by(form, "ann", "w"),
    ]
    agreement = pair_agreement(forms)
    assert (agreement["drafts"], agreement["annotators"], agreement["forms"]) == (4, 2, 7)
    assert (agreement["single"], agreement["deleted"], agreement["split"], agreement["lone"]) == (1, 1, 1, 1)
    assert agreement["kept"] is not None and agreement["kept"].n == 3
    assert agreement["kept"].value == pytest.approx(2 / 3)
    assert agreement["kept_kappa"] is not None
    assert agreement["kept_kappa"].value == pytest.approx(
        cohen_kappa([True, True, False], [True, False, False])
    )
    assert agreement["whole"] is not None and agreement["whole"].n == 1


def test_of_one_annotator_the_last_form_counts(form: PairForm) -> None:
    forms = [form_by(form, "ann", "x", answer="A."), form_by(form, "bob", "x"), form_by(form, "ann", "x")]
    agreement = pair_agreement(forms)
    assert (agreement["forms"], agreement["replaced"]) == (2, 1)
    assert agreement["whole"] is not None and agreement["whole"].value == 1


def test_nothing_is_undefined_and_not_zero(form: PairForm) -> None:
    for forms in ([], [form], [deleted("ann", "x"), deleted("bob", "x")]):
        agreement = pair_agreement(forms)
        assert set(agreement["fields"].values()) == {None}
        assert (agreement["whole"], agreement["type_kappa"], agreement["shortlist_alpha"]) == (
            None,
            None,
            None,
        )


def test_the_table_names_the_kappa_and_counts_drafts(form: PairForm) -> None:
    table = agreement_table(pair_agreement([form_by(form, who, draft) for draft in "xy" for who in "ab"]))
    rows = {str(name): (value, n) for name, value, n in table.rows}
    assert len(rows) == len(FIELDS) + 5
    assert rows["answer: share equal"] == (pytest.approx(wilson(2, 2)), 2)
    assert rows["type: Cohen's kappa"] == (None, 0)
