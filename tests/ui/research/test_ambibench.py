"""AmbiBench for researchers: runs, episodes, studies."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from letters import NAMING, STUDY, begin
from markup import checked, office_at, page_at, words

from simulator import catalog
from simulator.ambibench.data import load_items
from simulator.ambibench.features import Setting
from simulator.ambibench.files import item_line
from simulator.ambibench.items import item_record
from simulator.frames import Frames
from simulator.reports import build_report
from simulator.stats import Interval
from ui.research.office import Office


@pytest.fixture
def log(letters_log: Office) -> Office:
    return letters_log


def page(calls: Office, query: str = "", path: str = "/research", language: str = "en") -> dict[str, Any]:
    return checked(page_at(calls, path, query, language))


RUNS = ("oracle", "random", "told", "tables", NAMING, "buckets", "people", STUDY)


@pytest.mark.parametrize("language", ["en", pytest.param("zh", marks=pytest.mark.slow)])
@pytest.mark.parametrize("run", RUNS)
def test_every_run_has_its_scores_and_episodes(log: Office, run: str, language: str) -> None:
    scores = page(log, f"run={run}", language=language)
    assert "research." not in words(scores)
    assert "rs-scores" in scores["html"]
    episodes = page(log, f"run={run}&tab=dialogues", language=language)
    count = len(log.reader.episodes(run))
    assert len(re.findall("<li><a href=", episodes["html"])) == count
    for episode in log.reader.episodes(run):
        shown = page(log, f"run={run}&tab=dialogues&episode={episode.id}", language=language)
        assert "research." not in words(shown)
        assert "<b>hard</b>" not in shown["html"]


def test_the_numbers_are_those_of_the_report(log: Office) -> None:
    report = build_report(catalog.find("ambibench"), Frames(log=log.reader, runs=("random",)))
    visible = words(page(log, "run=random")).replace("−", "-")
    cells = [
        cell for section in report.sections for table in section.tables for row in table.rows for cell in row
    ]
    intervals = [cell for cell in cells if isinstance(cell, Interval) and cell.low is not None]
    assert len(intervals) > 10
    shown = [float(number) for number in re.findall(r"(-?\d+\.\d+) \[", visible)]
    assert all(any(abs(number - interval.value) <= 0.0051 for number in shown) for interval in intervals)


def test_the_oracle_is_in_the_curve_on_both_grounds(log: Office) -> None:
    figures = [json.loads(figure["plot"]) for figure in page(log, "run=tables")["figures"]]
    panels = (panel for figure in figures for panel in figure["concat"])
    names = {row["series"] for panel in panels for row in panel["data"]["values"]}
    assert {"some/model", "oracle (exact)"} <= names


@pytest.mark.parametrize("tie", ["half", "wrong"])
def test_a_setting_of_the_report_is_that_of_the_command(log: Office, tie: str) -> None:
    answer = page(log, f"run=tables&s.tie={tie}&s.trials=/tmp/never&s.from_files=/tmp/never&s.no=1")
    assert f"askback report ambibench tables --tie={tie}" in words(answer)
    assert "--trials" not in words(answer)  # no page writes a file
    assert f"<p>{tie}</p>" in answer["html"]  # the field says what was chosen
    assert "rs-empty" in page(log, "run=tables&s.tie=never")["html"]


def test_an_episode_shows_tokens_and_what_was_still_possible(log: Office) -> None:
    episode = log.reader.episodes("tables")[0]
    shown = page(log, f"run=tables&tab=dialogues&episode={episode.id}")
    trials = shown["html"].split("Trial by trial")[1].split("</table>")[0]
    assert trials.count("<tr") == 1 + 20
    assert "&lt;i&gt;the" in trials
    rows = re.findall(r'<svg class="bl-bars-row.*?</svg>', shown["html"], re.DOTALL)
    heights = [[float(height) for height in re.findall(r'height="([\d.]+)"', row)] for row in rows]
    assert len(heights) == 4
    for shares in zip(*heights, strict=True):
        assert sum(shares) == pytest.approx(1, abs=0.01)


def test_an_instruction_asks_for_one_answer(log: Office) -> None:
    episode = log.reader.episodes("told")[0]
    shown = page(log, f"run=told&tab=dialogues&episode={episode.id}")
    assert words(shown).count("given, not asked") == 2


@pytest.mark.parametrize("setting", ["multiple", "verbalise", "aws"])
def test_data_can_be_browsed(log: Office, tmp_path: Path, setting: Setting) -> None:
    file, items = tmp_path / "items.jsonl", load_items(setting=setting)[:3]
    file.write_text("\n".join(map(item_line, items)), encoding="utf-8")
    for language in ("en", "zh"):
        shown = page(log, f"benchmark=ambibench&data={file}&item={items[1].id}", "/research/data", language)
        assert len(re.findall("<li><a href=", shown["html"])) == 3
        assert "research." not in words(shown)
        assert item_record(items[1])["prompt"].splitlines()[-2] in unescape(shown["html"])
    assert "1 080 of 2 160 items" in words(page(log, "benchmark=ambibench&f.format=qa", "/research/data"))


def test_flagged_sessions_are_counted_and_left_out_beside(log: Office) -> None:
    visible = words(page(log, "run=people"))
    assert "People's sessions and accuracy" in visible.replace("&#39;", "'")
    assert "without flagged" in visible


def test_the_run_of_a_study_leads_to_it(log: Office) -> None:
    assert "/research/studies?study=ambibench-multiple" in page(log, f"run={STUDY}")["html"]
    assert "studies?study=" not in page(log, "run=oracle")["html"]
    chinese = page(log, "study=ambibench-multiple", "/research/studies", "zh")["html"]
    assert "参与者 <code>person</code>" in chinese


@pytest.mark.parametrize(
    "filters", ["f.salient_task=subject", "f.format=qa", "outcome=failure", "text=no-such-name"]
)
def test_episodes_are_filtered(log: Office, filters: str) -> None:
    every = len(log.reader.episodes("random"))
    answer = page(log, f"run=random&tab=dialogues&{filters}")
    listed = len(re.findall("<li><a href=", answer["html"]))
    assert f"{listed} of {every}" in words(answer)
    assert listed < every
    if filters.startswith("text"):
        assert listed == 0
        assert "No episode fits" in words(answer)


def test_what_there_is_not_is_said(log: Office, bench: Any) -> None:
    assert "no episode" in words(page(log, "run=random&tab=dialogues&episode=nowhere"))
    begin(bench.writer, "bare", "some/model", 3)
    visible = words(page(office_at(bench.writer, bench.reader), "run=bare"))
    assert "0 of" in visible
