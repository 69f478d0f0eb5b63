"""HandMeThat in Chromium: all its pages on every screen, runs that are watched, accessibility."""

from __future__ import annotations

import re
from typing import Any

import pytest
from household import begin, do, type_in

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.mark.parametrize("width", [360, 390, 768, 1280])
def test_every_page_fits_its_screen(house: Any, open_page: Any, fits: Any, width: int) -> None:
    page = open_page(width=width, height=800).page

    page.goto(f"{house.url}/handmethat")
    page.wait_for_selector(".hm-entry")
    fits(page)
    begin(page, house, mode="full", level=3)
    fits(page)
    page.click("[data-act=peek][data-place=countertop]")
    fits(page)
    do(page, "move to countertop")
    page.locator("[data-panels] button.hm-chip:visible").last.click()
    fits(page)
    type_in(page, "stop")
    page.wait_for_selector(".hm-result")
    fits(page)
    begin(page, house, seat="human", opposite="offline/asker:1", level=4)
    fits(page)


@pytest.fixture(scope="module")
def run(house: Any) -> Any:
    """A run to be watched."""
    house.askback(
        "run", "handmethat", "--robot", "offline/asker:1", "--data", house.household, "--run", "house"
    )
    return house


def test_an_episode_is_watched_turn_by_turn(run: Any, open_page: Any) -> None:
    page = open_page().page
    page.goto(f"{run.url}/research?run=house")
    page.wait_for_selector(".rs-scores")
    page.click(".rs-tabs >> text=Watch")
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
    page.click(".hm-see >> text=What the robot sees")
    page.wait_for_selector(".hm-see [aria-current]:has-text('What the robot sees')")


def test_episodes_are_browsed_and_their_tables_drawn(house: Any, open_page: Any) -> None:
    page = open_page().page
    page.goto(f"{house.url}/research/episodes")
    page.wait_for_selector(".rs-list a")
    page.select_option("[name=level]", "4")
    page.wait_for_url(re.compile("level=4"))
    page.wait_for_function("document.querySelector('.rs-list .hm-level').textContent === 'Level 4'")
    page.click(".rs-list a >> nth=0")
    page.wait_for_selector("[data-figure=listener] svg.main-svg")
    page.wait_for_selector("[data-figure=speaker] svg.main-svg")
    page.fill("[name=data]", "/no/such/folder")
    page.click(".rs-filters [type=submit]")
    page.wait_for_selector(".rs-empty:has-text('/no/such/folder')")


@pytest.mark.parametrize(("scheme", "locale"), [("light", "en"), ("dark", "en"), ("light", "zh-CN")])
def test_the_pages_keep_the_accessibility_rules(
    run: Any, open_page: Any, check_rules: Any, scheme: str, locale: str
) -> None:
    page = open_page(scheme=scheme, locale=locale).page
    page.goto(f"{run.url}/handmethat")
    page.wait_for_selector(".hm-entry")
    check_rules(page)
    page.check("input[name=protocol][value=paper]", force=True)
    check_rules(page)
    begin(page, run, mode="full", language=locale[:2], level=3)
    page.click("[data-act=story][data-by='1']")
    check_rules(page)
    page.locator("[data-panels] button.hm-chip:visible").first.click()
    page.click(".hm-ask summary")
    page.fill("#ab-reply", "move")
    check_rules(page)
    page.click("[data-act=stop]")
    check_rules(page)
    page.click("[data-stop] [data-act=do]")
    page.wait_for_selector(".hm-result")
    check_rules(page)
    begin(page, run, mode="partial", level=2)
    check_rules(page)
    begin(page, run, seat="human", opposite="offline/asker:1", level=4)
    page.wait_for_selector(".hm-pending-on")
    check_rules(page)
    for place in ("/research/episodes", "/research?run=house", "/research?run=house&tab=dialogues"):
        page.goto(f"{run.url}{place}")
        page.wait_for_selector("#ab-content h1")
        check_rules(page)
    page.click(".rs-list a >> nth=0")
    page.wait_for_selector("[data-watch]")
    check_rules(page)
    page.goto(f"{run.url}/research/episodes?level=4")
    page.click(".rs-list a >> nth=0")
    page.wait_for_selector("[data-figure=speaker] svg.main-svg")
    check_rules(page)
