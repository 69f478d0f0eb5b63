"""The desk where dialogues are reviewed: filled in bit by bit, blind, finished, taken up again, compared."""

import csv
import re
from unittest.mock import Mock

import pytest
from markup import checked, judge_desk, page_of, words

from simulator.clarq.review import read_reviews
from simulator.errors import InputError
from ui.i18n import strings
from ui.research import desk_page
from ui.research.address import Address
from ui.research.downloads import desk_file

EPISODE = "one/gather-resources-1.en/0"
CHINESE = "one/gather-resources-1.zh/0"
FAILED = "one/gather-resources-2.en/0"


def page(calls, query, language="en"):
    path = {"path": "/research/desk", "query": f"desk=clarq.review&data=one&{query}", "language": language}
    return checked(page_of(calls, path))


def say(calls, form, reviewer="ann", item=FAILED, **call):
    """Send a bit of a review, or all of it."""
    number = say.number = getattr(say, "number", 0) + 1
    query = f"desk=clarq.review&data=one&reviewer={reviewer}"
    sent = {"path": "/research/desk", "query": query, "item": item, "form": form, "key": f"key-{number:06}"}
    return judge_desk(calls, sent | call)


def pressed(answer):
    return re.findall(r'data-name="([^"]+)" data-value="([^"]+)"[^>]*aria-pressed="true"', answer["html"])


def shown(answer):
    return re.search(r'data-item="([^"]+)"', answer["html"])[1]


def test_a_mark_is_in_the_log_before_it_is_shown_as_saved(calls, filled):
    assert say(calls, {"4.type": "1"})["saved"]
    answer = say(calls, {"4.node": "2"})
    assert answer["saved"]
    rows = filled.reader.judgments(episode_id=FAILED)
    assert [(row.annotator, row.kind, row.turn_number) for row in rows] == [
        ("ann", "review.provider_error", 4)
    ] * 2
    assert rows[-1].value == {"type": 1, "node": "2", "hallucination": False}
    assert pressed(answer) == [("4.type", "1"), ("4.node", "2")]
    assert pressed({"html": answer["page"]}) == pressed(answer)  # without asking once more
    assert shown(answer) == FAILED
    assert pressed(say(calls, {"4.hallucination": ["yes"]})) == [*pressed(answer), ("4.hallucination", "yes")]
    assert pressed(say(calls, {"4.type": "2"})) == [("4.type", "2"), ("4.hallucination", "yes")]
    assert filled.reader.judgments()[-1].value == {"type": 2, "node": None, "hallucination": True}


def test_a_mark_counts_although_the_page_cannot_be_shown(calls, filled, monkeypatch):
    monkeypatch.setattr(desk_page, "markup", Mock(side_effect=InputError("no room")))
    answer = say(calls, {"4.type": "1"})
    assert (answer["saved"], answer["page"]) == (True, None)
    assert len(filled.reader.judgments(episode_id=FAILED)) == 1


def test_the_same_click_counts_once(calls, filled):
    for _ in range(3):
        assert say(calls, {"dialogue.success": "yes"}, key="double-click")["saved"]
    assert len(filled.reader.judgments(episode_id=FAILED)) == 1


@pytest.mark.parametrize(
    ("form", "call"),
    [
        ({"0.type": "0"}, {}),
        ({"4.type": "3"}, {}),
        ({"4.node": "2"}, {}),
        ({"missing.1.failure": "hidden"}, {}),
        ({"missing.2.failure": "hidden"}, {}),
        ({"finished": "yes"}, {}),
        ({"everything": "yes"}, {}),
        ({"dialogue.success": "perhaps"}, {}),
        ({"dialogue.note": 5000 * "x"}, {}),
        ({"dialogue.note": None}, {}),
        ({"dialogue.note": ["x"]}, {}),
        ({"dialogue.success": ["yes"]}, {}),
        ({"4.hallucination": [["yes"]]}, {}),
        ({"4.type": 1}, {}),
        ({"dialogue.success": "yes"}, {"key": "short"}),
        ({"dialogue.success": "yes"}, {"item": "nowhere"}),
        ({"dialogue.success": "yes"}, {"query": "desk=review&data=one"}),
        ({"dialogue.success": "yes"}, {"query": "desk=review&data=one&reviewer=../x"}),
        ({"dialogue.success": "yes"}, {"query": "desk=review&data=no&reviewer=ann"}),
    ],
)
def test_a_mark_that_makes_no_sense_is_refused(calls, filled, form, call):
    answer = say(calls, form, **call)
    assert not answer["saved"]
    assert answer["problem"]
    assert filled.reader.judgments() == []


def test_a_node_that_could_not_be_given_and_a_reason_that_is_none_are_refused(calls, filled):
    say(calls, {"4.type": "1"})
    say(calls, {"dialogue.success": "no"})
    for form in ({"4.node": "9"}, {"missing.2.failure": "lazy"}, {"missing.1.failure": "hidden"}):
        assert not say(calls, form)["saved"]
    assert len(filled.reader.judgments()) == 2


def test_what_is_still_played_or_of_another_benchmark_is_not_reviewed(calls, filled):
    open_one = filled.play("one", filled.tasks["zh"][2], status=None)
    assert not say(calls, {"dialogue.success": "yes"}, item=open_one)["saved"]
    filled.run("house", benchmark="handmethat")
    refused = page_of(calls, {"path": "/research/desk", "query": "desk=review&data=house&reviewer=ann"})
    assert "cannot be shown here" in words(checked(refused))


def test_the_rule_is_silent_until_the_reviewer_has_spoken(calls):
    assert "missing.2" not in page(calls, f"reviewer=ann&item={FAILED}")["html"]
    assert "missing.2.failure" in say(calls, {"dialogue.success": "no"})["html"]
    assert "missing.2" not in say(calls, {"dialogue.success": "yes"})["html"]


def test_a_reason_can_be_taken_back(calls, filled):
    say(calls, {"dialogue.success": "no"})
    say(calls, {"missing.2.failure": "hidden"})
    assert pressed(say(calls, {"missing.2.failure": ""})) == [("dialogue.success", "no")]
    assert filled.reader.judgments()[-1].value == {"node": "2", "failure": None}


def finish(calls, reviewer, failure):
    missing = re.findall(
        r"missing\.([\d.]+)\.failure", say(calls, {"dialogue.success": "no"}, reviewer)["html"]
    )
    say(calls, {"4.note": "a secret thought"}, reviewer)
    for node in dict.fromkeys(missing):
        assert say(calls, {f"missing.{node}.failure": failure}, reviewer)["saved"]
    return say(calls, {"finished": "yes"}, reviewer)


def test_the_second_reviewer_is_blind_until_done(calls, filled):
    assert finish(calls, "ann", "hidden")["saved"]
    assert "a secret thought" in page(calls, f"item={FAILED}&reviewer=ann")["html"]
    assert "a secret thought" not in page(calls, f"item={FAILED}&reviewer=bob")["html"]
    assert "No dialogue has been finished by two reviewers" in words(page(calls, "tab=agreement"))
    finish(calls, "bob", "overlooked")
    bob = words(page(calls, "tab=agreement&reviewer=bob"))
    assert "Reviewers ann and bob" in bob
    answers = [turn for turn in filled.reader.turns(FAILED) if turn.seat == "provider" and turn.number > 0]
    assert f"{2 * len(answers)} provider turns in 1 dialogues" in bob  # without the greeting
    assert "Why is it missing? Hidden in a summary" in bob
    assert "Why is it missing? Overlooked" in bob
    outsider = words(page(calls, "tab=agreement&reviewer=cy"))
    assert "Why is it missing?" not in outsider
    assert "1 more, on cases you have not judged yet" in outsider
    reviews = read_reviews(filled.reader.judgments())
    assert {who: review.done for (_, who), review in reviews.items()} == {"ann": True, "bob": True}


def test_where_people_say_what_the_rule_does_not_is_told_to_who_has_judged_it(calls):
    say(calls, {"dialogue.success": "yes"})
    say(calls, {"finished": "yes"})
    assert "gather-resources-2.en/0 no yes" in words(page(calls, "tab=agreement&reviewer=ann"))
    outsider = words(page(calls, "tab=agreement&reviewer=cy"))
    assert "gather-resources-2.en/0 no yes" not in outsider
    assert "1 more are hidden until you have reviewed those dialogues yourself" in outsider
    assert "规则" in words(page(calls, "tab=agreement", "zh"))


def test_what_is_begun_comes_before_what_is_new_and_what_is_left_is_counted(calls):
    assert shown(page(calls, "reviewer=ann")) == EPISODE
    say(calls, {"dialogue.success": "yes"}, item=CHINESE)
    assert shown(page(calls, "reviewer=ann")) == CHINESE
    assert shown(page(calls, "reviewer=bob")) == EPISODE
    answer = say(calls, {"finished": "yes"}, item=CHINESE)
    assert shown(answer) == EPISODE
    assert "1 of 4 judged" in words(answer)


def test_a_review_is_taken_up_again_and_left_open(calls, filled):
    say(calls, {"dialogue.success": "yes"})
    say(calls, {"finished": "yes"})
    again = page(calls, f"reviewer=ann&item={FAILED}")
    assert "You have finished this one" in words(again)
    assert pressed(again) == [("dialogue.success", "yes")]
    changed = say(calls, {"4.type": "2"})
    assert (shown(changed), "1 of 4 judged" in words(changed)) == (FAILED, True)
    opened = say(calls, {"finished": "no"})
    assert "0 of 4 judged" in words(opened)
    assert filled.reader.judgments()[-1].value == {"done": False}


def test_after_the_last_dialogue_there_is_nothing_left(calls):
    answer = page(calls, "reviewer=ann")
    for _ in range(4):
        item = shown(answer)
        say(calls, {"dialogue.success": "yes"}, item=item)
        answer = say(calls, {"finished": "yes"}, item=item)
    assert "You have judged everything that was waiting for you." in words(answer)
    assert "4 of 4 judged" in words(answer)


def test_turns_without_a_mark_are_to_be_confirmed(calls):
    answer = say(calls, {"dialogue.success": "yes"})
    assert "Provider’s turns without a mark" in words(answer)
    for number in re.findall(r'data-name="(\d+)\.type"', answer["html"]):
        answer = say(calls, {f"{number}.type": "0"})
    assert "Provider’s turns without a mark" not in words(answer)


@pytest.mark.parametrize(
    "query", ["", "desk=clarq.review&data=one", "desk=clarq.review&data=one&reviewer=ann"]
)
def test_chinese_pages_have_the_benchmarks_chinese_title(calls, monkeypatch, query):
    monkeypatch.setitem(strings("zh").phrases, "ClarQ-LLM", "问询")
    answer = page_of(calls, {"path": "/research/desk", "query": query, "language": "zh"})
    assert "问询" in words(answer)


def test_marks_are_taken_home(calls, filled):
    say(calls, {"4.note": "odd"})
    at = Address.read("/research/desk", "desk=clarq.review&data=one")
    (row,) = csv.DictReader(desk_file(filled.reader, at, "reviews.csv").decode("utf-8-sig").splitlines())
    assert (row["kind"], row["turn"], row["text"]) == ("review.note", "4", "odd")
