"""HandMeThat in Chromium: all its pages on every screen, runs that are watched, accessibility."""

from __future__ import annotations

import re
from typing import Any

import pytest
from household import begin, do
from looking import beyond_the_edge, broken_rules, choose, looking

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture(scope="session")
def run(desk: Any) -> Any:
    """A run to be watched."""
    desk.askback(
        "run", "handmethat", "--robot", "offline/asker:1", "--data", desk.household, "--run", "house"
    )
    return desk


def test_an_episode_is_watched_turn_by_turn(run: Any, open_page: Any) -> None:
    page = open_page().page
    page.goto(f"{run.url}/research?run=house")
    page.wait_for_selector(".rs-scores")
    page.click(".rs-tabs >> text=Episodes")
    page.click(".rs-list a >> nth=0")
    page.wait_for_selector("[data-watch][data-step='0']")
    page.keyboard.press("ArrowRight")
    page.wait_for_selector("[data-watch][data-step='1']")
    page.click("[data-act=watch-play]")
    page.wait_for_selector("[data-watch][data-step='3']")
    page.click("[data-act=watch-play]")
    here = page.get_attribute("[data-watch]", "data-step")
    page.wait_for_timeout(2000)
    assert page.get_attribute("[data-watch]", "data-step") == here
    last = page.get_attribute("[data-watch]", "data-last")
    page.focus("[data-watch-slider]")
    page.keyboard.press("End")
    page.wait_for_selector(f"[data-watch][data-step='{last}']")
    page.reload()
    page.wait_for_selector(f"[data-watch][data-step='{last}']")
    choose(page, "What is shown", "What the robot sees")
    page.wait_for_url(re.compile("s.seen=robot"))
    page.wait_for_selector(f"[data-watch][data-step='{last}']")


def test_episodes_are_browsed_and_their_tables_shown(desk: Any, open_page: Any) -> None:
    page = open_page().page
    page.goto(f"{desk.url}/research/data?benchmark=handmethat")
    page.wait_for_selector(".rs-list a")
    choose(page, "Level", "4")
    page.wait_for_url(re.compile("level=4"))
    page.click(".rs-list a >> nth=0")
    page.wait_for_selector("h2:has-text('The listener')")
    assert page.locator(".bl-table").count() >= 4
    page.click("[data-act=peek] >> nth=1")
    choose(page, "Data: built in, a registered name, a file or a folder", "/no/such/folder")
    page.wait_for_selector("[role=alert]:has-text('/no/such/folder')")


WIDTHS = (360, 390, 768, 1280)


def through(page: Any, server: Any, look: Any, language: str) -> None:
    """Every page of those who play, each looked at."""
    page.goto(f"{server.url}/handmethat")
    page.wait_for_selector(".bl-entry")
    look()
    begin(page, server, mode="full", language=language, level=3)
    page.click("[data-act=story][data-by='1']")
    look()
    page.click("[data-act=peek][data-place=countertop]")
    look()
    do(page, "move to countertop")
    chip = page.locator("[data-panels] button.pl-chip:visible").last
    for width in (each for each in WIDTHS if page.viewport_size["width"] == WIDTHS[0]):
        # What is laid out as it opens, opens on each screen.
        page.set_viewport_size({"width": width, "height": 800})
        chip.click()
        assert beyond_the_edge(page) == []
        chip.click()
    page.set_viewport_size({"width": page.viewport_size["width"], "height": 800})
    chip.click()
    look()
    page.click(".pl-ask summary")
    page.fill("#ab-reply", "move")
    look()
    page.click("[data-act=goodbye]")
    look()
    page.click("[data-act=goodbye-yes]")
    page.wait_for_selector(".bl-done")
    look()
    begin(page, server, mode="partial", level=2)
    look()
    begin(page, server, seat="human", opposite="offline/asker:1", level=4)
    page.wait_for_selector(".ab-play-human[data-my-turn='1']")
    look()


def watching(page: Any, server: Any, look: Any) -> None:
    """Every page of the researchers, each looked at."""
    for place in (
        "/research/data?benchmark=handmethat",
        "/research?run=house",
        "/research?run=house&tab=dialogues",
    ):
        page.goto(f"{server.url}{place}")
        page.wait_for_selector("#ab-content h1")
        look()
    page.click(".rs-list a >> nth=0")
    page.wait_for_selector("[data-watch]")
    look()
    page.goto(f"{server.url}/research/data?benchmark=handmethat&f.level=4")
    page.click(".rs-list a >> nth=0")
    page.wait_for_selector("[data-plan]")
    look()


def test_every_page_keeps_the_accessibility_rules_and_fits_its_screen(server: Any, open_page: Any) -> None:
    page = open_page(width=WIDTHS[0], height=800).page
    with looking(page, broken_rules, widths=WIDTHS) as look:
        through(page, server, look, "en")


def test_every_page_in_chinese_and_in_the_dark(server: Any, open_page: Any) -> None:
    page = open_page(scheme="dark", locale="zh-CN").page
    with looking(page, broken_rules) as look:
        through(page, server, look, "zh")


def test_the_researchers_pages_keep_the_accessibility_rules(run: Any, open_page: Any) -> None:
    page = open_page().page
    with looking(page, broken_rules, dark=True) as look:
        watching(page, run, look)
