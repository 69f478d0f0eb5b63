"""Researchers' pages on AmbiEnt: runs, episodes, people's answers, data."""

from __future__ import annotations

import base64
import json
import re
import sqlite3
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from markup import checked, office_at, page_at, words
from pairs import CROWD, LINGUISTS, RUNS, SECRET, fill

from logs import LogReader, LogWriter, erase_participant
from simulator.ambient.crowd import crowd_measures
from simulator.ambient.data import load_examples
from simulator.ambient.reporting.datasets import statistics
from simulator.ambient.reporting.measures import wording
from simulator.ambient.show import SHOWN
from simulator.ambient.trial_log import crowd_records, true_false_records
from simulator.ambient.true_false import true_false_measures
from ui.i18n import strings
from ui.research.office import CachedReports, Office


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Office]:
    """Return a log with `RUNS`, which tests only read."""
    path = tmp_path_factory.mktemp("pairs") / "log.sqlite"
    with LogWriter(path, durable=False, group_seconds=0.001) as writer, LogReader(path) as reader:
        fill(writer, reader)
        yield office_at(writer, reader)


def page(calls: Office, query: str = "", path: str = "/research", language: str = "en") -> dict[str, Any]:
    answer = checked(page_at(calls, path, query, language))
    assert "research." not in words(answer)
    assert "cannot be shown" not in words(answer)
    return answer


def listed(answer: dict[str, Any]) -> int:
    return len(re.findall("<li><a href=", answer["html"]))


@pytest.mark.parametrize("language", ["en", pytest.param("zh", marks=pytest.mark.slow)])
@pytest.mark.each("run", RUNS)
def test_every_run_has_its_scores_and_episodes(log: Office, run: str, language: str) -> None:
    assert "rs-scores" in page(log, f"run={run}", language=language)["html"]
    episodes = page(log, f"run={run}&tab=dialogues", language=language)
    every = log.reader.episodes(run)
    assert listed(episodes) == len(every)
    for episode in every[:2]:
        shown = page(log, f"run={run}&tab=dialogues&episode={episode.id}", language=language)
        assert "rs-own" in shown["html"]
        assert SECRET not in shown["html"]


def test_the_numbers_are_those_of_the_measures(log: Office) -> None:
    measures = true_false_measures(true_false_records(log.reader, ["true-false"]))
    shown = words(page(log, "run=true-false"))
    for measure in (measures[key] for key in ("accuracy", "template_1", "template_4", "all_four")):
        assert measure is not None
        assert f"{100 * measure.value:.1f}" in shown and f"{100 * measure.low:.1f}" in shown


def test_a_generation_is_shown_with_prompt_and_what_was_read(log: Office) -> None:
    (first, *_) = log.reader.episodes("generate")
    shown = page(log, f"run=generate&tab=dialogues&episode={first.id}")
    turn = log.reader.turns(first.id)[0]
    visible = words(shown)
    assert "Given the context alone, is this claim true" in visible
    assert re.sub(r"\s+", " ", turn.text) in visible
    assert visible.count("1.000") == len(turn.payload["rewrites"])
    assert "<ins>" in shown["html"] and "<del>" in shown["html"]


def test_continuations_have_a_histogram_whose_bars_are_all_continuations(log: Office) -> None:
    (first, *_) = log.reader.episodes("continue")
    shown = page(log, f"run=continue&tab=dialogues&episode={first.id}")
    (figure,) = (json.loads(plot["plot"]) for plot in shown["figures"])
    totals: Counter[str] = Counter()
    for row in figure["concat"][0]["data"]["values"]:
        totals[row["series"]] += row["y"]
    assert set(totals.values()) == {6}
    assert list(totals)[-1].startswith("d ")


def test_every_vote_is_exported_item_by_item(log: Office) -> None:
    records = crowd_records(log.reader, [CROWD])
    answer = page(log, f"run={CROWD}&tab=people")
    rows = re.findall(r"<tr[^>]*>(.*?)</tr>", answer["html"], re.DOTALL)
    cells = [re.findall(r"<td[^>]*>(.*?)</td>", row, re.DOTALL) for row in rows]
    votes = [[int(re.sub(r"<[^>]+>", "", cell)) for cell in row[2:5]] for row in cells if len(row) == 6]
    assert len(votes) == sum(1 + len(record.interpretations) for record in records)
    for record, counts in zip(records, votes[:: 1 + len(records[0].interpretations)], strict=True):
        assert counts == [record.original.count(label) for label in SHOWN]
    assert words(answer).count("3 of 3") == len(records)
    agreement = crowd_measures(records, "strict")["agreement"]
    assert agreement is not None
    assert f"{100 * agreement.value:.1f}" in words(answer)


def test_annotators_have_their_statistics(log: Office) -> None:
    shown = words(page(log, f"run={LINGUISTS}&tab=people"))
    assert shown.count("16.7 %") == 1
    assert "100.0 %" in shown


@pytest.mark.parametrize(("filters", "most"), [("outcome=success", 6), ("text=no-such-text", 0)])
def test_episodes_are_filtered(log: Office, filters: str, most: int) -> None:
    answer = page(log, f"run=generate&tab=dialogues&{filters}")
    assert listed(answer) <= most
    assert f"{listed(answer)} of 6" in words(answer)


def test_a_run_is_read_again_only_when_it_has_changed(log: Office) -> None:
    cached, made = CachedReports(log.reader), []
    for _ in range(2):
        assert cached.get("x", "generate", lambda: made.append(1) or 7) == 7  # type: ignore[func-returns-value]
    cached.get("x", "nli", lambda: made.append(1))
    assert len(made) == 2


def test_withdrawn_participants_are_reported(log: Office, tmp_path: Path) -> None:
    path = tmp_path / "log.sqlite"
    with sqlite3.connect(log.reader.path) as whole, sqlite3.connect(path) as copy:
        whole.backup(copy)
    with LogWriter(path, durable=False, group_seconds=0.001) as writer, LogReader(path) as reader:
        people = {episode.participant_id for episode in reader.episodes(CROWD, latest=True)}
        gone = sorted(person for person in people if person is not None)[0]
        theirs = reader.episodes(CROWD, participant_id=gone)
        erase_participant(path, gone)
        for language, remark in (
            ("en", "withdrawn or excluded, not counted"),
            ("zh", "已退出或已排除，不计入"),
        ):
            assert f"{len(theirs)} {remark}" in words(
                page(office_at(writer, reader), f"run={CROWD}", language=language)
            )


# ---- data


DATA = "/research/data"


def test_the_diagram_counts_every_annotated_example(log: Office) -> None:
    counts = statistics(load_examples())["label_sets"]
    answer = page(log, "benchmark=ambient", path=DATA)
    (picture, *_) = re.findall(r'src="data:image/svg[^,]*base64,([^"]+)"', answer["html"])
    (description, *_) = re.findall(r"<desc>([^<]+)</desc>", base64.b64decode(picture).decode())
    numbers = [int(number) for number in re.findall(r" (\d+)(?:;|$)", description)]
    assert sorted(numbers) == sorted(counts.values())


def test_examples_are_found_by_labels_kind_and_words(log: Office) -> None:
    every = load_examples()
    matching = [example for example in every if example.labels == {"entailment", "neutral"}]
    answer = page(log, "benchmark=ambient&f.labels=EN", path=DATA)
    assert listed(answer) == len(matching)
    kind = next(example.categories[0] for example in every if example.categories)
    of_kind = [example for example in every if kind in example.categories]
    assert listed(page(log, f"benchmark=ambient&f.kind={kind}", path=DATA)) == len(of_kind)
    shown = page(log, f"benchmark=ambient&item={matching[0].id}", path=DATA)
    assert shown["html"].count("bl-revision-label") >= len(matching[0].disambiguations)
    assert matching[0].premise.split()[0] in words(shown)


def test_missing_data_are_reported(log: Office) -> None:
    for path, query in ((DATA, "benchmark=ambient&data=nowhere"), ("/research/categories", "data=nowhere")):
        assert "no data set “nowhere”" in words(page(log, query, path=path))
        assert "没有“nowhere”这份数据" in words(page(log, query, path=path, language="zh"))


def test_measures_of_runs_are_chinese_on_chinese_pages() -> None:
    texts = strings("zh")
    of_runs = set(wording()) - {"summary", "dataset", "categories", "edit_f1_cases"}
    measures = [measure for kind in of_runs for measure in wording()[kind]["measures"].values()]
    words = {text for title, _, counted in measures for text in (title, counted) if text and "{" not in text}
    assert [text for text in sorted(words) if texts.phrase(text) == text] == []
