"""`askback study agreement`: agreement of participants on items that several of them have seen.

Krippendorff's alpha over items, for each question that is asked after a set, and for each score: 1 if all
participants agree on every item, 0 if two participants of one item differ as much as any two. The interval
resamples items.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Final

import pandas as pd
import typer
from rich.console import Console

from logs import LogReader
from logs.cli import LogOption
from logs.paths import default_path
from simulator import catalog, frames
from simulator.figures import Table
from simulator.judging.agreement import alpha_measure, intervals, masi_distance, nominal_distance
from simulator.output_files import write_atomically
from simulator.reports import present_metrics
from simulator.studies.command import StudyArgument
from simulator.studies.files import Study
from simulator.studies.known import find_study
from simulator.studies.questions import Question

COLUMNS: Final = ("what", "measured", "items", "people", "alpha", "low", "high", "remark")
_KEY: Final = ("item", "language")
_LEAST: Final = 2


def show_agreement(
    study: StudyArgument,
    csv: Annotated[Path | None, typer.Option(help="CSV file to write the table to as well")] = None,
    log: LogOption = None,
) -> None:
    """Show the agreement of participants on the same items, in answers and scores: alpha with intervals."""
    chosen = find_study(study, log)
    with LogReader(log or default_path()) as reader:
        measured = agreement(reader, chosen)
    Console().print(Table.of_frame(measured).to_text())
    if csv is not None:
        write_atomically(csv, Table.of_frame(measured).to_csv())


def agreement(reader: LogReader, study: Study) -> pd.DataFrame:
    """Return the agreement of participants, with a row for each question after the set and for each score.

    Columns: ``what``, the question or score; ``measured``: as ``names``, as ``numbers`` (squared differences)
    or as ``sets`` (MASI); ``items`` with two or more answers; ``people``, mean number of answers per item;
    ``alpha`` and the bounds of its 95 % interval, missing if undefined; and ``remark``, the reason.

    Raises:
        NotInLog: if the study was never opened on this log.
    """
    frame = frames.episodes(reader, [study.run_id])
    metrics = [metric.name for metric in present_metrics(catalog.find(study.benchmark), frame)]
    return agreement_of(frame, study.questions, metrics)


def agreement_of(frame: pd.DataFrame, questions: Sequence[Question], metrics: Sequence[str]) -> pd.DataFrame:
    """Return the table of `agreement` for a frame of episodes (`frames.episodes`)."""
    rows = [
        _row(frame, column, what, measured)
        for column, what, measured in _rated_columns(frame, questions, metrics)
    ]
    return pd.DataFrame(rows, columns=[*COLUMNS])


def _rated_columns(
    frame: pd.DataFrame, questions: Sequence[Question], metrics: Sequence[str]
) -> Iterator[tuple[str, str, str]]:
    for question in questions:
        column = f"{frames.ANSWER}{question.id}"
        measured = {"choice": "names", "choices": "sets", "scale": "numbers", "number": "numbers"}
        # Typed texts have no agreement, and questions before the set concern no item.
        if question.when == "after" and question.kind in measured and column in frame:
            yield column, question.id, measured[question.kind]
    for metric in metrics:
        if pd.api.types.is_numeric_dtype(frame[metric]) or pd.api.types.is_bool_dtype(frame[metric]):
            yield metric, metric, "numbers"


def _row(frame: pd.DataFrame, column: str, what: str, measured: str) -> tuple[Any, ...]:
    plain: Callable[[Any], Any] = {"sets": frozenset, "numbers": float}.get(measured, str)
    answers = frame[[*_KEY, column]].dropna(subset=[column])
    units = [[plain(value) for value in part] for _, part in answers.groupby([*_KEY], sort=False)[column]]
    shared = [unit for unit in units if len(unit) >= _LEAST]
    distances = {"sets": masi_distance, "numbers": lambda first, second: float(first - second) ** 2}
    distance: Any = distances.get(measured, nominal_distance)
    interval = intervals({what: alpha_measure(shared, distance)})[what] if shared else None
    people = sum(map(len, shared)) / len(shared) if shared else None
    remark = "" if interval is not None else _why_undefined(units, shared)
    if interval is not None and len(shared) == 1:
        remark = "a single item: the interval does not generalize to other items"
    ends = (None, None, None) if interval is None else (interval.value, interval.low, interval.high)
    return what, measured, len(shared), people, *ends, remark


def _why_undefined(units: Sequence[Sequence[Any]], shared: Sequence[Sequence[Any]]) -> str:
    if not units:
        return "no answers yet"
    if not shared:
        return f"undefined: no item has two answers yet (items: {len(units)})"
    return "undefined: all answers are the same, so agreement cannot be distinguished from chance"
