"""Share of short questions that the built-in experts answer as a careful person would.

Run as a script: ``python tests/benchmarks/bench_robustness.py``; with ``--misses`` every other answer is
listed. Intervals resample whole tasks.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from rich.console import Console
from rich.table import Table
from rows import Row
from short_questions import ANSWERED, HALVES, KINDS, REFUSED, Question, answer, load_questions

from simulator.clarq.experts import Experts
from simulator.clarq.players.experts_offline import OfflineExperts
from simulator.stats import Interval, cluster_bootstrap
from trees import Language

LANGUAGES: tuple[Language, ...] = ("en", "zh")
Answered = Sequence[tuple[Question, str]]


async def answered(experts: Experts, language: Language) -> Answered:
    """Return every question in `language` with the node given for it."""
    return [(question, await answer(experts, question)) for question in load_questions(language)]


def rate(pairs: Answered, included: Callable[[Question], bool] = lambda question: True) -> Interval:
    """Return the share of `wanted` questions answered as a careful person would, resampled by task."""
    chosen = [(question, given) for question, given in pairs if included(question)]
    right = [float(given in question.answers) for question, given in chosen]
    return cluster_bootstrap(right, [question.task.id for question, _ in chosen])


def main() -> None:
    """Print the rates by language, half and kind."""
    pairs = {language: asyncio.run(answered(OfflineExperts(), language)) for language in LANGUAGES}
    table = Table(
        "", *(f"{language}" for language in LANGUAGES), title="Short questions answered as a person would"
    )
    rows: list[tuple[str, Callable[[Question], bool]]] = [("all", lambda question: True)]
    rows += [(half, partial(lambda value, question: question.half == value, half)) for half in HALVES]
    rows += [
        ("a node answers", lambda question: question.kind in ANSWERED),
        ("no node answers", lambda question: question.kind in REFUSED),
    ]
    rows += [(kind, partial(lambda value, question: question.kind == value, kind)) for kind in KINDS]
    for name, included in rows:
        table.add_row(name, *(_shown(rate(pairs[language], included)) for language in LANGUAGES))
    console = Console()
    console.print(table)
    if "--misses" in sys.argv:
        for question, given in (pair for language in LANGUAGES for pair in pairs[language]):
            if given not in question.answers:
                right = "/".join(sorted(question.answers))
                about = f"{question.task.language} {question.task.id} {question.kind} {question.half}"
                console.print(f"{about}: {question.text} -> {given}, not {right}", highlight=False)


def _shown(share: Interval) -> str:
    return f"{share.value:.2f} [{share.low:.2f}, {share.high:.2f}] of {share.n}".replace("[", "\\[")


def rows() -> Iterator[Row]:
    """Yield the share of right answers in each language."""
    for language in LANGUAGES:
        share = rate(asyncio.run(answered(OfflineExperts(), language)))
        yield Row(
            work=f"ClarQ-LLM: short questions answered as a person would, {language}",
            ours=share.value,
            unit="",
            more=True,
            remark=f"{share.low:.2f} to {share.high:.2f} of {share.n}",
        )


if __name__ == "__main__":
    main()
