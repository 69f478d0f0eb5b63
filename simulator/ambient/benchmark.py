"""The declaration of AmbiEnt (`simulator.benchmark`); everything it refers to is imported on first use."""

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
        "Run language models, built-in players and NLI models on AmbiEnt's tasks, a run per player and task."
    ),
    seats=(
        SeatSpec(
            name="annotator",
            role="the annotator",
            option="model",
            several=True,
            known="offline/gold, offline/random, offline/copy, provider/model, nli:FOLDER or script:FILE",
            default="offline/gold",
        ),
    ),
    metrics=(Metric("exact", "exact match"), Metric("accuracy", "accuracy", unsuccessful=0.0)),
    # The two sentences of an example may both be items.
    cluster=lambda name: name.removesuffix(".premise").removesuffix(".hypothesis"),
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
            "Tables 1, 4, 5, 9, 10 and 11, crowdworkers' votes, and the paper's figures, for people and "
            "models.\n\nA file is recognized by its content: examples, kinds of ambiguity, linguists' and "
            "crowdworkers' annotations, generated disambiguations, statements judged true or false, "
            "continuations, predicted label sets, claims, EDIT-F1 cases. For published files the paper's "
            "figures are shown, too. Faulty rows are skipped and listed at the end; the exit code is 1 if a "
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
            "Score label sets: exact match, macro F1, group exact match. Exits with 1 if nothing is scored.",
        ),
        "score ambient-claims": Command(
            "simulator.ambient.score_command:score_ambient_claims",
            "Flag claims by their most ambiguous paraphrase; print precision and recall over marked claims.",
        ),
        "import ambient-results": Command(
            "simulator.ambient.importing.runs:import_ambient",
            "Import published files into the log, one run per file; importing a file twice adds nothing.",
        ),
        "train ambient-nli": Command(
            "simulator.ambient.train_nli_command:train_ambient_nli",
            "Train a multilabel NLI model with several seeds and print its row of Table 5.",
        ),
        "generate ambient": Command(
            "simulator.ambient.generate_command:generate_ambient",
            "Generate new examples for linguists. Rerun the command to continue where it stopped.",
        ),
        "generate ambient-distractors": Command(
            "simulator.ambient.distractors_command:generate_distractors",
            "Back-translate ambiguous sentences as distractors. Rerun the command to continue after a stop.",
        ),
        "stats ambient": Command(
            "simulator.ambient.data_command:stats_command",
            "Print statistics of AmbiEnt examples: ambiguity, label sets, rewrites, kinds of ambiguity.",
        ),
    },
)
