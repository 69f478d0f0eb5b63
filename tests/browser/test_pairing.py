"""Two people of a study who are paired, in Chromium: the waiting room, the task, and the ways out of both."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from looking import beyond_the_edge, broken_rules
from packages import TWENTY_QUESTIONS, install
from participating import newcomer
from playing import rows
from serving import Server, free_port

pytestmark = [pytest.mark.browser, pytest.mark.slow]

STUDY = """\
id: twenty-{name}
title: {{en: Twenty questions for two, zh: 两个人的二十问}}
benchmark: twenty_questions
setup: H2H
seats: [asker, answerer]
settings: {{questions: 3, show_result: true, languages: [en, zh]}}
pairing: {pairing}
judgments_per_item: 3
pay: {{amount: 0, currency: USD, minutes: 3}}
completion_codes: {{complete: PAIR-DONE, returned: PAIR-BACK, paid_exit: PAIR-EXIT}}
questions:
  - {{id: age, when: before, text: {{en: "How old are you?", zh: 您的年龄是？}}, kind: number}}
  - {{id: fun, when: after, text: {{en: "Was it fun?", zh: 有意思吗？}}, kind: number}}
"""
PAIRINGS = {
    "two": "{wait_minutes: 5, grace_seconds: 120, after_loss: wait}",
    "leave": "{wait_minutes: 5, grace_seconds: 120, after_loss: wait}",
    "gone": "{wait_minutes: 5, grace_seconds: 6}",
    "short": "{wait_minutes: 0.1}",
    "model": "{wait_minutes: 0.1, then: model, partner: {asker: offline/halver, answerer: offline/oracle}}",
}


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that holds studies in which people are paired."""
    home, site = tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("site")
    install(TWENTY_QUESTIONS, site, home / "twenty")
    files: list[Path] = []
    for name, pairing in PAIRINGS.items():
        files.append(home / f"{name}.yaml")
        files[-1].write_text(STUDY.format(name=name, pairing=pairing), encoding="utf-8")
    made = Server(home, free_port(), studies=tuple(files), packages=site)
    made.start()
    yield made
    made.kill()


def come(page: Any, server: Server, name: str) -> None:
    """From the link to the waiting room, or to the task."""
    page.goto(f"{server.url}/twenty_questions/study/twenty-{name}?PROLIFIC_PID={newcomer()}")
    page.wait_for_selector(".st-welcome")
    page.click("[data-act=st-enter]")
    page.wait_for_selector(".st-consent")
    page.click("[data-say=yes]")
    page.wait_for_selector(".st-instructions")
    page.click("[data-say=ready]")
    page.wait_for_selector("[name=age]")
    page.fill("[name=age]", "30")
    page.click("[data-form=st-answer] [type=submit]")
    page.wait_for_selector(".st-waiting, .bl-play")


def both(asker: Any, answerer: Any) -> tuple[Any, Any]:
    """The pages of two people who play, the asker's first."""
    for page in (asker, answerer):
        page.wait_for_selector(".bl-play")
    pages = {page.get_attribute(".ab-page", "data-seat"): page for page in (asker, answerer)}
    return pages["asker"], pages["answerer"]


def test_two_meet_play_and_leave_with_their_codes(server: Server, open_page: Any) -> None:
    first, second = open_page().page, open_page(width=360, height=700).page
    come(first, server, "two")
    assert "Waiting for your partner" in first.inner_text("h1")
    assert "5 more minutes" in first.inner_text("[data-progress]")
    assert "5 more minutes" in " ".join(first.locator("[role=status]").all_text_contents())
    assert broken_rules(first) == []
    first.reload()
    first.wait_for_selector(".st-waiting")
    come(second, server, "two")
    asker, answerer = both(first, second)
    for question in ("Is it alive?", "Is it a unicorn?", "Is it a griffin?"):
        asker.wait_for_function("askback.page.myTurn")
        asker.fill("#ab-reply", question)
        asker.press("#ab-reply", "Enter")
        answerer.wait_for_selector("[data-choices] button:enabled")
        answerer.click("[data-say=no]")
    for page in (asker, answerer):
        page.wait_for_selector("[name=fun]")
        page.fill("[name=fun]", "5")
        page.click("[data-form=st-answer] [type=submit]")
        page.wait_for_selector("#st-code")
        assert page.input_value("#st-code") == "PAIR-DONE"
        assert page.locator(".ab-bubble").count() == 6
    ((seats, status, turns),) = rows(
        server,
        "SELECT e.seats, n.status, (SELECT count(*) FROM turns WHERE episode_id = e.id) FROM episodes e "
        "JOIN endings n ON n.episode_id = e.id WHERE e.run_id = ?",
        "study-twenty-two",
    )
    assert (seats, status, turns) == ('{"asker":"person","answerer":"person"}', "truncated", 6)


def test_who_leaves_ends_it_for_both_and_the_other_may_wait_again(server: Server, open_page: Any) -> None:
    first, second = open_page().page, open_page().page
    come(first, server, "leave")
    come(second, server, "leave")
    both(first, second)
    first.click("[data-act=st-withdraw]")
    first.click("dialog [data-call=leave]")
    first.wait_for_selector("#st-code")
    assert first.input_value("#st-code") == "PAIR-BACK"
    second.wait_for_selector(".st-lost")
    assert "Your partner has left" in second.inner_text("h1")
    assert broken_rules(second) == []
    second.click("[data-call=wait_again]")
    second.wait_for_selector(".st-waiting")
    second.click("[data-call=leave]")
    second.wait_for_selector("#st-code")
    assert second.input_value("#st-code") == "PAIR-BACK"


def test_a_browser_that_is_gone_ends_it_and_the_other_is_owed_something(
    server: Server, open_page: Any
) -> None:
    first, second = open_page().page, open_page().page
    come(first, server, "gone")
    come(second, server, "gone")
    both(first, second)
    first.goto("about:blank")
    second.wait_for_selector("#st-code")
    assert "Your partner has left" in second.inner_text("h1")
    assert second.input_value("#st-code") == "PAIR-EXIT"
    first.go_back()
    first.wait_for_selector("#st-code")
    assert "You were away for too long" in first.inner_text("h1")
    assert first.input_value("#st-code") == "PAIR-BACK"


def test_a_tab_out_of_sight_is_still_there(server: Server, open_page: Any) -> None:
    first, second = open_page().page, open_page().page
    # As in a tab that is out of sight for long: the timers of the page stand still.
    first.add_init_script("window.setInterval = () => 0;")
    come(first, server, "gone")
    come(second, server, "gone")
    both(first, second)
    second.wait_for_timeout(12_000)  # the grace, a beat, and half as much again
    assert second.locator(".bl-play").count() == 1
    first.goto("about:blank")
    second.wait_for_selector("#st-code")


def test_nobody_waits_for_ever(server: Server, open_page: Any) -> None:
    page = open_page(width=360, height=700).page
    come(page, server, "short")
    assert beyond_the_edge(page) == []
    page.wait_for_selector("#st-code")
    assert "Nobody joined in time" in page.inner_text("h1")
    assert page.input_value("#st-code") == "PAIR-EXIT"
    alone = open_page().page
    come(alone, server, "model")
    alone.wait_for_selector(".bl-play")
