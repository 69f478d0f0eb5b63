"""AmbiK for researchers: runs under any target, decisions item by item."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from markup import office_at, page, page_at, words
from pots import ANNOTATED, CALIBRATION, KITCHEN, KNOWNO, LOFREE, MODEL, PEOPLE, RUNS, SECRET, fill

from logs import LogReader, LogWriter
from simulator.ambik.data import load_pairs
from simulator.ambik.measures import measures
from simulator.ambik.people_sets import compare_sets
from simulator.ambik.playing import Options
from simulator.ambik.predicting import calibrate
from simulator.ambik.reporting.exporting import form_lines
from simulator.ambik.reporting.results import outcomes_of, summary_section
from simulator.ambik.trial_log import decisions, options_of, read_run, run_at_target
from simulator.asking import read_asking
from simulator.commands.asking_measures import Row, rows
from simulator.errors import InputError
from simulator.handmethat.items import LEVELS
from trees.model import TASK_TYPES
from ui.i18n import strings
from ui.research import asking_page
from ui.research.address import DATA
from ui.research.asking_page import kind_name
from ui.research.downloads import run_file
from ui.research.office import Office

DECIDED = tuple(run for run in RUNS if run != ANNOTATED)


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Office]:
    """A log with `RUNS`; tests read it only."""
    path = tmp_path_factory.mktemp("pots") / "log.sqlite"
    with LogWriter(path, durable=False, group_seconds=0.001) as writer, LogReader(path) as reader:
        fill(writer, reader)
        yield office_at(writer, reader)


def listed(answer: dict[str, Any]) -> int:
    return len(re.findall("<li><a href=", answer["html"]))


@pytest.mark.parametrize("language", ["en", pytest.param("zh", marks=pytest.mark.slow)])
@pytest.mark.each("run", DECIDED)
def test_every_run_has_its_measures_and_decisions(log: Office, run: str, language: str) -> None:
    assert "rs-remarks" in page(log, f"run={run}", language=language)["html"]
    answer = page(log, f"run={run}&tab=dialogues", language=language)
    every = log.reader.episodes(run)
    assert listed(answer) == len(every)
    for episode in every[:2]:
        shown = page(log, f"run={run}&tab=dialogues&episode={episode.id}", language=language)
        assert 'class="bl-table' in shown["html"]
        assert SECRET not in shown["html"]


def test_the_numbers_are_those_of_the_measures(log: Office) -> None:
    summary = summary_section(log.reader, KNOWNO).data
    shown = words(page(log, f"run={KNOWNO}"))
    for row in summary["measures"].types:
        for measure in (row.hr, row.chr, row.icr):
            assert measure.interval is not None
            value, low, high, _ = measure.interval
            assert f"{value:.2f} [{low:.2f}, {high:.2f}]" in shown
    assert "The guarantee is marginal: it holds for items of this kind" in shown


@pytest.mark.parametrize("target", ["0.6", "0.93"])
def test_another_target_gives_what_a_run_with_it_would_have_given(log: Office, target: str) -> None:
    reader = log.reader
    given = dict(reader.run(KNOWNO).config["options"])
    again = Options.read({**given, "settings": {"target_success": float(target)}})
    calibrated = calibrate(decisions(reader, [CALIBRATION]), again.settings)
    under = run_at_target(read_run(reader, KNOWNO), target)
    assert under.calibrated is not None
    assert under.calibrated.q_hat == calibrated.q_hat
    assert not under.own
    shown = words(page(log, f"run={KNOWNO}&s.target_success={target}"))
    rate = measures(under.outcomes, under.settings).overall.hr.interval
    assert rate is not None
    assert f"{rate.value:.2f} [{rate.low:.2f}, {rate.high:.2f}]" in shown
    assert f"--target-success={target}" in shown
    query = f"run={KNOWNO}&tab=dialogues&s.target_success={target}"
    assert f"<p>{target}</p>" in page(log, query)["html"]
    (first, *_) = reader.episodes(KNOWNO)
    assert f"a target of {float(target):.2f}, not" in words(page(log, f"{query}&episode={first.id}"))


@pytest.mark.parametrize("target", ["", "nan", "soon", "0.8"])
def test_without_another_target_the_sets_are_the_run_s_own(log: Office, target: str) -> None:
    reader = log.reader
    under = run_at_target(read_run(reader, KNOWNO), target)
    own = outcomes_of(decisions(reader, [KNOWNO]), options_of(reader, KNOWNO))
    assert under.own
    assert [outcome.predicted for outcome in under.outcomes] == [outcome.predicted for outcome in own]
    assert [outcome.help for outcome in under.outcomes] == [outcome.help for outcome in own]


def test_more_is_asked_the_higher_the_target(log: Office) -> None:
    read = read_run(log.reader, KNOWNO)
    asked = [
        sum(outcome.help for outcome in run_at_target(read, target).outcomes)
        for target in ("0.2", "0.5", "0.8", "0.95")
    ]
    assert asked == sorted(asked)
    assert asked[0] < asked[-1]


def test_a_calibration_run_has_a_threshold_and_no_sets(log: Office) -> None:
    assert "is a calibration: it has no sets" in words(page(log, f"run={CALIBRATION}"))
    (first, *_) = log.reader.episodes(CALIBRATION)
    shown = page(log, f"run={CALIBRATION}&tab=dialogues&episode={first.id}")
    assert 'class="bl-table' in shown["html"]
    assert "in it" not in words(shown) and "in the set" not in words(shown)


def test_the_exchange_is_told_before_and_after(log: Office) -> None:
    exchange = summary_section(log.reader, KITCHEN).data["exchange"]
    shown = words(page(log, f"run={KITCHEN}"))
    for name in ("right before", "right after"):
        interval = exchange[name]
        assert interval is not None
        assert f"{interval.value:.2f} [{interval.low:.2f}, {interval.high:.2f}]" in shown


def test_both_members_of_a_pair_stand_side_by_side(log: Office) -> None:
    (first, *_) = log.reader.episodes(KNOWNO)
    answer = page(log, f"run={KNOWNO}&tab=dialogues&episode={first.id}")
    assert answer["html"].partition('class="fm-beside"')[2].count('class="bl-table') == 2
    assert "<ins>" in answer["html"] or "<del>" in answer["html"]
    decision = decisions(log.reader, [KNOWNO])[0]
    shown = words(answer)
    for text in decision.options.values():
        assert text in shown
    assert "Prompt: generate" in shown and "Output: generate" in shown


def test_sampled_answers_are_counted(log: Office) -> None:
    decision = decisions(log.reader, [LOFREE])[0]
    shown = words(page(log, f"run={LOFREE}&tab=dialogues&episode={decision.episode_id}"))
    for text, count in decision.samples.items():
        assert f"{text} × {count}" in shown


@pytest.mark.parametrize(
    ("first", "second"),
    [(f"f.{name}=yes", f"f.{name}=no") for name in ("asks", "as_needed", "covered")],
)
def test_filters_part_the_decisions(log: Office, first: str, second: str) -> None:
    counts = [listed(page(log, f"run={KNOWNO}&tab=dialogues&{query}")) for query in (first, second)]
    assert all(counts)
    assert sum(counts) == len(log.reader.episodes(KNOWNO))


def test_types_and_words_part_them_too(log: Office) -> None:
    clear = page(log, f"run={KNOWNO}&tab=dialogues&f.type=unambiguous_direct")
    assert listed(clear) == len(log.reader.episodes(KNOWNO)) / 2
    assert listed(page(log, f"run={KNOWNO}&tab=dialogues&text=no-such-text")) == 0
    task = decisions(log.reader, [KNOWNO])[0].item.instruction
    assert listed(page(log, f"run={KNOWNO}&tab=dialogues&text={quote(task)}")) >= 1


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_strange_episode_is_told(log: Office, language: str) -> None:
    query = f"run={KNOWNO}&tab=dialogues&episode=x"
    answer = page_at(log, "/research", query, language)
    assert strings(language)("problem.no_episode", episode="x") in words(answer)


def test_seats_are_named_in_the_page_s_language(log: Office) -> None:
    assert "机器人 openai/gpt-test 用户 offline/item" in words(page(log, f"run={KNOWNO}", language="zh"))
    assert "标注者 person" in words(page(log, f"run={ANNOTATED}", language="zh"))


def test_annotators_are_sent_to_their_page(log: Office) -> None:
    assert f"/research/desk?desk=pairs&amp;data={ANNOTATED}" in page(log, f"run={ANNOTATED}")["html"]


# ---- asking


@pytest.mark.each("language", ["en", "zh"])
@pytest.mark.each("by", ["", "kind", "user", "both"])
def test_who_asks_is_told_in_a_table_and_drawn(log: Office, by: str, language: str) -> None:
    query = f"runs={KITCHEN}&runs={KNOWNO}&runs={PEOPLE}&by={by}"
    answer = page(log, query, "/research/asking", language)
    assert len(answer["figures"]) == 1
    asking_rows = rows(read_asking(log.reader, [KITCHEN, KNOWNO, PEOPLE]).askings)
    shown = words(answer)
    if not by:
        for asking in asking_rows:
            assert asking.decided is not None
            value, low, high, _ = asking.decided
            assert f"{value:.2f} [{low:.2f}, {high:.2f}]" in shown
    assert answer["html"].count('href="/research/download/report.') == 5


def test_robots_and_kinds_are_named_in_the_page_s_language(log: Office) -> None:
    query = f"runs={KNOWNO}&runs={KITCHEN}&by=kind"
    answer = page(log, query, "/research/asking", "zh")
    shown = words(answer)
    assert f"{MODEL} (KnowNo, 只决定一次)" in shown
    assert not re.search("decides|unambiguous|common sense|preferences|safety", shown)
    shown = words(page(log, query, "/research/asking"))
    for asking in rows(read_asking(log.reader, [KNOWNO, KITCHEN]).askings, by_kind=True):
        assert asking.robot in shown and asking.kind in shown


@pytest.mark.each("language", ["en", "zh"])
@pytest.mark.each(
    ("benchmark", "kinds"),
    [
        ("clarq", {task_type.en for task_type in TASK_TYPES}),
        ("handmethat", {f"level {level}" for level in LEVELS}),
        ("ambik", {"unambiguous", *("preferences", "common sense", "safety")}),
        ("ambik", {f"{kind}, clarified" for kind in ("preferences", "common sense", "safety")}),
        ("ambik", {"spatial_ambiguous", "unsafe", "multilabel"}),
    ],
)
def test_every_kind_of_task_has_a_name(benchmark: str, kinds: set[str], language: str) -> None:
    measures: dict[str, Any] = dict.fromkeys(("robot", "user"), "") | dict.fromkeys(asking_page.MEASURES)
    for kind in sorted(kinds):
        row = Row(benchmark=benchmark, kind=kind, episodes=1, **measures)
        name = kind_name(strings(language), row)
        assert name and (language == "en" or re.search("[\u4e00-\u9fff]", name))


def test_nothing_is_compared_before_runs_are_chosen(log: Office) -> None:
    answer = page(log, path="/research/asking")
    assert "Choose runs above" in words(answer)
    assert answer["figures"] == []
    assert f"<p>{KITCHEN} · " in answer["html"]
    assert f"<p>{ANNOTATED} · " not in answer["html"]  # annotators have nobody to ask


# ---- people's sets


SETS = f"run={PEOPLE}&tab=sets"


@pytest.mark.parametrize("language", ["en", "zh"])
def test_people_s_sets_stand_beside_conformal_ones(log: Office, language: str) -> None:
    answer = page(log, SETS, language=language)
    assert answer["html"].count('class="bl-amounts"') == 4
    assert language == "zh" or re.search(r"\d / 3\b", words(answer))
    assert (f"in the set of {KNOWNO}" if language == "en" else f"在 {KNOWNO} 的集合中") in words(answer)
    comparison = compare_sets(
        decisions(log.reader, [PEOPLE]),
        [
            outcome
            for run in (LOFREE, KNOWNO)
            for outcome in run_at_target(read_run(log.reader, run)).outcomes
        ],
    )
    for row in comparison.rows:
        jaccard = row["measures"]["jaccard"]
        assert jaccard is not None
        assert jaccard.bracketed() in words(answer)
    assert SECRET not in answer["html"]


def test_one_run_alone_can_be_laid_beside_people_under_any_target(log: Office) -> None:
    own = page(log, f"{SETS}&s.beside={KNOWNO}")["html"].partition('class="rs-own"')[2]
    assert LOFREE not in own and KNOWNO in own
    other = page(log, f"{SETS}&s.beside={KNOWNO}&s.target_success=0.5")["html"].partition('class="rs-own"')[2]
    assert other != own


def test_decisions_can_be_taken_home(log: Office) -> None:
    reader = log.reader
    address = f"/research/download/of-run/decisions.jsonl?run={KNOWNO}"
    assert address in page(log, f"run={KNOWNO}")["html"]
    lines = run_file(reader, KNOWNO, "decisions.jsonl").decode().splitlines()
    assert [json.loads(line) for line in lines] == list(form_lines(reader, KNOWNO))
    with pytest.raises(InputError):
        run_file(reader, ANNOTATED, "decisions.jsonl")


def test_an_empty_log_says_what_to_do(tmp_path: Path) -> None:
    with LogWriter(tmp_path / "log.sqlite", durable=False) as writer:
        writer.flush()
        with LogReader(tmp_path / "log.sqlite") as reader:
            calls = office_at(writer, reader)
            for language in ("en", "zh"):
                assert "rs-empty" in page(calls, path="/research/asking", language=language)["html"]


def test_its_pairs_are_browsed_with_what_is_meant(log: Office) -> None:
    pairs = load_pairs("builtin")
    listed = page(log, "benchmark=ambik", path=DATA)["html"]
    assert all(pair.id in listed for pair in pairs) and "Common sense" in listed
    shown = page(log, f"benchmark=ambik&item={pairs[0].id}", path=DATA)
    for text in (pairs[0].question, pairs[0].intent.text, *pairs[0].clear_plan, *pairs[0].ambiguous_plan):
        assert text in words(shown)
