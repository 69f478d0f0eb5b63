"""What a model that broke off is taken to have answered, task by task."""

from __future__ import annotations

import pytest
from rich.console import Console

from logs import LogReader, LogWriter
from logs.rows import Ending, Episode, Run
from simulator.ambient.parts import Wish, part_items
from simulator.ambient.rows import item_row
from simulator.ambient.summary import RunSummary, print_summaries, summarise
from simulator.runner.telling import UNCOUNTED, UNSUCCESSFUL

MEASURES = {
    "generate": {"EDIT-F1": 0, "EDIT-F1, robust parser": 0},
    "true_false": {"accuracy": 0, "all four": 0},
    "continue": {"ranking accuracy": 0},
    "nli": {"EM": 0},
    "claim": {"recall": 0},
}


@pytest.mark.parametrize("task", MEASURES)
def test_nothing_said_is_nothing_right(tmp_path, task):
    path = tmp_path / "log.sqlite"
    items = part_items(task, "offline/script", Wish(limit=3))
    with LogWriter(path, durable=False) as log:
        log.put(Run(id="r", benchmark="ambient", setup="L2L", seed=0))
        for item in items:
            row = item_row(item)
            log.put(row)
            log.put(
                Episode(
                    id=f"r/{row.name}",
                    run_id="r",
                    item_hash=row.hash,
                    language="en",
                    seats={"annotator": "openai/mute"},
                    seed=0,
                )
            )
            log.put(
                Ending(episode_id=f"r/{row.name}", status="aborted", cause="annotator", message="Refused: no")
            )
    with LogReader(path) as reader:
        found = summarise(reader, "r")
        without = summarise(reader, "r", exclude_aborted=True)
    assert found.aborted == {"annotator: Refused: no": len(items)}
    assert not found.failures
    assert not without.measures
    for name, value in MEASURES[task].items():
        measured = found.measures[task][name]
        assert measured.value == value, name


@pytest.mark.parametrize(("task", "told"), [("generate", UNSUCCESSFUL), ("crowd", UNCOUNTED)])
def test_what_is_printed_of_aborted_episodes_is_what_the_figures_do(task, told, capsys):
    summary = RunSummary(
        run="r",
        who="openai/x",
        statuses={"aborted": 1},
        failures={},
        aborted={"said nothing": 1},
        measures={task: {}},
        counted={task: {}},
        usage=(),
    )
    print_summaries(Console(width=200), [summary])
    printed = capsys.readouterr().out
    assert told in printed
    assert ({UNSUCCESSFUL, UNCOUNTED} - {told}).pop() not in printed
