"""AmbiK's annotated pairs for researchers: agreement, forms side by side, a third person's desk."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from markup import checked, page, words
from markupsafe import escape
from pots import ANNOTATED, DRAFTS, PEOPLE, SECRET, people

from logs import LogReader, LogWriter
from simulator.ambik.annotation.agreement import pair_agreement
from simulator.ambik.annotation.desk import cases
from simulator.ambik.trial_log import forms
from ui.i18n import strings
from ui.research.ambik_pairs import filled_form
from ui.research.calls import Calls
from ui.research.desk import Desk


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Calls]:
    """A log of people; tests read it only."""
    path = tmp_path_factory.mktemp("pairs") / "log.sqlite"
    with LogWriter(path, durable=False, group_seconds=0.001) as writer, LogReader(path) as reader:
        asyncio.run(people(writer, reader))
        writer.flush()
        yield Calls(Desk(reader), writer)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_agreement_and_progress_are_told(log: Calls, language: str) -> None:
    assert ANNOTATED in words(page(log, path="/research/pairs", language=language))
    answer = page(log, f"run={ANNOTATED}&tab=agreement", "/research/pairs", language)
    found = pair_agreement(forms(log.desk.reader, [ANNOTATED])).fields["question"]
    assert found is not None and found.value == 0
    assert answer["html"].count('<li class="ab-card">') == DRAFTS
    assert "0.0 [0.0," in words(answer) and "100.0 [" in words(answer)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_two_forms_stand_side_by_side_without_names(log: Calls, language: str) -> None:
    for one in cases(log.desk.reader, ANNOTATED):
        answer = page(log, f"run={ANNOTATED}&reviewer=zoe&item={one.key}", "/research/pairs", language)
        assert answer["html"].count("rk-voice") >= 2
        assert SECRET not in answer["html"]
        if "question" in one.differs:
            assert "<ins>Please tell me:</ins>" in answer["html"]
        proposed = answer["html"].partition("rk-proposed")[2].partition("</details>")[0]
        assert all(escape(text) in proposed for text in (one.draft.clear, one.draft.scene))
        assert one.draft.candidates
        for candidate in one.draft.candidates.values():
            assert escape(candidate.task) in proposed
            assert escape(candidate.question) in proposed


def pair_call(item: str, key: str, form: dict[str, Any]) -> dict[str, Any]:
    query = f"run={ANNOTATED}&reviewer=zoe"
    head = {"path": "/research/pairs", "query": query, "language": "en", "what": "pair"}
    return {**head, "item": item, "key": key, "form": form}


def test_a_third_person_makes_one_pair(tmp_path: Path) -> None:
    path = tmp_path / "log.sqlite"
    with LogWriter(path, durable=False, group_seconds=0.001) as writer, LogReader(path) as reader:
        asyncio.run(people(writer, reader))
        calls = Calls(Desk(reader), writer)
        first = next(one for one in cases(reader, ANNOTATED) if one.state == "due")
        filled = filled_form(first)
        broken = calls.judge(pair_call(first.key, "key-00001", filled | {"question": ""}))
        assert not broken["saved"] and set(broken["places"]) == {"question", "one_ambiguity"}
        again = calls.judge(pair_call(first.key, "key-00002", {**filled, "type": "nothing"}))
        assert not again["saved"] and "type" in again["places"]
        done = calls.judge(pair_call(first.key, "key-00003", {**filled, "one_ambiguity": ["yes"]}))
        assert done["saved"] and checked(done)
        (pair,) = (one.pair for one in cases(reader, ANNOTATED) if one.pair is not None)
        assert pair == first.voices[0].form.pair
        following = calls.judge(pair_call("nothing", "key-00004", filled))
        assert not following["saved"]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_what_the_desk_refuses_is_said_in_the_page_s_language(log: Calls, language: str) -> None:
    reader, t = log.desk.reader, strings(language)
    draft = cases(reader, ANNOTATED)[0]
    own = next(one.annotator for one in forms(reader, [ANNOTATED]) if one.draft == draft.draft.id)
    filled = filled_form(draft) | {"one_ambiguity": ["yes"]}
    for query, item, code, named in (
        (f"run={ANNOTATED}&reviewer={own}", draft.key, "own_draft", {"person": own, "draft": draft.draft.id}),
        (f"run={ANNOTATED}&reviewer=zoe", "x", "no_draft", {"draft": "x", "run": ANNOTATED}),
        (f"run={PEOPLE}&reviewer=zoe", draft.key, "no_drafts", {"run": PEOPLE}),
    ):
        call = {**pair_call(item, "key-00009", filled), "query": query, "language": language}
        assert log.judge(call) == {
            "saved": False,
            "problem": t(f"problem.{code}", **named),
        }
    far = pair_call(draft.key, "key-00009", filled | {"objects": ",".join("x" * 300)})
    assert log.judge(far | {"language": language})["problem"] == t("ambik.refused.too_many")
    broken = pair_call(draft.key, "?", {}) | {"language": language}
    assert log.judge(broken)["problem"] == t("ambik.refused.malformed")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_place_that_there_is_not_is_told_in_the_page_s_language(log: Calls, language: str) -> None:
    t = strings(language)
    told = log.page({"path": "/research/pairs", "query": f"run={PEOPLE}", "language": language})
    assert t("problem.no_drafts", run=PEOPLE) in words(told)
    nobody = log.page({"path": "/research/pairs", "query": "run=x&reviewer=a b", "language": language})
    assert t("problem.reviewer", given="a b") in words(nobody)
