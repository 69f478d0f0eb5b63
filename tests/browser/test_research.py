import json
import re
import sqlite3

import pytest
from looking import choose_runs

pytestmark = [pytest.mark.browser, pytest.mark.slow]

RUN = ["run", "clarq", "--seeker", "offline/seeker", "--provider", "offline/experts", "--lang", "en"]


@pytest.fixture(scope="session")
def runs(desk):
    """Two finished runs on the same eight items: a careful seeker, and one with two turns only."""
    desk.askback(*RUN, "--limit", "8", "--run", "long")
    desk.askback(*RUN, "--limit", "8", "--run", "short", "--turn-limit", "4")
    return desk


def marks(server, reviewer):
    with sqlite3.connect(f"file:{server.log}?mode=ro", uri=True) as connection:
        return connection.execute(
            "SELECT kind, turn_number, value FROM judgments WHERE annotator = ? "
            "AND kind LIKE 'review.%' ORDER BY seq",
            [reviewer],
        ).fetchall()


def saved(page):
    page.wait_for_selector(".rs-save-saved")


def press(page, key):
    """Press a key that saves a mark, and wait for it."""
    page.evaluate("document.querySelector('[data-save]').className = 'rs-save'")
    page.keyboard.press(key)
    saved(page)


def test_a_run_grows_before_ones_eyes(desk, open_page):
    page = open_page().page
    page.goto(f"{desk.url}/research")
    page.wait_for_selector("h1")
    if page.locator(".body-cell [data-progress=live]").count() == 0:
        process = desk.askback(*RUN, "--limit", "20", "--run", "live", "--concurrency", "1", wait=False)
        page.wait_for_selector(".body-cell [data-progress=live]")
        page.wait_for_selector('.body-cell [data-progress=live] [role=progressbar][aria-valuenow="20"]')
        process.communicate()
    assert page.locator(".body-cell [data-progress=live]").inner_text() == "20 of 20"


def test_from_the_list_to_a_turn_and_back(runs, open_page):
    watched = open_page()
    page = watched.page
    page.goto(f"{runs.url}/research")
    page.get_by_label("Filter by name or seat").fill("long")
    page.wait_for_function("document.querySelectorAll('.rs-sheet .body-cell a').length === 1")
    assert "text=long" in page.url
    page.reload()
    page.wait_for_selector(".rs-sheet .body-cell a")
    assert page.locator(".rs-sheet .body-cell a").all_inner_texts() == ["long"]
    page.click(".rs-sheet .body-cell a")
    page.wait_for_selector("h3 >> text=Success by number of provider responses")
    page.wait_for_function("document.querySelectorAll('.rs-chart .main-svg').length >= 4")
    page.click(".rs-tabs >> text=Episodes")
    page.wait_for_selector(".rs-list a")
    assert page.locator(".rs-list a").count() == 8
    page.click(".rs-list a >> nth=2")
    page.wait_for_selector("[data-replay]")
    last = page.locator(".ab-line.ab-now").get_attribute("data-moment")
    page.keyboard.press("ArrowLeft")
    assert int(page.locator(".ab-line.ab-now").get_attribute("data-moment")) == int(last) - 1
    assert page.locator("[data-slider]").input_value() == str(int(last) - 1)
    page.click("[data-moment='2'] .ab-bubble")
    assert page.locator("[data-tree] .ab-node-now").get_attribute("data-node") == "0"
    address = page.url
    page.go_back()
    page.wait_for_selector(".rs-choose")
    page.goto(address)
    page.wait_for_selector("[data-replay]")


def test_dialogues_are_filtered_by_outcome(runs, open_page):
    page = open_page().page
    page.goto(f"{runs.url}/research?run=short&tab=dialogues")
    page.select_option("[name=outcome]", "failure")
    page.wait_for_url(re.compile("outcome=failure"))
    page.wait_for_selector(".rs-list a")
    assert page.locator(".rs-list .rs-chip-success").count() == 0


def test_two_runs_side_by_side(runs, open_page):
    page = open_page().page
    page.goto(f"{runs.url}/research")
    choose_runs(page, "long", "short")
    page.click("button >> text=Compare")
    page.wait_for_selector(".rs-sheet .body-cell a")
    page.click(".rs-sheet .body-cell a >> nth=0")
    page.wait_for_selector(".rs-column >> nth=1")
    assert page.locator(".rs-column").count() == 2
    with page.expect_download() as download:
        page.click("text=Tables (CSV)")
    assert "difference" in download.value.path().read_text("utf-8-sig")
    page.goto(f"{runs.url}/research?run=long&tab=compare")
    page.get_by_label("Compare with").fill("short")
    page.keyboard.press("Enter")
    page.wait_for_selector(".rs-sheet .body-cell a")
    assert "runs=short" in page.url


def test_a_review_by_keyboard_alone_survives_a_reload(runs, open_page):
    page = open_page().page
    page.goto(f"{runs.url}/research/review?run=long")
    page.fill("[name=reviewer]", "ann")
    page.keyboard.press("Enter")
    page.wait_for_selector("[data-review]")
    assert page.inner_text("[data-turn-text]") == "Turn 2"
    press(page, "0")
    page.keyboard.press("ArrowRight")
    assert page.inner_text("[data-turn-text]") == "Turn 4"
    press(page, "2")
    press(page, "h")
    page.keyboard.press("n")
    page.keyboard.type("0 1 2 s f: words, no marks")
    page.keyboard.press("Escape")
    page.wait_for_function("document.querySelector('[data-note=\"4\"]').dataset.savedText.length > 0")
    press(page, "s")
    kinds = [(kind, turn) for kind, turn, _ in marks(runs, "ann")]
    assert kinds == [
        ("review.provider_error", 2),
        ("review.provider_error", 4),
        ("review.provider_error", 4),
        ("review.note", 4),
        ("review.success", None),
    ]
    page.reload()
    page.wait_for_selector("[data-review]")
    page.keyboard.press("ArrowRight")
    pressed = page.locator('[data-turn="4"][aria-pressed="true"]')
    assert [one.inner_text().split("\n")[0] for one in pressed.all()] == ["2", "H"]
    assert page.input_value('[data-note="4"]') == "0 1 2 s f: words, no marks"
    page.keyboard.press("n")
    assert page.evaluate("document.activeElement.dataset.note") == "4"


def test_marks_made_in_haste_build_on_each_other(runs, open_page):
    page = open_page().page
    page.goto(f"{runs.url}/research/review?run=long&reviewer=hasty")
    page.wait_for_selector("[data-review]")
    for key in ("ArrowRight", "2", "h", "ArrowRight", "0", "s"):
        page.keyboard.press(key)
    page.wait_for_selector('[data-act=success][data-value="1"][aria-pressed=true]')
    values = [json.loads(value) for _, _, value in marks(runs, "hasty")]
    assert [value.get("type") for value in values] == [2, 2, 0, None]
    assert [value.get("hallucination") for value in values] == [False, True, False, None]
    assert values[-1] == {"success": True}


def test_shortcuts_can_be_switched_off(runs, open_page):
    page = open_page().page
    page.goto(f"{runs.url}/research/review?run=long&reviewer=off")
    page.uncheck("[data-shortcuts]")
    page.click("[data-turn-text]")
    page.keyboard.press("1")
    page.keyboard.press("ArrowRight")
    assert page.inner_text("[data-turn-text]") == "Turn 4"
    page.reload()
    page.wait_for_selector("[data-review]")
    assert not page.is_checked("[data-shortcuts]")
    assert marks(runs, "off") == []


def test_two_reviewers_and_their_agreement(runs, open_page):
    for reviewer, error in (("first", "0"), ("second", "2")):
        page = open_page().page
        page.goto(f"{runs.url}/research/review?run=short&reviewer={reviewer}")
        page.wait_for_selector("[data-review]")
        assert page.locator('.rs-marks [aria-pressed="true"]').count() == 0
        press(page, error)
        press(page, "f")
        nodes = page.locator(".rs-missing fieldset").count()
        for place in range(nodes):
            page.evaluate("document.querySelector('[data-save]').className = 'rs-save'")
            page.click(f".rs-missing fieldset >> nth={place} >> [data-value=overlooked]")
            saved(page)
        page.click("[data-act=done]")
        page.wait_for_selector("[data-confirm-done] >> text=without a mark")
        assert page.locator(".rs-chip-success >> text=Finished").count() == 0
        page.click("[data-act=unmarked-no]")
        page.wait_for_selector("[data-confirm-done]", state="hidden")
        page.click("[data-act=done]")
        page.click("[data-confirm-done] [data-act=done]")
        page.wait_for_selector(".rs-chip-success >> text=Finished")
        if reviewer == "first":
            page.click(".rs-tabs >> text=Agreement")
            page.wait_for_selector("text=A second reviewer has still to finish")
    page.click(".rs-tabs >> text=Agreement")
    page.wait_for_selector("text=first and second")
    text = page.inner_text("#ab-content")
    assert "no error" in text
    assert "type 2" in text
    page.goto(f"{runs.url}/research/review?run=short&reviewer=second")
    page.wait_for_selector("[data-review]")
    assert "1 of 8 reviewed" in page.inner_text("#ab-content")


def test_a_success_needs_no_reason_and_counts(runs, open_page):
    runs.askback(*RUN, "--limit", "1", "--run", "alone", "--turn-limit", "4")
    page = open_page().page
    page.goto(f"{runs.url}/research/review?run=alone&reviewer=third")
    page.wait_for_selector("[data-review]")
    press(page, "f")
    assert page.locator(".rs-missing fieldset").count()
    press(page, "s")
    page.wait_for_selector("text=no reason is asked for")
    assert page.locator(".rs-missing fieldset").count() == 0
    for _ in range(page.locator("[data-markable='1']").count()):
        press(page, "0")
        page.keyboard.press("ArrowRight")
    page.click("[data-act=done]")
    page.wait_for_selector(".rs-chip-success >> text=Finished")
    kinds = [kind for kind, _, _ in marks(runs, "third")]
    assert kinds[-1] == "review.done"
    assert "review.seeker_failure" not in kinds


def test_a_mark_is_not_shown_as_saved_before_it_is(runs, open_page):
    page = open_page().page
    page.goto(f"{runs.url}/research/review?run=long&reviewer=slow")
    page.wait_for_selector("[data-review]")
    page.route(re.compile("component_server"), lambda route: route.abort())
    page.keyboard.press("0")
    page.wait_for_selector(".rs-save-saving")
    page.wait_for_event("requestfailed")  # tried again
    assert page.locator('.rs-marks [aria-pressed="true"]').count() == 0
    assert page.locator(".rs-save-saved").count() == 0
    page.unroute(re.compile("component_server"))
    saved(page)
    assert page.locator('.rs-marks [aria-pressed="true"]').count() == 1
    assert len(marks(runs, "slow")) == 1


@pytest.mark.parametrize("locale", ["en", "zh"])
def test_narrow_pages_do_not_scroll_sideways(runs, open_page, locale):
    page = open_page(width=390, height=800, locale=locale).page
    for place in (
        "/research",
        "/research?run=long",
        "/research?run=long&tab=dialogues",
        "/research?run=long&tab=compare&runs=short",
        "/research/review?run=long&reviewer=narrow",
        "/research/review?run=short&tab=agreement",
    ):
        page.goto(runs.url + place)
        page.wait_for_selector("#ab-content :is(h1, h2)")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.evaluate("document.documentElement.lang") == locale
