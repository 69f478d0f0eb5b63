"""Requests of the browser: playing, qualifying, sets, refused forms, withdrawing."""

from __future__ import annotations

import pytest
from filling import Visit, crowd_item, enter, item_of, judge, play
from visiting import Page, ask_for_place, words

from logs import LogReader, LogWriter
from simulator.ambient.items import AnnotateItem, TrueFalseItem
from ui.actions import Actions

Log = tuple[LogWriter, LogReader]


async def test_free_play_of_a_crowdworker(actions: Actions, log: Log) -> None:
    visit = await play(actions)
    assert visit.stage == "instructions"
    await visit.begin()
    item = crowd_item(log[1], visit.episode)
    assert "Step 1 of 3" in words(visit.html)
    await judge(visit, item)
    assert visit.stage == "done"
    readings = sum(candidate.label is not None for candidate in item.candidates)
    assert f"{readings} of {readings} readings as in the dataset" in words(visit.html)
    turns = tuple(log[1].turns(visit.episode))
    assert [turn.payload["kind"] for turn in turns] == ["ready", "label", "plausible", "relabel"]
    assert all(turn.payload["keys_used"] is True and turn.seconds == 1.5 for turn in turns)
    assert turns[1].payload["shown_at"].startswith("2026-01-02T03:04:05.678")


async def test_free_play_of_a_linguist(actions: Actions, log: Log) -> None:
    visit = await play(actions, "annotate")
    await visit.begin()
    item = item_of(log[1], visit.episode)
    assert isinstance(item, AnnotateItem)
    premise, hypothesis = item.example.premise, item.example.hypothesis
    rewrites = [
        {"premise": f"{premise} {word}", "hypothesis": hypothesis, "label": label}
        for word, label in (("Once.", "neutral"), ("Twice.", "entailment"))
    ]
    answer = await visit.fill(labels=["neutral", "entailment"], rewrites=rewrites, comment="<b>hm</b>")
    assert answer["accepted"]
    turn = tuple(log[1].turns(visit.episode))[-1]
    assert turn.payload["comment"] == "<b>hm</b>"
    assert len(turn.payload["rewrites"]) == 2
    assert "Your rewrites" in words(visit.html)


async def test_free_play_of_statements(actions: Actions, log: Log) -> None:
    visit = await play(actions, "true_false")
    await visit.begin()
    item = item_of(log[1], visit.episode)
    assert isinstance(item, TrueFalseItem)
    count = 4 * len(item.rewrites)
    for k in range(1, count + 1):
        assert f"Statement {k} of {count}" in words(visit.html)
        assert item.sentence in words(visit.html)
        await visit.fill(answer=True)
    assert f"{count // 2} of {count} right" in words(visit.html)


async def test_a_start_that_fails_says_why(actions: Actions) -> None:
    wishes = {"benchmark": "ambient", "seat": "annotator", "rules": {"task": "evaluate"}, "language": "en"}
    assert "task" in (await actions.start(wishes))["problem"]


async def test_a_set_and_the_next_one(actions: Actions, log: Log) -> None:
    visit = await enter(actions, "crowd", "pid-1")
    assert visit.stage == "consent"
    await visit.begin()
    assert "Question 1 of 5" in words(visit.html)
    await visit.qualify(log[1])
    assert "Step 1 of 3" in words(visit.html)
    first = crowd_item(log[1], visit.episode)
    await judge(visit, first)
    assert "DONE-crowd" in visit.html
    assert "You have finished set 1 of 3" in words(visit.html)
    answer = await actions.next_set(visit.call)
    second = Visit(actions, answer["go"].partition("?")[2])
    await second.look()
    assert "Step 1 of 3" in words(second.html)  # no consent, no instructions, no questions again
    item = crowd_item(log[1], second.episode)
    assert item.id != first.id
    await judge(second, item)
    assert "You have finished set 2 of 3" in words(second.html)


async def test_unqualified_participants_leave_with_their_own_code(actions: Actions, log: Log) -> None:
    visit = await enter(actions, "crowd", "pid-1")
    await visit.begin()
    await visit.qualify(log[1], right=3)
    assert 'data-code="screened_out"' in visit.html
    assert "OUT-crowd" in visit.html
    assert "DONE-crowd" not in visit.html
    assert 'data-code="screened_out"' in await visit.look()


FORMS = (
    ({}, "choose a label"),
    ({"plausible": [True, True]}, "answer for every reading"),
    ({"labels": ["neutral", "neutral", None]}, "a label for every pair"),
)


async def test_a_form_that_is_not_complete_is_no_turn(actions: Actions, log: Log) -> None:
    visit = await play(actions)
    await visit.begin()
    item = crowd_item(log[1], visit.episode)
    good = (
        {"label": "neutral"},
        {"plausible": [True] * len(item.candidates)},
        {"labels": ["neutral"] * 3},
    )
    for (form, message), right in zip(FORMS, good, strict=True):
        number = visit.number
        assert not (await visit.fill(**form))["accepted"]
        assert message in words(visit.html)
        assert visit.number == number
        assert (await visit.fill(**right))["accepted"]


async def test_problems_of_a_rewrite_are_shown_at_its_fields(actions: Actions, log: Log) -> None:
    visit = await enter(actions, "linguists", "pid-1", language="zh")
    await visit.begin()
    item = item_of(log[1], visit.episode)
    assert isinstance(item, AnnotateItem)
    pair = {"premise": item.example.premise, "hypothesis": item.example.hypothesis}
    rewrites = [
        {**pair, "premise": "Changed.", "label": "neutral"},
        {**pair, "hypothesis": " ", "label": "entailment"},
    ]
    form = {"labels": ["neutral", "contradiction"], "rewrites": rewrites}
    problems = await visit.check(**form)
    assert problems.keys() == {"labels", "rewrites", "rewrites[1].label", "rewrites[1].hypothesis"}
    assert len(problems["rewrites"]) == 2  # one changes the premise, one the hypothesis
    assert "还没有“矛盾”的改写。" in [problem["text"] for problem in problems["labels"]]
    assert not (await visit.fill(**form))["accepted"]
    fields = {attrs.get("data-field") or attrs.get("data-list") for _, attrs in Page(visit.html).tags}
    assert problems.keys() <= fields
    assert tuple(log[1].turns(visit.episode))[-1].payload["kind"] == "ready"


async def test_a_discarded_pair_needs_a_reason(actions: Actions, log: Log) -> None:
    visit = await play(actions, "annotate")
    await visit.begin()
    assert not (await visit.fill(discarding=True, discard=None, comment=""))["accepted"]
    (problem,) = (await visit.check(discarding=True, discard=None))["labels"]
    assert problem["text"] == "Tick at least one label, or discard the pair."
    assert (await visit.fill(discarding=True, discard="not_fluent", comment="Odd."))["accepted"]
    assert "You discarded this pair" in words(visit.html)


async def test_overlong_texts_are_refused(actions: Actions) -> None:
    visit = await play(actions, "annotate")
    await visit.begin()
    with pytest.raises(ValueError, match="20000"):
        await visit.fill(labels=["neutral"], comment="x" * 20_001)
    assert not (await visit.fill(labels=["neutral"], comment="x" * 4_001))["accepted"]
    assert "the text is too long" in words(visit.html)


async def test_the_welcome_page_says_what_is_done(actions: Actions) -> None:
    for study, text in (("crowd", "readings that one of them may have"), ("linguists", "标注一些成对")):
        page = await actions.page({"path": "/study", "query": f"study={study}", "language": "en"})
        assert text in words(page["html"])
    assert 'data-code="unknown"' in (await ask_for_place(actions, "nothing"))["html"]
