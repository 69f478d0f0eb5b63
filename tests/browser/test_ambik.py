"""AmbiK in Chromium: the robot by keyboard alone, the user, two people, an annotator's form, faults."""

from __future__ import annotations

import re
from typing import Any

import pytest
from in_the_kitchen import begin, draft_of, fill_pair, play, task_of
from participating import Curious, moved_on, occurring, payloads, press, settled, stage, tab_to
from playing import episode, number, rows

from ui.i18n import strings

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_what_was_meant_reaches_no_robots_browser(server: Any, open_page: Any) -> None:
    """Neither page source, nor /config, nor any response holds it before the end of the episode."""
    page = open_page().page
    curious = Curious(page)
    play(page, server, "robot", kind="preferences")
    pair = task_of(server, page).pair
    assert pair.intent is not None
    hidden = [pair.clear, pair.question, pair.answer, f'"{pair.id}"', f"{pair.id}.ambiguous"]

    assert occurring([*hidden, pair.ambiguous], curious.known()) == []
    begin(page)
    held = curious.known()
    assert occurring([pair.ambiguous], held) == [pair.ambiguous]
    assert occurring(hidden, held) == []
    assert not any(word in held for word in ('"intent"', '"shortlist"', '"variants"', '"preferences"'))
    page.keyboard.press("1")
    page.keyboard.press("d")
    press(page, "Enter")
    page.wait_for_selector(".st-done")
    assert occurring([pair.clear, pair.question, pair.answer], curious.known()) == [
        pair.clear,
        pair.question,
        pair.answer,
    ]
    assert pair.shortlist == () or pair.shortlist[0].lower() in page.inner_text(".bl-done").lower()


def test_a_robot_acts_in_words_of_its_own(server: Any, open_page: Any) -> None:
    page = open_page().page
    play(page, server, "robot", kind="unambiguous_direct")
    begin(page)
    tab_to(page, "[name=act-own]")
    page.keyboard.press("Enter")  # nothing chosen, nothing written: no turn
    assert page.is_visible("#fm-problems-act")
    page.keyboard.type("Do exactly as I was told.")
    assert page.is_checked("[data-own]")
    press(page, "Enter")
    page.wait_for_selector(".st-done")
    assert payloads(server, page)[-1]["prediction_set"] == ["Do exactly as I was told."]
    assert "You were right not to ask" in page.inner_text("h1")


def test_a_field_that_one_way_requires_does_not_hold_up_another_way(server: Any, open_page: Any) -> None:
    page = open_page().page
    play(page, server, "robot", "", "preferences")
    begin(page)
    page.eval_on_selector("[data-way=act] [data-field=act]", "field => { field.dataset.required = '' }")
    page.keyboard.press("a")
    page.keyboard.type("Which?")
    press(page, "Enter")
    assert "Which?" in page.inner_text(".st-page")


def test_things_can_be_looked_for(server: Any, open_page: Any) -> None:
    page = open_page().page
    while True:  # most scenes have enough of them
        play(page, server, "robot")
        begin(page)
        if page.locator("[data-search]").count():
            break
    thing = task_of(server, page).pair.objects[-1]
    page.fill("[data-search]", thing.upper())
    shown = page.locator(".bl-search + .ab-chips > li:visible").all_inner_texts()
    assert thing.lower() in [each.lower() for each in shown]
    assert all(thing.lower() in text.lower() for text in shown)
    assert f"{len(shown)} of" in page.inner_text("[data-hits]")
    page.fill("[data-search]", "")
    assert page.locator(".bl-search + .ab-chips > li:visible").count() > 12


def test_a_user_answers_a_robot(server: Any, open_page: Any) -> None:
    page = open_page().page
    play(page, server, "user", "offline/always-asks", "preferences")
    begin(page)
    page.wait_for_selector(".ab-play-user")
    pair = task_of(server, page).pair
    assert pair.clear in page.inner_text(".ab-side")
    page.focus("#ab-reply")
    page.keyboard.press("Enter")  # no words: no turn
    assert page.inner_text(".ab-toast") == strings("en")("play.empty")
    page.keyboard.type("Two lines,")
    page.keyboard.press("Shift+Enter")
    page.keyboard.type(pair.answer)
    page.keyboard.press("Enter")
    page.wait_for_selector(".st-done")
    assert re.search("The robot asked, and rightly so|It was right to ask", page.inner_text("h1"))
    texts = rows(server, "SELECT text FROM turns WHERE episode_id = ? AND seat = 'user'", episode(page))
    assert texts[-1] == (f"Two lines,\n{pair.answer}",)


def test_an_annotator_is_told_two_mistakes_and_mends_them(server: Any, open_page: Any) -> None:
    page = open_page().page
    play(page, server, "annotator")
    begin(page)
    draft = draft_of(server, page)
    fill_pair(page, draft)
    (kind,) = (page.get_attribute("[name=type]:checked", "value"),)
    page.fill(f"[name=question-{kind}]", "What has to be done")
    page.fill("[name=step]", "2")
    # Live, where something was written; on a slow machine the one may be told before the other.
    page.wait_for_selector(f"#fm-problems-question-{kind}:has-text('question mark')")
    page.wait_for_selector("#fm-problems-step:has-text('same line')")
    assert page.get_attribute("[name=step]", "aria-invalid") == "true"
    page.click(".fm-foot [type=submit]")
    page.wait_for_selector(".fm-problems:focus")
    assert stage(page) == "task"

    page.reload()  # long texts are not lost
    page.wait_for_selector(".fm-form")
    settled(page)
    assert page.input_value(f"[name=question-{kind}]") == "What has to be done"
    page.fill(f"[name=question-{kind}]", "What has to be done?")
    page.fill("[name=step]", "1")
    page.wait_for_selector(f"#fm-problems-question-{kind}", state="hidden")
    page.wait_for_selector("#fm-problems-step", state="hidden")
    assert page.locator("[data-findings] tr:has-text('meant') td").first.inner_text() == draft.plan[0]
    before = number(page)
    page.click(".fm-foot [type=submit]")
    page.wait_for_function("askback.page.fmHinted !== '{}' || askback.page.ended")
    if stage(page) == "task":  # hints are told once; who sends again has seen them
        page.click(".fm-foot [type=submit]")
    moved_on(page, before)
    form = payloads(server, page)[-1]["form"]
    assert (form["type"], form["question"], form["step"]) == (kind, "What has to be done?", 0)
    assert form["ambiguous_plan"][0] == "Begin."


def test_another_candidate_loses_no_words_and_a_row_can_be_deleted(server: Any, open_page: Any) -> None:
    page = open_page().page
    play(page, server, "annotator")
    begin(page)
    first, second = list(draft_of(server, page).candidates)[:2]
    page.check(f"input[name=type][value={first}]", force=True)
    page.fill(f"[name=ambiguous-{first}]", "Mine.")
    page.check(f"input[name=type][value={second}]", force=True)
    assert not page.is_visible(f"[name=ambiguous-{first}]")
    page.check(f"input[name=type][value={first}]", force=True)
    assert page.input_value(f"[name=ambiguous-{first}]") == "Mine."
    page.check("[name=deleting]", force=True)
    assert not page.is_visible("[name=intent]")
    page.click(".fm-foot [type=submit]")
    assert page.wait_for_selector("#fm-problems-delete:focus")
    page.uncheck("[name=deleting]", force=True)
    assert page.input_value(f"[name=ambiguous-{first}]") == "Mine."
    page.check("[name=deleting]", force=True)
    page.fill("[name=delete]", "Nobody would ask for that.")
    before = number(page)
    page.click(".fm-foot [type=submit]")
    moved_on(page, before)
    assert payloads(server, page)[-1]["form"]["delete"] == "Nobody would ask for that."


def test_things_are_put_on_the_shortlist_by_keys(server: Any, open_page: Any) -> None:
    page = open_page().page
    play(page, server, "annotator")
    begin(page)
    page.check("input[name=type][value=preferences]", force=True)
    objects = draft_of(server, page).objects
    page.focus("[data-act=fm-pick] >> nth=1")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    assert page.input_value("[name=shortlist]") == ", ".join(objects[1:3])
    page.keyboard.press("Space")
    assert page.input_value("[name=shortlist]") == objects[1]
    assert page.get_attribute("[data-act=fm-pick] >> nth=1", "aria-pressed") == "true"
