"""HandMeThat in Chromium: what each seat is told and what it is not, two people, the study, in Chinese."""

from __future__ import annotations

import re
from typing import Any

import pytest
from household import begin, do, expert, task_of, type_in
from playing import at_number, number, take_seat

from simulator.handmethat.env.observe import visible
from simulator.handmethat.meanings.render import label

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_nothing_hidden_reaches_the_browser_in_partial_view(server: Any, open_page: Any) -> None:
    watched = open_page()
    page = watched.page
    received: list[str] = []

    def keep(response: Any) -> None:
        if "/api/" in response.url:
            received.append(response.text())

    page.on("response", keep)
    begin(page, server, mode="partial", level=4)
    task = task_of(server, page)
    world, state = task.world, task.current
    received.append(page.content())
    for command in ("move to sofa", "move to cabinet"):
        do(page, command)
    received.append(page.content())
    seen = 0
    for name in ("floor", "sofa", "cabinet"):
        seen |= visible(world, state._replace(at=world.entity(name)), "partial")
    mentioned = {thing for action in task.actions for thing in action.args}
    hidden = [thing for thing in world.movables if not seen >> thing & 1 and thing not in mentioned]
    assert len(hidden) > 50
    everything = "\n".join(received)
    for thing in hidden:
        if not world.only_of_type(thing):
            assert not re.search(rf"\b{re.escape(world.names[thing])}\b", everything), world.names[thing]
            # "knife #0" would be found in "carving knife #0".
            assert not re.search(rf"(?<!\w )\b{re.escape(label(world, thing, 'en'))}\b", everything)
    assert "bl-amounts" not in everything


def test_a_person_gives_the_instruction_and_answers(server: Any, open_page: Any) -> None:
    page, other = open_page().page, open_page().page
    begin(page, server, opposite="person", level=3)
    link = page.input_value("[data-link]")
    take_seat(other, link, ".ab-play-human")
    task = task_of(server, page)
    assert other.locator(".ab-side .ab-chips li").count() >= 1
    before = number(page)
    page.fill("#ab-reply", "which one?")
    page.press("#ab-reply", "Enter")
    page.wait_for_selector(".ab-thinking.ab-on:has-text('Waiting for: Human')")
    other.wait_for_selector(".ab-play-human[data-my-turn='1']")
    assert other.inner_text("[data-kind=question] .ab-bubble") == "which one?"
    other.fill("#ab-reply", "The one over there.")
    other.press("#ab-reply", "Enter")
    at_number(page, before + 2)
    assert "The one over there." in page.inner_text(".ab-log")
    for command in expert(task):
        do(page, command)
    page.wait_for_selector(".bl-done")
    other.wait_for_selector(".bl-done")


def test_a_person_is_asked_by_a_robot(server: Any, open_page: Any) -> None:
    page = open_page().page
    begin(page, server, seat="human", opposite="offline/asker:1", level=4)
    page.wait_for_selector(".ab-play-human[data-my-turn='1']")
    meaning = page.inner_text(".ab-side .ab-task p")
    page.fill("#ab-reply", meaning)
    page.click(".ab-send")
    page.wait_for_selector(".bl-done")
    assert meaning in page.inner_text(".bl-named")


def test_the_pages_speak_chinese(server: Any, open_page: Any) -> None:
    page = open_page(locale="zh-CN").page
    begin(page, server, mode="full", language="zh", level=3)
    assert page.evaluate("document.documentElement.lang") == "zh"
    shown = page.inner_text("#ab-content")
    assert re.search("[一-鿿]", page.inner_text(".pl-speech"))
    # In Chinese texts a thing's name in commands, which are English, follows it: 包裹（package#2）.
    assert re.findall(r"[A-Za-z]{4,}", re.sub(r"（\w+(#\d+)?）", "", shown)) == []
    type_in(page, "您要哪一种？")
    assert page.locator("[data-kind=answer]").count() == 1
