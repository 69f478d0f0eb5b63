"""Train the offline provider's ranker on published dialogues: `askback train clarq-ranker FILES`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, NamedTuple

import typer
from rich.console import Console

from simulator.clarq.experts import Situation
from simulator.clarq.features import Features, Reading
from simulator.clarq.fitting import fit, fit_multi
from simulator.clarq.ranker import Coefficients, Example, Ranker
from simulator.clarq.results import PublishedDialogue, file_digest, load_results, provider_steps
from simulator.errors import InputError
from trees import Frontier, Tree

PENALTY = 10.0
# A Response II is likely now and then, but the likeliest outcome less often: taking always the likeliest, the
# provider gives too few nodes over a dialogue. With this factor, logged seeker lines succeed as often as in
# the log, and agreement turn by turn is the same (both measured leaving out one task type at a time).
NONE = 0.6
COEFFICIENTS = Path(__file__).with_name("ranker.json")


class Decision(NamedTuple):
    """A provider turn after the opening at which something could be given.

    Attributes:
        situation: before it.
        given: indices of the nodes it gave.
    """

    situation: Situation
    given: tuple[str, ...]


def decisions_of(dialogues: Iterable[PublishedDialogue]) -> list[Decision]:
    """All such turns of `dialogues`."""
    return [
        Decision(
            Situation(task=dialogue.task, lines=dialogue.lines[: step.position], frontier=step.before),
            step.given,
        )
        for dialogue in dialogues
        for step in provider_steps(dialogue)
        if step.before.available
    ]


def train(
    single: Iterable[PublishedDialogue], multi: Iterable[PublishedDialogue] = (), penalty: float = PENALTY
) -> Ranker:
    """A ranker trained on dialogues of a single-info provider and, for its shift c, a multi-info one.

    Raises:
        InputError: if the single-info dialogues hold no decision.
    """
    decisions, several = decisions_of(single), decisions_of(multi)
    if not decisions:
        raise InputError("Nothing to train on: no dialogue of a single-info provider has a decision.")
    return Ranker(
        explained=_fit(decisions, several, penalty),
        bare=_fit(_bare(decisions), _bare(several), penalty),
        training={
            "decisions": len(decisions),
            "response_2": sum(not decision.given for decision in decisions),
            "multi_decisions": len(several),
            "penalty": penalty,
        },
    )


def without_explanations(situation: Situation) -> Situation:
    """The same situation in a task whose nodes have no explanations, as in the development set."""
    task = situation.task
    tree = Tree(task.tree.opening, tuple(replace(node, explanation=None) for node in task.tree.nodes))
    frontier = Frontier(tree, situation.frontier.opened, situation.frontier.given)
    return replace(situation, task=replace(task, tree=tree), frontier=frontier)


def train_clarq_ranker(
    files: Annotated[list[Path], typer.Argument(help="published results files, single- and multi-info")],
    out: Annotated[Path, typer.Option(help="where the coefficients go")] = COEFFICIENTS,
) -> None:
    """Train the coefficients of offline/experts on published ClarQ-LLM dialogues."""
    by_digest = sorted((file_digest(file), file) for file in files)
    runs = [load_results(file) for _, file in by_digest]
    several = [any(dialogue.multi for dialogue in run) for run in runs]
    ranker = train(
        [dialogue for run, multi in zip(runs, several, strict=True) if not multi for dialogue in run],
        [dialogue for run, multi in zip(runs, several, strict=True) if multi for dialogue in run],
    )
    digests = {"sha256": [digest for digest, _ in by_digest]}
    ranker = replace(ranker, training=ranker.training | digests)
    out.write_text(ranker.dumps(), encoding="utf-8")
    known = ranker.training
    Console().print(f"{known['decisions']} decisions, {known['multi_decisions']} multi-info ones -> {out}")


def _bare(decisions: Iterable[Decision]) -> list[Decision]:
    return [Decision(without_explanations(decision.situation), decision.given) for decision in decisions]


def _fit(single: Sequence[Decision], multi: Sequence[Decision], penalty: float) -> Coefficients:
    coefficients = replace(fit([_example(decision) for decision in single], penalty), none=NONE)
    if not multi:
        return coefficients
    return replace(coefficients, multi=fit_multi(coefficients, [_labelled(decision) for decision in multi]))


def _example(decision: Decision) -> Example:
    reading = Reading(decision.situation)
    chosen = reading.available.index(decision.given[0]) if decision.given else -1
    return Example(reading.features, chosen)


def _labelled(decision: Decision) -> tuple[Features, frozenset[int]]:
    reading = Reading(decision.situation)
    return reading.features, frozenset(map(reading.available.index, decision.given))
