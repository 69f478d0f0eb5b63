"""`askback run … --items-of RUN`: models on the items that people, or others, were given."""

from __future__ import annotations

from logs import LogReader, LogWriter
from logs.rows import Run
from simulator.ambibench.benchmark import BENCHMARK as AMBIBENCH
from simulator.clarq.benchmark import BENCHMARK as CLARQ
from simulator.errors import InputError
from simulator.handmethat.benchmark import BENCHMARK as HANDMETHAT


def hashes(path, run):
    with LogReader(path) as reader:
        return {item.hash for item in reader.items(run)}


def test_drawn_items_are_taken_from_the_run(commands, log_path):
    askback = commands(AMBIBENCH)
    draw = ["--setting", "multiple", "--per-cell", 1, "--seed", 7, "--run", "people"]
    askback("run", "--model", "offline/random", *draw)
    askback("run", "--model", "offline/oracle", "--items-of", "people", "--run", "models")
    assert hashes(log_path, "models") == hashes(log_path, "people")
    refused = askback("run", "--items-of", "people", "--per-cell", 1, error=InputError)
    assert "--per-cell: the items of '--items-of' are not drawn" in refused


def test_of_published_items_those_of_the_run_are_played(commands, log_path):
    askback = commands(CLARQ)
    seats = ["--seeker", "offline/seeker", "--provider", "offline/experts", "--lang", "en"]
    askback("run", *seats, "--limit", 2, "--seed", 5, "--run", "few")
    askback("run", *seats, "--items-of", "few", "--run", "again")
    assert len(hashes(log_path, "again")) == 2
    assert hashes(log_path, "again") == hashes(log_path, "few")
    refused = askback("run", *seats, "--items-of", "few", "--limit", 1, error=InputError)
    assert "leave one of the two out" in refused


def test_items_that_are_passed_over_are_told(commands, log_path):
    askback = commands(CLARQ)
    seats = ["--seeker", "offline/seeker", "--provider", "offline/experts"]
    askback("run", *seats, "--lang", "both", "--limit", 2, "--run", "two")
    output = askback("run", *seats, "--lang", "zh", "--items-of", "two", "--run", "one")
    assert "1 of that run's 2 items are played here; the others are in other data" in " ".join(output.split())
    assert len(hashes(log_path, "one")) == 1


def test_what_is_drawn_by_level_is_not_drawn_again(commands):
    askback = commands(HANDMETHAT)
    askback("run", "--per-level", 1, "--run", "few")
    refused = askback("run", "--items-of", "few", "--per-level", 1, error=InputError)
    assert "--per-level cannot be used with --items-of" in refused


def test_a_run_of_another_benchmark_is_refused(commands, log_path):
    commands(AMBIBENCH)("run", "--per-cell", 1, "--setting", "multiple", "--run", "other")
    refused = commands(CLARQ)("run", "--seeker", "offline/seeker", "--items-of", "other", error=InputError)
    assert "its items belong to ambibench, not to clarq" in refused


def test_a_run_in_which_nobody_has_played_yet_has_no_items(commands, log_path):
    with LogWriter(log_path, durable=False) as log:
        log.put(Run(id="study-mine", benchmark="clarq", setup="H2L", seed=0))
    refused = commands(CLARQ)(
        "run", "--seeker", "offline/seeker", "--items-of", "study-mine", error=InputError
    )
    assert refused == (
        "--items-of study-mine: nothing has been played in study-mine yet, so it has no items."
    )
