import json
import re
import sqlite3

import pytest
from looking import beyond_the_edge, choose, choose_runs

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


def test_a_run_grows_before_ones_eyes(runs, open_page):
    page = open_page().page
    page.goto(f"{runs.url}/research")
    page.wait_for_selector("h1")
    if page.locator(".body-cell [data-progress=live]").count() == 0:
        process = runs.askback(*RUN, "--limit", "20", "--run", "live", "--concurrency", "1", wait=False)
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
    page.wait_for_function("document.querySelectorAll('.rs-chart svg.marks').length >= 4")
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
    page.wait_for_selector("[data-step-text]:text('Turn')")
    assert page.locator("[data-why]:visible").count() == 1


def test_dialogues_are_filtered_by_outcome(runs, open_page):
    page = open_page().page
    page.goto(f"{runs.url}/research?run=short&tab=dialogues")
    choose(page, "Outcome", "failed")
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


PRESSED = "[data-act=dk-press][aria-pressed=true]"


def turn(page):
    return page.inner_text(".dk-group[data-why]:visible h3")


def test_a_review_by_keyboard_alone_survives_a_reload(runs, open_page):
    page = open_page().page
    page.goto(f"{runs.url}/research/review?run=long")
    page.fill("[name=reviewer]", "ann")
    page.keyboard.press("Enter")
    page.wait_for_selector("[data-sheet]")
    assert turn(page) == "Turn 3"
    press(page, "0")
    page.keyboard.press("ArrowRight")
    assert turn(page) == "Turn 5"
    press(page, "2")
    press(page, "h")
    page.keyboard.press("n")
    page.keyboard.type("0 1 2 s f: words, no marks")
    page.keyboard.press("Escape")
    page.wait_for_function("document.querySelector('[data-bit=\"4.note\"]').dataset.savedText.length > 0")
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
    page.wait_for_selector("[data-sheet]")
    page.keyboard.press("ArrowRight")
    pressed = page.locator(f"{PRESSED}:visible")
    assert [button.get_attribute("data-name") for button in pressed.all()] == [
        "4.type",
        "4.hallucination",
        "dialogue.success",
    ]
    assert page.input_value('[data-bit="4.note"]') == "0 1 2 s f: words, no marks"
    page.keyboard.press("n")
    assert page.evaluate("document.activeElement.dataset.bit") == "4.note"


def test_marks_made_in_haste_build_on_each_other(runs, open_page):
    page = open_page().page
    page.goto(f"{runs.url}/research/review?run=long&reviewer=hasty")
    page.wait_for_selector("[data-sheet]")
    for key in ("ArrowRight", "2", "h", "h", "ArrowRight", "0", "s"):
        page.keyboard.press(key)
    page.wait_for_selector(f'{PRESSED}[data-name="dialogue.success"]')
    values = [json.loads(value) for _, _, value in marks(runs, "hasty")]
    assert [value.get("type") for value in values] == [2, 2, 2, 0, None]
    assert [value.get("hallucination") for value in values] == [False, True, False, False, None]
    assert values[-1] == {"success": True}


def test_words_that_are_typed_while_a_mark_is_saved_stay(runs, open_page):
    page = open_page().page
    page.goto(f"{runs.url}/research/review?run=long&reviewer=typing")
    page.wait_for_selector("[data-sheet]")
    page.keyboard.press("0")
    page.keyboard.press("n")
    page.keyboard.type("half a thou")
    saved(page)
    page.keyboard.type("ght")
    assert page.input_value('[data-bit="2.note"]') == "half a thought"
    page.reload()
    page.wait_for_selector("[data-sheet]")
    assert page.input_value('[data-bit="2.note"]') == "half a thought"


def test_whoever_marks_by_keyboard_stays_at_the_button_that_they_pressed(runs, open_page):
    page = open_page().page
    page.goto(f"{runs.url}/research/review?run=long&reviewer=tabbing")
    page.wait_for_selector("[data-sheet]")
    page.focus("[data-name='dialogue.success'][data-value=yes]")
    page.evaluate("document.querySelector('.dk-form').dataset.before = ''")
    page.keyboard.press("Enter")
    page.wait_for_selector(".dk-form:not([data-before])")
    assert page.evaluate("document.activeElement.matches('[data-value=yes][aria-pressed=true]')")


def test_a_slow_press_after_a_note_counts(runs, open_page):
    page = open_page().page
    page.goto(f"{runs.url}/research/review?run=long&reviewer=pressing")
    page.wait_for_selector("[data-sheet]")
    page.keyboard.press("n")
    page.keyboard.type("a note")
    page.evaluate("document.querySelector('.dk-form').dataset.before = ''")
    # The note is saved, and its answer there, before the button is let go.
    page.click("[data-name='dialogue.success'][data-value=no]", delay=2_000)
    page.wait_for_selector(f'.dk-form:not([data-before]) {PRESSED}[data-name="dialogue.success"]')
    assert page.input_value('[data-bit="2.note"]') == "a note"


def test_shortcuts_can_be_switched_off(runs, open_page):
    page = open_page().page
    page.goto(f"{runs.url}/research/review?run=long&reviewer=off")
    page.uncheck("[data-shortcuts]")
    page.click(".dk-form h2")
    page.keyboard.press("1")
    page.keyboard.press("ArrowRight")
    assert turn(page) == "Turn 5"
    page.reload()
    page.wait_for_selector("[data-sheet]")
    assert not page.is_checked("[data-shortcuts]")
    assert marks(runs, "off") == []


def test_two_reviewers_and_their_agreement(runs, open_page):
    for reviewer, error in (("first", "0"), ("second", "2")):
        page = open_page().page
        page.goto(f"{runs.url}/research/review?run=short&reviewer={reviewer}")
        page.wait_for_selector("[data-sheet]")
        assert page.locator(PRESSED).count() == 0
        press(page, error)
        press(page, "f")
        for place in range(page.locator(".dk-brief:visible").count()):
            page.evaluate("document.querySelector('[data-save]').className = 'rs-save'")
            page.click(f".dk-brief >> nth={place} >> [data-value=overlooked]")
            saved(page)
        page.click("[data-act=dk-doubt]")
        page.wait_for_selector("[data-confirm] >> text=without a mark")
        page.click("[data-confirm] [data-act=dk-doubt]")
        page.wait_for_selector("[data-confirm]", state="hidden")
        page.click("[data-act=dk-doubt]")
        page.click("[data-confirm] [data-act=dk-finish]")
        page.wait_for_selector("text=1 of 8 judged")
        if reviewer == "first":
            page.click(".rs-tabs >> text=Agreement")
            page.wait_for_selector("text=No dialogue has been finished by two reviewers")
    page.click(".rs-tabs >> text=Agreement")
    page.wait_for_selector("text=Reviewers first and second")
    text = page.inner_text("#ab-content")
    assert "No error" in text
    assert "Type 2" in text
    page.goto(f"{runs.url}/research/review?run=short&reviewer=second")
    page.wait_for_selector("[data-sheet]")
    assert "1 of 8 judged" in page.inner_text("#ab-content")
    page.keyboard.press("u")
    page.click("text=Reopen")
    page.wait_for_selector("text=0 of 8 judged")


def test_a_success_needs_no_reason_and_counts(runs, open_page):
    runs.askback(*RUN, "--limit", "1", "--run", "alone", "--turn-limit", "4")
    page = open_page().page
    page.goto(f"{runs.url}/research/review?run=alone&reviewer=third")
    page.wait_for_selector("[data-sheet]")
    press(page, "f")
    assert page.locator(".dk-brief").count()
    press(page, "s")
    page.wait_for_selector("text=no reason is needed")
    assert page.locator(".dk-brief").count() == 0
    for _ in range(page.locator("[data-to-judge]").count()):
        press(page, "0")
        page.keyboard.press("ArrowRight")
    page.click("[data-act=dk-finish]")
    page.wait_for_selector("text=You have judged everything that was waiting for you")
    kinds = [kind for kind, _, _ in marks(runs, "third")]
    assert kinds[-1] == "review.done"
    assert "review.seeker_failure" not in kinds


def test_a_mark_is_not_shown_as_saved_before_it_is(runs, open_page):
    page = open_page().page
    page.goto(f"{runs.url}/research/review?run=long&reviewer=slow")
    page.wait_for_selector("[data-sheet]")
    page.route(re.compile("component_server"), lambda route: route.abort())
    # The listener stands before the press: what has failed by then is not told again.
    with page.expect_event("requestfailed"):
        page.keyboard.press("0")
    page.wait_for_selector(".rs-save-saving")
    assert page.locator(PRESSED).count() == 0
    assert page.locator(".rs-save-saved").count() == 0
    page.unroute(re.compile("component_server"))
    saved(page)
    assert page.locator(PRESSED).count() == 1
    assert len(marks(runs, "slow")) == 1


@pytest.mark.parametrize("locale", ["en", "zh"])
def test_narrow_pages_do_not_scroll_sideways(runs, open_page, locale):
    page = open_page(width=320, height=800, locale=locale).page
    for place in (
        "/research",
        "/research/run?run=long",
        "/research/report?runs=long&runs=short",
        "/research?run=long&tab=dialogues",
        "/research?run=long&tab=compare&runs=short",
        "/research/review?run=long&reviewer=narrow",
        "/research/review?run=short&tab=agreement",
    ):
        page.goto(runs.url + place)
        page.wait_for_selector("#ab-content :is(h1, h2)")
        if "tab" not in place and "review" not in place:
            page.wait_for_selector(".rs-bar:visible")  # scores of the cards, with their intervals
        assert beyond_the_edge(page) == []
    assert page.evaluate("document.documentElement.lang") == locale


def test_a_page_from_before_a_restart_says_so(runs, open_page):
    watched = open_page()
    watched.changed, page = True, watched.page
    page.goto(f"{runs.url}/research")
    page.wait_for_selector("h1")
    assert not page.is_visible("[data-restarted]")
    page.route("**/health", lambda route: route.fulfill(headers={"X-Server": "another"}, body="{}"))
    page.wait_for_selector("[data-restarted]")
