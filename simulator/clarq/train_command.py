"""Train the offline provider's ranker on published dialogues: `askback train clarq-ranker FILES`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from simulator.clarq.labelled import training_questions
from simulator.clarq.ranker import Ranker
from simulator.clarq.results import PublishedDialogue, load_results, split_runs
from simulator.clarq.training import PENALTY, learn, lessons_of
from simulator.errors import InputError
from simulator.tables.importing import file_digest

COEFFICIENTS = Path(__file__).with_name("ranker.json")


def train(
    single: Iterable[PublishedDialogue],
    multi: Iterable[PublishedDialogue] = (),
    penalty: float = PENALTY,
) -> Ranker:
    """Train on dialogues of a single-info provider, of a multi-info one, and on the labelled questions.

    Raises:
        InputError: if the single-info dialogues hold no decision.
    """
    lessons = lessons_of(single, multi, training_questions())
    if not lessons.single:
        raise InputError("Nothing to train on: no dialogue of a single-info provider has a decision.")
    return Ranker(
        explained=learn(lessons, penalty),
        bare=learn(lessons.bare(), penalty),
        training={
            "decisions": len(lessons.single),
            "response_2": sum(not lesson.given for lesson in lessons.single),
            "multi_decisions": len(lessons.several),
            "questions": len(lessons.brief),
            "penalty": penalty,
        },
    )


def train_clarq_ranker(
    files: Annotated[list[Path], typer.Argument(help="published results files, single- and multi-info")],
    out: Annotated[Path, typer.Option(help="where the coefficients go")] = COEFFICIENTS,
) -> None:
    """Train the coefficients of offline/experts on published ClarQ-LLM dialogues."""
    by_digest = sorted((file_digest(file), file) for file in files)
    ranker = train(*split_runs([load_results(file) for _, file in by_digest]))
    digests = {"sha256": [digest for digest, _ in by_digest]}
    ranker = replace(ranker, training=ranker.training | digests)
    out.write_text(ranker.dumps(), encoding="utf-8")
    known = ranker.training
    Console().print(
        f"{known['decisions']} decisions, {known['multi_decisions']} multi-info ones, "
        f"{known['questions']} questions -> {out}"
    )
