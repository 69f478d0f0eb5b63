"""Report on oddities in data files that can still be read. Nothing is repaired (spec 2.4, 2.5, 3).

tables/oddities.yaml has the titles of oddities, and lists those that are reported once for all their rows.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, NamedTuple

from simulator.ambik.files.pairs import (
    COLUMNS,
    OLD_NAMES,
    TITLES,
    FileKind,
    PairsFile,
    identify,
    is_new,
    is_numbered,
    mixed_versions,
    part_of,
    plan_shown,
)
from simulator.ambik.items import Pair, parting
from simulator.ambik.terms import table
from simulator.tables.cells import NO_BREAK, Record, clean_cell, is_absent, split_parts
from trees.faults import Fault

Oddity = tuple[str, str]
"""A code, and a message that begins with the column."""
# Only some of the published files have them (spec 2.2).
_MAY_BE_ABSENT: Final = ("id", "unambiguous_indirect", "variants", "take_amb")
_TASKS: Final = {
    "clear": "unambiguous_direct",
    "indirect": "unambiguous_indirect",
    "ambiguous": "ambiguous_task",
}
_PLANS: Final = ("plan_for_clear_task", "plan_for_amb_task")
_SEVERAL_STEPS: Final = re.compile(r"(?<![0-9])[2-9][.)]\s+[^\W\d_]")
_CROWDED_COMMA: Final = re.compile(r",\S")


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadReport:
    """Oddities of the rows of a data set.

    Attributes:
        warnings: oddities with file, line, id and, at the beginning of the message, column; an oddity shared
            by many rows is reported once, at the first row.
        repeated: number of pairs that are in several files and count once.
        restored: number of pairs without an id that get it from the same pair in another file.
        cells: raw cell lengths by id and field of the pair (spec 4): for a task the parts between single
            blanks, including outer ones; for a plan the line breaks.
    """

    files: tuple[FileKind, ...]
    warnings: tuple[Fault, ...] = ()
    oddities: tuple[Fault, ...] = ()
    repeated: int = 0
    restored: int = 0
    cells: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    @property
    def counts(self) -> dict[str, int]:
        """The number of occurrences of each oddity, in the order of the table.

        An oddity counts once per pair and column, even if several files have the pair; a shared one counts
        once per pair, and one without a pair once per file.
        """
        shared = table("oddities")["shared"]
        places = {
            (oddity.code, oddity.task or oddity.file, "" if oddity.code in shared else _column(oddity))
            for oddity in self.oddities
        }
        counts = Counter(code for code, _, _ in places)
        return {code: counts[code] for code in table("oddities")["titles"] if counts[code]}

    def lines(self) -> tuple[str, ...]:
        """Return the report in words, without line numbers."""
        lines = [
            f"{file.file}: {file.pairs} pairs, {TITLES[file.version]}"
            + (f"; recognized by {file.why}" if file.why else "")
            for file in self.files
        ]
        if self.repeated:
            lines.append(f"{self.repeated} pairs are in several files and are counted once")
        if self.restored:
            lines.append(f"{self.restored} pairs without an id get it from the same pair in another file")
        titles = table("oddities")["titles"]
        return (*lines, *(f"{titles[code]}: {count}" for code, count in self.counts.items()))


def load_report(*files: PairsFile, parts_known: bool = False) -> LoadReport:
    """Return the report on files that belong together.

    `parts_known`: True if rows without ``take_amb`` are known to be tests.
    """
    versions = tuple(map(identify, files))
    warnings, oddities = [*mixed_versions(versions)], [*mixed_versions(versions)]
    cells: dict[str, Mapping[str, int]] = {}
    for file in files:
        rows, file_level = tuple(zip(file.rows, file.records, strict=True)), [*_file_oddities(file)]
        ignored = {"take_missing"} if parts_known or len(set(map(part_of, file.rows))) < 2 else set()
        row_level = [
            Fault(file.table.path, pair.id, record.line, code, message, "warning")
            for pair, record in rows
            for rule in (_cells, _letters, _lists, _shortlist, _intent, _variants, _step, _plans, _new_kind)
            for code, message in rule(pair, record)
            if code not in ignored
        ]
        warnings += [*file_level, *_merge_shared(row_level)]
        oddities += [*file_level, *row_level]
        cells |= {pair.id: _cell_lengths(record) for pair, record in rows}
    return LoadReport(files=versions, warnings=tuple(warnings), oddities=tuple(oddities), cells=cells)


def _merge_shared(oddities: Sequence[Fault]) -> list[Fault]:
    """Return the oddities of a file by line, with shared ones merged into one at the first row."""
    shared: list[str] = table("oddities")["shared"]
    new = {oddity.task for oddity in oddities if oddity.code == "new_pairs"}
    single: list[tuple[int, Fault]] = []
    groups: defaultdict[str, list[Fault]] = defaultdict(list)
    for oddity in oddities:
        if oddity.code in shared and (
            oddity.task in new or oddity.code not in table("oddities")["shared_by_new"]
        ):
            groups[oddity.code].append(oddity)
        else:
            single.append((len(shared), oddity))
    merged = [(shared.index(code), _merge_faults(group)) for code, group in groups.items()]
    ranked = sorted((*merged, *single), key=lambda entry: (entry[1].line, entry[0]))
    return [warning for _, warning in ranked]


def _merge_faults(group: Sequence[Fault]) -> Fault:
    columns = ", ".join(sorted(set(map(_column, group))))
    rows = len({oddity.task for oddity in group})
    total = f"; {rows} rows, of which this is the first" if rows > 1 else ""
    return replace(group[0], message=f"{columns}:{group[0].message.partition(':')[2]}{total}")


def _column(oddity: Fault) -> str:
    return oddity.message.partition(":")[0]


def _file_oddities(file: PairsFile) -> Iterator[Fault]:
    """Yield the oddities of the file itself."""

    def warning(code: str, message: str) -> Fault:
        return Fault(file.table.path, "", 1, code, message, "warning")

    if not file.has_ids:
        yield warning("no_ids", "id: missing column; pairs are named by their rows (row-1, row-2, …)")
    absent = [name for name in COLUMNS if name not in (*file.table.columns, *_MAY_BE_ABSENT)]
    if absent:
        yield warning("no_column", f"no column {', '.join(absent)}")
    for name, written in file.table.renamed.items():
        if written not in OLD_NAMES:
            yield warning("column_form", f"{written}: this column is read as {name}")


def _cell_lengths(record: Record) -> Mapping[str, int]:
    words = {name: len(record.cells.get(column, "").split(" ")) for name, column in _TASKS.items()}
    breaks = (record.text(column).count("\n") for column in _PLANS)
    return {**words, **dict(zip(("clear_plan", "ambiguous_plan"), breaks, strict=True))}


# ---- the rules


def _cells(pair: Pair, record: Record) -> Iterator[Oddity]:
    for column in ("question", "answer", *_PLANS, "user_intent"):
        if column in record.cells and not record.text(column):
            yield "empty", f"{column}: is empty"
    if "unambiguous_indirect" in record.cells and not pair.indirect:
        yield "indirect_missing", "unambiguous_indirect: is empty"
    for column, text in record.cells.items():
        if column in COLUMNS and is_absent(clean_cell(text)):
            yield "word_for_empty", f"{column}: a word that means empty is read as an empty cell"
    if (written := record.text("ambiguity_type")) != pair.type:
        yield "type_form", f"ambiguity_type: {written!r} is read as {pair.type}"
    if part_of(pair) == "test":
        yield "take_missing", "take_amb: is empty where other rows have it; read as a test"


def _letters(pair: Pair, record: Record) -> Iterator[Oddity]:
    rules = table("oddities")
    latin = dict(zip(rules["cyrillic"], rules["latin"], strict=True))
    for column, text in record.cells.items():
        if text.isascii():
            continue
        if spaces := sum(map(text.count, NO_BREAK)):
            yield "no_break", f"{column}: {spaces} no-break space{'s' * (spaces > 1)}, read as blanks"
        signs = [sign for sign in dict.fromkeys(text) if sign in rules["divide_nothing"].get(column, "")]
        if signs:
            message = f"{column}: {' '.join(signs)} do not separate or negate anything; only , | - do"
            yield "full_width", message
        letters = [f"U+{ord(sign):04X} for {latin[sign]}" for sign in dict.fromkeys(text) if sign in latin]
        if letters:
            named = ", ".join(letters)
            yield (
                "look_alike",
                f"{column}: Cyrillic letters that look Latin ({named}); they match nothing",
            )


def _lists(pair: Pair, record: Record) -> Iterator[Oddity]:
    for column in ("environment_short", "amb_shortlist"):
        twice = [part for part, count in Counter(split_parts(record.text(column))).items() if count > 1]
        if twice:
            yield "repeated", f"{column}: {', '.join(twice)} twice"


def _shortlist(pair: Pair, record: Record) -> Iterator[Oddity]:
    text = record.text("amb_shortlist")
    if pair.type == "preferences" and not pair.shortlist:
        yield "shortlist_missing", "amb_shortlist: is empty in a row of preferences"
    if pair.type != "preferences" and pair.shortlist:
        yield "shortlist_type", f"amb_shortlist: is filled in a row of {pair.type}"
    if len(pair.shortlist) == 1:
        yield "shortlist_single", f"amb_shortlist: contains only {pair.shortlist[0]}"
    if text and not all(part.strip() for part in text.split(",")):
        yield "shortlist_comma", "amb_shortlist: has a comma with nothing before or after it"
    scene = {thing.casefold() for thing in pair.things}
    if absent := [thing for thing in pair.shortlist if thing.casefold() not in scene]:
        yield "shortlist_scene", f"amb_shortlist: {', '.join(absent)}: not in the scene"


def _intent(pair: Pair, record: Record) -> Iterator[Oddity]:
    if pair.intent is None:
        return
    if pair.intent.malformed:
        yield "intent_malformed", "user_intent: is a text or has no keywords; not measured"
        return
    for warning in pair.intent.warnings:
        yield "intent_form", f"user_intent: {warning}"
    if _CROWDED_COMMA.search(pair.intent.text):
        yield "intent_form", "user_intent: no blank after a comma"
    for concept in pair.intent.concepts:
        texts = Counter(alternative.text.casefold() for alternative in concept.alternatives)
        if twice := [text for text, count in texts.items() if count > 1]:
            yield "intent_form", f"user_intent: {', '.join(twice)}: the same alternative in two letter cases"


def _variants(pair: Pair, record: Record) -> Iterator[Oddity]:
    if malformed := sum(variant.malformed for variant in pair.variants):
        yield "variants_malformed", f"variants: {malformed} of {len(pair.variants)} lines are texts"
    if not pair.variants and part_of(pair) == "calibration":
        yield "variants_missing", "variants: is empty in a calibration row"


def _step(pair: Pair, record: Record) -> Iterator[Oddity]:
    step, plans = pair.step, (pair.clear_plan, pair.ambiguous_plan)
    if step is None:
        yield "step_missing", "end_of_ambiguity: is empty"
        return
    for column, plan in zip(_PLANS, plans, strict=True):
        if plan and step >= len(plan):
            lines = f"{column} has {len(plan)} lines, counted from 0"
            yield "step_outside", f"end_of_ambiguity: is {step}, but {lines}"
    clear, ambiguous = plans
    if clear == ambiguous != ():
        yield "plans_equal", "plan_for_amb_task: is the same as plan_for_clear_task"
    elif clear and ambiguous:
        place = parting(clear, ambiguous)
        place = min(map(len, plans)) if place is None else place
        if place != step:
            code = "parts_before" if place < step else "parts_after"
            yield code, f"end_of_ambiguity: is {step}, but the plans first differ at line {place}"
    if step < min(map(len, plans)) and clear[step] == ambiguous[step]:
        yield "step_equal", f"end_of_ambiguity: line {step} of both plans is the same"


def _plans(pair: Pair, record: Record) -> Iterator[Oddity]:
    for column in _PLANS:
        lines = [line for line in record.text(column).split("\n") if line.strip()]
        notes = [line for line in lines if not is_numbered(line)]
        if notes and len(notes) < len(lines):
            yield "plan_notes", f"{column}: {len(notes)} of {len(lines)} lines have no number"
        if any(_SEVERAL_STEPS.search(line.strip(), 1) for line in lines):
            yield "plan_one_line", f"{column}: a line contains several numbered steps, which count as one"


def _new_kind(pair: Pair, record: Record) -> Iterator[Oddity]:
    """Yield the oddities of pairs of the kind added in 2025, including which plan they show."""
    if is_new(pair, record):
        message = "plan_for_amb_task: is plan_for_clear_task, without numbers, as in pairs added in 2025"
        yield "new_pairs", message
        if member := plan_shown(pair):
            code = f"plan_{member}"
            yield code, f"plan_for_clear_task: {table('oddities')['titles'][code]}"


_Texts = tuple[str, str]


class LoadedPairs(NamedTuple):
    """One set of pairs.

    `pairs`: in the order in which they first occur.
    """

    pairs: tuple[Pair, ...]
    faults: tuple[Fault, ...]
    report: LoadReport


def merge(files: Sequence[PairsFile]) -> LoadedPairs:
    """Merge files into one set of pairs.

    A pair in several files counts once, preferably as its calibration row. A pair without an id gets the id
    that another file gives the same two tasks. Faults: two pairs with one id, and a calibration pair that a
    file of tests also has (spec 2.1), unless that file has all calibration rows: then it is the complete set.
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
        others, path = _calibration_elsewhere(file, named), file.table.path
        for pair, line in zip(file.rows, file.lines, strict=True):
            former = pairs.get(pair.id)
            if former is not None and _texts(former) != _texts(pair):
                message = f"id: another pair has it in {places[pair.id]}"
                faults.append(Fault(path, pair.id, line, "id", message))
            elif pair.id in others:
                message = f"id: the pair is for calibration in {others[pair.id]} and cannot also be a test"
                faults.append(Fault(path, pair.id, line, "leak", message))
            else:
                if former is not None:
                    repeated.add(pair.id)
                if former is None or part_of(former) == "test":
                    pairs[pair.id] = pair
                places.setdefault(pair.id, f"{Path(path).name}:{line}")
    report = replace(
        load_report(*named),
        repeated=len(repeated),
        restored=sum(_texts(pair) in known for file in files if not file.has_ids for pair in file.rows),
    )
    return LoadedPairs(tuple(pairs.values()), tuple(faults), report)


def _calibration_elsewhere(file: PairsFile, files: Iterable[PairsFile]) -> dict[str, str]:
    """Return the calibration pairs of other files, with the file's name; none if `file` is a complete set."""
    if any(part_of(pair) == "calibration" for pair in file.rows):
        return {}
    own = {pair.id for pair in file.rows}
    elsewhere: dict[str, str] = {}
    for other in files:
        theirs = {pair.id for pair in other.rows if part_of(pair) == "calibration"}
        if not theirs <= own:
            elsewhere |= dict.fromkeys(theirs, Path(other.table.path).name)
    return elsewhere


def _with_ids(file: PairsFile, known: Mapping[_Texts, str], several: bool) -> PairsFile:
    """Return a file with ids from other files; row numbers get a prefix if several files have no ids."""
    prefix = f"{Path(file.table.path).stem}-" if several else ""
    pairs = [replace(pair, id=known.get(_texts(pair), f"{prefix}{pair.id}")) for pair in file.rows]
    return replace(file, rows=tuple(pairs))


def _texts(pair: Pair) -> _Texts:
    return pair.clear, pair.ambiguous
