"""The declaration of ClarQ-LLM (`simulator.benchmark`); its modules are imported when they are needed."""

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
    name="clarq",
    title="ClarQ-LLM",
    summary="Play ClarQ-LLM dialogues and score them.",
    position=0,
    seats=(
        SeatSpec(
            name="seeker",
            role="the seeker",
            known="offline/seeker[:careful|hasty|verbose], provider/model or script:FILE",
            default="offline/seeker",
        ),
        SeatSpec(
            name="provider",
            role="the provider",
            known="offline/experts, provider/model, experts:type=A,walk=B,respond=C or script:FILE",
            default="offline/experts",
            error_rates={
                "offline/experts": (ErrorRate("en", 14, 119, 0.07, 0.17), ErrorRate("zh", 11, 84, 0.06, 0.21))
            },
        ),
    ),
    metrics=(
        Metric("success", "S", unsuccessful=0.0, undecided="needs_judge"),
        Metric("aqd", "D", "provider turns"),
        Metric("aql", "L", "words or characters"),
    ),
    load=later("simulator.clarq.data:load_items"),
    machine=attribute("simulator.clarq.machine:MACHINE"),
    runs=attribute("simulator.clarq.runs:RUNS"),
    scorer=attribute("simulator.clarq.runs:score_again"),
    asking=AskingSpec(
        robot="seeker",
        user="provider",
        read=later("simulator.clarq.score:asking_record"),
        read_item=later("simulator.clarq.data:read_item"),
        notes=AskingNotes(
            need="person until every node has been given, then nothing", useful="a node", right="success"
        ),
    ),
    checker=later("simulator.clarq.data:checker"),
    register=later("simulator.clarq.data:register"),
    research=attribute("simulator.clarq.research:RESEARCH"),
    desks=(attribute("simulator.clarq.research:DESK"),),
    studies=attribute("simulator.clarq.assignment:DialogueStudy"),
    sessions=attribute("simulator.clarq.sessions:ClarqSessions"),
    icon="tree",
    example="--limit 4 --lang {language}",
    reports=(later("simulator.clarq.reports:run_sections"),),
    report=ReportSpec(summary_metrics=False),
    folder=Path(__file__).parent,
    commands={
        "import clarq-results": Command(
            "simulator.clarq.results:import_clarq",
            "Import published results files into the log and score them.",
        ),
        "audit provider": Command(
            "simulator.clarq.audit:audit_provider",
            "Compare a provider's decisions with those in published results or in a run.",
        ),
        "train clarq-ranker": Command(
            "simulator.clarq.training:train_clarq_ranker",
            "Train the coefficients of offline/experts on published ClarQ-LLM dialogues.",
        ),
    },
)
