"""AmbiK's annotated pairs for researchers: agreement, forms side by side, a third person's desk."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from markup import checked, judge_desk, office_at, page, words
from markupsafe import escape
from pots import ANNOTATED, PEOPLE, SECRET, people

from logs import LogReader, LogWriter
from simulator.ambik.annotation.agreement import pair_agreement
from simulator.ambik.annotation.desk import cases
from simulator.ambik.trial_log import forms
from ui.i18n import strings
from ui.research.address import Address
from ui.research.downloads import desk_file
from ui.research.office import Office

DESK = "/research/desk"


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Office]:
    """A log of people; tests read it only."""
    path = tmp_path_factory.mktemp("pairs") / "log.sqlite"
    with LogWriter(path, durable=False, group_seconds=0.001) as writer, LogReader(path) as reader:
        asyncio.run(people(writer, reader))
        writer.flush()
        yield office_at(writer, reader)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_agreement_and_progress_are_told(log: Office, language: str) -> None:
    assert ANNOTATED in words(page(log, "desk=pairs", DESK, language))
    answer = page(log, f"desk=pairs&data={ANNOTATED}&tab=agreement", DESK, language)
    agreement = pair_agreement(forms(log.reader, [ANNOTATED]))["fields"]["question"]
    assert agreement is not None and agreement.value == 0
    assert re.search(r"share equal 0\.0+ \[0\.0|相同的?比例 0\.0+ \[0\.0", words(answer))
    table = answer["html"].partition("dk-differing")[2]
    differing = [case for case in cases(log.reader, ANNOTATED) if case.state == "due"]
    assert differing and all(case.thing.id in table for case in differing)
    assert all(form.annotator not in answer["html"] for form in forms(log.reader, [ANNOTATED]))


@pytest.mark.parametrize("language", ["en", "zh"])
def test_two_forms_are_compared_without_names(log: Office, language: str) -> None:
    for case in cases(log.reader, ANNOTATED):
        query = f"desk=pairs&data={ANNOTATED}&reviewer=zoe&item={case.key}"
        answer = page(log, query, DESK, language)
        assert SECRET not in answer["html"]
        assert all(form.annotator not in answer["html"] for form in forms(log.reader, [ANNOTATED]))
        if "question" in case.differs:
            assert "<ins>Please tell me:</ins>" in answer["html"]
            assert 'data-field="question"' in answer["html"]
        proposed = answer["html"].partition("bl-folded")[2].partition("</details>")[0]
        assert all(escape(text) in proposed for text in (case.thing.clear, case.thing.scene))
        assert case.thing.candidates
        for candidate in case.thing.candidates.values():
            assert escape(candidate.task) in proposed
            assert escape(candidate.question) in proposed


def pair_call(item: str, key: str, form: dict[str, Any]) -> dict[str, Any]:
    query = f"desk=pairs&data={ANNOTATED}&reviewer=zoe"
    return {"path": DESK, "query": query, "language": "en", "item": item, "key": key, "form": form}


def test_a_third_person_makes_one_pair(tmp_path: Path) -> None:
    path = tmp_path / "log.sqlite"
    with LogWriter(path, durable=False, group_seconds=0.001) as writer, LogReader(path) as reader:
        asyncio.run(people(writer, reader))
        calls = office_at(writer, reader)
        first = next(case for case in cases(reader, ANNOTATED) if case.state == "due")
        filled = dict(first.proposed)
        broken = judge_desk(calls, pair_call(first.key, "key-00001", filled | {"question": ""}))
        assert not broken["saved"] and set(broken["places"]) == {"question", "one_ambiguity"}
        again = judge_desk(calls, pair_call(first.key, "key-00002", {**filled, "type": "nothing"}))
        assert not again["saved"]
        done = judge_desk(calls, pair_call(first.key, "key-00003", {**filled, "one_ambiguity": ["yes"]}))
        assert done["saved"] and checked(done)
        (pair,) = (case.pair for case in cases(reader, ANNOTATED) if case.pair is not None)
        assert pair == first.forms[0].pair
        following = judge_desk(calls, pair_call("nothing", "key-00004", filled))
        assert not following["saved"]
        at = Address.read(DESK, f"desk=pairs&data={ANNOTATED}")
        assert pair.question in desk_file(reader, at, "pairs.csv").decode("utf-8-sig")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_what_the_desk_refuses_is_said_in_the_page_s_language(log: Office, language: str) -> None:
    reader, t = log.reader, strings(language)
    draft = next(case for case in cases(reader, ANNOTATED) if case.state == "due")
    own = next(form.annotator for form in forms(reader, [ANNOTATED]) if form.draft == draft.thing.id)
    filled = dict(draft.proposed) | {"one_ambiguity": ["yes"]}
    for run, who, item, code, named in (
        (ANNOTATED, own, draft.key, "own_thing", {"person": own, "thing": draft.thing.id}),
        (ANNOTATED, "zoe", "x", "nothing_such", {"thing": "x"}),
        (PEOPLE, "zoe", draft.key, "no_drafts", {"run": PEOPLE}),
    ):
        query = f"desk=pairs&data={run}&reviewer={who}"
        call = {**pair_call(item, "key-00009", filled), "query": query, "language": language}
        assert judge_desk(log, call) == {"saved": False, "problem": t(f"problem.{code}", **named)}
    far = pair_call(draft.key, "key-00009", filled | {"objects": ",".join("x" * 300)})
    assert "300" not in judge_desk(log, far | {"language": language})["problem"]


def test_the_desk_s_first_address_leads_to_it(log: Office) -> None:
    answer = page(log, f"run={ANNOTATED}&reviewer=zoe", "/research/pairs")
    assert 'data-desk="ambik.pairs"' in answer["html"]
