"""Sorting of ambiguous examples into kinds: queue, decisions, agreement, export."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from logs import erase_participant
from logs.rows import Participant
from simulator.ambient.annotation.marking import (
    KINDS,
    SortingCase,
    category_agreement,
    category_records,
    export_categories,
    settled_kinds,
    sorting_cases,
    winner,
)
from simulator.ambient.examples import Disambiguation, Example
from simulator.ambient.files.dataset import CATEGORY_ROWS
from simulator.desk_work import judgment_rows, next_work
from simulator.errors import InputError

RIVER, MONEY = "They met at the river bank.", "They met at the savings bank."


def example(id: str) -> Example:
    return Example(
        id=id,
        premise="They met at the bank.",
        hypothesis="They met near water.",
        premise_ambiguous=True,
        labels=frozenset({"entailment", "neutral"}),
        disambiguations=(
            Disambiguation(RIVER, "They met near water.", "entailment"),
            Disambiguation(MONEY, "They met near water.", "neutral"),
        ),
    )


PLAIN = Example(id="9", premise="p", hypothesis="h", labels=frozenset({"neutral"}))
EXAMPLES = (example("1"), example("2"), PLAIN, example("3_c"), example("4"))
Sort = Callable[..., None]


@pytest.fixture
def sort(desk: Any) -> Sort:
    count = iter(range(1000))

    def put(id: str, annotator: str, *categories: str, **more: Any) -> None:
        options = {"submission": str(next(count)), "deciding": more.pop("decides", False)}
        options |= {"submission": more.pop("submission")} if "submission" in more else {}
        data = more.pop("data", "builtin")
        values = {"categories": list(categories), "several": "one" if more.pop("single", False) else "more"}
        desk.put(*judgment_rows(SORTING, desk.reader, data, annotator, id, {**values, **more}, **options))

    return put


SORTING = replace(KINDS, cases=lambda reader, data: sorting_cases(reader, EXAMPLES, data))


def waiting(desk: Any, annotator: str) -> list[str]:
    """Return the queue of an annotator in its order, postponing one example after the other."""
    steps = [next_work(SORTING, desk.reader, "builtin", annotator)]
    while (later := steps[-1].later) and later != steps[0].case.name:  # type: ignore[union-attr]
        steps.append(next_work(SORTING, desk.reader, "builtin", annotator, name=later))
    return [work.case.name for work in steps if work.case]


def standing(desk: Any, examples: tuple[Example, ...] = EXAMPLES) -> list[SortingCase]:
    return sorting_cases(desk.reader, examples, "builtin")


def kinds(case: SortingCase) -> dict[str, tuple[str, ...]]:
    return {name: form.categories for name, form in case.opinions.blind.items()}


def test_the_first_of_several_fitting_kinds_applies() -> None:
    assert winner(["scopal", "syntactic", "other"]) == "syntactic"
    assert winner(["other"]) == "other"
    with pytest.raises(InputError, match="Choose a kind"):
        winner([])


def test_kinds_that_fit_a_single_ambiguity_are_kept_as_the_first_of_them(desk: Any, sort: Sort) -> None:
    sort("1", "ann", "pragmatic", "lexical", single=True)
    sort("1", "bo", "lexical", single=True)
    assert kinds(standing(desk)[0]) == {"ann": ("lexical",), "bo": ("lexical",)}


def test_two_annotators_sort_each_example(desk: Any, sort: Sort) -> None:
    assert sorted(waiting(desk, "ann")) == ["1", "2", "3_c", "4"]
    sort("1", "ann", "scopal", "lexical", "scopal", note="two of them")
    sort("1", "bo", "lexical", "scopal")
    sort("2", "ann", "lexical")
    there = standing(desk)
    assert not {*waiting(desk, "ann")} & {"1", "2"}
    assert sorted(waiting(desk, "bo")) == ["2", "3_c", "4"]
    assert sorted(waiting(desk, "cy")) == ["2", "3_c", "4"]
    assert kinds(there[0]) == {"ann": ("lexical", "scopal"), "bo": ("lexical", "scopal")}
    assert there[0].opinions.blind["ann"].note == "two of them"
    assert settled_kinds(there[0]) == ("lexical", "scopal")
    assert settled_kinds(there[1]) == ("lexical",)
    assert settled_kinds(there[2]) is None
    orders = {tuple(waiting(desk, name)) for name in ("dee", "eli", "fay", "gus")}
    assert len(orders) > 1


def test_where_they_differ_one_form_more_decides(desk: Any, sort: Sort) -> None:
    sort("1", "ann", "lexical")
    sort("1", "bo", "other")
    sort("2", "ann", "scopal")
    sort("2", "ann", "other")
    sort("2", "bo", "other")
    work = next_work(SORTING, desk.reader, "builtin", "ann", deciding=True)
    assert work.case and (work.case.name, work.differing) == ("1", 1)
    three = replace(SORTING, raters=3)
    assert next_work(three, desk.reader, "builtin", "cy", deciding=True).differing == 0
    sort("1", "ann", "pragmatic", decides=True)
    there = standing(desk)
    assert settled_kinds(there[0]) == ("pragmatic",)
    assert next_work(SORTING, desk.reader, "builtin", "ann", deciding=True).case is None
    assert next_work(three, desk.reader, "builtin", "cy").left == 3
    agreement = category_agreement(there)
    assert (agreement["raters"], agreement["examples"], agreement["other"]) == (2, 2, 0)
    assert agreement["identical"].value == 0.5


def test_agreement_by_hand(desk: Any, sort: Sort) -> None:
    sort("1", "ann", "lexical")
    sort("1", "bo", "lexical", "scopal")
    sort("2", "ann", "other")
    sort("2", "bo", "other")
    sort("4", "ann", "other")
    agreement = category_agreement(standing(desk))
    assert (agreement["raters"], agreement["examples"], agreement["other"]) == (2, 2, 1)
    # Lexical 11, 00; scopal 01, 00: P 1/2, chance (1 + 9) / 16. Nobody says figurative.
    lexical, scopal = agreement["lexical"], agreement["scopal"]
    assert lexical.value == 1
    assert scopal.value == pytest.approx((1 / 2 - 10 / 16) / (6 / 16))
    assert agreement["figurative"] is None
    # L, LS, O, O. Observed over ordered pairs: 2 * 2/3; expected: L-LS 2/3, all other unlike pairs 1.
    assert agreement["alpha"].value == pytest.approx(1 - (4 / 3 / 4) / ((2 * 2 / 3 + 2 * 4) / 12))
    assert agreement["alpha"].n == 2
    nothing = category_agreement(())
    assert (nothing["raters"], nothing["alpha"], nothing["identical"]) == (None, None, None)


def test_invalid_forms_are_refused(desk: Any, sort: Sort) -> None:
    with pytest.raises(InputError, match="nothing called '9'"):
        sort("9", "ann", "lexical")
    with pytest.raises(InputError, match="'vague' is not a choice of categories; choose from lexical"):
        sort("1", "ann", "vague")
    with pytest.raises(InputError, match="Choose a kind"):
        sort("1", "ann")
    with pytest.raises(InputError, match="who sorts"):
        sort("1", "", "lexical")
    assert desk.reader.judgments(kind="ambient.category") == []


def test_forms_belong_to_their_data_and_to_the_pair(desk: Any, sort: Sort) -> None:
    sort("1", "ann", "lexical", data="elsewhere")
    assert not kinds(standing(desk)[0])
    sort("1", "ann", "other", submission="same")
    sort("1", "ann", "other", submission="same")
    assert len(desk.reader.judgments(kind="ambient.category")) == 2
    more = replace(EXAMPLES[0], categories=("lexical",), split="test", distractors={"premise": "x"})
    assert kinds(standing(desk, (more,))[0]) == {"ann": ("other",)}
    assert not kinds(standing(desk, (replace(EXAMPLES[0], premise="Another."),))[0])


def test_answers_of_erased_people_are_excluded(desk: Any, sort: Sort) -> None:
    desk.put(Participant(id="ann"))
    sort("1", "ann", "lexical")
    sort("1", "bo", "other")
    erase_participant(desk.path, "ann")
    assert kinds(standing(desk)[0]) == {"bo": ("other",)}


def test_the_export_has_the_published_format(desk: Any, sort: Sort, tmp_path: Path) -> None:
    path = tmp_path / "categories.jsonl"
    with pytest.raises(InputError, match="No example has been sorted yet"):
        export_categories(standing(desk), path)
    sort("1", "ann", "scopal", "lexical")
    sort("2", "ann", "scopal")
    sort("2", "bo", "other")
    sort("3_c", "ann", "other")
    assert export_categories(standing(desk), path) == 2
    read = CATEGORY_ROWS.read(path)
    assert not read.faults
    assert read.rows == category_records(standing(desk))
    first, second = read.rows
    assert (first.id, first.categories) == ("1_g", ("lexical", "scopal"))
    assert (second.id, second.rewrites[1].premise) == ("3_c", MONEY)
