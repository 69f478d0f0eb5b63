"""The server's CPU for a person's turn, and how long people wait, with hundreds of bots over HTTP.

All arrive in the same second and play one dialogue each with the built-in provider. The bots share the
cores with the server, but only the server's CPU is counted.
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import yaml
from rows import Process, Row, main

from logs import LogReader, LogWriter
from simulator.studies.bots.command import lost_and_doubled, serve_study
from simulator.studies.bots.visiting import Habits, play
from simulator.studies.known import find_study

PARTICIPANTS, THINK = 500, 5.0


def study_file(folder: Path) -> Path:
    """Write ClarQ-LLM's study with places for all, of one dialogue each."""
    study = yaml.safe_load((files("simulator.clarq") / "studies" / "h2l.yaml").read_text(encoding="utf-8"))
    study |= {"id": "crowd", "judgments_per_item": 12, "sets_per_participant": 1}
    path = folder / "crowd.yaml"
    path.write_text(yaml.safe_dump(study, allow_unicode=True), encoding="utf-8")
    return path


def rows() -> Iterator[Row]:
    """Yield CPU of a turn, the way in and out included, lost turns, and the 95th percentile of the waits."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        file, log = str(study_file(folder)), folder / "log.sqlite"
        with LogWriter(log, durable=True):
            study = find_study(file, log)
        with serve_study(file, log) as (address, process):
            before = Process.read(process).cpu
            tally = asyncio.run(play(address, study, log, PARTICIPANTS, Habits(think=THINK), 0))
            spent = Process.read(process).cpu - before
        with LogReader(log) as reader:
            lost, doubled = lost_and_doubled(reader, tally.acknowledged)
    turns = len(tally.acknowledged)
    crowd = f"{PARTICIPANTS} people at once, {THINK:g} s of thought"
    yield Row(
        work=f"a turn of {crowd}: the server's CPU, arrivals and ends included",
        ours=spent / turns,
        unit="ms",
        goal=5.0,
    )
    yield Row(
        work=f"turns of {crowd} that were lost or doubled",
        ours=lost + doubled,
        unit="turns",
        goal=0.0,
        remark=f"of {turns:,}",
    )
    yield Row(
        work=f"a turn of {crowd}: 95 of 100 take at most",
        ours=statistics.quantiles(tally.seconds, n=100)[94] * 1e3,
        unit="ms",
        goal=250.0,
        remark=f"{turns / tally.elapsed:.0f} turns a second",
    )


if __name__ == "__main__":
    main(rows)
