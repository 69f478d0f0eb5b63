"""Runs of the log as files: decisions with their tasks, results as a table, annotators' pairs (spec 13)."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from logs import LogReader
from simulator.ambik.annotation import export as pair_export
from simulator.ambik.files.result_table import ALL
from simulator.ambik.log_lines import form_lines
from simulator.ambik.playing import ROBOT, USER
from simulator.ambik.reporting.groups import Result
from simulator.ambik.rows import item_from_row, item_record
from simulator.ambik.terms import CONFORMAL
from simulator.ambik.trial_log import options_of
from simulator.jsonlines import write_lines
from simulator.whole import write_whole

TYPES: Final = ("icr", "hr", "chr", "ssc")


def run_lines(reader: LogReader, run: str) -> Iterator[dict[str, Any]]:
    """Yield the lines of a run with what makes a file whole: the task, which part it serves, who sat where.

    Raises:
        InputError: if the run is another benchmark's.
        NotInLog: if there is no such run.
    """
    options = options_of(reader, run)
    calibrates = options.method in CONFORMAL and options.calibration is None
    items = {row.hash: item_from_row(row) for row in reader.items(run)}
    episodes = {one.id: one for one in reader.episodes(run)}
    drawn = {
        (turn.episode_id, turn.number): turn.payload.get("draws")
        for _, turns in reader.turns_of_run(run)
        for turn in turns
    }
    for line in form_lines(reader, run):
        episode = episodes[line["episode_id"]]
        item = items[episode.item_hash]
        more: dict[str, Any] = {
            "item": item_record(item),
            "robot": episode.seats.get(ROBOT, ""),
            "user": episode.seats.get(USER, ""),
        }
        if line.get("method"):
            more |= {
                "calibration_run": options.calibration.run if options.calibration else "",
                "part": "calibration" if calibrates else "test",
                "draws": drawn.get((episode.id, line["turn"])),
                "questions": episode.options.get("questions", 0),
            }
        yield line | more


def write_run_lines(path: Path, reader: LogReader, runs: Sequence[str]) -> int:
    """Write the lines of runs, those of their calibrations first, each run once.

    Returns:
        How many lines there are.

    Raises:
        InputError: if the file cannot be written, or a run is another benchmark's.
    """
    lines = [
        json.dumps(line, ensure_ascii=False, allow_nan=False)
        for run in with_calibrations(reader, runs)
        for line in run_lines(reader, run)
    ]
    write_lines(path, lines)
    return len(lines)


def with_calibrations(reader: LogReader, runs: Sequence[str]) -> tuple[str, ...]:
    """Runs, each after the calibration that it rests on, where the log has that."""
    known = {one.id for one in reader.runs()}
    found: dict[str, None] = {}
    for run in runs:
        calibrated = options_of(reader, run).calibration
        if calibrated is not None and calibrated.run in known:
            found[calibrated.run] = None
        found[run] = None
    return tuple(found)


def export_runs(
    folder: Path, reader: LogReader | None, runs: Sequence[str], results: Sequence[Result]
) -> list[Path]:
    """Write a file of decisions for each run, with its calibration, and one table of all results.

    Of annotators' runs the pairs that their drafts have become are written.

    Raises:
        InputError: if a file cannot be written, or no draft of a run has become a pair yet.
    """
    written = []
    if reader is not None:
        for run in dict.fromkeys(runs):
            if options_of(reader, run).task == "annotate":
                written += [export_run.path for export_run in pair_export.export_runs(folder, reader, [run])]
                continue
            path = folder / f"{safe(run)}.jsonl"
            write_run_lines(path, reader, [run])
            written.append(path)
    if results:
        written.append(write_whole(folder / "results.csv", results_csv(results)))
    return written


def safe(name: str) -> str:
    """Return a name fit for a file."""
    return "".join(sign if sign.isalnum() or sign in "._-" else "-" for sign in name).strip("-.") or "run"


def results_csv(results: Sequence[Result]) -> str:
    """Results as `files.result_table` reads them: a row for each method, robot and type, and one of pairs."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["method", "model", "type", "tasks", *TYPES, "ambdif"])
    for result in results:
        if result.group.dataset == "knowno":
            continue
        for kind in result.measures.types:
            values = [getattr(kind, name).value for name in TYPES]
            writer.writerow([result.group.method_name, result.name, kind.type, kind.tasks, *values, None])
        writer.writerow(
            [
                result.group.method_name,
                result.name,
                ALL[0],
                len(result.outcomes),
                *(None for _ in TYPES),
                result.measures.ambdif.value,
            ]
        )
    return out.getvalue()
