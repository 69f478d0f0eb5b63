"""AmbiEnt on the researchers' pages in Chromium: consolidating, kinds of ambiguity, claims, runs, data."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from looking import broken_rules, looking

from simulator.ambient.data import load_examples

pytestmark = [pytest.mark.browser, pytest.mark.slow]

SCRIPT = Path(__file__).parents[1] / "ui" / "research" / "pairs.py"
LINGUISTS = "study-linguists-test"
CROWD = "study-crowd-test"
WORD = "unmistakably"


@pytest.fixture(scope="session")
def filled(desk: Any) -> Any:
    """The server's log with linguists, crowdworkers and models in it."""
    desk.fill(SCRIPT)
    return desk


def desk(page: Any, server: Any, validator: str, raters: int = 1) -> None:
    """From the start to the first example, by keyboard."""
    page.goto(f"{server.url}/research/consolidate")
    page.check(f"input[name=run][value={LINGUISTS}]")
    page.fill("[name=reviewer]", validator)
    page.select_option("[name=raters]", str(raters))
    page.press(".rs-start [type=submit]", "Enter")
    page.wait_for_selector("[data-judge=consolidation][data-item]")


def moved(page: Any, before: str | None, kind: str = "judge") -> None:
    page.wait_for_function(
        "([before, kind]) => document.querySelector(`[data-${kind}]`)?.dataset.item !== before",
        arg=[before, kind],
    )


def item(page: Any) -> str | None:
    return page.get_attribute("[data-judge]", "data-item")


def saved(page: Any, before: str | None) -> None:
    moved(page, before)
    page.wait_for_selector(".rs-save-saved")


def forms(server: Any, annotator: str, kind: str) -> list[dict[str, Any]]:
    query = "SELECT value FROM judgments WHERE annotator = ? AND kind = ? ORDER BY seq"
    with sqlite3.connect(f"file:{server.log}?mode=ro", uri=True) as connection:
        return [json.loads(value) for (value,) in connection.execute(query, [annotator, kind])]


def consolidate_all(page: Any) -> None:
    """Take over what the more careful linguist said, by keyboard alone, until nothing is left."""
    while page.locator("[data-judge][data-item]").count():
        before = item(page)
        careful = "l" if page.locator("[data-voice=left] .ra-rewrite").count() else "r"
        page.evaluate("document.activeElement.blur()")
        page.keyboard.press(careful)
        page.keyboard.press("Control+Enter")
        saved(page, before)


def two_annotations_become_one_row_of_the_dataset(filled: Any, open_page: Any, tmp_path: Path) -> None:
    page = open_page().page
    desk(page, filled, "val")
    left, right = page.locator("[data-voice=left]"), page.locator("[data-voice=right]")
    one, other = left.bounding_box(), right.bounding_box()
    assert one and other and one["y"] == other["y"] and one["x"] + one["width"] <= other["x"]
    assert left.locator(".ae-tag").count() != right.locator(".ae-tag").count()
    assert page.locator(".ra-rewrite ins").count() >= 1
    # An empty form is refused, at its field.
    page.click(".ra-form [type=submit]")
    page.wait_for_selector("[data-problems=labels]:not([hidden])")
    # One rewrite is taken over and made sharper; the second label still lacks a reading.
    side = "left" if left.locator(".ra-rewrite").count() else "right"
    page.click(f"[data-voice={side}] [data-act=ra-take] >> nth=0")
    assert page.locator(".ra-form [name=labels]:checked").count() == 1
    page.click(f"[data-voice={side}] [data-act=ra-take] >> nth=1")
    assert page.locator("[data-card]:visible").count() == 2
    pair = json.loads(page.get_attribute("[data-judge]", "data-pair"))
    texts = {name: page.input_value(f"[data-card='0'] [data-card-text={name}]") for name in pair}
    changed = next(name for name, text in texts.items() if text != pair[name])
    field = page.locator(f"[data-card='0'] [data-card-text={changed}]")
    field.fill(pair[changed])
    page.keyboard.press("Control+Enter")
    page.wait_for_selector(f"[data-problems='{changed}']:not([hidden])")
    assert "Only one rewrite changes" in page.locator(f"[data-problems='{changed}']").inner_text()
    assert forms(filled, "val", "ambient.consolidation") == []
    field.fill(f"{texts[changed].rstrip('.')}, {WORD}.")
    assert WORD in page.locator(f"[data-card='0'] [data-diff={changed}] ins").last.inner_text()
    page.check("[name=checklist] >> nth=3")
    page.fill("#ra-note", f"Sharper: {WORD}")
    # What was filled in outlasts a reload.
    page.reload()
    page.wait_for_selector("[data-card]:visible")
    assert WORD in page.input_value(f"[data-card='0'] [data-card-text={changed}]")
    before = item(page)
    page.focus("#ra-note")
    page.keyboard.press("Control+Enter")
    saved(page, before)
    (form,) = forms(filled, "val", "ambient.consolidation")
    assert WORD in form["rewrites"][0][changed]
    assert form["comment"] == f"Sharper: {WORD}"
    assert form["checklist"] == ["one_label_each"]
    consolidate_all(page)
    page.click("text=Progress and export >> nth=0")
    page.wait_for_selector(".ra-flow")
    told = page.locator(".ra-flow desc").text_content()
    assert "discarded by a linguist 1" in told and "in the dataset 5" in told
    with page.expect_download() as download:
        page.click("text=The dataset so far")
    path = tmp_path / "consolidated.jsonl"
    download.value.save_as(path)
    examples = load_examples(path)
    assert len(examples) == 5
    assert all(one.ambiguous and len(one.labels) > 1 for one in examples)
    assert sum(WORD in each.sentence(changed) for one in examples for each in one.disambiguations) == 1


def a_second_validator_is_blind_and_a_third_decides(filled: Any, open_page: Any) -> None:
    page = open_page().page
    heard: list[str] = []
    page.on(
        "response",
        lambda seen: heard.append(seen.text()) if "queue" in seen.url or "component" in seen.url else None,
    )
    desk(page, filled, "wu", raters=2)
    wanted = 5
    for _ in range(wanted):
        before = item(page)
        page.evaluate("document.activeElement.blur()")
        page.keyboard.press("1")
        assert page.locator(".ra-form [name=labels]:checked").count() == 1
        page.click(".ra-form [type=submit]")
        saved(page, before)
    assert len(forms(filled, "wu", "ambient.consolidation")) == wanted
    assert all(WORD not in said and "Validator val" not in said for said in (page.content(), *heard))
    page.click("text=Agreement >> nth=0")
    page.wait_for_selector(".ra-differing")
    assert page.locator(".ra-differing > li").count() == wanted
    page.wait_for_selector(".ra-measures")
    page.goto(f"{filled.url}/research/consolidate?run={LINGUISTS}&reviewer=xi&raters=2&tab=decide")
    page.wait_for_selector("[data-voice=o1]")
    assert "Validator val" in page.locator("[data-voice=o0]").inner_text()
    before = item(page)
    page.click("[data-voice=o0] [data-act=ra-take-all]")
    page.click(".ra-form [type=submit]")
    saved(page, before)
    assert [form["decides"] for form in forms(filled, "xi", "ambient.consolidation")] == [True]


def a_pair_is_discarded_and_the_last_form_changed(filled: Any, open_page: Any) -> None:
    page = open_page().page
    desk(page, filled, "yo", raters=4)
    first = item(page)
    page.click(".ra-later")
    moved(page, first)
    before = item(page)
    page.check("[name=discard][value=incoherent]")
    page.click(".ra-form [type=submit]")
    saved(page, before)
    assert forms(filled, "yo", "ambient.consolidation")[-1]["discard"] == "incoherent"
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("u")
    page.wait_for_selector(f"[data-judge][data-item='{before}']")
    assert page.is_checked("[name=discard][value=incoherent]")
    page.check("[name=discard][value='']")
    page.keyboard.press("2")
    page.click(".ra-form [type=submit]")
    saved(page, before)
    assert forms(filled, "yo", "ambient.consolidation")[-1]["labels"] == ["neutral"]


def kinds_are_sorted_by_two_and_exported(filled: Any, open_page: Any) -> None:
    page = open_page().page
    data = f"run:{LINGUISTS}"
    sorted_by_first = 0
    for annotator, keys in (("cat", "14"), ("dog", "1")):
        page.goto(f"{filled.url}/research/desk?desk=kinds")
        page.check(f"[name=data][value='{data}']")
        page.fill("[name=reviewer]", annotator)
        page.click(".rs-start [type=submit]")
        page.wait_for_selector("[data-desk]")
        while page.locator("[data-desk][data-item]").count():
            before = page.get_attribute("[data-desk]", "data-item")
            page.evaluate("document.activeElement.blur()")
            for key in keys:
                page.keyboard.press(key)
            if len(keys) > 1:
                page.wait_for_selector("[data-several]:not([hidden])")
                if sorted_by_first == 0:
                    page.check("[name=several][value=one]")
                sorted_by_first += 1
            page.keyboard.press("Control+Enter")
            moved(page, before, "desk")
            page.wait_for_selector(".rs-save-saved")
    said = [form["categories"] for form in forms(filled, "cat", "ambient.category")]
    assert said[0] == ["lexical"]
    assert all(one == ["lexical", "pragmatic"] for one in said[1:])
    page.click(".rs-tabs >> text=Agreement")
    page.wait_for_selector("caption:has-text('Mentions of kinds')")
    with page.expect_download() as download:
        page.click("text=Settled examples")
    rows = [json.loads(line) for line in download.value.path().read_text("utf-8").splitlines()]
    assert [row["category"] for row in rows] == ["lexical"]


def test_from_two_annotations_to_sorted_examples(filled: Any, open_page: Any, tmp_path: Path) -> None:
    """Each step builds on what the one before has put into the log."""
    two_annotations_become_one_row_of_the_dataset(filled, open_page, tmp_path)
    a_second_validator_is_blind_and_a_third_decides(filled, open_page)
    a_pair_is_discarded_and_the_last_form_changed(filled, open_page)
    kinds_are_sorted_by_two_and_exported(filled, open_page)


def test_claims_are_marked_and_flags_measured(filled: Any, open_page: Any) -> None:
    page = open_page().page
    page.goto(f"{filled.url}/research/desk?desk=claims")
    page.fill("[name=reviewer]", "rev")
    page.click(".rs-start [type=submit]")
    page.wait_for_selector("[data-desk][data-item]")
    for key, note in (("1", "It may be one fee or both."), ("2", "")):
        before = page.get_attribute("[data-desk]", "data-item")
        page.evaluate("document.activeElement.blur()")
        page.keyboard.press(key)
        page.fill("#dk-note", note)
        page.reload()  # what is not sent yet is kept
        page.wait_for_selector("[data-desk][data-item] input:checked")
        assert page.input_value("#dk-note") == note
        page.keyboard.press("Control+Enter")
        moved(page, before, "desk")
    page.wait_for_selector(".rs-progress-text:has-text('2 of 4')")
    assert [form["marks"] for form in forms(filled, "rev", "ambient.claim")] == [["a"], ["f"]]
    page.click(".rs-tabs >> text=Agreement")
    page.wait_for_selector(".rs-scores .rs-value:has-text('50.0')")


def test_from_the_diagram_to_an_example(filled: Any, open_page: Any) -> None:
    page = open_page().page
    page.goto(f"{filled.url}/research/data?benchmark=ambient")
    page.wait_for_selector(".rs-figure img")
    page.select_option("#rs-f-labels", label="Entailment + Neutral")
    page.click(".rs-filters [type=submit]")
    page.wait_for_function("document.querySelectorAll('.rs-list li').length < 60")
    page.click(".rs-list a >> nth=0")
    page.wait_for_selector(".bl-revision ins")
    assert page.locator(".bl-revision").count() >= 2


def test_a_histogram_of_log_odds(filled: Any, open_page: Any) -> None:
    page = open_page().page
    page.goto(f"{filled.url}/research?run=continue&tab=dialogues")
    page.click(".rs-list a >> nth=0")
    page.wait_for_selector("[data-figure^=log-odds] svg.main-svg")


PLACES = (
    "/research/data?benchmark=ambient",
    "/research/data?benchmark=ambient&item=b001",
    "/research/consolidate",
    f"/research/consolidate?run={LINGUISTS}&reviewer=zoe&raters=9",
    f"/research/consolidate?run={LINGUISTS}&tab=agreement&raters=2",
    f"/research/consolidate?run={LINGUISTS}&tab=flow",
    "/research/desk?desk=kinds",
    "/research/desk?desk=kinds&data=builtin&reviewer=zoe",
    f"/research/desk?desk=kinds&tab=agreement&data=run:{LINGUISTS}",
    "/research/desk?desk=claims",
    "/research/desk?desk=claims&data=claims&reviewer=zoe",
    "/research?run=generate",
    f"/research?run={CROWD}",
    f"/research?run={CROWD}&tab=people",
    f"/research?run={LINGUISTS}&tab=people",
)
EPISODES = ("generate", "true-false", "continue", "nli", "evaluate", "claims", LINGUISTS, CROWD)


def every_place(page: Any, server: Any) -> Any:
    """Each page in turn; in the desk with rewrites, problems and all."""
    for place in PLACES:
        page.goto(f"{server.url}{place}")
        page.wait_for_selector("#ab-content h1")
        if "consolidate" in place and "reviewer" in place:
            page.wait_for_selector("[data-voice=left]")
            side = "left" if page.locator("[data-voice=left] .ra-rewrite").count() else "right"
            page.click(f"[data-voice={side}] [data-act=ra-take] >> nth=0")
            page.click(".ra-form label:has([name=labels]:not(:checked)) >> nth=0")
            page.click(".ra-form [type=submit]")
            page.wait_for_selector("[data-problems]:not([hidden])")
        yield place
    for run in EPISODES:
        page.goto(f"{server.url}/research?run={run}&tab=dialogues")
        page.click(".rs-list a >> nth=0")
        page.wait_for_selector(".rs-dialogue")
        yield run


def test_every_page_keeps_the_accessibility_rules_and_fits_its_screen(filled: Any, open_page: Any) -> None:
    page = open_page(width=360, height=800).page
    aside = ", .rs-scroll, .bl-scroll, .rs-table-card, pre"
    with looking(page, broken_rules, widths=(360, 768, 1280), aside=aside, dark=True) as look:
        for _ in every_place(page, filled):
            look()
