"""The page of every desk, at the desk where outputs are sorted: blind, logged, undone, compared, decided."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from letters import MODEL, NAMING, OUTPUTS, begin, write
from markup import checked, judge_desk, office_at, page_of, words

from logs import LogReader, LogWriter
from simulator.ambibench.coding import KIND, set_key
from simulator.ambibench.features import PAIR_NAMES
from simulator.ambibench.generation import generate_verbalise
from ui.research.office import Office

ITEMS = generate_verbalise(0)[::20]


@pytest.fixture
def calls(tmp_path: Path) -> Iterator[Office]:
    path = tmp_path / "log.sqlite"
    with LogWriter(path, durable=False, group_seconds=0.001) as writer, LogReader(path) as reader:
        write(writer, NAMING, MODEL, ITEMS)
        yield office_at(writer, reader)


def page(calls: Office, query: str = "", language: str = "en") -> dict[str, Any]:
    query = f"desk=coding&{query}"
    answer = page_of(calls, {"path": "/research/desk", "query": query, "language": language})
    return checked(answer)


def token(answer: dict[str, Any]) -> str:
    match = re.search(r'data-item="(\w+)"', answer["html"])
    return match[1] if match else ""


def code(
    calls: Office, rater: str, shown: str, category: str, key: str = "", query: str = ""
) -> dict[str, Any]:
    call = {"path": "/research/desk", "query": f"desk=coding&{query or f'reviewer={rater}'}"}
    form = {"item": shown, "form": {"category": category}, "key": key or f"{rater}-{shown}-{category}"}
    return judge_desk(calls, call | form)


def sort_all(calls: Office, rater: str, *categories: str) -> dict[str, Any]:
    """Sort everything that waits, with categories in turn; the last answer."""
    answer, number = page(calls, f"reviewer={rater}"), 0
    while shown := token(answer):
        answer = code(calls, rater, shown, categories[number % len(categories)])
        assert answer["saved"]
        number += 1
    return answer


def logged(calls: Office, rater: str) -> list[str]:
    rows = calls.reader.judgments(kind=KIND, annotator=rater)
    return [row.value["category"] for row in rows]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_rater_sees_the_output_and_what_counted_and_nothing_else(calls: Office, language: str) -> None:
    for query in ("reviewer=ann", f"reviewer=ann&data={set_key(NAMING)}", "tab=agreement", ""):
        answer = page(calls, query, language)
        assert "research." not in words(answer)
        text = str(answer)
        secrets = [
            MODEL,
            "davinci",
            NAMING,
            "naming",
            "arrow",
            "qa",
            *(item.id for item in ITEMS),
            *PAIR_NAMES,
        ]
        for secret in secrets:
            assert secret not in text, (query, secret)
    shown = page(calls, "reviewer=ann", language)
    asked = {"en": "Which is it? Names the task", "zh": "属于哪一类？ 说中了任务"}
    assert asked[language] in words(shown)
    assert any(output.replace("<", "&lt;").replace(">", "&gt;") in shown["html"] for output in OUTPUTS)
    assert shown["figures"] == []


def test_what_is_sorted_is_logged_and_the_next_one_comes(calls: Office) -> None:
    first = page(calls, "reviewer=ann")
    assert f"0 of {len(ITEMS)} judged" in words(first)
    second = code(calls, "ann", token(first), "correct")
    assert second["saved"]
    assert token(second) not in ("", token(first))
    assert f"1 of {len(ITEMS)} judged" in words(second)
    assert logged(calls, "ann") == ["correct"]
    again = code(calls, "ann", token(first), "correct")
    assert again["saved"]
    assert logged(calls, "ann") == ["correct"], "a doubled press is one mark"


def test_the_last_one_is_undone(calls: Office) -> None:
    first = token(page(calls, "reviewer=ann"))
    after = code(calls, "ann", first, "correct")
    back = re.search(r'href="([^"]+)" data-undo', after["html"])
    assert back is not None
    query = back[1].partition("?")[2].replace("&amp;", "&")
    shown = page(calls, query)
    assert token(shown) == first
    assert re.findall(r'value="(\w+)" data-key="\d" aria-pressed="true"', shown["html"]) == ["correct"]
    changed = code(calls, "ann", first, "other", query=query)
    assert token(changed) == token(after)
    assert logged(calls, "ann") == ["correct", "other"]
    assert f"1 of {len(ITEMS)} judged" in words(changed)


def test_two_raters_agree_and_a_third_decides(calls: Office) -> None:
    assert "Agreement needs two raters" in words(page(calls, "tab=agreement"))
    sort_all(calls, "ann", "correct", "incorrect", "other")
    last = sort_all(calls, "bob", "correct")
    assert "You have judged everything that was waiting for you." in words(last)
    shown = words(page(calls, "tab=agreement"))
    assert "ann, bob" in shown
    assert "Cohen’s κ" in shown
    differ = sum(category != "correct" for category in logged(calls, "ann"))
    hidden = words(page(calls, "tab=agreement&reviewer=cid"))
    assert f"{differ} more, on cases you have not judged yet, are hidden" in hidden
    third = page(calls, "reviewer=cid")
    assert "Your answer decides" in words(third)
    assert f"0 of {differ} judged" in words(third)
    sort_all(calls, "cid", "other")
    assert logged(calls, "cid") == ["other"] * differ
    assert "not yet" not in words(page(calls, "tab=agreement"))


def test_a_run_can_be_sorted_by_itself(calls: Office) -> None:
    write(calls.writer, "another", "some/model", ITEMS[:1])
    assert f"of {len(ITEMS) + 1} judged" in words(page(calls, "reviewer=ann"))
    assert "of 1 judged" in words(page(calls, f"reviewer=ann&data={set_key('another')}"))
    assert "no set of outputs" in words(page(calls, "reviewer=ann&data=0000"))


@pytest.mark.parametrize(
    ("rater", "shown", "category"),
    [
        ("a b", "", "correct"),
        ("ann", "0123456789abcdef0123", "correct"),
        ("ann", "", "maybe"),
        ("", "", "other"),
    ],
)
def test_a_false_call_is_refused(calls: Office, rater: str, shown: str, category: str) -> None:
    shown = shown or token(page(calls, "reviewer=ann"))
    answer = code(calls, rater, shown, category, "key-0000001", f"reviewer={rater}")
    assert not answer["saved"]
    assert answer["problem"]
    assert calls.reader.judgments(kind=KIND) == []


def test_without_outputs_the_page_says_what_to_run(bench: Any) -> None:
    calls = office_at(bench.writer, bench.reader)
    assert "askback run ambibench --setting verbalise" in page(calls)["html"]
    begin(bench.writer, "naming", "some/model", 3)
    assert "askback run ambibench --setting verbalise" in page(calls, "reviewer=ann")["html"]


def test_every_desk_has_its_place(calls: Office) -> None:
    listed = checked(page_of(calls, {"path": "/research/desk", "query": ""}))["html"]
    assert 'href="/research/desk?desk=ambibench.coding"' in listed
    assert "There is no desk" in words(page_of(calls, {"path": "/research/desk", "query": "desk=nowhere"}))
    old = page_of(calls, {"path": "/research/coding", "query": f"outputs={set_key(NAMING)}&reviewer=ann"})
    assert f"0 of {len(ITEMS)} judged" in words(checked(old))


def test_who_comes_when_nothing_is_left_is_told_so(calls: Office) -> None:
    for rater in ("ann", "bob"):
        sort_all(calls, rater, "correct")
    assert "Nothing is waiting for you here." in words(page(calls, "reviewer=cy"))
