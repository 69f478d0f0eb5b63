"""AmbiBench on the researchers' pages in Chromium: runs, episodes, figures, sorting outputs."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from looking import broken_rules, choose_runs, looking

from simulator.ambibench.coding import set_key

pytestmark = [pytest.mark.browser, pytest.mark.slow]

MODEL = "davinci-nine"
NAMING = f"naming-secret-{MODEL}"
SECOND = f"second-{NAMING}"
SCRIPT = Path(__file__).parents[1] / "ui" / "research" / "letters.py"
STUDY = "study-ambibench-multiple"


@pytest.fixture(scope="session")
def filled(desk: Any) -> Any:
    """The server's log with built-in learners, a model, outputs to sort, and people in a study."""
    desk.fill(SCRIPT)
    return desk


def saved(page: Any) -> None:
    page.wait_for_selector(".rs-save-saved")


def press(page: Any, key: str) -> None:
    """Press a key that sorts an output, and wait until it is saved."""
    page.evaluate("document.querySelector('[data-save]').className = 'rs-save'")
    page.keyboard.press(key)
    saved(page)


def sorted_by(server: Any, rater: str) -> list[str]:
    query = "SELECT value FROM judgments WHERE annotator = ? AND kind = 'ambibench.category' ORDER BY seq"
    with sqlite3.connect(f"file:{server.log}?mode=ro", uri=True) as connection:
        return [json.loads(value)["category"] for (value,) in connection.execute(query, [rater])]


def begin_sorting(page: Any, server: Any, rater: str, run: str) -> None:
    page.goto(f"{server.url}/research/desk?desk=coding&data={set_key(run)}")
    page.fill("[name=reviewer]", rater)
    page.keyboard.press("Enter")
    page.wait_for_selector(f".rs-chip:has-text('Rater {rater}')")


def test_from_a_run_to_a_token_and_back(filled: Any, open_page: Any) -> None:
    page = open_page().page
    page.goto(f"{filled.url}/research?run=tables")
    page.wait_for_selector(".rs-chart svg.marks")
    page.click(".rs-tabs >> text=Episodes")
    page.click(".rs-list a >> nth=0")
    page.wait_for_selector(".bl-part >> text=Trial by trial")
    assert page.locator(".bl-bars-row").count() == 4
    assert page.locator(".bl-table tbody tr").count() == 20
    assert "'X' 0." in page.locator(".bl-table tbody tr >> nth=3").inner_text()
    page.click("[data-log] > summary")
    assert page.locator("[data-log] .rs-turn:visible").count() == 20
    address = page.url
    page.go_back()
    page.wait_for_selector(".rs-choose")
    page.goto(address)
    page.wait_for_selector(".bl-part >> text=Trial by trial")


def test_a_study_with_its_flagged_sessions(filled: Any, open_page: Any) -> None:
    page = open_page().page
    page.goto(f"{filled.url}/research?run={STUDY}")
    page.wait_for_selector(".rs-scores >> text=without flagged")
    page.click(".rs-tabs >> text=The study")
    page.wait_for_selector(".rs-figures [data-count=completed]")


def test_figures_of_chosen_runs(filled: Any, open_page: Any) -> None:
    page = open_page().page
    page.goto(f"{filled.url}/research")
    choose_runs(page, "random", "tables", STUDY)
    page.click("button >> text=Report")
    page.wait_for_selector(".rs-chart svg.marks")
    page.click("button:has-text('Settings of the report')")
    page.get_by_label("actor").fill("offline/random=A coin")
    page.click("button:has-text('Apply')")
    page.wait_for_selector(".rs-chart text:has-text('A coin')")
    with page.expect_download() as download:
        page.click("text=Tables (LaTeX)")
    text = download.value.path().read_text("utf-8")
    assert "tabular" in text and "A coin" in text
    page.reload()
    page.wait_for_selector(".rs-chart text:has-text('A coin')")


def test_figures_follow_light_and_dark(filled: Any, open_page: Any) -> None:
    page = open_page(scheme="dark").page
    page.goto(f"{filled.url}/research?run=random")
    page.wait_for_selector(".rs-chart svg.marks text")
    turned = "getComputedStyle(document.querySelector('.rs-chart [data-testid=altair]')).filter !== 'none'"
    assert page.evaluate(turned)
    page.click("[data-act=appearance]")
    page.wait_for_function(f"!({turned})")
    drawn = "document.querySelectorAll('.rs-chart .role-mark path').length"
    before = page.evaluate(drawn)
    page.click(".rs-chart .role-legend-label text >> nth=0")
    page.wait_for_function(f"{drawn} < {before}")
    page.click(".rs-chart .role-legend-label text >> nth=0")
    page.wait_for_function(f"{drawn} === {before}")


def test_outputs_are_sorted_by_keyboard_alone_and_blind(filled: Any, open_page: Any) -> None:
    watched = open_page()
    page = watched.page
    heard: list[str] = []
    page.on(
        "response",
        lambda seen: heard.append(seen.text()) if "queue" in seen.url or "component" in seen.url else None,
    )
    begin_sorting(page, filled, "ann", NAMING)
    page.wait_for_selector("[data-desk][data-item]")
    first = page.get_attribute("[data-desk]", "data-item")
    press(page, "1")
    assert page.get_attribute("[data-desk]", "data-item") != first
    page.keyboard.press("u")
    page.wait_for_selector(f"[data-desk][data-item='{first}']")
    assert page.get_attribute("[data-key='1']", "aria-pressed") == "true"
    press(page, "3")
    page.wait_for_selector(".rs-progress-text:has-text('1 of 3 judged')")
    press(page, "2")
    page.click("[data-key='1']")
    page.wait_for_selector(".rs-empty:has-text('You have judged everything that was waiting for you.')")
    assert sorted_by(filled, "ann") == ["correct", "other", "incorrect", "correct"]
    assert all(MODEL not in body and "qa" not in body.split('"') for body in (page.content(), *heard))


def test_two_raters_and_the_word_of_a_third(filled: Any, open_page: Any) -> None:
    page = open_page().page
    for rater, key in (("rita", "1"), ("sam", "2")):
        begin_sorting(page, filled, rater, SECOND)
        while page.locator("[data-desk][data-item]").count():
            press(page, key)
    page.click(".rs-tabs >> text=Agreement")
    page.wait_for_selector(".dk-differing")
    open_ones = page.locator(".dk-differing td:has-text('not yet')").count()
    assert open_ones == 3
    page.click("text=Decide these as a third rater")
    page.wait_for_selector("[name=reviewer]")
    page.fill("[name=reviewer]", "tom")
    page.keyboard.press("Enter")
    page.wait_for_selector(".ab-notice:has-text('Your answer decides')")
    while page.locator("[data-desk][data-item]").count():
        press(page, "3")
    assert sorted_by(filled, "tom") == ["other"] * open_ones
    page.click("text=See the agreement")
    page.wait_for_selector(".dk-differing")
    assert page.locator(".dk-differing td:has-text('not yet')").count() == 0


PLACES = (
    "/research?run=people",
    "/research/data",
    "/research?run=buckets",
    "/research?run=tables&tab=dialogues",
    "/research/desk",
    "/research/desk?desk=coding",
    "/research/desk?desk=coding&reviewer=zoe",
    "/research/desk?desk=coding&tab=agreement",
)


def every_place(page: Any, server: Any) -> Iterator[str]:
    """Each page in turn, with an episode and with figures of several runs."""
    for place in PLACES:
        page.goto(f"{server.url}{place}")
        page.wait_for_selector("#ab-content h1")
        yield place
    page.goto(f"{server.url}/research?run=tables&tab=dialogues")
    page.click(".rs-list a >> nth=0")
    page.wait_for_selector(".bl-part >> text=Trial by trial")
    yield "an episode"
    page.goto(f"{server.url}/research/report?runs=random&runs=tables&runs=told&runs=buckets")
    page.wait_for_selector(".rs-chart svg.marks")
    yield "a report"
    page.goto(f"{server.url}/research/compare?runs=random&runs=tables")
    page.wait_for_selector("#ab-content h1")
    yield "a comparison"


def test_every_page_keeps_the_accessibility_rules_and_fits_its_screen(filled: Any, open_page: Any) -> None:
    page = open_page(width=360, height=800).page
    aside = ", .rs-scroll, .bl-scroll, .rs-table-card, .rs-sheet, .rs-wide, pre"
    with looking(page, broken_rules, widths=(360, 768, 1280), aside=aside, dark=True) as look:
        for _ in every_place(page, filled):
            look()
