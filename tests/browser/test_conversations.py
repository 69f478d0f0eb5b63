"""Studies of conversations in Chromium, from the welcome page to the code: people seek, provide, ask back."""

from __future__ import annotations

from typing import Any

import pytest
from participating import Curious, begin, newcomer, occurring, open_study, payloads, seat_texts, stage
from playing import ask, at_number, episode, moved_on, number, rows, task_of

from simulator.handmethat.data import load_episode
from simulator.handmethat.meanings.render import render_meaning
from simulator.handmethat.show import goal_lines

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def scores(server: Any, page: Any) -> dict[str, float]:
    question = "SELECT metric, value FROM scores WHERE episode_id = ?"
    return dict(rows(server, question, episode(page)))


def code(page: Any) -> str:
    page.wait_for_selector("#st-code")
    return str(page.input_value("#st-code"))


def test_whoever_seeks_comes_from_the_link_to_the_code(server: Any, open_page: Any) -> None:
    """Of the tree only what Jax said reaches the browser, and nothing of the score at the end."""
    page = open_page().page
    curious = Curious(page)
    open_study(page, server, "clarq-h2l", newcomer())
    begin(page, ".ab-play-seeker")
    assert number(page) == 3, "consent and instructions are the first two turns, Jax's greeting the third"
    task = task_of(server, page)
    ask(page, "How is the task done?")
    ask(page, "What exactly do you mean by that?")
    page.fill("#ab-reply", "Half a")
    page.reload()
    page.wait_for_selector(".ab-play-seeker")
    assert page.input_value("#ab-reply") == "Half a"
    before = "\n".join(seat_texts(server, page))
    page.fill("#ab-reply", "Goodbye!")
    page.press("#ab-reply", "Enter")
    assert code(page) == "CLARQ-H2L-DONE"
    hidden = [node.text for node in task.tree.nodes if node.text not in before]
    hidden += [node.explanation for node in task.tree.nodes if node.explanation]
    assert hidden and occurring(hidden, curious.known()) == []
    assert "Replay" not in page.inner_text("#ab-content")
    assert set(scores(server, page)) == {"success", "aqd", "aql"}
    assert [payload.get("study") for payload in payloads(server, page)][:3] == [
        "consent",
        "instructions",
        None,
    ]
    first = episode(page)
    page.click("[data-act=st-next]")
    page.wait_for_selector(".ab-play-seeker")
    assert (number(page), episode(page) != first) == (1, True), "the next set begins with the dialogue"


def test_whoever_provides_gives_answers_judges_and_gets_the_code(server: Any, open_page: Any) -> None:
    page = open_page(width=390).page
    open_study(page, server, "clarq-l2h", newcomer())
    begin(page, ".ab-play-provider")
    # The seeker asks about the task, then about details; whoever provides gives what can be given.
    while page.locator(".ab-play-provider").count():
        before = number(page)
        if page.locator("[data-act=pick]").count():
            page.locator("[data-act=pick]").first.click()
        else:
            page.fill("#ab-reply", "I know nothing about that.")
        page.click(".ab-send")
        moved_on(page, before)
    assert stage(page) == "verdict"
    assert page.locator(".ab-line").count() > 4
    page.click("[data-say=yes]")
    assert code(page) == "CLARQ-L2H-DONE"
    question = "SELECT annotator, value FROM judgments WHERE episode_id = ? AND kind = 'success'"
    assert rows(server, question, episode(page)) == [("provider", '{"success":true}')]


def test_a_robot_asks_back_in_the_house_and_gets_the_code(server: Any, open_page: Any) -> None:
    """The meaning reaches no browser, before the end or after it."""
    page = open_page(locale="zh-CN").page
    curious = Curious(page)
    open_study(page, server, "handmethat-asking", newcomer())
    begin(page, ".ab-play-robot")
    question = "SELECT i.name FROM episodes e JOIN items i ON i.hash = e.item_hash WHERE e.id = ?"
    task = load_episode("builtin", rows(server, question, episode(page))[0][0])
    assert page.inner_text(".ab-bar, .st-bar")
    before = number(page)
    page.click("details[data-keep=ask] summary")
    page.locator(".pl-question").first.click()
    at_number(page, before + 2)
    page.click("[data-act=goodbye]")
    page.click("[data-act=goodbye-yes]")
    assert code(page) == "HMT-ASKING-DONE"
    kinds = [payload["kind"] for payload in payloads(server, page)]
    assert kinds[:5] == ["consent", "ready", "utterance", "question", "answer"]
    assert set(scores(server, page)) >= {"success", "score", "questions"}
    answered = seat_texts(server, page)[4]
    hidden = [render_meaning(task.world, task.meaning, "zh"), *goal_lines(task, "zh"), task.id]
    hidden = [text for text in hidden if text not in answered]
    assert hidden and occurring(hidden, curious.known()) == []
