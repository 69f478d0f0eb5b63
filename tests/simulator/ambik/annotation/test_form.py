"""Problems of an annotator's form (spec 11.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from simulator.ambik.annotation.form import (
    PairFormError,
    Problem,
    changes,
    check_fields,
    check_pair_form,
    earlier_candidates,
    errors_of,
    pair_problems,
    preview,
    problem_table,
)
from simulator.ambik.data import load_drafts, load_pairs
from simulator.ambik.forms import form_record, read_pair_form
from simulator.ambik.items import Draft
from simulator.ambik.payloads import annotation_move
from simulator.ambik.records import PairForm
from simulator.errors import SeatError
from simulator.seats import Reply

Move = dict[str, Any]


def problems_of(draft: Draft, move: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    return [
        (problem.code, problem.field, problem.detail)
        for problem in check_pair_form(draft, read_pair_form(draft, move))
    ]


def test_a_good_form_has_no_problems(draft: Draft, form: PairForm) -> None:
    assert check_pair_form(draft, form) == ()


@pytest.mark.each("pair", load_pairs(), ids=lambda pair: pair.id)
def test_built_in_pairs_keep_the_rules(pair: Any) -> None:
    assert {problem.code for problem in pair_problems(pair)} <= {"shortlist_empty"}


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"clear": ""}, ("empty", "clear", "")),
        ({"question": " "}, ("empty", "question", "")),
        ({"answer": ""}, ("empty", "answer", "")),
        ({"intent": ""}, ("empty", "intent", "")),
        ({"variants": []}, ("empty", "variants", "")),
        ({"indirect": ""}, ("indirect_empty", "indirect", "")),
        (
            {"clear": "Kitchen Robot, please pour some oat milk from the bread knife into the tall glass."},
            ("object_missing", "clear", "bread knife"),
        ),
        (
            {"scene": "a tall glass, a small glass, a beer glass, oat milk, oven gloves"},
            ("not_in_words", "scene", "apple juice"),
        ),
        (
            {"scene": "tall glass, small glass, beer glass, oat milk, apple juice, oven gloves"},
            ("no_articles", "scene", ""),
        ),
        (
            {"scene": "a tall glass, a small glass, a beer glass, oat milk, a apple juice, oven gloves"},
            ("article_form", "scene", "a apple"),
        ),
        ({"passed_over": ""}, ("passed_over", "passed_over", "safety, common_sense_knowledge")),
        ({"one_ambiguity": False}, ("not_one", "one_ambiguity", "")),
        (
            {"ambiguous": "kitchen robot,  please pour some oat milk into the tall glass."},
            ("same_task", "ambiguous", ""),
        ),
        (
            {"ambiguous": "Kitchen Robot, please pour some milk into a glass."},
            ("several_differences", "ambiguous", "oat; the tall / a"),
        ),
        ({"question": "Which glass."}, ("question_mark", "question", "")),
        ({"step": None}, ("no_step", "step", "")),
        ({"step": 3}, ("step_outside", "step", "3, 3")),
        ({"step": 0}, ("step_equal", "step", "")),
        ({"step": 2}, ("parts_before", "step", "2")),
        ({"shortlist": []}, ("shortlist_empty", "shortlist", "")),
        ({"shortlist": ["tall glass"]}, ("shortlist_single", "shortlist", "")),
        ({"shortlist": ["tall glass", "mug"]}, ("shortlist_scene", "shortlist", "mug")),
        ({"shortlist": ["tall glass", "Tall glass"]}, ("repeated", "shortlist", "tall glass")),
        ({"intent": "oat milk, wok"}, ("not_realised", "intent", "Pour oat milk into the tall glass.")),
        ({"intent": "oat milk"}, ("gives_away", "ambiguous_plan", "")),
        ({"intent": ","}, ("intent_malformed", "intent", ",")),
        ({"intent": "--wok, tall glass"}, ("several_hyphens", "intent", "--wok")),
        (
            {"variants": ["tall glass||mug", "small glass"]},
            ("empty_alternative", "variants", "tall glass||mug"),
        ),
        ({"intent": "tall glass|-wok"}, ("inner_hyphen", "intent", "tall glass|-wok")),
        ({"variants": ["oat milk, tall glass"]}, ("variants_few", "variants", "")),
        (
            {"variants": ["small glass", "beer glass"]},
            ("variants_exclude", "variants", "Pour oat milk into the tall glass."),
        ),
    ],
)
def test_each_rule_names_its_field(
    draft: Draft, move: Move, changed: Mapping[str, Any], problem: tuple[str, str, str]
) -> None:
    assert problem in problems_of(draft, move | dict(changed))


def test_lists_are_without_articles_and_appliances(draft: Draft, move: Move) -> None:
    objects = [*draft.objects, "a wok", "fridge", "salt, pepper"]
    problems = problems_of(
        draft, move | {"objects": objects, "scene": f"{draft.scene}, a wok, fridge, salt, pepper"}
    )
    assert ("article_in_list", "objects", "a wok") in problems
    assert ("appliance_listed", "objects", "fridge") in problems
    assert ("comma", "objects", "salt, pepper") in problems


def test_an_object_by_its_last_word_is_there(draft: Draft, move: Move) -> None:
    clear = "Kitchen Robot, please pour the milk into the tall glass, and the juice into the glass."
    assert "object_missing" not in {code for code, _, _ in problems_of(draft, move | {"clear": clear})}


def test_the_first_candidate_needs_no_reason(draft: Draft, move: Move) -> None:
    changed = move | {"type": "safety", "passed_over": "", "shortlist": [], "variants": [move["intent"]]}
    assert problems_of(draft, changed) == []
    assert earlier_candidates(draft, "preferences") == ("safety", "common_sense_knowledge")
    assert earlier_candidates(replace(draft, candidates={}), "preferences") == ()


def test_knowledge_has_no_shortlist_and_repeats_the_intent(draft: Draft, move: Move) -> None:
    codes = {code for code, _, _ in problems_of(draft, move | {"type": "safety"})}
    assert codes == {"shortlist_type", "variants_other"}


def test_plans_of_different_length_are_reported(draft: Draft, move: Move) -> None:
    longer = [*move["ambiguous_plan"], "Wipe the table."]
    assert problems_of(draft, move | {"ambiguous_plan": longer}) == [
        ("plans_length", "ambiguous_plan", "3, 4")
    ]


def test_a_deleted_row_has_only_a_reason(draft: Draft, form: PairForm) -> None:
    deleted = read_pair_form(
        draft, {"delete": "Nobody does that.", "passed_over": "x", "one_ambiguity": True}
    )
    assert check_pair_form(draft, deleted) == ()
    assert form_record(deleted) == {"delete": "Nobody does that.", "comment": ""}
    assert [problem.code for problem in check_pair_form(draft, replace(deleted, delete=" "))] == ["no_reason"]
    assert [problem.code for problem in check_pair_form(draft, replace(form, delete="Why?"))] == ["deleted"]


def test_a_form_is_the_same_after_it_was_written(draft: Draft, form: PairForm) -> None:
    assert read_pair_form(draft, form_record(form), annotator="ann") == form


def test_the_tick_is_true_or_false(draft: Draft, move: Move) -> None:
    with pytest.raises(SeatError, match="one_ambiguity"):
        read_pair_form(draft, move | {"one_ambiguity": "yes"})


def test_an_unfinished_form_can_be_checked(draft: Draft, move: Move) -> None:
    empty = {problem.code for problem in check_fields(draft, {"step": -1})}
    assert {"no_type", "not_one", "empty"} <= empty
    assert not empty & {"passed_over", "variants_few", "shortlist_empty"}
    assert check_fields(draft, move) == ()
    assert Problem("step_outside", "step", ("3", "3")) in check_fields(draft, move | {"step": -1})
    assert check_fields(draft, {"delete": "Absurd."}) == ()


def test_only_errors_refuse(draft: Draft, move: Move) -> None:
    warned = check_pair_form(draft, read_pair_form(draft, move | {"indirect": ""}))
    assert warned and errors_of(warned) == ()
    annotation_move(Reply(move=move | {"indirect": ""}), draft, name="ann", person=True)
    wrong = Reply(move=move | {"indirect": "", "question": "Which."})
    with pytest.raises(PairFormError, match="question mark") as caught:
        annotation_move(wrong, draft, name="ann", person=True)
    assert caught.value.problems == (Problem("question_mark", "question"),)
    assert (caught.value.code, caught.value.cause) == ("pair", "annotator")


def test_sentences_are_in_both_languages_and_need_no_detail_but_one() -> None:
    for code, row in problem_table().items():
        assert row["level"] in ("error", "warning")
        sentences = [Problem(code, "field", ("DETAIL",)).sentence(language) for language in ("en", "zh")]
        assert len(set(sentences)) == 2
        assert len({"DETAIL" in sentence for sentence in sentences}) == 1
        assert "{" not in "".join(sentences)


def test_a_problem_as_plain_values(draft: Draft, move: Move) -> None:
    (problem,) = check_pair_form(draft, read_pair_form(draft, move | {"step": 0}))[:1]
    assert (problem.code, problem.field, problem.detail, problem.level) == ("step_equal", "step", "", "error")


def test_the_preview_says_which_actions_are_meant(form: PairForm) -> None:
    assert form.pair is not None
    shown = preview(form.pair)
    accepted = [
        ("Take the oat milk out of the fridge.", False, False),
        ("Pour oat milk into the tall glass.", True, True),
        ("Serve it.", False, False),
        ("Pour oat milk into a glass.", False, False),
    ]
    assert list(shown) == accepted
    assert preview(replace(form.pair, intent=None, variants=())) == ()


@pytest.mark.each(
    ("clear", "ambiguous", "places"),
    [
        ("Slice the red onion.", "Slice an onion.", ("the red / an",)),
        ("Slice the onion.", "Slice an onion.", ()),
        ("Put it in the big bowl of glass.", "Put it in a bowl.", ("the big / a", "of glass")),
        ("Boil two eggs, then peel one egg.", "Boil eggs, then peel it.", ("two", "one egg / it")),
    ],
)
def test_changes_are_listed_by_place(clear: str, ambiguous: str, places: tuple[str, ...]) -> None:
    assert changes(clear, ambiguous) == places


@pytest.mark.each("draft", load_drafts(), ids=lambda draft: draft.id)
def test_every_built_in_draft_can_be_checked_as_it_is(draft: Draft) -> None:
    fields = {problem.field for problem in check_fields(draft, {})}
    assert {"type", "ambiguous", "question", "answer", "intent", "variants", "one_ambiguity"} <= fields
