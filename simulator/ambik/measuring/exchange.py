"""Shares of episodes in which somebody could ask: who asked when needed, right before and after (spec 10)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import pandas as pd

from simulator.ambik.measuring.outcome_rows import cluster_of
from simulator.ambik.playing import needs_question
from simulator.ambik.records import ABORTED, Exchange
from simulator.ambik.score import is_right, relevance, right_in_the_end
from simulator.stats import SHARE, Interval, cluster_bootstrap, share

Measured = Mapping[str, Interval | None]
ASKED: Final = ("asked when needed", "asked when not needed")
RELEVANT: Final = "relevant questions"
MEASURES: Final = (*ASKED, "right before", "right after", "questions", RELEVANT)


def exchange_measures(exchanges: Sequence[Exchange]) -> Measured:
    """Return each of `MEASURES`, None where it does not apply; nothing without exchanges.

    Whether it was asked when needed has Wilson's interval where each task was played once (`stats.share`); of
    the others, intervals are resampled over pairs. Tasks that were played several times count once.
    """
    if not exchanges:
        return {}
    rows = [
        (
            measure,
            cluster_of(exchange.before.item),
            f"{exchange.before.item.id} {exchange.before.dialogue}",
            value,
        )
        for exchange in exchanges
        for measure, value in _values(exchange)
    ]
    frame = pd.DataFrame(rows, columns=["measure", "pair", "task", "value"])
    by_measure = dict(iter(frame.groupby("measure")))
    return {name: _interval(name, by_measure[name]) if name in by_measure else None for name in MEASURES}


def _values(exchange: Exchange) -> Iterator[tuple[str, float]]:
    """Yield the measures that apply to an episode."""
    first, last, item = exchange.before, exchange.after, exchange.before.item
    if (needed := needs_question(item, first.dialogue)) is not None:
        yield ASKED[0] if needed else ASKED[1], float(bool(first.asked))
    answers = [answer for _, answer in exchange.questions]
    before = False if ABORTED in first.flags else is_right(item, first.action)
    after = False if exchange.aborted else right_in_the_end(item, last.asked, last.action, answers)
    if before is not None:
        yield "right before", float(before)
    if after is not None:
        yield "right after", float(after)
    yield "questions", float(len(exchange.questions))
    questions = [question for question, _ in exchange.questions] or [first.question]
    if (relevant := relevance(item, questions)) is not None:
        yield RELEVANT, relevant


def _interval(measure: str, rows: pd.DataFrame) -> Interval:
    tasks = rows["task"].tolist()
    if measure in ASKED:
        return share((rows["value"] > 0).tolist(), tasks)
    bounds = None if measure == "questions" else SHARE
    interval = cluster_bootstrap(rows["value"].tolist(), rows["pair"].tolist(), bounds=bounds)
    return interval._replace(n=len(set(tasks)))
