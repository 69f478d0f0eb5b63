"""The declaration of the AmbiK benchmark (`simulator.benchmark`). Everything in it is imported lazily."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from simulator.benchmark import (
    AskingNotes,
    AskingSpec,
    Benchmark,
    Command,
    ErrorRate,
    Metric,
    ReportSpec,
    SeatSpec,
)
from simulator.deferred import attribute, later

BENCHMARK: Final = Benchmark[Any, Any](
    name="ambik",
    title="AmbiK",
    summary=(
        "Put models and built-in robots in AmbiK's kitchen: act or ask? Each method of each robot is a run; "
        "conformal methods are first calibrated in a separate run."
    ),
    position=4,
    seats=(
        SeatSpec(
            name="robot",
            role="the robot",
            option="model",
            several=True,
            known="offline/kitchen, offline/always-asks, offline/never-asks, provider/model (with a method) "
            "or script:FILE",
            default="offline/kitchen",
        ),
        SeatSpec(
            name="user",
            role="the user",
            known="offline/item, provider/model or script:FILE",
            default="offline/item",
            error_rates={
                "offline/item": (ErrorRate("en", 23, 87, 0.17, 0.35), ErrorRate("zh", 14, 60, 0.15, 0.33))
            },
        ),
        SeatSpec(
            name="annotator",
            option="",
            known="offline/first-candidate, provider/model or script:FILE",
            default="offline/first-candidate",
        ),
    ),
    metrics=(
        Metric("right_before", "right before", unsuccessful=0.0),
        Metric("right_after", "right after", unsuccessful=0.0),
        Metric("questions", "questions", "questions"),
        Metric("set_size", "set size", "options"),
    ),
    item_metrics=frozenset({"needed"}),
    # The members of a pair are not independent.
    cluster=lambda name: name.removesuffix(".clear").removesuffix(".ambiguous"),
    machine=attribute("simulator.ambik.machine:MACHINE"),
    runs=attribute("simulator.ambik.runs:RUNS"),
    asking=AskingSpec(
        robot="robot",
        user="user",
        read=later("simulator.ambik.score:asking_record"),
        read_item=later("simulator.ambik.items:item_from_row"),
        notes=AskingNotes(
            need=(
                "person where preferences settle it, inferred where common sense or safety does, nothing in "
                "clear and clarified tasks"
            ),
            useful="part of the intent",
            right="the action realises the user's intent (without an action nothing is counted)",
        ),
    ),
    checker=later("simulator.ambik.data:TABLES.checker"),
    register=later("simulator.ambik.data:DATA.register"),
    judging=(attribute("simulator.ambik.annotation.desk:DECIDING"),),
    studies=attribute("simulator.ambik.assignment:KitchenStudy"),
    sessions=attribute("simulator.ambik.sessions:AmbikSessions"),
    picture=later("simulator.ambik.show:picture"),
    icon="pot",
    example="--questions 1",
    reports=(later("simulator.ambik.reporting.sections:report_sections"),),
    report=ReportSpec(
        settings=attribute("simulator.ambik.reporting.results:REPORT_SETTINGS"),
        files=True,
        summary=(later("simulator.ambik.reporting.results:summary_sections"),),
        write=later("simulator.ambik.reporting.sections:write_files"),
        metrics=False,
        draws_late=True,
        help=(
            "Tables 3 and 6 to 9, coverage, the effect of a question, the paper's figures, for people and "
            "models.\n\nA file is recognized by its content: pairs, KnowNo's scenarios, log-probabilities of "
            "a KnowNo run, metric cases, logs of decisions, tables of results. The switches recompute "
            "prediction sets from the log: no model is asked again. Faulty rows are left out and listed at "
            "the end; the exit code is 1 if a file could not be read, or if a metric case has a different "
            "value under the paper's rule."
        ),
    ),
    research=attribute("simulator.ambik.research:RESEARCH"),
    desks=(attribute("simulator.ambik.annotation.desk:PAIRS"),),
    folder=Path(__file__).parent,
    commands={
        "import ambik-results": Command(
            "simulator.ambik.import_command:import_ambik",
            "Import results into the log, a run per robot, method and configuration; repeating adds nothing.",
        ),
        "generate ambik": Command(
            "simulator.ambik.generate_command:generate_ambik",
            "Draft new pairs for annotators. Repeat the command to continue where it stopped.",
        ),
        "stats ambik": Command(
            "simulator.ambik.statistics:stats_command",
            "Show types, words, plans, intents and shortlists of AmbiK pairs, and the counting rules.",
        ),
    },
)
