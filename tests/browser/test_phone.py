"""Players' pages on a phone: the menu, and the ways to reply and to ask back, which are always in reach."""

from __future__ import annotations

from typing import Any

import household
import in_the_kitchen
import playing
import pytest
from looking import beyond_the_edge, broken_rules
from participating import begin, newcomer, open_study

pytestmark = [pytest.mark.browser, pytest.mark.slow]

LOCALES = ("en", "zh-CN")
BENCHMARKS = {"/", "/handmethat", "/ambibench", "/ambient", "/ambik"}
# At the top of a page, in its middle and at its end, what stands on the screen where it is drawn.
_IN_REACH = """async ([selectors, share]) => {
    scrollTo(0, share * document.documentElement.scrollHeight);
    await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
    return selectors.filter(selector => {
        const drawn = document.querySelector(selector), box = drawn.getBoundingClientRect();
        const top = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
        return box.top < 0 || box.bottom > innerHeight || !drawn.contains(top);
    });
}"""

_NEWEST_IS_SEEN = """() => {
    const newest = [...document.querySelectorAll('.ab-log .ab-bubble')].at(-1)?.getBoundingClientRect();
    return newest && newest.bottom <= document.querySelector('.ab-composer').getBoundingClientRect().top;
}"""


def assert_in_reach(page: Any, *selectors: str) -> None:
    """Raise unless all of them can be touched wherever the page is scrolled to, and nothing overflows."""
    for share in (0, 0.5, 1):
        assert page.evaluate(_IN_REACH, [selectors, share]) == [], f"scrolled to {share}"
    assert beyond_the_edge(page) == []
    assert broken_rules(page) == []


@pytest.mark.parametrize("locale", LOCALES)
def test_the_menu_leads_to_every_benchmark(server: Any, open_page: Any, locale: str) -> None:
    page = open_page(width=320, height=640, locale=locale).page
    page.goto(f"{server.url}/ambik")
    page.wait_for_selector(".ab-top")
    assert not page.is_visible(".ab-nav")
    assert beyond_the_edge(page) == []
    page.click(".ab-menu")
    page.wait_for_selector(".ab-nav:popover-open")
    assert (
        set(page.eval_on_selector_all(".ab-nav a", "links => links.map(link => link.pathname)")) >= BENCHMARKS
    )
    assert beyond_the_edge(page) == []
    assert broken_rules(page) == []
    page.keyboard.press("Escape")
    assert not page.is_visible(".ab-nav")
    page.click(".ab-menu")
    page.click(".ab-nav a[href^='/handmethat']")
    page.wait_for_url("**/handmethat*")
    for path, name in (("/", "ClarQ-LLM"), ("/ambik", "AmbiK")):
        page.goto(f"{server.url}{path}")
        page.wait_for_selector(".ab-top")
        assert page.text_content(".ab-nav [aria-current]") == name


@pytest.mark.parametrize("locale", LOCALES)
def test_the_reply_box_stays_in_reach(server: Any, open_page: Any, locale: str) -> None:
    page = open_page(width=320, height=640, locale=locale).page
    for seat in ("seeker", "provider"):
        playing.begin(page, server, seat)
        assert_in_reach(page, "#ab-reply", ".ab-send")
        if seat == "seeker":
            playing.ask(page, "How is it done?")
            assert_in_reach(page, "#ab-reply", ".ab-send")
            page.reload()
            page.wait_for_function(_NEWEST_IS_SEEN)
        page.set_viewport_size({"width": 640, "height": 320})  # where it would cover the page
        page.wait_for_function("getComputedStyle(askback.page.one('.ab-composer')).position === 'static'")
        page.set_viewport_size({"width": 320, "height": 640})


def test_a_robot_asks_back_from_wherever_it_looks(server: Any, open_page: Any) -> None:
    page = open_page(width=320, height=640).page
    household.begin(page, server, level=3)
    assert_in_reach(page, "#ab-reply", ".pl-ask summary")
    page.click(".pl-ask summary")
    assert_in_reach(page, "#ab-reply", ".pl-ask summary")
    household.type_in(page, "Which color do you like?")
    assert_in_reach(page, "#ab-reply", ".pl-latest")


def test_a_kitchen_robot_asks_back_from_wherever_it_looks(server: Any, open_page: Any) -> None:
    page = open_page(width=320, height=640).page
    in_the_kitchen.play(page, server, "robot")
    begin(page, ".ab-dock")
    assert_in_reach(page, ".ab-dock a:last-child")
    page.click(".ab-dock a:last-child")
    page.wait_for_function("document.querySelector('#fm-way-ask').getBoundingClientRect().top < innerHeight")


@pytest.mark.parametrize("locale", LOCALES)
@pytest.mark.parametrize(("study", "task"), [("clarq-h2l", ".ab-play"), ("ambik-robot", ".ab-dock")])
def test_a_bar_with_many_sets_fits(server: Any, open_page: Any, study: str, task: str, locale: str) -> None:
    page = open_page(width=320, height=640, locale=locale).page
    open_study(page, server, study, newcomer())
    assert page.is_visible(".st-sets")
    assert beyond_the_edge(page) == []
    begin(page, task)
    assert beyond_the_edge(page) == []
    if study == "clarq-h2l":
        assert page.is_visible(".ab-background-body"), "read first, whatever was answered before the task"


def test_a_message_is_seen_in_the_middle_of_a_dialogue(server: Any, open_page: Any) -> None:
    page, who = open_page(width=320, height=640).page, newcomer()
    open_study(page, server, "clarq-h2l", who)
    begin(page, ".ab-play")
    playing.ask(page, "How is it done?")
    server.askback("study", "message", "clarq-h2l", who, "Take your time.")
    playing.ask(page, "And then?")
    page.wait_for_function("askback.page.one('.st-message-note')?.getBoundingClientRect().top >= 0")
    page.click("[data-call=acknowledge]")
    page.wait_for_function(_NEWEST_IS_SEEN)


def test_a_touch_screen_shows_no_keys(server: Any, open_page: Any) -> None:
    watched = open_page(width=390)
    watched.changed, page = True, watched.page
    touch = {"enabled": True}
    page.context.new_cdp_session(page).send("Emulation.setTouchEmulationEnabled", touch)
    open_study(page, server, "ambient-crowd", newcomer())
    begin(page, "[data-form=st-answer]")
    assert page.locator("kbd, .fm-keys").count()
    assert not page.locator("kbd:visible, .fm-keys:visible").count()
