"""AmbiEnt as a benchmark of the house (`simulator.benchmark`); everything is imported when it is needed."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from simulator.benchmark import Benchmark, Command, Metric, ReportSpec, SeatSpec
from simulator.deferred import attribute, later

BENCHMARK: Final = Benchmark[Any, Any](
    name="ambient",
    title="AmbiEnt",
    position=3,
    summary=(
        "Put models, built-in players and models of inference on AmbiEnt's tasks. Each task of each is a run."
    ),
    seats=(
        SeatSpec(
            name="annotator",
            role="who does it",
            option="model",
            several=True,
            known="offline/gold, offline/random, offline/copy, provider/model, nli:FOLDER or script:FILE",
            default="offline/gold",
        ),
    ),
    metrics=(Metric("exact", "exact match"), Metric("accuracy", "accuracy", unsuccessful=0.0)),
    machine=attribute("simulator.ambient.graph:MACHINE"),
    runs=attribute("simulator.ambient.runs:RUNS"),
    reports=(later("simulator.ambient.reporting.sections:report_sections"),),
    report=ReportSpec(
        settings=attribute("simulator.ambient.reporting.sources:ReportSettings"),
        files=True,
        summary=(later("simulator.ambient.reporting.runs:summary_sections"),),
        counts_aborted=later("simulator.ambient.reporting.runs:counts_aborted"),
        write=later("simulator.ambient.reporting.sections:write_files"),
        metrics=False,
        draws_late=True,
        help=(
            "Tables 1, 4, 5, 9, 10 and 11, crowdworkers' votes, and the paper's figures, people and models "
            "together.\n\nA file is recognized by its content: examples, kinds of ambiguity, linguists' and "
            "crowdworkers' annotations, generated disambiguations, statements judged true or false, "
            "continuations, predicted label sets, claims, cases of EDIT-F1. The paper's figures stand beside "
            "those of published files. Faulty rows are left out and told at the end; the exit code is 1 if a "
            "file could not be read."
        ),
    ),
    checker=later("simulator.ambient.files.kinds:TABLES.checker"),
    register=later("simulator.ambient.data_command:DATA.register"),
    desks=(
        attribute("simulator.ambient.annotation.consolidation:ANNOTATIONS"),
        attribute("simulator.ambient.annotation.marking:KINDS"),
        attribute("simulator.ambient.annotation.marking:CLAIMS"),
    ),
    judging=(
        attribute("simulator.ambient.annotation.consolidation:CONSOLIDATION"),
        attribute("simulator.ambient.annotation.marking:SORTING"),
        attribute("simulator.ambient.annotation.marking:MARKING"),
    ),
    studies=attribute("simulator.ambient.assignment:ExampleStudy"),
    sessions=attribute("simulator.ambient.sessions:AmbientSessions"),
    research=attribute("simulator.ambient.research:RESEARCH"),
    picture=later("simulator.ambient.show:picture"),
    icon="readings",
    folder=Path(__file__).parent,
    commands={
        "score ambient-nli": Command(
            "simulator.ambient.score_command:score_ambient_nli",
            (
                "Exact match, macro F1 and group exact match of label sets; the exit code is 1 if nothing "
                "is scored."
            ),
        ),
        "score ambient-claims": Command(
            "simulator.ambient.score_command:score_ambient_claims",
            "Flag claims by their most ambiguous paraphrase; precision and recall where claims are marked.",
        ),
        "import ambient-results": Command(
            "simulator.ambient.importing.runs:import_ambient",
            "Bring published files into the log, a run each; the same file again adds nothing.",
        ),
        "train ambient-nli": Command(
            "simulator.ambient.train_nli_command:train_ambient_nli",
            "Train multilabel inference over several seeds and print the row of Table 5.",
        ),
        "generate ambient": Command(
            "simulator.ambient.generate_command:generate_ambient",
            "Make new examples for linguists. The same command again continues where it stopped.",
        ),
        "generate ambient-distractors": Command(
            "simulator.ambient.distractors_command:generate_distractors",
            (
                "Translate ambiguous sentences there and back. The same command again continues where it "
                "stopped."
            ),
        ),
        "stats ambient": Command(
            "simulator.ambient.data_command:stats_command",
            "Statistics of AmbiEnt examples: ambiguity, label sets, rewrites, kinds of ambiguity.",
        ),
    },
)
