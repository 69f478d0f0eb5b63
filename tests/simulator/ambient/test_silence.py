"""Empty answers for the missing steps of aborted episodes, task by task."""

from __future__ import annotations

import pytest
from rich.console import Console

from logs import LogReader, LogWriter
from logs.rows import Ending, Episode, Run
from simulator import catalog
from simulator.ambient.items import item_row
from simulator.ambient.reporting.runs import run_measures
from simulator.ambient.runs import ExampleSelection
from simulator.reports import print_run_report, run_summary
from simulator.runner.run_summary import UNCOUNTED, UNSUCCESSFUL

MEASURES = {
    "generate": {"EDIT-F1": 0, "EDIT-F1, robust parser": 0},
    "true_false": {"accuracy": 0, "all four": 0},
    "continue": {"ranking accuracy": 0},
    "nli": {"EM": 0},
    "claim": {"recall": 0},
}


def silent_run(path, task, run="r"):
    """Log a run in which the model aborted before any answer, and return its items."""
    items = ExampleSelection(limit=3).items(task, "offline/script")
    with LogWriter(path, durable=False) as log:
        log.put(Run(id=run, benchmark="ambient", setup="L2L", seed=0))
        for item in items:
            row = item_row(item)
            log.put(row)
            log.put(
                Episode(
                    id=f"{run}/{row.name}",
                    run_id=run,
                    item_hash=row.hash,
                    language="en",
                    seats={"annotator": "openai/mute"},
                    seed=0,
                )
            )
            log.put(
                Ending(
                    episode_id=f"{run}/{row.name}", status="aborted", cause="annotator", message="Refused: no"
                )
            )
    return items


@pytest.mark.parametrize("task", MEASURES)
def test_no_answers_give_no_right_ones(tmp_path, task):
    path = tmp_path / "log.sqlite"
    items = silent_run(path, task)
    with LogReader(path) as reader:
        endings = run_summary(reader, catalog.find("ambient"), ["r"]).endings
        tasks = run_measures(reader, "r")
        without = run_measures(reader, "r", exclude_aborted=True)
    assert endings.aborted == {"annotator: Refused: no": len(items)}
    assert not endings.failures
    assert not endings.left
    assert not without
    for name, value in MEASURES[task].items():
        assert tasks[task].measures[name].value == value, name


@pytest.mark.parametrize(("task", "remark"), [("generate", UNSUCCESSFUL), ("crowd", UNCOUNTED)])
def test_the_remark_on_aborted_episodes_agrees_with_the_figures(tmp_path, task, remark):
    path = tmp_path / "log.sqlite"
    silent_run(path, task)
    console = Console(width=200, record=True, quiet=False)
    with LogReader(path) as reader:
        print_run_report(console, run_summary(reader, catalog.find("ambient"), ["r"]))
    printed = console.export_text()
    assert remark in printed
    assert ({UNSUCCESSFUL, UNCOUNTED} - {remark}).pop() not in printed


def test_each_run_says_whether_aborted_episodes_count(tmp_path):
    path = tmp_path / "log.sqlite"
    silent_run(path, "generate", "written")
    silent_run(path, "crowd", "voted")
    console = Console(width=200, record=True, quiet=False)
    with LogReader(path) as reader:
        report = run_summary(reader, catalog.find("ambient"), ["written", "voted"])
    print_run_report(console, report)
    printed = console.export_text()
    assert UNSUCCESSFUL in printed and UNCOUNTED in printed
    assert report.endings.aborted == {"annotator: Refused: no": 6}
    assert report.endings.uncounted == {"annotator: Refused: no": 3}
    assert printed.count("3 aborted") == 2
