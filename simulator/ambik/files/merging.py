"""Files of a folder that hold parts of one set of pairs: for calibration, for tests, or all of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from simulator.ambik.files.load_report import LoadReport, joined, load_report
from simulator.ambik.files.pairs import PairsFile
from simulator.ambik.files.versions import part_of
from simulator.ambik.pairs import Pair
from trees.faults import Fault

_Texts = tuple[str, str]


class Loaded(NamedTuple):
    """One set of pairs.

    Attributes:
        pairs: in the order in which they first occur.
        faults: of all rows that are not among them.
        report: on what is odd about all files.
    """

    pairs: tuple[Pair, ...]
    faults: tuple[Fault, ...]
    report: LoadReport


def merge(files: Sequence[PairsFile]) -> Loaded:
    """Return one set of pairs out of its files.

    A pair that several files hold counts once; as the calibration row has it, if there is one. A pair of a
    file without ids takes the id that another file gives the same two tasks. Faults: two pairs of one id, and
    a pair for calibration that a file of tests holds too (spec 2.1); a file with all calibration rows of
    another is no file of tests, but the whole.
    """
    known: dict[_Texts, str] = {}
    for pair in (pair for file in files if file.has_ids for pair in file.rows):
        known.setdefault(_texts(pair), pair.id)
    several = sum(not file.has_ids for file in files) > 1
    named = [file if file.has_ids else _with_ids(file, known, several) for file in files]
    pairs: dict[str, Pair] = {}
    places: dict[str, str] = {}
    faults = [fault for file in files for fault in file.faults]
    repeated: set[str] = set()
    for file in named:
        held, path = _held_for_calibration(file, named), file.table.path
        for pair, line in zip(file.rows, file.lines, strict=True):
            former = pairs.get(pair.id)
            if former is not None and _texts(former) != _texts(pair):
                message = f"id: another pair has it in {places[pair.id]}"
                faults.append(Fault(path, pair.id, line, "id", message))
            elif pair.id in held:
                message = f"id: the pair is for calibration in {held[pair.id]}, and cannot be a test too"
                faults.append(Fault(path, pair.id, line, "leak", message))
            else:
                if former is not None:
                    repeated.add(pair.id)
                if former is None or part_of(former) == "test":
                    pairs[pair.id] = pair
                places.setdefault(pair.id, f"{Path(path).name}:{line}")
    report = replace(
        joined([load_report(file) for file in named]),
        repeated=len(repeated),
        restored=sum(_texts(pair) in known for file in files if not file.has_ids for pair in file.rows),
    )
    return Loaded(tuple(pairs.values()), tuple(faults), report)


def _held_for_calibration(file: PairsFile, files: Iterable[PairsFile]) -> dict[str, str]:
    """Pairs that other files have for calibration -> name of the file; none if this is the whole of one."""
    if any(part_of(pair) == "calibration" for pair in file.rows):
        return {}
    own = {pair.id for pair in file.rows}
    held: dict[str, str] = {}
    for other in files:
        theirs = {pair.id for pair in other.rows if part_of(pair) == "calibration"}
        if not theirs <= own:
            held |= dict.fromkeys(theirs, Path(other.table.path).name)
    return held


def _with_ids(file: PairsFile, known: Mapping[_Texts, str], several: bool) -> PairsFile:
    """Return a file with the ids that others know; where several have none, rows alone do not tell."""
    prefix = f"{Path(file.table.path).stem}-" if several else ""
    pairs = [replace(pair, id=known.get(_texts(pair), f"{prefix}{pair.id}")) for pair in file.rows]
    return replace(file, rows=tuple(pairs))


def _texts(pair: Pair) -> _Texts:
    return pair.clear, pair.ambiguous
