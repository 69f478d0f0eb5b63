"""AmbiK on the researchers' pages in Chromium: another target, decisions, annotated pairs, sets, asking."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from looking import broken_rules, choose, looking

pytestmark = [pytest.mark.browser, pytest.mark.slow]

SCRIPT = Path(__file__).parents[1] / "ui" / "research" / "pots.py"
ANNOTATED = "study-annotators-test"
WORDS = "Which of them, please?"


@pytest.fixture(scope="session")
def filled(desk: Any) -> Any:
    """The server's log with methods, people and annotators in it."""
    desk.fill(SCRIPT)
    return desk


def test_another_target_is_laid_on_the_run(filled: Any, open_page: Any) -> None:
    page = open_page().page
    page.goto(f"{filled.url}/research?run=knowno")
    page.wait_for_selector(".rs-chart svg.marks")
    page.click("button:has-text('Settings of the report')")
    page.get_by_label("target success").fill("0.95")
    page.click("button:has-text('Apply')")
    page.wait_for_function(
        "document.querySelector('.rs-command-line :is(input, textarea)').value.includes('-success=0.95')"
    )
    assert "s.target_success=0.95" in page.url
    page.click(".rs-tabs >> text=Episodes")
    page.wait_for_selector(".rs-list")
    assert page.get_by_label("Target coverage").input_value() == "0.95"


def test_from_a_filter_to_both_members_of_a_pair(filled: Any, open_page: Any) -> None:
    page = open_page().page
    page.goto(f"{filled.url}/research?run=knowno&tab=dialogues")
    page.wait_for_selector(".rs-list li")
    every = page.locator(".rs-list li").count()
    choose(page, "Asked", "acts")
    page.wait_for_function("n => document.querySelectorAll('.rs-list li').length < n", arg=every)
    page.click(".rs-list a >> nth=0")
    page.wait_for_selector(".fm-beside > .bl-part")
    assert page.locator(".fm-beside > .bl-part").count() == 2
    first, other = (page.locator(".fm-beside > .bl-part").nth(place).bounding_box() for place in (0, 1))
    assert first and other and first["x"] + first["width"] <= other["x"]
    page.click(".fm-beside summary:has-text('Prompts') >> nth=0")
    page.wait_for_selector(".fm-beside .bl-passage:visible")


def test_a_third_person_makes_one_pair_of_two_forms(filled: Any, open_page: Any) -> None:
    page = open_page().page
    page.goto(f"{filled.url}/research/pairs?run={ANNOTATED}")
    page.fill("[name=reviewer]", "zoe")
    page.press(".rs-start [type=submit]", "Enter")
    page.wait_for_selector("[data-desk][data-item]")
    before = page.get_attribute("[data-desk]", "data-item")
    page.wait_for_function("document.querySelector('#dk-clear').value !== ''")
    page.click(".dk-form [type=submit]")
    page.wait_for_selector("[data-field=one_ambiguity] [data-problems]:not([hidden])")
    if page.locator(".dk-take[data-side='1'][data-field=question]").count():
        page.click(".dk-take[data-side='1'][data-field=question]")
        assert page.input_value("#dk-question").startswith("Please tell me:")
    page.fill("#dk-question", WORDS)
    page.check("[name=one_ambiguity]")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector(".rs-save-saved")
    page.wait_for_function(
        "before => document.querySelector('[data-desk]')?.dataset.item !== before", arg=before
    )
    with sqlite3.connect(f"file:{filled.log}?mode=ro", uri=True) as connection:
        (row,) = connection.execute("SELECT value FROM judgments WHERE kind = 'ambik.pair'").fetchall()
    assert json.loads(row[0])["question"] == WORDS
    page.click(".rs-tabs >> text=Agreement")
    page.wait_for_selector(".dk-differing")
    with page.expect_download() as download:
        page.click("text=The pairs so far")
    assert WORDS in download.value.path().read_text("utf-8-sig")


def test_runs_are_chosen_and_compared(filled: Any, open_page: Any) -> None:
    page = open_page().page
    page.goto(f"{filled.url}/research/asking")
    runs = page.locator(".rs-runs [type=checkbox]:not([aria-label])")
    runs.first.wait_for()
    for checked in (True, False):
        page.set_checked(".rs-runs [type=checkbox] >> nth=0", checked)
        assert {box.is_checked() for box in runs.all()} == {checked}
    for run in ("kitchen", "binary"):
        page.check(f".rs-runs label:has-text('{run} ·') input")
    page.click("button:has-text('Compare')")
    page.wait_for_selector(".rs-chart svg.marks")
    assert page.locator(".rs-scores tbody tr").count() == 2
    assert "runs=kitchen" in page.url and "runs=binary" in page.url
    page.reload()
    page.wait_for_selector(".rs-chart svg.marks")
    assert page.locator(".rs-runs label input:checked").count() == 2


PLACES = (
    "/research?run=knowno",
    "/research?run=knowno-calibration&target=0.97",
    "/research?run=kitchen",
    f"/research?run={ANNOTATED}",
    "/research/desk?desk=pairs",
    f"/research/desk?desk=pairs&data={ANNOTATED}&tab=agreement",
    f"/research/desk?desk=pairs&data={ANNOTATED}&reviewer=yan",
    "/research/sets?run=study-robots-test",
    "/research/asking",
    "/research/asking?runs=kitchen&runs=knowno&runs=study-robots-test&by=both",
)
EPISODES = ("knowno", "lofreecp", "kitchen", "study-robots-test")


def every_place(page: Any, server: Any) -> Any:
    """Each page in turn, the first decision of some runs among them."""
    for place in PLACES:
        page.goto(f"{server.url}{place}")
        page.wait_for_selector("#ab-content h1")
        yield place
    for run in EPISODES:
        page.goto(f"{server.url}/research?run={run}&tab=dialogues")
        page.click(".rs-list a >> nth=0")
        page.wait_for_selector(".rs-dialogue")
        yield run


def test_every_page_keeps_the_accessibility_rules_and_fits_its_screen(filled: Any, open_page: Any) -> None:
    page = open_page(width=360, height=800).page
    aside = ", .rs-scroll, .rs-table-card, pre"
    with looking(page, broken_rules, widths=(360, 768, 1280), aside=aside, dark=True) as look:
        for _ in every_place(page, filled):
            look()
