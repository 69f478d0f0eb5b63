"""Decision files, and the results of importing them."""

from __future__ import annotations

import json

from logs import LogReader, LogWriter
from simulator.ambik.data import load_pairs
from simulator.ambik.import_command import import_sources
from simulator.ambik.import_sources import read_sources
from simulator.ambik.reporting.exporting import form_lines

from .reports import report, sections

RUNS = ("m-knowno", "m-lap", "m-lofreecp", "m-binary", "m-nohelp", "kitchen", "scenarios")


KNOWNO = {
    "pair_id": "",
    "method": "knowno",
    "generator": "some/model",
    "options": {"A": "take the mug", "B": "take the cup"},
    "token_table": [["A", -0.5], ["B", -1.0]],
}


THRESHOLD = {"q_hat": 0.51, "n_calibration": 20, "epsilon": 0.2, "rank": 17}


def brought(log, *paths, data=None, name=None, duplicates="refuse"):
    """Import some files, and return what was read."""
    sources = read_sources(paths, data=data, duplicates=duplicates)
    assert sources.unreadable == ()
    with LogWriter(log, durable=False) as writer:
        import_sources(sources.files, writer, name=name)
    return sources.files


def lines_of(log, *runs):
    with LogReader(log) as reader:
        return [line for run in runs for line in form_lines(reader, run, self_contained=True)]


def reported(log, runs=(), files=(), **switches):
    """A report as JSON."""
    with LogReader(log) as reader:
        tables = sections(report(reader, runs, files, **switches))
    # A file does not say which built-in player answered.
    return {name: section for name, section in tables.items() if name != "errors"}


def written(path, *lines):
    text = "\n".join(map(json.dumps, lines)) if path.suffix == ".jsonl" else json.dumps(lines)
    path.write_text(text)
    return path


def foreign(count, *, skip=20, **more):
    """Bare lines on both members of some built-in pairs."""
    made = []
    for pair in load_pairs()[skip : skip + count]:
        for member in ("ambiguous", "clear"):
            kind = pair.type if member == "ambiguous" else "unambiguous_direct"
            options = dict(zip("ABCD", pair.options, strict=False))
            tokens = [[letter, -0.3 * place - 0.1 * len(made)] for place, letter in enumerate(options)]
            line = {**KNOWNO, "pair_id": pair.id, "member": member, "type": kind, "options": options}
            made.append({**line, "token_table": tokens, **more})
    return made
