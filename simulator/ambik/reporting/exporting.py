"""Runs of the log as files: decisions with their tasks, results as a table, annotators' pairs (spec 13)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import pandas as pd

from logs import LogReader
from simulator.ambik.annotation import export as pair_export
from simulator.ambik.files.result_table import ALL
from simulator.ambik.log_lines import form_lines
from simulator.ambik.playing import ROBOT, USER
from simulator.ambik.reporting.results import Result
from simulator.ambik.rows import item_from_row, item_record
from simulator.ambik.terms import CONFORMAL
from simulator.ambik.trial_log import options_of
from simulator.jsonlines import write_lines
from simulator.whole import file_name, write_whole

_MEASURES: Final = ("icr", "hr", "chr", "ssc")


def run_lines(reader: LogReader, run: str) -> Iterator[dict[str, Any]]:
    """Yield the lines of a run with what makes a file whole: the task, which part it serves, who sat where.

    Raises:
        InputError: if the run is another benchmark's.
        NotInLog: if there is no such run.
    """
    options = options_of(reader, run)
    calibrates = options.method in CONFORMAL and options.calibration is None
    items = {row.hash: item_from_row(row) for row in reader.items(run)}
    played = {episode.id: (episode, turns) for episode, turns in reader.turns_of_run(run)}
    for line in form_lines(reader, run):
        episode, turns = played[line["episode_id"]]
        line |= {
            "item": item_record(items[episode.item_hash]),
            "robot": episode.seats.get(ROBOT, ""),
            "user": episode.seats.get(USER, ""),
        }
        if line.get("method"):
            line |= {
                "calibration_run": options.calibration.run if options.calibration else "",
                "part": "calibration" if calibrates else "test",
                "draws": next(turn for turn in turns if turn.number == line["turn"]).payload.get("draws"),
                "questions": episode.options.get("questions", 0),
            }
        yield line


def write_run_lines(path: Path, reader: LogReader, runs: Sequence[str]) -> int:
    """Write the lines of runs, those of their calibrations first, each run once; return how many there are.

    Raises:
        InputError: if the file cannot be written, or a run is another benchmark's.
    """
    known, ordered = {run.id for run in reader.runs()}, dict[str, None]()
    for run in runs:
        calibrated = options_of(reader, run).calibration
        if calibrated is not None and calibrated.run in known:
            ordered[calibrated.run] = None
        ordered[run] = None
    lines = [
        json.dumps(line, ensure_ascii=False, allow_nan=False)
        for run in ordered
        for line in run_lines(reader, run)
    ]
    write_lines(path, lines)
    return len(lines)


def export_runs(
    folder: Path, reader: LogReader, runs: Sequence[str], results: Sequence[Result]
) -> Iterator[Path]:
    """Write a file of decisions for each run, with its calibration, and one table of all results.

    Of annotators' runs the pairs that their drafts have become are written.

    Raises:
        InputError: if a file cannot be written, or no draft of a run has become a pair yet.
    """
    for run in dict.fromkeys(runs):
        if options_of(reader, run).task == "annotate":
            yield from (written.path for written in pair_export.export_runs(folder, reader, [run]))
        else:
            path = folder / f"{file_name(run)}.jsonl"
            write_run_lines(path, reader, [run])
            yield path
    if results:
        yield write_whole(folder / "results.csv", results_csv(results))


def results_csv(results: Sequence[Result]) -> str:
    """Return results as `files.result_table` reads them: a row per method, robot and type, one of pairs."""
    rows: list[dict[str, Any]] = []
    for result in results:
        if result.group.dataset == "knowno":
            continue
        name = {"method": result.group.method_name, "model": result.name}
        for kind in result.measures.types:
            values = {measure: getattr(kind, measure).value for measure in _MEASURES}
            rows.append({**name, "type": kind.type, "tasks": kind.tasks, **values})
        ambdif = result.measures.ambdif.value
        rows.append({**name, "type": ALL[0], "tasks": len(result.outcomes), "ambdif": ambdif})
    columns = ["method", "model", "type", "tasks", *_MEASURES, "ambdif"]
    return str(pd.DataFrame(rows, columns=columns).to_csv(index=False, lineterminator="\n"))
