"""AmbiBench's declaration (`simulator.benchmark`); its parts are imported when they are needed."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from simulator.benchmark import Benchmark, Command, Metric, ReportSpec, SeatSpec
from simulator.deferred import attribute, later

BENCHMARK: Final = Benchmark[Any, Any](
    name="ambibench",
    title="AmbiBench",
    position=2,
    summary="Run models and built-in learners on AmbiBench's trials: one run per participant and setting.",
    seats=(
        SeatSpec(
            name="participant",
            role="the participant",
            option="model",
            several=True,
            known="offline/oracle, offline/oracle:literal, offline/random, provider/model or script:FILE",
            default="offline/oracle",
        ),
    ),
    metrics=(
        Metric("accuracy", "accuracy", unsuccessful=0.0),
        Metric("strict", "strict accuracy", unsuccessful=0.0),
        Metric("valid", "valid", unsuccessful=0.0),
        Metric("named", "named", unsuccessful=0.0),
    ),
    item_metrics=frozenset({"oracle"}),
    machine=attribute("simulator.ambibench.graph:MACHINE"),
    runs=attribute("simulator.ambibench.runs:RUNS"),
    reports=(later("simulator.ambibench.reporting.report:run_sections"),),
    report=ReportSpec(
        settings=attribute("simulator.ambibench.reporting.report:Settings"),
        files=True,
        named=False,
        summary=(later("simulator.ambibench.reporting.report:summary_section"),),
        write=later("simulator.ambibench.reporting.report:write_trial_file"),
        draws_late=True,
        help=(
            "Accuracy, validity and curves of people, models and the oracle: tables, and the paper's figures."
        ),
    ),
    checker=later("simulator.ambibench.data_command:checker"),
    register=later("simulator.ambibench.data_command:register"),
    judging=(attribute("simulator.ambibench.coding:CODING"),),
    desks=(attribute("simulator.ambibench.coding:DESK"),),
    research=attribute("simulator.ambibench.research:RESEARCH"),
    studies=attribute("simulator.ambibench.assignment:PatternStudy"),
    sessions=attribute("simulator.ambibench.sessions:AmbiBenchSessions"),
    picture=later("simulator.ambibench.show:picture"),
    icon="letters",
    folder=Path(__file__).parent,
    commands={
        "train ambibench": Command(
            "simulator.ambibench.train_command:train_ambibench",
            "Finetune a model on ambiguous tasks (or the control) and evaluate it on the held-out pair.",
        ),
        "generate ambibench": Command(
            "simulator.ambibench.data_command:generate_command",
            "Generate AmbiBench items; the same options always write the same file.",
        ),
        "stats ambibench": Command(
            "simulator.ambibench.statistics:stats_command",
            "Check AmbiBench prompts: words, balance, repetitions. The exit code is 1 if a check fails.",
        ),
    },
)
