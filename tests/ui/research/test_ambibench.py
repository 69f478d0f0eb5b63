"""AmbiBench for researchers: runs, episodes, studies."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from letters import NAMING, STUDY, begin, write
from markup import checked, words

from simulator.ambibench.generation import generate_multiple
from simulator.ambibench.reporting.pages import sections
from simulator.ambibench.reporting.report import read_results
from ui.research.ambibench_desk import ReportRequest, Reports
from ui.research.calls import Calls
from ui.research.desk import Desk


@pytest.fixture
def log(letters_log: Calls) -> Calls:
    return letters_log


def page(calls: Calls, query: str = "", path: str = "/research", language: str = "en") -> dict[str, Any]:
    answer = calls.page({"path": path, "query": query, "language": language})
    return checked(answer)


RUNS = ("oracle", "random", "told", "tables", NAMING, "buckets", "people", STUDY)


@pytest.mark.parametrize("language", ["en", pytest.param("zh", marks=pytest.mark.slow)])
@pytest.mark.parametrize("run", RUNS)
def test_every_run_has_its_scores_and_episodes(log: Calls, run: str, language: str) -> None:
    scores = page(log, f"run={run}", language=language)
    assert "research." not in words(scores)
    places = re.findall(r'data-figure="([\w.-]+)"', scores["html"])
    assert set(places) == set(scores["figures"])
    episodes = page(log, f"run={run}&tab=dialogues", language=language)
    count = len(log.desk.reader.episodes(run))
    assert len(re.findall("<li><a href=", episodes["html"])) == count
    for one in log.desk.reader.episodes(run):
        shown = page(log, f"run={run}&tab=dialogues&episode={one.id}", language=language)
        assert "research." not in words(shown)
        assert shown["html"].count("<b>hard</b>") == 0


def test_the_numbers_are_those_of_the_report(log: Calls) -> None:
    (section,) = sections(read_results(log.desk.reader, ["random"]).frame)
    said = words(page(log, "run=random"))
    for row in section.rows.itertuples():
        for one in (row.correct, row.valid, row.oracle):
            assert f"{one.value:.3f} [{one.low:.3f}, {one.high:.3f}]" in said
    assert set(section.rows["group"]) == {"all", "feature", "format"}


def test_the_oracle_is_in_the_curve_on_both_grounds(log: Calls) -> None:
    figure = json.loads(json.dumps(page(log, "run=random")["figures"]["curve-multiple"]))
    for ground in ("light", "dark"):
        names = {trace["name"] for trace in figure[ground]["data"]}
        assert {"offline/random", "oracle (exact)", "oracle (these episodes)"} <= names
    assert figure["light"]["layout"]["font"] != figure["dark"]["layout"]["font"]


def test_an_episode_shows_tokens_and_what_was_still_possible(log: Calls) -> None:
    episode = log.desk.reader.episodes("tables")[0]
    shown = page(log, f"run=tables&tab=dialogues&episode={episode.id}")
    assert shown["html"].count("data-moment=") == 20
    assert shown["html"].count("data-why=") == 20
    assert "&lt;i&gt;the" in shown["html"] or "\\u003ci\\u003ethe" in shown["html"]
    data = shown["figures"]["posterior"]["light"]["data"]
    stacked = [trace for trace in data if trace["type"] == "bar"]
    assert len(stacked) == 4
    for values in zip(*(trace["y"] for trace in stacked), strict=True):
        assert sum(values) == pytest.approx(1)
    assert {"oracle", "some/model"} <= {trace["name"] for trace in data}


def test_an_instruction_asks_for_one_answer(log: Calls) -> None:
    episode = log.desk.reader.episodes("told")[0]
    shown = page(log, f"run=told&tab=dialogues&episode={episode.id}")
    assert 'data-first="2"' in shown["html"]
    assert words(shown).count("given, not asked") == 2


def test_flagged_sessions_are_named_and_left_out_beside(log: Calls) -> None:
    said = words(page(log, "run=people"))
    assert "1 of 3 sessions are flagged" in said
    assert "Without them, accuracy is" in said
    assert "median answer below 0.8 s" in said
    flagged = page(log, "run=people&tab=dialogues&outcome=flagged")
    assert len(re.findall("<li><a href=", flagged["html"])) == 1
    nobody = words(page(log, f"run={STUDY}"))
    assert "fewer than 20 answers" in nobody
    assert "Without them, nobody is left." in nobody


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_study_tells_places_time_and_pay(log: Calls, language: str) -> None:
    answer = page(log, f"run={STUDY}&tab=study", language=language)
    said = words(answer)
    assert "research." not in said
    assert "12.50 USD" in said
    assert "2.50 USD" in said  # two have completed
    assert "3.75 USD" in said  # with the one under way
    assert len(re.findall(r"<tr><th", answer["html"])) == 6 + 1
    assert page(log, "run=oracle&tab=study")["html"].count("rl-cells") == 0


@pytest.mark.parametrize("filters", ["feature=subject", "format=qa", "outcome=wrong", "text=no-such-name"])
def test_episodes_are_filtered(log: Calls, filters: str) -> None:
    every = len(log.desk.reader.episodes("random"))
    answer = page(log, f"run=random&tab=dialogues&{filters}")
    found = len(re.findall("<li><a href=", answer["html"]))
    assert f"{found} of {every}" in words(answer)
    if filters.startswith("text"):
        assert found == 0
        assert "No episode fits" in words(answer)


def test_what_there_is_not_is_said(log: Calls, bench: Any) -> None:
    assert "no episode" in words(page(log, "run=random&tab=dialogues&episode=nowhere"))
    begin(bench.writer, "bare", "some/model", 3)
    said = words(page(Calls(Desk(bench.reader), bench.writer), "run=bare"))
    assert "No episode of this run has an answer yet" in said


def test_a_run_is_read_again_only_when_it_has_changed(bench: Any) -> None:
    items = generate_multiple(0, per_cell=1)
    write(bench.writer, "tables", "some/model", items[:1])
    reports = Reports(bench.reader)
    first = reports.report(ReportRequest(("tables",)))
    assert reports.report(ReportRequest(("tables",))) is first
    assert reports.report(ReportRequest(("tables",), labels=(("some/model", "best"),))) is not first
    write(bench.writer, "tables", "some/model", items[1:2], begun=True)
    assert len(reports.report(ReportRequest(("tables",))).trials) == 2 * len(first.trials)
