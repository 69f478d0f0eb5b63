"""The declaration of HandMeThat (`simulator.benchmark`). Everything it names is imported on first use."""

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
    name="handmethat",
    title="HandMeThat",
    position=1,
    summary="Play HandMeThat episodes and score them.",
    seats=(
        SeatSpec(
            name="robot",
            role="the robot",
            known="offline/asker[:K], offline/partner, offline/heuristic[:changes], offline/random, "
            "offline/expert, provider/model, seq2seq:FILE, drrn:FILE or script:FILE",
            default="offline/asker",
        ),
        SeatSpec(
            name="human",
            role="the human",
            known="offline/giver, provider/model or script:FILE",
            default="offline/giver",
            error_rates={
                "offline/giver": (ErrorRate("en", 22, 90, 0.16, 0.32), ErrorRate("zh", 6, 60, 0.05, 0.15))
            },
        ),
    ),
    metrics=(
        Metric("success", "success", unsuccessful=0.0),
        Metric("score", "score", "points"),
        Metric("moves_of_success", "moves of success", "moves", short="moves"),
        Metric("questions", "questions", "questions", short="asked"),
        Metric("raw_sum", "raw sum", "points"),
        Metric("moves", "moves", "moves"),
        Metric("question_cost", "question cost", "points"),
    ),
    load=later("simulator.handmethat.runs:load_posed"),
    machine=attribute("simulator.handmethat.machine:MACHINE"),
    runs=attribute("simulator.handmethat.runs:RUNS"),
    asking=AskingSpec(
        robot="robot",
        user="human",
        read=later("simulator.handmethat.score:asking_record"),
        read_item=later("simulator.handmethat.items:task_from_row"),
        notes=AskingNotes(
            need="nothing at level 1, inferred at levels 2 and 3, person at level 4",
            useful="fewer things fit",
            right="the human has what was meant",
            price="points of HandMeThat's score",
        ),
    ),
    reports=(later("simulator.handmethat.reports:run_sections"),),
    report=ReportSpec(
        help="Tables of several runs side by side: by level, by questions asked, and the gain per question.",
    ),
    checker=later("simulator.handmethat.checking:checker"),
    register=later("simulator.handmethat.checking:register"),
    studies=attribute("simulator.handmethat.assignment:HouseholdStudy"),
    sessions=attribute("simulator.handmethat.sessions:HandMeThatSessions"),
    research=attribute("simulator.handmethat.research:RESEARCH"),
    picture=later("simulator.handmethat.show:picture"),
    icon="house",
    example="--limit 20 --lang {language}",
    folder=Path(__file__).parent,
    commands={
        "train handmethat": Command(
            "simulator.handmethat.train_command:train_handmethat",
            "Train a robot for HandMeThat; then `askback run handmethat --robot seq2seq:robot.pt`.",
        ),
        "pack handmethat": Command(
            "simulator.handmethat.checking:pack_handmethat",
            "Pack episodes into one file with random access, for training in environments.",
        ),
        "generate handmethat": Command(
            "simulator.handmethat.generate_command:generate_command",
            "Generate HandMeThat episodes. The same command again continues where it stopped.",
        ),
        "stats handmethat": Command(
            "simulator.handmethat.generate_command:stats_command",
            "Show levels, lengths, objects, meanings, utterances and rejections of HandMeThat episodes.",
        ),
    },
)
