"""AmbiK's part of `askback data add`: what registered files hold, and what is odd about them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from simulator.ambik.data import read_pairs
from simulator.ambik.files.kinds import KNOWNO, LOGPROBS, PAIRS, TABLES
from simulator.ambik.files.versions import part_of
from simulator.ambik.rows import BENCHMARK
from simulator.tables.registering import Registration


def _holds(copy: Path) -> Mapping[str, int]:
    kinds = TABLES.files_of(copy)
    rows: Counter[str] = Counter()
    if PAIRS in kinds.values():
        pairs = read_pairs(copy).pairs
        rows["pairs"] = len(pairs)
        rows.update(f"for {part_of(pair)}" for pair in pairs)
    for file, kind in kinds.items():
        if kind is not PAIRS:
            rows[kind.title] += len(kind.read(file).rows)
    return rows


def _report(folder: Path) -> tuple[str, ...]:
    """Return what was seen and what is odd, by kind; places are told by `askback check`."""
    if PAIRS not in TABLES.files_of(folder).values():
        return ()
    report = read_pairs(folder).report
    named = (line.removeprefix(f"{folder}/") for line in report.lines())
    return (*named, *(("`askback check` names the rows",) if report.counts else ()))


DATA: Final = Registration(
    benchmark=BENCHMARK,
    tables=TABLES,
    kept=(PAIRS, KNOWNO, LOGPROBS),
    nothing=(
        "no good row of AmbiK's pairs (.csv with ambiguous_task, ambiguity_type, …), of KnowNo scenarios "
        "(.csv with intent_object, intent_location, …) or of a run (.json with top_logprobs, …)"
    ),
    holds=_holds,
    report=_report,
)
