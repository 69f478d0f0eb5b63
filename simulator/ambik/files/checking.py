"""What is wrong with AmbiK's files, and what is odd about them (spec 2.4, 2.5)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from simulator.ambik.files.kinds import PAIRS, files_of, is_csv
from simulator.ambik.files.merging import merge
from simulator.ambik.files.pairs import PairsFile, looks_like_pairs, read_pairs_file
from simulator.ambik.files.table import header_of
from simulator.errors import InputError
from trees.faults import Fault

KIND: Final = (
    "AmbiK's pairs, drafts, KnowNo scenarios and runs (.csv, .json or .jsonl, told by their columns)"
)


def find_files(path: Path) -> tuple[Path, ...]:
    """The files of AmbiK in a folder and the folders below; a file itself if it is one.

    A file that is named is one also if its columns only look like those of pairs.
    """
    found = tuple(files_of(path))
    return found or ((path,) if path.is_file() and _looks_like_pairs(path) else ())


def check_files(files: Sequence[Path], *, one_set: bool = False) -> tuple[Fault, ...]:
    """All faults of such files; pairs in one folder belong together, or all if they are `one_set`.

    An error is a row that cannot be read or that contradicts another file; a warning deserves a look.
    """
    faults: list[Fault] = []
    pairs: defaultdict[Path, list[PairsFile]] = defaultdict(list)
    for file in files:
        kind = next(iter(files_of(file).values()), PAIRS)
        try:
            if kind is PAIRS:
                pairs[Path() if one_set else file.parent].append(read_pairs_file(file))
            else:
                faults += kind.read(file).faults
        except InputError as error:
            faults.append(Fault(str(file), "", 0, "format", str(error).removeprefix(f"{file}: ")))
    for held in pairs.values():
        merged = merge(held)
        faults += (*merged.faults, *merged.report.warnings)
    return tuple(faults)


def _looks_like_pairs(path: Path) -> bool:
    return is_csv(path) and looks_like_pairs(header_of(path))
