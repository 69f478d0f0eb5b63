"""AmbiEnt in Chromium: sets by keyboard, no early texts, a linguist's form, faults."""

from __future__ import annotations

from typing import Any

import pytest
from participating import Curious, newcomer, occurring, open_study, payloads, press, settled, tab_to
from reading import CROWD, KEYS, LINGUISTS, begin, crowd_item, pair_of, play, press_all, questions, step

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_nothing_is_known_before_its_time(server: Any, open_page: Any) -> None:
    """No page source, /config or other response contains a text of a later step."""
    page = open_page().page
    curious = Curious(page)
    open_study(page, server, CROWD, newcomer())
    item = crowd_item(server, page)
    pair = [item.premise, item.hypothesis]
    candidates = [candidate.sentence for candidate in item.candidates]
    asked = [question["premise"] for question in questions(server, page)]

    assert occurring([*asked, *pair, *candidates], curious.known()) == []
    begin(page)
    for place, question in enumerate(questions(server, page)):
        held = curious.known()
        assert occurring(asked, held) == asked[: place + 1]
        assert occurring([*pair, *candidates], held) == []
        page.keyboard.press(KEYS[question["label"]])
        press(page)
    held = curious.known()
    assert occurring(pair, held) == pair
    assert occurring(candidates, held) == []
    page.keyboard.press("2")
    press(page)
    assert occurring(candidates, curious.known()) == candidates
    other = item.hypothesis if item.side == "premise" else item.premise
    assert occurring([other], page.inner_text("#ab-content")) == []
    press_all(page, "yny")
    press(page)
    # Which candidate is none, and what the dataset says, is nowhere at any time.
    assert not any(word in curious.known() for word in ("distractor", '"gold"', item.id))


def place(k: int, field: str) -> str:
    """Return the selector of a field of the k-th rewrite."""
    return f"[name='rewrites[{k}].{field}']"


def test_a_linguist_is_told_what_is_wrong_and_mends_it(server: Any, open_page: Any) -> None:
    page = open_page().page
    open_study(page, server, LINGUISTS, newcomer())
    begin(page)
    premise, hypothesis = pair_of(server, page)
    page.keyboard.press("1")
    assert not page.is_visible("[data-list]")  # one label: one reading
    page.keyboard.press("2")
    assert page.locator("[data-entry]:visible").count() == 2
    assert page.input_value(place(0, "premise")) == premise
    assert page.input_value(place(1, "hypothesis")) == hypothesis
    difference = "[data-entry]:visible [data-difference] >> nth={}"
    assert "no difference" in page.inner_text(difference.format(0))

    page.fill(place(0, "premise"), f"{premise} Really.")
    changed = page.locator(difference.format(0)).locator("ins")
    assert changed.inner_text().splitlines()[-1].endswith("Really.")
    page.reload()  # the draft is there
    page.wait_for_selector("[data-entry]:visible")
    settled(page)
    assert page.input_value(place(0, "premise")) == f"{premise} Really."
    assert page.is_checked("[name=labels][value=neutral]")

    page.click(".fm-foot [type=submit]")
    page.wait_for_selector("#fm-problems-rewrites:focus")
    assert "Only one rewrite changes the premise" in page.inner_text("#fm-problems-rewrites")
    assert page.input_value(place(0, "premise")) == f"{premise} Really."

    # Unticking a label puts its rewrite aside; ticking it again brings it back.
    page.uncheck("[name=labels][value=entailment]", force=True)
    assert page.locator("[data-entry]:visible").count() == 0
    page.check("[name=labels][value=entailment]", force=True)
    assert page.input_value(place(0, "premise")) == f"{premise} Really."

    page.fill(place(1, "premise"), premise.rsplit(" ", 1)[0])
    assert page.locator(difference.format(2)).locator("del").count() == 1
    page.fill("[name=comment]", "Two readings.")
    page.press("[name=comment]", "Control+Enter")
    page.wait_for_selector(".st-done")
    form = payloads(server, page)[-1]
    assert form["labels"] == ["entailment", "neutral"]
    assert [rewrite["label"] for rewrite in form["rewrites"]] == ["entailment", "neutral"]
    assert form["rewrites"][0]["premise"] == f"{premise} Really."
    assert form["comment"] == "Two readings."


def test_another_rewrite_and_none_of_it_after_all(server: Any, open_page: Any) -> None:
    page = open_page().page
    play(page, server, "annotate")
    press_all(page, "123")
    page.click("[data-act=fm-add]")
    assert page.locator("[data-entry]:visible").count() == 4
    assert page.is_disabled("[data-act=fm-add]")
    page.select_option(place(3, "label"), "neutral")
    assert "fm-gold" in (page.get_attribute("[data-entry] >> nth=3", "class") or "")
    page.click("[data-entry] >> nth=3 >> [data-act=fm-drop]")
    assert page.locator("[data-entry]:visible").count() == 3
    page.uncheck("[name=labels][value=entailment]", force=True)
    assert page.locator("[data-entry]:visible legend").all_inner_texts() == ["Rewrite 1", "Rewrite 2"]
    page.check("[name=labels][value=entailment]", force=True)
    # By key: a click is aimed at where it stood before the entry was gone.
    page.press("[name=discarding]", "Space")
    assert not page.is_visible("[data-list]")
    page.keyboard.press("Control+Enter")  # no reason yet
    page.wait_for_selector("#fm-problems-discard:visible")
    page.press("[name=discard][value=not_fluent]", "Space")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector(".st-done")
    form = payloads(server, page)[-1]
    assert (form["discard"], form["labels"], form["rewrites"]) == ("not_fluent", [], [])


def test_statements_by_keyboard(server: Any, open_page: Any) -> None:
    page = open_page().page
    play(page, server, "true_false")
    count = 0
    while step(page) == "true_false":
        assert page.locator("input:checked").count() == 0
        page.keyboard.press("tf"[count % 2])
        press(page)
        count += 1
    answers = [payload["prediction"] for payload in payloads(server, page)[1:]]
    assert answers == [place % 2 == 0 for place in range(count)]
    assert page.locator(".bl-table tbody tr").count() == count


def test_shortcuts_can_be_switched_off(server: Any, open_page: Any) -> None:
    page = open_page().page
    play(page, server, "crowd")
    assert page.locator("kbd:visible").count() == 3
    page.click("[data-act=fm-keys]")
    assert page.get_attribute("[data-act=fm-keys]", "aria-checked") == "false"
    page.keyboard.press("1")
    assert page.locator("input:checked").count() == 0
    assert page.locator("kbd:visible").count() == 0
    page.reload()  # it is remembered
    page.wait_for_selector("[data-due=label]")
    settled(page)
    page.keyboard.press("1")
    assert page.locator("input:checked").count() == 0
    tab_to(page, "[name=label]")  # without shortcuts everything works as in any form
    page.keyboard.press("Space")
    press(page)
    assert step(page) == "plausible"
    page.click("[data-act=fm-keys]")
    page.keyboard.press("y")
    assert page.locator("input:checked").count() == 1
