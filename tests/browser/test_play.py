"""Dialogues played in Chromium, as people play them: both roles, two people."""

from __future__ import annotations

from typing import Any

import pytest
from looking import broken_rules, looking
from playing import at_number, begin, episode, moved_on, number, rows, say_goodbye, task_of, turns

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_a_provider_gives_words_and_nodes_and_judges(server: Any, open_page: Any) -> None:
    page = open_page().page
    begin(page, server, "provider")
    task = task_of(server, page)
    texts = {node.index: node.text for node in task.tree.nodes}
    page.click("[data-act=pick]")
    assert page.inner_text("[data-picked] span") == task.tree.opening
    page.click("[data-act=pick-off]")
    assert not page.is_visible("[data-picked] span")
    page.click("[data-act=pick]")
    page.fill("[name=before]", "Gladly.")
    page.fill("[name=after]", "Good luck!")
    page.press("[name=after]", "Enter")
    moved_on(page, 2)
    assert turns(server, page)[2] == ("provider", f"Gladly. {task.tree.opening} Good luck!")
    assert page.locator("[data-node='0'].ab-node-given").count() == 1

    while page.locator(".ab-result").count() == 0:
        before = number(page)
        picks = page.locator("[data-act=pick]")
        if picks.count():
            index = picks.first.get_attribute("data-index")
            picks.first.click()
        else:
            index = None
            page.fill("#ab-reply", "That is all there is.")
        page.click(".ab-send")
        moved_on(page, before)
        answer = turns(server, page)[before][1]
        assert answer == "That is all there is." if index is None else texts[index] in answer
    assert not page.is_visible(".ab-verdict")
    page.click("[data-act=judge][data-success='1']")
    page.wait_for_selector(".ab-verdict")
    page.wait_for_selector("[data-judged]:has-text('Noted: success.')")
    judged = "SELECT annotator, kind, value FROM judgments WHERE episode_id = ?"
    assert rows(server, judged, episode(page)) == [("provider", "success", '{"success":true}')]
    page.reload()
    page.wait_for_selector("[data-judged]:has-text('Noted: success.')")
    assert page.is_disabled("[data-act=judge][data-success='0']")


def test_several_nodes_at_once_only_where_that_was_chosen(server: Any, open_page: Any) -> None:
    page = open_page().page
    page.goto(f"{server.url}/")
    page.check("input[name=rule-multi]")
    page.check("input[name=seat][value=provider]", force=True)
    page.click("[data-form=begin] [type=submit]")
    page.wait_for_selector(".ab-play-provider")
    page.click("[data-act=pick]")
    page.click(".ab-send")
    moved_on(page, 2)
    picks = page.locator("[data-act=pick]")
    picks.nth(0).click()
    picks.nth(1).click()
    chosen = page.locator("[data-picked] span").all_inner_texts()
    assert len(chosen) == 2
    page.click(".ab-send")
    moved_on(page, 4)
    answer = turns(server, page)[4][1].lower()
    assert all(text.rstrip(".").lower() in answer for text in chosen)

    begin(page, server, "provider")
    page.click("[data-act=pick]")
    page.click(".ab-send")
    at_number(page, 4)
    picks = page.locator("[data-act=pick]")
    picks.nth(0).click()
    picks.nth(1).click()
    assert page.locator("[data-picked] span").count() == 1


def test_what_came_by_the_clipboard_is_counted_with_its_turn(server: Any, open_page: Any) -> None:
    page = open_page().page
    begin(page, server)
    paste = """(field, text) => {
        const clipboardData = new DataTransfer();
        clipboardData.setData("text", text);
        field.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true }));
    }"""
    # A whole book in the clipboard keeps nobody from going on.
    for before, pasted in ((1, "How is it done?"), (3, ""), (5, 1_000_001 * "x")):
        page.focus("#ab-reply")
        if pasted:
            page.eval_on_selector("#ab-reply", paste, pasted)
        page.keyboard.type("And then?")
        page.press("#ab-reply", "Enter")
        at_number(page, before + 2)
    traces = "SELECT payload -> 'trace' ->> 'pasted' FROM turns WHERE episode_id = ? AND seat = 'seeker'"
    assert rows(server, traces, episode(page)) == [(15,), (None,), (1_000_000,)]


def test_two_people_play_by_link(server: Any, open_page: Any) -> None:
    host, guest = open_page().page, open_page(locale="zh-CN").page
    begin(host, server, opposite="person")
    link = host.input_value("[data-link]")
    assert link.startswith(server.url)
    with looking(guest, broken_rules, widths=(1280, 360), dark=True) as look:
        guest.goto(link)
        guest.wait_for_selector("h1:has-text('You are invited to play'):focus")  # in the host's language
        look()
    host.fill("#ab-reply", "Hello!")
    guest.keyboard.press("Tab")
    guest.keyboard.press("Enter")
    guest.wait_for_selector(".ab-play-provider")
    # The host's page tells of it by itself, and what is being written stays.
    host.wait_for_selector("summary:has-text('The second person has taken their seat')")
    assert host.input_value("#ab-reply") == "Hello!"
    assert guest.inner_text(".ab-talk-who") == "You are the provider"  # the link carries the host's language
    assert guest.locator("[data-link]").count() == 0
    assert guest.is_disabled(".ab-send")
    for again in (guest.url, link):  # in the browser that has the seat, both lead back to it
        guest.goto(again)
        guest.wait_for_selector(".ab-play-provider")
    third = open_page(locale="zh-CN").page
    with looking(third, broken_rules, widths=(1280, 360), dark=True) as look:
        third.goto(link.replace("lang=en", "lang=zh"))
        third.wait_for_selector("h1:has-text('这个座位已有人')")
        look()
    assert third.locator(".ab-message-card a[href='/']").count() == 1
    taken = "SELECT count(*) FROM events WHERE kind = 'seat.taken' AND episode_id = ?"
    assert rows(server, taken, episode(host)) == [(1,)]

    host.fill("#ab-reply", "Hello! How is it done?")
    host.press("#ab-reply", "Enter")
    host.wait_for_selector(".ab-thinking.ab-on:has-text('Waiting for: Jax')")
    guest.wait_for_selector(".ab-line:has-text('Hello! How is it done?')")
    guest.click("[data-act=pick]")
    guest.click(".ab-send")
    opening = task_of(server, host).tree.opening
    host.wait_for_selector(".ab-line:nth-child(3):not(.ab-mine)")
    assert opening in host.inner_text(".ab-log")
    host.wait_for_selector(".ab-send:enabled")
    say_goodbye(host)
    guest.wait_for_selector(".ab-result")
    guest.click("[data-act=judge][data-success='0']")
    guest.wait_for_selector("[data-judged]:has-text('failure')")
    assert [seat for seat, _ in turns(server, host)] == ["provider", "seeker", "provider", "seeker"]
