"""The contents sent to the browser, and access for everybody: language, light, keyboard, screens."""

from __future__ import annotations

import re
from typing import Any

import pytest
from looking import broken_rules, looking
from playing import ask, at_number, begin, say_goodbye, task_of, turns

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_a_seekers_browser_gets_nothing_of_the_tree_before_the_end(server: Any, open_page: Any) -> None:
    page = open_page().page
    received: list[str] = []

    def keep(route: Any) -> None:
        answer = route.fetch()
        received.append(answer.text())
        route.fulfill(response=answer)

    page.route(re.compile(r"^[^?]*(?<!\.js)(?<!\.css)(?<!\.svg)(\?.*)?$"), keep)
    begin(page, server)
    task = task_of(server, page)
    ask(page, f"Can you tell me about my task, {task.background.task}?")
    ask(page, "Which one do you mean?")
    page.reload()
    page.wait_for_selector(".ab-play")
    page.goto(f"{server.url}/config")
    page.goto(f"{server.url}/gradio_api/info")
    page.go_back()
    page.go_back()
    page.wait_for_selector(".ab-play")
    page.unroute_all(behavior="wait")
    bodies = "\n".join(received)
    transcript = "\n".join(text for _, text in turns(server, page))
    assert task.tree.opening in transcript
    hidden = [node.text for node in task.tree.nodes if node.text not in transcript]
    hidden += [node.explanation for node in task.tree.nodes if node.explanation]
    assert len(hidden) > len(task.tree.nodes)
    plain = bodies.replace("&#39;", "'").replace("&#34;", '"').replace('\\"', '"')
    assert task.tree.opening in plain
    assert [text for text in hidden if text in plain] == []


def test_nothing_outside_is_asked_for_and_nothing_is_complained_of(server: Any, open_page: Any) -> None:
    watched = open_page()
    page = watched.page
    complaints: list[str] = []
    page.on(
        "console", lambda message: message.type in ("error", "warning") and complaints.append(message.text)
    )
    begin(page, server)
    ask(page, "<img src=https://example.org/x.png onerror=alert(1)> {{7*7}} ${7*7} [a](https://example.org)")
    assert "{{7*7}} ${7*7} [a](https://example.org)" in page.inner_text(".ab-mine .ab-bubble")
    assert page.locator(".ab-log img, .ab-log a").count() == 0
    say_goodbye(page)
    page.goto(f"{server.url}/play?t=nonsense")
    page.wait_for_selector("h1:has-text('This link does not work')")
    assert complaints == []
    assert watched.strangers == []


def test_the_language_stays_and_loses_nothing(server: Any, open_page: Any) -> None:
    page = open_page().page
    begin(page, server)
    page.fill("#ab-reply", "Still here")
    page.click(".ab-tools a")
    page.wait_for_selector(".ab-talk-who:has-text('您是提问者')")
    assert page.input_value("#ab-reply") == "Still here"
    assert page.evaluate("document.documentElement.lang") == "zh"
    page.goto(f"{server.url}/")
    page.wait_for_selector("h1:has-text('总得有人追问一句')")
    page.click("[data-form=begin] [type=submit]")
    page.wait_for_selector(".ab-play:has-text('您是提问者')")
    assert re.search("[一-鿿]", page.inner_text(".ab-task p"))


def test_light_and_dark_stay(server: Any, open_page: Any) -> None:
    page = open_page(scheme="dark").page
    page.goto(f"{server.url}/")
    page.wait_for_selector(".ab-home")
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.click("[data-act=appearance]")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != dark
    page.reload()
    page.wait_for_selector(".ab-home")
    assert not page.evaluate("document.body.classList.contains('dark')")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != dark


def test_a_dialogue_by_keyboard_alone(server: Any, open_page: Any) -> None:
    page = open_page().page
    page.goto(f"{server.url}/")
    page.wait_for_selector(".ab-home")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "ab-skip"
    page.keyboard.press("Enter")
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.matches('[data-form=begin] [type=submit]')"):
            break
    page.keyboard.press("Enter")
    page.wait_for_selector(".ab-play")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # the second skip link leads to the reply
    assert page.evaluate("document.activeElement.id") == "ab-reply"
    page.keyboard.type("How is")
    page.keyboard.press("Shift+Enter")
    page.keyboard.type("it done?")
    page.keyboard.press("Enter")
    at_number(page, 3)
    assert turns(server, page)[1] == ("seeker", "How is\nit done?")
    assert page.evaluate("document.activeElement.id") == "ab-reply"
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.inner_text(":focus") == "Yes, say goodbye"
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.id") == "ab-reply"


def test_enter_belongs_to_the_input_method_while_it_composes(server: Any, open_page: Any) -> None:
    page = open_page().page
    begin(page, server)
    page.fill("#ab-reply", "怎么做")
    page.evaluate(
        """() => document.querySelector('#ab-reply').dispatchEvent(
             new KeyboardEvent('keydown', {key: 'Enter', isComposing: true, bubbles: true}))"""
    )
    assert page.input_value("#ab-reply") == "怎么做"
    ask(page, "怎么做？")
    assert turns(server, page)[1:2] == [("seeker", "怎么做？")]


WIDTHS = (360, 768, 1400)


def through(page: Any, server: Any, look: Any) -> None:
    """Every page that there is, each looked at."""
    page.goto(f"{server.url}/play?t=nonsense")
    page.wait_for_selector("h1")
    look()
    begin_here(page, server, "seeker")
    look()
    ask(page, "任务怎么做？ How is it done? " + "Donaudampfschifffahrtsgesellschaftskapitän" * 4)
    look()
    page.click("[data-act=goodbye]")
    look()
    page.click("[data-act=goodbye-yes]")
    page.wait_for_selector(".ab-result")
    look()
    page.goto(f"{server.url}/")
    page.wait_for_selector(".ab-home")
    look()
    begin_here(page, server, "provider")
    look()
    page.click("[data-act=pick]")
    look()


def test_every_page_keeps_the_accessibility_rules_and_fits_its_screen(server: Any, open_page: Any) -> None:
    page = open_page(width=WIDTHS[0], height=740).page
    with looking(page, broken_rules, widths=WIDTHS) as look:
        through(page, server, look)


@pytest.mark.parametrize("width", WIDTHS)
def test_where_one_writes_stays_in_sight(server: Any, open_page: Any, width: int) -> None:
    page = open_page(width=width, height=740).page
    begin(page, server)
    ask(page, "How is it done? " + "Donaudampfschifffahrtsgesellschaftskapitän" * 4)
    assert page.evaluate("document.querySelector('.ab-composer').getBoundingClientRect().bottom") <= 741


def test_what_was_announced_does_not_stay(server: Any, open_page: Any) -> None:
    watched = open_page()
    watched.changed, page = True, watched.page
    page.clock.install()
    begin(page, server)
    page.click(".ab-send")
    page.wait_for_selector(".ab-toast:not(:empty)")
    page.clock.fast_forward(20_000)
    page.wait_for_selector(".ab-toast:empty", state="attached")


def test_every_page_in_chinese_and_in_the_dark(server: Any, open_page: Any) -> None:
    page = open_page(scheme="dark", locale="zh-CN").page
    with looking(page, broken_rules) as look:
        through(page, server, look)


def begin_here(page: Any, server: Any, seat: str) -> None:
    """Begin with what the form proposes, in the page's language."""
    page.goto(f"{server.url}/")
    page.wait_for_selector(".ab-home")
    page.check(f"input[name=seat][value={seat}]", force=True)
    page.click("[data-form=begin] [type=submit]")
    page.wait_for_selector(f".ab-play-{seat} .ab-send:enabled")
