"""One walk through each benchmark in Chromium, first page to last, and what the log then holds."""

from __future__ import annotations

import json
from typing import Any

import household
import pytest
from among_letters import TWENTY, UNINFORMATIVE, answer, moved_on, prompt_of
from in_the_kitchen import ROBOTS
from in_the_kitchen import task_of as kitchen_of
from participating import (
    link,
    newcomer,
    open_by_keyboard,
    payloads,
    press,
    seat_texts,
    settled,
    stage,
    tab_to,
)
from playing import ask, begin, episode, number, rows, say_goodbye, task_of, turns
from reading import CROWD, KEYS, crowd_item, press_all, qualify, step

from simulator.ambibench.prompt import shown_text

pytestmark = pytest.mark.browser


def test_a_seeker_of_clarq_plays_to_the_end_and_looks_back(server: Any, open_page: Any) -> None:
    page = open_page().page
    begin(page, server)
    task = task_of(server, page)
    assert task.background.task in page.text_content(".ab-background")
    ask(page, f"How do I do this: {task.background.task}?")
    assert task.tree.opening in page.inner_text(".ab-log")
    for node in task.tree.nodes:
        ask(page, f"I would like to know more about this: {node.explanation}")
    assert page.inner_text(".ab-turns-text") == f"Turns: {1 + len(task.tree.nodes)} of 14"
    say_goodbye(page)

    assert rows(server, "SELECT status FROM endings WHERE episode_id = ?", episode(page)) == [("completed",)]
    logged = turns(server, page)
    assert logged[-1] == ("seeker", "Thank you, that is all I need. Goodbye!")
    assert [text for _, text in logged] == page.locator(".ab-transcript .ab-bubble").all_inner_texts()
    scores = dict(rows(server, "SELECT metric, value FROM scores WHERE episode_id = ?", episode(page)))
    assert page.inner_text(".ab-figures > div:nth-child(3) dd >> nth=0") == f"{scores['aql']:.1f}"
    missed = page.locator(".ab-missed").count()
    assert (missed == 0) == (page.inner_text("h1") == "Everything found out") == (scores["success"] == 1)
    assert page.locator("[data-tree] .ab-node").count() == 1 + len(task.tree.nodes)

    page.click("[data-act=goto] >> nth=2")  # the opening
    assert page.locator("[data-node='0'].ab-node-now").count() == 1
    assert page.inner_text("[data-why='2'] strong") == "Gave the opening"
    page.keyboard.press("ArrowLeft")
    assert page.inner_text("[data-step-text]") == f"Turn 2 of {len(logged)}"
    assert page.locator(".ab-node-given, .ab-node-now").count() == 0
    page.focus("[data-slider]")
    page.keyboard.press("End")
    gave = sum(len(payload.get("give", [])) for payload in payloads(server, page))
    assert page.locator(".ab-node-given").count() == gave


def test_a_robot_of_handmethat_by_keyboard_alone(server: Any, open_page: Any) -> None:
    page = open_page().page
    page.goto(f"{server.url}/handmethat")
    page.wait_for_selector(".bl-entry")
    tab_to(page, "[name=rule-level]")
    for _ in range(3):  # from any to the third level
        page.keyboard.press("ArrowDown")
    tab_to(page, "[data-form=begin] [type=submit]")
    page.keyboard.press("Enter")
    page.wait_for_selector(".ab-play-robot")
    task = household.task_of(server, page)
    assert task.level == 3
    way = household.expert(task)
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # the second skip link leads to the line for typing
    assert page.evaluate("document.activeElement.id") == "ab-reply"
    for place, command in enumerate(way):
        before = number(page)
        page.keyboard.type(command if place else command[:-1])
        if place == 0:  # the first out of the list, the others as typed
            assert page.get_attribute("#ab-reply", "aria-expanded") == "true"
            page.keyboard.press("ArrowDown")
            chosen = page.get_attribute("#ab-reply", "aria-activedescendant")
            assert page.get_attribute(f"#{chosen}", "data-text") == command
        page.keyboard.press("Enter")
        household.moved_on(page, before)
        if place < len(way) - 1:
            assert page.evaluate("document.activeElement.id") == "ab-reply"
    page.wait_for_selector(".bl-done")
    assert household.commands(server, page) == way


def test_a_participant_of_ambibench_by_keyboard_alone(server: Any, open_page: Any) -> None:
    page = open_page().page
    who = newcomer()
    open_by_keyboard(page, server, TWENTY, who)
    page.wait_for_selector(".st-task")
    prompt = prompt_of(server, page)
    expected: list[str] = []
    for k, example in enumerate(prompt.examples, start=1):
        assert page.text_content("[data-text]") == shown_text(prompt, k)
        assert page.inner_text(".st-progress") == f"{k} of 20"
        if k == 8:  # a refresh in the middle: the same trial, what was typed is there
            page.keyboard.type("Half")
            page.reload()
            page.wait_for_selector(".st-task")
            assert page.input_value("#bl-answer") == "Half"
            assert page.text_content("[data-text]") == shown_text(prompt, 8)
            page.keyboard.press("Control+A")
        text = {3: "perhaps", 4: example.label.lower()}.get(k, example.label)
        page.keyboard.press("Enter")  # nothing typed, or what was typed is replaced: no turn
        expected.append("Half" if k == 8 else text)
        if k == 8:
            moved_on(page, k + 1)
        else:
            assert number(page) == k + 1
            answer(page, text)
        if k < 20:
            right = page.inner_text("[data-feedback]")
            assert example.label in right
            assert ("You typed" in right) == (expected[-1] not in (example.label, example.label.lower()))
    page.wait_for_selector(".st-comment")
    page.keyboard.type("It was about\n")
    page.keyboard.type(prompt.salient)
    page.keyboard.press("Control+Enter")
    page.wait_for_selector(".st-done")
    assert seat_texts(server, page) == ["yes", "ready", *expected, f"It was about\n{prompt.salient}"]
    question = "SELECT payload, seconds FROM turns WHERE episode_id = ? ORDER BY number"
    logged = [(json.loads(payload), seconds) for payload, seconds in rows(server, question, episode(page))]
    trials = [(payload, seconds) for payload, seconds in logged if "raw_answer" in payload]
    assert all(payload["keys_used"] is True and payload["shown_at"] for payload, _ in trials)
    assert all(0 <= seconds < 600 for _, seconds in trials)
    assert [payload["normalised"] for payload, _ in trials] == [k == 4 for k in range(1, 21)]
    assert page.input_value("#st-code") == "AMBI43-DONE"
    tab_to(page, "[data-act=st-copy]")
    page.keyboard.press("Enter")
    page.wait_for_function("document.querySelector('.ab-toast').textContent.length > 0")
    # Nobody takes part twice: not in this study, not in its sisters.
    for study, code in ((TWENTY, "taken"), (UNINFORMATIVE, "excluded")):
        page.goto(link(server, study, who))
        page.wait_for_selector(".st-welcome")
        tab_to(page, "[data-act=st-enter]")
        page.keyboard.press("Enter")
        page.wait_for_selector(f".ab-page[data-code={code}]")
        assert page.locator("#st-code").count() == (code == "taken")


def test_sets_of_a_crowdworker_of_ambient_by_keyboard_alone(server: Any, open_page: Any) -> None:
    page = open_page().page
    open_by_keyboard(page, server, CROWD, newcomer())
    page.wait_for_selector(".fm-page")
    settled(page)
    assert page.evaluate("document.activeElement.tagName") == "H1"
    qualify(page, server)
    item = crowd_item(server, page)

    page.keyboard.press("Enter")  # nothing chosen: no turn
    assert page.is_visible("[data-problems]")
    page.keyboard.press("ArrowDown")  # the second label, as radio buttons do
    assert page.evaluate("document.activeElement.value") == "neutral"
    press(page)

    assert step(page) == "plausible"
    flags = ["Y" if candidate.label else "N" for candidate in item.candidates]
    press_all(page, "".join(flags[:2]))
    page.reload()  # in the middle: what was chosen is there
    page.wait_for_selector("[data-due=plausible]")
    settled(page)
    assert page.locator("[data-field] input:checked").count() == 2
    page.keyboard.press(flags[2].lower())
    press(page)

    assert step(page) == "relabel"
    labels = [candidate.label or "neutral" for candidate in item.candidates]
    press_all(page, "".join(KEYS[label] for label in labels))
    press(page)
    page.wait_for_selector(".st-done")
    logged = payloads(server, page)
    kinds = ["consent", "ready", *["qualification"] * 5, "label", "plausible", "relabel"]
    assert [payload["kind"] for payload in logged] == kinds
    assert all(payload["keys_used"] is True for payload in logged)
    assert logged[-3]["answer"] == "neutral"
    assert logged[-2]["answers"] == [flag == "Y" for flag in flags]
    assert logged[-1]["answers"] == labels
    assert page.input_value("#st-code") == "AMBIENT3C-DONE"

    first = episode(page)
    tab_to(page, "[data-act=st-next]")
    page.keyboard.press("Enter")
    page.wait_for_selector("[data-due=label]")
    settled(page)
    assert episode(page) != first
    assert "Set 2 of 20" in page.inner_text(".st-bar")
    page.keyboard.press("1")
    press(page)
    assert [payload["kind"] for payload in payloads(server, page)] == ["label"]


def test_a_robot_of_ambik_asks_and_acts_by_keyboard_alone(server: Any, open_page: Any) -> None:
    page = open_page().page
    open_by_keyboard(page, server, ROBOTS, newcomer())
    page.wait_for_selector(".fm-form")
    settled(page)
    assert page.evaluate("document.activeElement.tagName") == "H1"
    options = page.locator(".fm-choice strong").all_inner_texts()
    assert sorted(options) == sorted(kitchen_of(server, page).options)

    page.keyboard.press("2")
    assert page.is_checked("[name=act] >> nth=0")  # it is alone
    page.keyboard.press("1")
    assert page.locator("[name=act]:checked").count() == 0
    page.keyboard.press("Enter")  # marking decides nothing yet: on to what could be done
    assert page.evaluate("document.activeElement.name") == "act"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("a")
    page.keyboard.press("Enter")  # no words: no question
    assert page.is_visible("#fm-problems-ask")
    page.keyboard.type("Which one do you want?")
    page.reload()  # in the middle: what was marked and written is there
    page.wait_for_selector(".fm-form")
    settled(page)
    assert page.locator("[name=marked]:checked").count() == 2
    assert page.input_value("[name=ask]") == "Which one do you want?"
    page.keyboard.press("a")
    press(page, "Enter")

    assert stage(page) == "task"
    assert page.locator("[name=ask]").count() == 0
    assert page.locator("[name=marked]:checked").count() == 0
    assert "Which one do you want?" in page.inner_text(".bl-part")
    page.keyboard.press("1")
    page.keyboard.press("d")
    assert page.is_checked("[name=act]:focus")  # the only thing that is marked
    press(page, "Enter")
    page.wait_for_selector(".st-done")
    logged = payloads(server, page)
    assert [payload["kind"] for payload in logged] == ["consent", "ready", "decide", "answer", "decide"]
    assert logged[2]["prediction_set"] == options[:2]
    assert (logged[2]["asks"], logged[2]["question"]) == (True, "Which one do you want?")
    assert logged[2]["action"] == options[1]
    assert (logged[4]["asks"], logged[4]["action"]) == (False, options[0])
    assert all(payload["keys_used"] for payload in logged if payload.get("person"))
    assert page.input_value("#st-code") == "AMBIK6R-DONE"
    first = episode(page)
    tab_to(page, "[data-act=st-next]")
    page.keyboard.press("Enter")
    page.wait_for_selector(".fm-form")
    assert episode(page) != first
