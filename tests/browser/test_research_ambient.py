"""AmbiEnt on the researchers' pages in Chromium: consolidating, kinds of ambiguity, claims, runs, data."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from looking import broken_rules, choose, looking

from simulator.ambient.data import load_examples

pytestmark = [pytest.mark.browser, pytest.mark.slow]

SCRIPT = Path(__file__).parents[1] / "ui" / "research" / "pairs.py"
LINGUISTS = "study-linguists-test"
CROWD = "study-crowd-test"
WORD = "unmistakably"


@pytest.fixture(scope="session")
def filled(desk: Any) -> Any:
    """Return a server whose log contains linguists, crowdworkers and models."""
    desk.fill(SCRIPT)
    return desk


def desk(page: Any, server: Any, validator: str, raters: int = 1) -> None:
    """Go from the start to the first example, by keyboard."""
    page.goto(f"{server.url}/research/desk?desk=consolidation")
    page.check(f"input[name=data][value={LINGUISTS}]")
    page.fill("[name=reviewer]", validator)
    page.select_option("[name=raters]", str(raters))
    page.press(".rs-start [type=submit]", "Enter")
    page.wait_for_selector("[data-desk][data-item]")


def moved(page: Any, before: str | None) -> None:
    page.wait_for_function(
        "before => document.querySelector('[data-desk]')?.dataset.item !== before", arg=before
    )


def item(page: Any) -> str | None:
    return page.get_attribute("[data-desk]", "data-item")


def saved(page: Any, before: str | None) -> None:
    moved(page, before)
    page.wait_for_selector(".rs-save-saved")


def careful(page: Any) -> int:
    """Return the number of the linguist who wrote rewrites."""
    return 0 if page.locator("[data-offer='0'] .dk-entry").count() else 1


def forms(server: Any, annotator: str, kind: str) -> list[dict[str, Any]]:
    query = "SELECT value FROM judgments WHERE annotator = ? AND kind = ? ORDER BY seq"
    with sqlite3.connect(f"file:{server.log}?mode=ro", uri=True) as connection:
        return [json.loads(value) for (value,) in connection.execute(query, [annotator, kind])]


def consolidate_all(page: Any) -> None:
    """Accept the more careful linguist's form for all examples, by keyboard."""
    while page.locator("[data-desk][data-item]").count():
        before = item(page)
        page.evaluate("document.activeElement.blur()")
        page.keyboard.press("lr"[careful(page)])
        page.keyboard.press("Control+Enter")
        saved(page, before)


def two_annotations_become_one_row_of_the_dataset(filled: Any, open_page: Any, tmp_path: Path) -> None:
    page = open_page().page
    desk(page, filled, "val")
    left, right = page.locator("[data-offer='0']"), page.locator("[data-offer='1']")
    first, other = left.bounding_box(), right.bounding_box()
    assert first and other and first["y"] == other["y"] and first["x"] + first["width"] <= other["x"]
    assert left.locator(".rs-chip").count() != right.locator(".rs-chip").count()
    assert page.locator(".dk-entry ins").count() >= 1
    # An empty form is refused, at its field.
    page.click(".dk-form [type=submit]")
    page.wait_for_selector("[data-field=labels] [data-problems]:not([hidden])")
    # One rewrite is taken over and made sharper; the second label still lacks a reading.
    side = careful(page)
    page.click(f"[data-offer='{side}'] [data-entry-number='0']")
    assert page.locator(".dk-form [name=labels]:checked").count() == 1
    page.click(f"[data-offer='{side}'] [data-entry-number='1']")
    assert page.locator("[data-entry]:visible").count() == 2
    fields = {name: f"[name='rewrites[0].{name}']" for name in ("premise", "hypothesis")}
    pair = {name: page.eval_on_selector(at, "field => field.defaultValue") for name, at in fields.items()}
    texts = {name: page.input_value(at) for name, at in fields.items()}
    changed = next(name for name, text in texts.items() if text != pair[name])
    field = page.locator(fields[changed])
    field.fill(pair[changed])
    page.keyboard.press("Control+Enter")
    problems = page.locator("[data-list=rewrites] > [data-problems]")
    problems.wait_for()
    assert "Only one rewrite changes" in problems.inner_text()
    assert forms(filled, "val", "ambient.consolidation") == []
    field.fill(f"{texts[changed].rstrip('.')}, {WORD}.")
    assert WORD in page.locator(f"[data-after='rewrites[0].{changed}'] ins").last.inner_text()
    page.check("[name=checklist] >> nth=3")
    page.fill("#dk-comment", f"Sharper: {WORD}")
    # What was filled in outlasts a reload.
    page.reload()
    page.wait_for_selector("[data-entry]:visible")
    assert WORD in page.input_value(fields[changed])
    before = item(page)
    page.focus("#dk-comment")
    page.keyboard.press("Control+Enter")
    saved(page, before)
    (form,) = forms(filled, "val", "ambient.consolidation")
    assert WORD in form["rewrites"][0][changed]
    assert form["comment"] == f"Sharper: {WORD}"
    assert form["checklist"] == ["one_label_each"]
    consolidate_all(page)
    page.click(".rs-tabs >> text=Agreement")
    page.wait_for_selector(".rs-picture")
    caption = page.locator(".rs-figure figcaption").inner_text()
    assert "1 discarded by a linguist" in caption and "5 validated" in caption
    with page.expect_download() as download:
        page.click("text=The dataset so far")
    path = tmp_path / "consolidated.jsonl"
    download.value.save_as(path)
    examples = load_examples(path)
    assert len(examples) == 5
    assert all(example.ambiguous and len(example.labels) > 1 for example in examples)
    assert (
        sum(WORD in each.sentence(changed) for example in examples for each in example.disambiguations) == 1
    )


def a_second_validator_is_blind_and_a_third_decides(filled: Any, open_page: Any) -> None:
    page = open_page().page
    heard: list[str] = []
    page.on(
        "response",
        lambda seen: heard.append(seen.text()) if "queue" in seen.url or "component" in seen.url else None,
    )
    desk(page, filled, "wu", raters=2)
    number = 5
    for _ in range(number):
        before = item(page)
        page.evaluate("document.activeElement.blur()")
        page.keyboard.press("1")
        assert page.locator(".dk-form [name=labels]:checked").count() == 1
        page.click(".dk-form [type=submit]")
        saved(page, before)
    assert len(forms(filled, "wu", "ambient.consolidation")) == number
    assert all(WORD not in body and "Rater val" not in body for body in (page.content(), *heard))
    page.click(".rs-tabs >> text=Agreement")
    page.wait_for_selector(".dk-differing")
    assert page.locator(".dk-differing tbody tr").count() == number
    page.wait_for_selector(".rs-scores:has-text('Identical sets')")
    asked = f"desk=consolidation&data={LINGUISTS}&reviewer=xi&raters=2&tab=decide"
    page.goto(f"{filled.url}/research/desk?{asked}")
    page.wait_for_selector("[data-offer='3']")
    assert "Rater val" in page.locator("[data-offer='2']").inner_text()
    before = item(page)
    page.click("[data-offer='2'] header [data-act=dk-take]")
    page.click(".dk-form [type=submit]")
    saved(page, before)
    assert [form["decides"] for form in forms(filled, "xi", "ambient.consolidation")] == [True]


def a_pair_is_discarded_and_the_last_form_changed(filled: Any, open_page: Any) -> None:
    page = open_page().page
    desk(page, filled, "yo", raters=4)
    first = item(page)
    page.click("text=Skip for now")
    moved(page, first)
    before = item(page)
    page.check("[name=discard][value=incoherent]")
    page.click(".dk-form [type=submit]")
    saved(page, before)
    assert forms(filled, "yo", "ambient.consolidation")[-1]["discard"] == "incoherent"
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("u")
    page.wait_for_selector(f"[data-desk][data-item='{before}']")
    assert page.is_checked("[name=discard][value=incoherent]")
    page.check("[name=discard][value=keep]")
    page.keyboard.press("2")
    page.click(".dk-form [type=submit]")
    saved(page, before)
    assert forms(filled, "yo", "ambient.consolidation")[-1]["labels"] == ["neutral"]


def what_was_written_for_a_label_comes_back_with_it(filled: Any, open_page: Any) -> None:
    page = open_page().page
    desk(page, filled, "za", raters=5)
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("lr"[careful(page)])
    shown = page.locator("[data-entry]:visible")
    assert shown.count() == 2
    texts = [field.input_value() for field in shown.locator("textarea").all()]
    label = page.locator(".dk-form [name=labels]:checked").last
    at = f"[name=labels][value={label.get_attribute('value')}]"
    page.uncheck(at)
    assert shown.count() == 0, "a pair with one label has nothing to rewrite"
    page.reload()
    page.wait_for_selector("[data-desk][data-item]")
    page.check(at)
    assert [field.input_value() for field in shown.locator("textarea").all()] == texts
    # What both linguists say stands there once, and places are limited.
    page.evaluate("document.activeElement.blur()")
    for key in "lraaa":
        page.keyboard.press(key)
        page.evaluate("document.activeElement.blur()")
    assert shown.count() == 4
    assert page.locator("[data-act=fm-add]").is_disabled()


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
                page.wait_for_selector("[data-field=several]:not([hidden])")
                if sorted_by_first == 0:
                    page.check("[name=several][value=one]")
                sorted_by_first += 1
            page.keyboard.press("Control+Enter")
            moved(page, before)
            page.wait_for_selector(".rs-save-saved")
    answers = [form["categories"] for form in forms(filled, "cat", "ambient.category")]
    assert answers[0] == ["lexical"]
    assert all(kinds == ["lexical", "pragmatic"] for kinds in answers[1:])
    page.click(".rs-tabs >> text=Agreement")
    page.wait_for_selector("caption:has-text('Mentions of kinds')")
    with page.expect_download() as download:
        page.click("text=Settled examples")
    rows = [json.loads(line) for line in download.value.path().read_text("utf-8").splitlines()]
    assert [row["category"] for row in rows] == ["lexical"]


def test_from_two_annotations_to_sorted_examples(filled: Any, open_page: Any, tmp_path: Path) -> None:
    """Each step uses what the previous one has logged."""
    two_annotations_become_one_row_of_the_dataset(filled, open_page, tmp_path)
    a_second_validator_is_blind_and_a_third_decides(filled, open_page)
    a_pair_is_discarded_and_the_last_form_changed(filled, open_page)
    what_was_written_for_a_label_comes_back_with_it(filled, open_page)
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
        moved(page, before)
    page.wait_for_selector(".rs-progress-text:has-text('2 of 4')")
    assert [form["marks"] for form in forms(filled, "rev", "ambient.claim")] == [["a"], ["f"]]
    page.click(".rs-tabs >> text=Agreement")
    page.wait_for_selector(".rs-scores .rs-value:has-text('50.0')")


def test_from_the_diagram_to_an_example(filled: Any, open_page: Any) -> None:
    page = open_page().page
    page.goto(f"{filled.url}/research/data?benchmark=ambient")
    page.wait_for_selector(".rs-figure img")
    choose(page, "Labels", "Entailment + Neutral")
    page.wait_for_function("document.querySelectorAll('.rs-list li').length < 60")
    page.click(".rs-list a >> nth=0")
    page.wait_for_selector(".bl-revision ins")
    assert page.locator(".bl-revision").count() >= 2


def test_a_histogram_of_log_odds(filled: Any, open_page: Any) -> None:
    page = open_page().page
    page.goto(f"{filled.url}/research?run=continue&tab=dialogues")
    page.click(".rs-list a >> nth=0")
    page.wait_for_selector(".rs-chart svg.marks")


PLACES = (
    "/research/data?benchmark=ambient",
    "/research/data?benchmark=ambient&item=b001",
    "/research/desk?desk=consolidation",
    f"/research/desk?desk=consolidation&data={LINGUISTS}&reviewer=zoe&raters=5",
    f"/research/desk?desk=consolidation&data={LINGUISTS}&tab=agreement&raters=2",
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
    """Yield each page, the desk also with rewrites and problems."""
    for place in PLACES:
        page.goto(f"{server.url}{place}")
        page.wait_for_selector("#ab-content h1")
        if "consolidation" in place and "reviewer" in place:
            page.wait_for_selector("[data-offer='0']")
            page.click("[data-entry-number='0']")
            page.click(".dk-form label:has([name=labels]:not(:checked)) >> nth=0")
            page.click(".dk-form [type=submit]")
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
