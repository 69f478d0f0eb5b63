"""The third person's desk."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from logs import erase_participant
from logs.rows import Participant
from simulator.ambik.annotation.desk import DECIDING, KEPT, PAIRS, DraftCase, cases, flow
from simulator.ambik.forms import field_text
from simulator.ambik.items import Draft
from simulator.ambik.records import PairForm
from simulator.blocks import Revision
from simulator.desk_work import judgment_rows, next_work
from simulator.errors import InputError
from simulator.judging import DeskFormError

Move = dict[str, Any]
RUN = "annotators"


def case(reader: Any, run: str, key: str) -> DraftCase:
    return next(case for case in cases(reader, run) if case.key == key)


def waiting(reader: Any, person: str) -> list[str]:
    """Return the keys of the cases that a third person may decide."""
    return [case.key for case in PAIRS.cases(reader, RUN) if PAIRS.may_decide(case, person)]


def test_forms_are_shown_side_by_side_with_the_words_that_differ(desk: Any, draft: Draft, move: Move) -> None:
    desk.annotate(draft, "ann", move)
    key = desk.annotate(draft, "bob", move | {"answer": "The small one.", "step": 1, "question": "Why?"})
    current = case(desk.reader, RUN, key)
    assert (current.state, current.differs, current.pair) == ("due", ("question", "answer"), None)
    assert [form.annotator for form in current.forms] == ["", ""]
    shown = [block for block in PAIRS.cases(desk.reader, RUN)[0].show() if isinstance(block, Revision)]
    assert [tuple(piece) for piece in shown[-1].pieces] == [
        ("The ", "same"),
        ("tall ", "removed"),
        ("small ", "added"),
        ("one.", "same"),
    ]


def test_annotators_who_left_the_same_agree(desk: Any, draft: Draft, move: Move) -> None:
    desk.annotate(draft, "ann", move)
    assert [case.state for case in cases(desk.reader, RUN)] == ["open"]
    desk.annotate(draft, "bob", move | {"shortlist": move["shortlist"][::-1]})
    (current,) = cases(desk.reader, RUN)
    assert (current.state, current.differs) == ("agreed", ())
    assert current.pair == current.forms[0].pair is not None
    assert waiting(desk.reader, "cleo") == []


def test_a_third_person_decides(desk: Any, draft: Draft, move: Move) -> None:
    desk.annotate(draft, "ann", move)
    key = desk.annotate(draft, "bob", move | {"answer": "The small one."})
    assert waiting(desk.reader, "cleo") == [key]
    work = next_work(PAIRS, desk.reader, RUN, "cleo")
    assert work.case is not None and (work.case.key, work.deciding) == (key, True)
    assert work.case.proposed["answer"] == move["answer"] and len(work.case.offers) == 2
    row = desk.decided(key, "cleo", move | {"answer": "The high one."}, submission="s1")
    assert (row.kind, row.item_hash, row.annotator, row.key) == (DECIDING.kind, key, "cleo", "s1")
    assert [case.state for case in cases(desk.reader, RUN)] == ["due"]
    desk.put(row)
    current = case(desk.reader, RUN, key)
    decided = current.opinions.decided
    assert current.state == "consolidated" and decided is not None
    assert (decided.annotator, decided.passed_over) == ("cleo", move["passed_over"])
    assert current.pair is not None and current.pair.answer == "The high one."
    assert waiting(desk.reader, "dora") == []


def test_the_newest_decision_holds_until_its_author_is_erased(desk: Any, draft: Draft, move: Move) -> None:
    desk.annotate(draft, "ann", move)
    key = desk.annotate(draft, "bob", {"delete": "Absurd."})
    current = case(desk.reader, RUN, key)
    assert (current.state, current.differs) == ("due", (KEPT,))
    desk.put(desk.decided(key, "cleo", move, submission="s1"))
    desk.put(desk.decided(key, "dora", {"delete": "Yes."}, submission="s2"))
    current = case(desk.reader, RUN, key)
    assert (current.state, current.pair) == ("deleted", None)
    desk.put(Participant(id="dora"))
    erase_participant(desk.path, "dora")
    assert case(desk.reader, RUN, key).state == "consolidated"


def test_who_may_not_decide(desk: Any, draft: Draft, move: Move) -> None:
    key = desk.annotate(draft, "ann", move)
    with pytest.raises(InputError, match="cannot be judged now"):
        desk.decided(key, "cleo", move, submission="s")
    desk.annotate(draft, "bob", move | {"answer": "No."})
    with pytest.raises(InputError, match="somebody else"):
        desk.decided(key, "ann", move, submission="s")
    assert waiting(desk.reader, "ann") == []
    with pytest.raises(InputError, match="Say who"):
        desk.decided(key, " ", move, submission="s")
    with pytest.raises(InputError, match="nothing called 'x'"):
        judgment_rows(PAIRS, desk.reader, RUN, "cleo", "x", move, submission="s")


def test_a_form_that_breaks_rules_is_refused(desk: Any, draft: Draft, move: Move) -> None:
    desk.annotate(draft, "ann", move)
    key = desk.annotate(draft, "bob", move | {"answer": "No."})
    with pytest.raises(DeskFormError) as caught:
        desk.decided(key, "cleo", move | {"question": "Which.", "indirect": ""}, submission="s")
    assert [problem.code for problem in caught.value.problems] == ["question_mark"]


def test_the_flow_counts_every_draft(desk: Any, draft: Draft, move: Move) -> None:
    drafts = [replace(draft, id=f"x{n}") for n in range(5)]
    others = [move, move | {"answer": "No."}, {"delete": "Absurd."}, move | {"answer": "No."}]
    for draft, other in zip(drafts, others, strict=False):
        desk.annotate(draft, "ann", {"delete": "No."} if "delete" in other else move)
        key = desk.annotate(draft, "bob", other)
    desk.annotate(drafts[4], "ann", move)
    desk.annotate(drafts[4], "bob", move, ended=False)
    desk.put(desk.decided(key, "cleo", move, submission="s"))
    assert flow(desk.reader, RUN) == dict(drafts=5, annotated=4, due=1, agreed=1, consolidated=1, deleted=1)


def test_a_run_without_drafts_is_refused(desk: Any) -> None:
    with pytest.raises(InputError, match="no drafts"):
        cases(desk.reader, RUN)


def test_fields_are_shown_as_texts(form: PairForm) -> None:
    assert form.pair is not None
    assert field_text(form.pair, "step") == "2"
    assert field_text(form.pair, "shortlist") == "tall glass, small glass, beer glass"
    assert field_text(form.pair, "intent") == "oat milk, tall glass"
    assert field_text(form.pair, "variants").splitlines()[2] == "oat milk, beer glass"
    assert field_text(replace(form.pair, step=None, intent=None), "step") == ""
