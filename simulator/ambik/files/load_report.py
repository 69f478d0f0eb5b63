"""What is odd about data that can be read all the same; nothing of it is repaired (spec 2.4, 2.5)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from simulator.ambik.files.oddities import GROUPED, all_oddities, row_oddities
from simulator.ambik.files.pairs import COLUMNS, OLD_NAMES, PairsFile
from simulator.ambik.files.versions import TITLES, Seen, is_new, mixture, part_of, plan_shown, seen
from simulator.ambik.pairs import Pair
from simulator.tables.cells import Record, clean, says_nothing
from trees.faults import Fault

TITLES_OF: Final[Mapping[str, str]] = {
    "version": "versions mixed",
    "no_ids": "no column of ids",
    "no_column": "columns that are not there",
    "column_form": "columns in another spelling",
    "empty": "empty cells",
    "word_for_empty": "cells with a word for an empty one (nan, None, …), read as empty",
    "type_form": "types in another spelling",
    "indirect_missing": "clear tasks without another wording",
    "no_break": "no-break spaces, read as blanks",
    "look_alike": "Cyrillic letters that look Latin",
    "full_width": "full-width signs, which divide nothing",
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
    "take_missing": "rows without take_amb where others have it, read as tests",
    "step_missing": "no index of the ambiguous step",
    "step_outside": "an index outside of a plan",
    "step_equal": "the plans' lines at the index are the same",
    "plans_equal": "both plans are the same",
    "plan_ambiguous": "both plans are the ambiguous one: the clear task is shown an ambiguous step",
    "plan_clear": "both plans are the clear one: the ambiguous task is shown the clear step",
    "parts_before": "the plans part before the index",
    "parts_after": "the plans part after the index",
    "plan_notes": "lines without a number in a numbered plan",
    "plan_one_line": "several numbered steps in one line of a plan",
    "new_pairs": "pairs of the kind added in 2025",
}
"""All oddities by their code."""
# Only some of the published files have them (spec 2.2).
_MAY_BE_ABSENT: Final = ("id", "unambiguous_indirect", "variants", "take_amb")
_Rows = tuple[tuple[Pair, Record], ...]
_TASKS: Final = ("unambiguous_direct", "unambiguous_indirect", "ambiguous_task")
_PLANS: Final = ("plan_for_clear_task", "plan_for_amb_task")
# Told once for all rows of a file.
_SHARED: Final = (
    *("indirect_missing", "new_pairs", "take_missing", "word_for_empty", "type_form"),
    *("plan_ambiguous", "plan_clear", *GROUPED),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadReport:
    """What was read, and what is odd about it.

    Attributes:
        files: which versions were seen.
        warnings: every oddity with file, line, id and, at the beginning of its message, column.
        repeated: pairs that several files hold, each taken once.
        restored: pairs of files without ids that have the id of the same pair in another file.
        grouped: by oddity, the pairs that share the warning of one before them.
        breaks: by id of the pair, line breaks in the cells of the clear and of the ambiguous plan (spec 4).
        words: by id of the pair, parts between single blanks in the cells of the clear, the indirect and the
            ambiguous task as they stand, outer blanks included (spec 4).
    """

    files: tuple[Seen, ...]
    warnings: tuple[Fault, ...] = ()
    repeated: int = 0
    restored: int = 0
    grouped: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    breaks: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    words: Mapping[str, tuple[int, int, int]] = field(default_factory=dict)

    @property
    def counts(self) -> dict[str, int]:
        """How often each oddity is there, in the order of `TITLES_OF`.

        In each column it counts once for a pair, however many files hold the pair; without a pair once for
        each file.
        """
        places = {
            (warning.code, warning.task or warning.file, warning.message.partition(":")[0])
            for warning in self.warnings
        }
        rows = Counter(code for code, _, _ in places)
        counts = {code: len(self.ids(code)) if code in _SHARED else rows[code] for code in TITLES_OF}
        return {code: count for code, count in counts.items() if count}

    def ids(self, code: str) -> tuple[str, ...]:
        """Return the pairs with an oddity; those that share a warning come last."""
        ids = (warning.task for warning in self.warnings if warning.code == code)
        return tuple(dict.fromkeys((*ids, *self.grouped.get(code, ()))))

    def lines(self) -> tuple[str, ...]:
        """Return the report in words, without places."""
        lines = [
            f"{file.file}: {file.pairs} pairs, {TITLES[file.version]}"
            + (f"; told by {file.why}" if file.why else "")
            for file in self.files
        ]
        if self.repeated:
            lines.append(f"{self.repeated} pairs are in several files and count once")
        if self.restored:
            lines.append(f"{self.restored} pairs without id have that of the same pair in another file")
        return (*lines, *(f"{TITLES_OF[code]}: {count}" for code, count in self.counts.items()))


def load_report(file: PairsFile, *, parts_told: bool = False) -> LoadReport:
    """Return the report on one file: a function of its rows and of what was read of them.

    Args:
        file: the file.
        parts_told: whether rows without ``take_amb`` are meant as tests, as they said by other means.
    """
    rows = tuple(zip(file.pairs, file.records, strict=True))
    warnings = [
        Fault(file.table.path, pair.id, record.line, code, message, "warning")
        for pair, record in rows
        for code, message in row_oddities(pair, record)
    ]
    groups = (*_groups(rows), *(() if parts_told else _without_take(rows)))
    shared = (
        Fault(file.table.path, held[0][0].id, held[0][1].line, code, f"{message}{_of_which(held)}", "warning")
        for code, message, held in groups
    )
    by_line = sorted((*_of_file(file), *shared, *warnings), key=lambda fault: fault.line)
    return LoadReport(
        files=(seen(file),),
        warnings=tuple(by_line),
        grouped={code: tuple(pair.id for pair, _ in held[1:]) for code, _, held in groups if len(held) > 1},
        breaks={pair.id: _breaks(record) for pair, record in rows},
        words={pair.id: _words(record) for pair, record in rows},
    )


def joined(reports: Sequence[LoadReport]) -> LoadReport:
    """Return the report on several files that belong together."""
    files = tuple(file for report in reports for file in report.files)
    return LoadReport(
        files=files,
        warnings=(*mixture(files), *(fault for report in reports for fault in report.warnings)),
        grouped={
            code: tuple(id for report in reports for id in report.grouped.get(code, ())) for code in TITLES_OF
        },
        breaks={id: breaks for report in reports for id, breaks in report.breaks.items()},
        words={id: words for report in reports for id, words in report.words.items()},
    )


def _of_file(file: PairsFile) -> Iterator[Fault]:
    """Yield what is odd about the file as a whole."""
    if not file.has_ids:
        message = "id: no such column; pairs are named by their rows (row-1, row-2, …)"
        yield Fault(file.table.path, "", 1, "no_ids", message, "warning")
    absent = [name for name in COLUMNS if name not in (*file.table.columns, *_MAY_BE_ABSENT)]
    if absent:
        yield Fault(file.table.path, "", 1, "no_column", f"no column {', '.join(absent)}", "warning")
    for name, written in file.table.renamed.items():
        if written not in OLD_NAMES:
            message = f"{written}: this column is read as {name}"
            yield Fault(file.table.path, "", 1, "column_form", message, "warning")


def _groups(rows: _Rows) -> Iterator[tuple[str, str, _Rows]]:
    """Oddities that so many rows may have that they are told together: code, message, rows."""
    without = tuple(
        (pair, record)
        for pair, record in rows
        if "unambiguous_indirect" in record.cells and not pair.indirect
    )
    if without:
        yield "indirect_missing", "unambiguous_indirect: is empty", without
    worded = tuple((pair, record) for pair, record in rows if _words_for_empty(record))
    if worded:
        named = ", ".join(sorted({name for _, record in worded for name in _words_for_empty(record)}))
        yield "word_for_empty", f"{named}: a word for an empty cell is read as one", worded
    spelled = tuple((pair, record) for pair, record in rows if record.text("ambiguity_type") != pair.type)
    if spelled:
        pair, record = spelled[0]
        written = record.text("ambiguity_type")
        yield "type_form", f"ambiguity_type: {written!r} is read as {pair.type}", spelled
    new = tuple((pair, record) for pair, record in rows if is_new(pair, record))
    if new:
        message = "plan_for_amb_task: is plan_for_clear_task, without numbers, as in pairs added in 2025"
        yield "new_pairs", message, new
    for code, member in (("plan_ambiguous", "ambiguous"), ("plan_clear", "clear")):
        if held := tuple((pair, record) for pair, record in new if plan_shown(pair) == member):
            yield code, f"plan_for_clear_task: {TITLES_OF[code]}", held
    # What so many new pairs have in common is told once; it counts for each of them.
    for code in GROUPED:
        shared = [
            (pair, record, message)
            for pair, record in new
            for oddity, message in all_oddities(pair, record)
            if oddity == code
        ]
        if shared:
            yield code, shared[0][2], tuple((pair, record) for pair, record, _ in shared)


def _without_take(rows: _Rows) -> Iterator[tuple[str, str, _Rows]]:
    """Yield a row that does not say which member to take, where others do, may have lost it."""
    without = tuple((pair, record) for pair, record in rows if part_of(pair) == "test")
    if without and len(without) < len(rows):
        yield "take_missing", "take_amb: is empty where other rows have it; read as a test", without


def _words_for_empty(record: Record) -> list[str]:
    """Columns whose cell is a word for an empty one."""
    return [name for name, text in record.cells.items() if name in COLUMNS and says_nothing(clean(text))]


def _of_which(held: _Rows) -> str:
    return "" if len(held) == 1 else f"; {len(held)} rows, of which this is the first"


def _words(record: Record) -> tuple[int, int, int]:
    clear, indirect, ambiguous = (len(record.cells.get(name, "").split(" ")) for name in _TASKS)
    return clear, indirect, ambiguous


def _breaks(record: Record) -> tuple[int, int]:
    clear, ambiguous = (record.text(name).count("\n") for name in _PLANS)
    return clear, ambiguous
