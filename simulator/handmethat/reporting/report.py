"""The tables of one or more runs: the shape of the paper's Table 2, and what questions are worth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from logs import LogReader
from simulator.handmethat.reporting.scored import score_run
from simulator.handmethat.reporting.tables import Asked, Gain, Row, asked_rows, gain_rows, table_rows
from simulator.handmethat.rows import stratum_of_row
from simulator.handmethat.sample import Makeup, makeup
from simulator.runner.logged import endings_of_runs, seat_failures


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Everything that is told of some runs.

    Attributes:
        rows: people first, then by name; full observability after partial.
        asked: success and score by the number of questions that were asked.
        gains: per question, from runs that allow different numbers of them.
        statuses: how many episodes ended how; ``open`` for those that have not, ``erased`` for those of
            people who have withdrawn, which count nowhere else.
        unscored: episodes without scores (failed, open, erased; aborted where they do not count).
        failures: why episodes failed -> how many did, the most frequent first.
        items: run -> what its items are: levels, quest types and templates.
        samples: run -> how its items were drawn (`Sample.to_json`); without runs that play all of their data.
        aborted: why seats failed -> how many episodes that aborted; they count as unsuccessful.
        exclude_aborted: whether these are left out instead.
    """

    runs: tuple[str, ...]
    rows: tuple[Row, ...]
    asked: tuple[Asked, ...]
    gains: tuple[Gain, ...]
    statuses: Mapping[str, int] = field(default_factory=dict)
    unscored: int = 0
    failures: Mapping[str, int] = field(default_factory=dict)
    items: Mapping[str, Makeup] = field(default_factory=dict)
    samples: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    aborted: Mapping[str, int] = field(default_factory=dict)
    exclude_aborted: bool = False


def report(reader: LogReader, runs: Sequence[str], *, exclude_aborted: bool = False) -> Report:
    """The report of some runs; aborted episodes count as unsuccessful unless they are excluded."""
    scored = tuple(one for run in runs for one in score_run(reader, run, exclude_aborted=exclude_aborted))
    statuses, failures = endings_of_runs(reader, runs)
    return Report(
        runs=tuple(runs),
        rows=table_rows(scored),
        asked=asked_rows(scored),
        gains=gain_rows(scored),
        statuses=statuses,
        unscored=sum(statuses.values()) - len(scored),
        failures=failures,
        items={run: makeup(map(stratum_of_row, reader.items(run))) for run in runs},
        samples={run: drawn for run in runs if (drawn := reader.run(run).config.get("sample"))},
        aborted=seat_failures(reader, runs),
        exclude_aborted=exclude_aborted,
    )
