"""Train the offline provider's ranker on published dialogues: `askback train clarq-ranker FILES`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console

from simulator.clarq.experts import Situation
from simulator.clarq.features import NAMES, featurize
from simulator.clarq.ranker import Example, Ranker, fit
from simulator.clarq.results import PublishedDialogue, file_digest, load_results, provider_steps

PENALTY = 10.0
MULTI_THRESHOLD = 0.5
COEFFICIENTS = Path(__file__).with_name("ranker.json")


def examples_of(dialogues: Iterable[PublishedDialogue]) -> list[Example]:
    """One example per provider turn after the opening whose frontier is not empty."""
    examples = []
    for dialogue in dialogues:
        for step in provider_steps(dialogue):
            available = [node.index for node in step.before.available]
            if not available:
                continue
            situation = Situation(
                task=dialogue.task, lines=dialogue.lines[: step.position], frontier=step.before
            )
            chosen = available.index(step.given[0]) if step.given else -1
            examples.append(Example(featurize(situation), chosen))
    return examples


def train(paths: Sequence[Path]) -> Ranker:
    """A ranker trained on the single-info dialogues in `paths`, the same for the same files in any order.

    Raises:
        InputError: if a file cannot be read or is no results file.
    """
    by_digest = sorted((file_digest(path), path) for path in paths)
    examples = examples_of(dialogue for _, path in by_digest for dialogue in load_results(path))
    weights, strict, leniency = fit(examples, PENALTY)
    return Ranker(
        weights={name: round(float(weight), 5) for name, weight in zip(NAMES, weights, strict=True)},
        strict=round(strict, 5),
        leniency=round(leniency, 5),
        multi_threshold=MULTI_THRESHOLD,
        training={
            "sha256": [digest for digest, _ in by_digest],
            "decisions": len(examples),
            "response_2": int(np.sum([example.chosen < 0 for example in examples])),
            "penalty": PENALTY,
        },
    )


def train_clarq_ranker(
    files: Annotated[list[Path], typer.Argument(help="Results files of single-info runs, any language.")],
    out: Annotated[Path, typer.Option(help="Where the coefficients go.")] = COEFFICIENTS,
) -> None:
    """Train the coefficients of offline/experts from published ClarQ-LLM dialogues."""
    ranker = train(files)
    out.write_text(ranker.dumps(), encoding="utf-8")
    Console().print(f"{ranker.training['decisions']} decisions, {len(ranker.weights)} features -> {out}")
