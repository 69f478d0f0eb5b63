"""What is odd about data that can be read all the same; nothing of it is repaired (spec 2.4, 2.5)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from simulator.ambik.files.pairs import COLUMNS, PairsFile
from simulator.ambik.files.table import Record
from simulator.ambik.oddities import row_oddities
from simulator.ambik.versions import TITLES, Seen, is_new, mixture, seen
from trees.faults import Fault

TITLES_OF: Final[Mapping[str, str]] = {
    "version": "versions mixed",
    "no_ids": "no column of ids",
    "no_column": "columns that are not there",
    "empty": "empty cells",
    "no_break": "no-break spaces, read as blanks",
    "look_alike": "Cyrillic letters that look Latin",
    "repeated": "an object twice in a list",
    "shortlist_missing": "preferences without a shortlist",
    "shortlist_type": "a shortlist where the type is not preferences",
    "shortlist_single": "a shortlist of one object",
    "shortlist_comma": "a shortlist with an empty part",
    "shortlist_scene": "objects of a shortlist that are not in the scene",
    "intent_malformed": "an intent that is a piece of text; not measured",
    "intent_form": "an intent of odd form",
    "variants_malformed": "variants of which a line is a piece of text",
    "variants_missing": "calibration rows without variants",
    "step_missing": "no index of the ambiguous step",
    "step_outside": "an index outside of a plan",
    "step_equal": "the plans' lines at the index are the same",
    "plans_equal": "both plans are the same",
    "parts_before": "the plans part before the index",
    "parts_after": "the plans part after the index",
    "plan_notes": "lines without a number in a numbered plan",
    "plan_one_line": "several numbered steps in one line of a plan",
    "new_pairs": "pairs of the kind added in 2025",
}
"""All oddities by their code."""
# Only some of the published files have them (spec 2.2).
_MAY_BE_ABSENT: Final = ("id", "unambiguous_indirect", "variants", "take_amb")
_PLANS: Final = ("plan_for_clear_task", "plan_for_amb_task")


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadReport:
    """What was read, and what is odd about it.

    Attributes:
        files: which versions were seen.
        warnings: every oddity with file, line, id and, at the beginning of its message, column.
        repeated: pairs that several files hold, each taken once.
        restored: pairs of files without ids that have the id of the same pair in another file.
        breaks: by id of the pair, line breaks in the cells of the clear and of the ambiguous plan (spec 4).
    """

    files: tuple[Seen, ...]
    warnings: tuple[Fault, ...] = ()
    repeated: int = 0
    restored: int = 0
    breaks: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    @property
    def counts(self) -> dict[str, int]:
        """How many rows there are of each oddity, in the order of `TITLES_OF`."""
        rows = Counter(one.code for one in set(self.warnings))
        return {code: rows[code] for code in TITLES_OF if rows[code]}

    def ids(self, code: str) -> tuple[str, ...]:
        """The pairs with an oddity, in the files' order."""
        return tuple(dict.fromkeys(one.task for one in self.warnings if one.code == code))

    def lines(self) -> tuple[str, ...]:
        """The report in words, without places."""
        told = [
            f"{one.file}: {one.pairs} pairs, {TITLES[one.version]}"
            + (f"; told by {one.why}" if one.why else "")
            for one in self.files
        ]
        if self.repeated:
            told.append(f"{self.repeated} pairs are in several files and count once")
        if self.restored:
            told.append(f"{self.restored} pairs without id have that of the same pair in another file")
        return (*told, *(f"{TITLES_OF[code]}: {count}" for code, count in self.counts.items()))


def load_report(file: PairsFile) -> LoadReport:
    """The report on one file: a function of its rows and of what was read of them."""
    rows = tuple(zip(file.pairs, file.records, strict=True))
    found = [
        Fault(file.table.path, pair.id, record.line, code, message, "warning")
        for pair, record in rows
        for code, message in row_oddities(pair, record)
    ]
    by_line = sorted((*_of_file(file), *found), key=lambda fault: fault.line)
    return LoadReport(
        files=(seen(file),),
        warnings=tuple(by_line),
        breaks={pair.id: _breaks(record) for pair, record in rows},
    )


def joined(reports: Sequence[LoadReport]) -> LoadReport:
    """The report on several files that belong together."""
    files = tuple(one for report in reports for one in report.files)
    return LoadReport(
        files=files,
        warnings=(*mixture(files), *(fault for report in reports for fault in report.warnings)),
        breaks={id: breaks for report in reports for id, breaks in report.breaks.items()},
    )


def _of_file(file: PairsFile) -> Iterator[Fault]:
    """What is odd about the file, and about so many of its rows that they are told together."""

    def warning(line: int, id: str, code: str, message: str) -> Fault:
        return Fault(file.table.path, id, line, code, message, "warning")

    if not file.has_ids:
        yield warning(1, "", "no_ids", "id: no such column; pairs are named by their rows (row-1, row-2, …)")
    absent = [name for name in COLUMNS if name not in (*file.table.columns, *_MAY_BE_ABSENT)]
    if absent:
        yield warning(1, "", "no_column", f"no column {', '.join(absent)}")
    rows = tuple(zip(file.pairs, file.records, strict=True))
    if "unambiguous_indirect" in file.table.columns:
        empty = [(pair, record) for pair, record in rows if not pair.indirect]
        if empty:
            pair, record = empty[0]
            message = f"unambiguous_indirect: is empty{_of_which(len(empty))}"
            yield warning(record.line, pair.id, "empty", message)
    new = [(pair, record) for pair, record in rows if is_new(pair, record)]
    if new:
        pair, record = new[0]
        message = (
            "plan_for_amb_task: is the clear plan, without numbers, as in pairs added in 2025: the ambiguous "
            f"task is shown with the clear action{_of_which(len(new))}"
        )
        yield warning(record.line, pair.id, "new_pairs", message)


def _of_which(count: int) -> str:
    return "" if count == 1 else f"; {count} rows, of which this is the first"


def _breaks(record: Record) -> tuple[int, int]:
    clear, ambiguous = (record.text(name).count("\n") for name in _PLANS)
    return clear, ambiguous
