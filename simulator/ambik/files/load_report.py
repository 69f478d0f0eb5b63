"""What is odd about data that can be read all the same; nothing of it is repaired (spec 2.4, 2.5, 3).

What odd things are called, and which are told once for all rows that have them, says tables/oddities.yaml.
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
    is_new,
    is_numbered,
    mixture,
    part_of,
    plan_shown,
    seen,
)
from simulator.ambik.items import Pair, parting
from simulator.ambik.terms import table
from simulator.tables.cells import NO_BREAK, Record, clean, parts, says_nothing
from trees.faults import Fault

Oddity = tuple[str, str]
"""Its code, and a message that begins with the column."""
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
    """The rows that were read, and what is odd about them.

    Attributes:
        files: which versions were seen.
        warnings: every oddity with file, line, id and, at the beginning of its message, column; what rows
            share is told of the first of them.
        oddities: the same row by row.
        repeated: pairs that several files hold, each taken once.
        restored: pairs of files without ids that have the id of the same pair in another file.
        cells: by id and field of the pair, how long cells are as they stand (spec 4): of a task parts between
            single blanks, outer blanks included, of a plan line breaks.
    """

    files: tuple[FileKind, ...]
    warnings: tuple[Fault, ...] = ()
    oddities: tuple[Fault, ...] = ()
    repeated: int = 0
    restored: int = 0
    cells: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    @property
    def counts(self) -> dict[str, int]:
        """Return how often each oddity is there, in the order of the table.

        In each column it counts once for a pair, however many files hold the pair, and what rows share once
        for each pair; without a pair it counts once for each file.
        """
        shared = table("oddities")["shared"]
        places = {
            (oddity.code, oddity.task or oddity.file, "" if oddity.code in shared else _column(oddity))
            for oddity in self.oddities
        }
        counts = Counter(code for code, _, _ in places)
        return {code: counts[code] for code in table("oddities")["titles"] if counts[code]}

    def lines(self) -> tuple[str, ...]:
        """Return the report in words, without places."""
        lines = [
            f"{file.file}: {file.pairs} pairs, {TITLES[file.version]}"
            + (f"; recognised by {file.why}" if file.why else "")
            for file in self.files
        ]
        if self.repeated:
            lines.append(f"{self.repeated} pairs are in several files and count once")
        if self.restored:
            lines.append(f"{self.restored} pairs without id have that of the same pair in another file")
        titles = table("oddities")["titles"]
        return (*lines, *(f"{titles[code]}: {count}" for code, count in self.counts.items()))


def load_report(*files: PairsFile, parts_told: bool = False) -> LoadReport:
    """Return the report on files that belong together: a function of their rows and of what was read of them.

    `parts_told`: whether rows without ``take_amb`` are meant as tests, as they said by other means.
    """
    versions = tuple(map(seen, files))
    warnings, oddities = [*mixture(versions)], [*mixture(versions)]
    cells: dict[str, Mapping[str, int]] = {}
    for file in files:
        rows, of_file = tuple(zip(file.rows, file.records, strict=True)), [*_of_file(file)]
        told_of = {"take_missing"} if parts_told or len(set(map(part_of, file.rows))) < 2 else set()
        of_rows = [
            Fault(file.table.path, pair.id, record.line, code, message, "warning")
            for pair, record in rows
            for code, message in row_oddities(pair, record)
            if code not in told_of
        ]
        warnings += [*of_file, *_shared_once(of_rows)]
        oddities += [*of_file, *of_rows]
        cells |= {pair.id: _cell_lengths(record) for pair, record in rows}
    return LoadReport(files=versions, warnings=tuple(warnings), oddities=tuple(oddities), cells=cells)


def _shared_once(oddities: Sequence[Fault]) -> list[Fault]:
    """Return the oddities of a file by line; what rows share is told of the first, with how many they are."""
    shared: list[str] = table("oddities")["shared"]
    new = {oddity.task for oddity in oddities if oddity.code == "new_pairs"}
    alone: list[tuple[int, Fault]] = []
    groups: defaultdict[str, list[Fault]] = defaultdict(list)
    for oddity in oddities:
        if oddity.code in shared and (
            oddity.task in new or oddity.code not in table("oddities")["shared_by_new"]
        ):
            groups[oddity.code].append(oddity)
        else:
            alone.append((len(shared), oddity))
    once = [(shared.index(code), _merge_faults(group)) for code, group in groups.items()]
    ranked = sorted((*once, *alone), key=lambda entry: (entry[1].line, entry[0]))
    return [warning for _, warning in ranked]


def _merge_faults(group: Sequence[Fault]) -> Fault:
    columns = ", ".join(sorted(set(map(_column, group))))
    rows = len({oddity.task for oddity in group})
    of_which = f"; {rows} rows, of which this is the first" if rows > 1 else ""
    return replace(group[0], message=f"{columns}:{group[0].message.partition(':')[2]}{of_which}")


def _column(oddity: Fault) -> str:
    return oddity.message.partition(":")[0]


def _of_file(file: PairsFile) -> Iterator[Fault]:
    """Yield what is odd about the file as a whole."""

    def warning(code: str, message: str) -> Fault:
        return Fault(file.table.path, "", 1, code, message, "warning")

    if not file.has_ids:
        yield warning("no_ids", "id: no such column; pairs are named by their rows (row-1, row-2, …)")
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


def row_oddities(pair: Pair, record: Record) -> Iterator[Oddity]:
    """Yield all that is odd about a row."""
    for rule in (_cells, _letters, _lists, _shortlist, _intent, _variants, _step, _plans, _of_its_kind):
        yield from rule(pair, record)


def _cells(pair: Pair, record: Record) -> Iterator[Oddity]:
    for column in ("question", "answer", *_PLANS, "user_intent"):
        if column in record.cells and not record.text(column):
            yield "empty", f"{column}: is empty"
    if "unambiguous_indirect" in record.cells and not pair.indirect:
        yield "indirect_missing", "unambiguous_indirect: is empty"
    for column, text in record.cells.items():
        if column in COLUMNS and says_nothing(clean(text)):
            yield "word_for_empty", f"{column}: a word for an empty cell is read as one"
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
            message = f"{column}: {' '.join(signs)} divide or negate nothing; the signs that do are , | -"
            yield "full_width", message
        letters = [f"U+{ord(sign):04X} for {latin[sign]}" for sign in dict.fromkeys(text) if sign in latin]
        if letters:
            named = ", ".join(letters)
            yield (
                "look_alike",
                f"{column}: Cyrillic letters that look Latin ({named}); nothing will match them",
            )


def _lists(pair: Pair, record: Record) -> Iterator[Oddity]:
    for column in ("environment_short", "amb_shortlist"):
        twice = [part for part, count in Counter(parts(record.text(column))).items() if count > 1]
        if twice:
            yield "repeated", f"{column}: {', '.join(twice)} twice"


def _shortlist(pair: Pair, record: Record) -> Iterator[Oddity]:
    text = record.text("amb_shortlist")
    if pair.type == "preferences" and not pair.shortlist:
        yield "shortlist_missing", "amb_shortlist: is empty in a row of preferences"
    if pair.type != "preferences" and pair.shortlist:
        yield "shortlist_type", f"amb_shortlist: is filled in a row of {pair.type}"
    if len(pair.shortlist) == 1:
        yield "shortlist_single", f"amb_shortlist: holds {pair.shortlist[0]} alone"
    if text and not all(part.strip() for part in text.split(",")):
        yield "shortlist_comma", "amb_shortlist: has a comma with nothing before or after it"
    scene = {thing.casefold() for thing in pair.things}
    if absent := [thing for thing in pair.shortlist if thing.casefold() not in scene]:
        yield "shortlist_scene", f"amb_shortlist: {', '.join(absent)}: not in the scene"


def _intent(pair: Pair, record: Record) -> Iterator[Oddity]:
    if pair.intent is None:
        return
    if pair.intent.malformed:
        yield "intent_malformed", "user_intent: is a piece of text or says nothing; not measured"
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
        yield "variants_malformed", f"variants: {malformed} of {len(pair.variants)} lines are pieces of text"
    if not pair.variants and part_of(pair) == "calibration":
        yield "variants_missing", "variants: is empty in a calibration row"


def _step(pair: Pair, record: Record) -> Iterator[Oddity]:
    step, plans = pair.step, (pair.clear_plan, pair.ambiguous_plan)
    if step is None:
        yield "step_missing", "end_of_ambiguity: is empty"
        return
    for column, plan in zip(_PLANS, plans, strict=True):
        if plan and step >= len(plan):
            lines = f"{column} has {len(plan)} lines, the first of which is 0"
            yield "step_outside", f"end_of_ambiguity: is {step}, but {lines}"
    clear, ambiguous = plans
    if clear == ambiguous != ():
        yield "plans_equal", "plan_for_amb_task: is the same as plan_for_clear_task"
    elif clear and ambiguous:
        place = parting(clear, ambiguous)
        place = min(map(len, plans)) if place is None else place
        if place != step:
            code = "parts_before" if place < step else "parts_after"
            yield code, f"end_of_ambiguity: is {step}, but the plans part at line {place}"
    if step < min(map(len, plans)) and clear[step] == ambiguous[step]:
        yield "step_equal", f"end_of_ambiguity: line {step} of both plans is the same"


def _plans(pair: Pair, record: Record) -> Iterator[Oddity]:
    for column in _PLANS:
        lines = [line for line in record.text(column).split("\n") if line.strip()]
        notes = [line for line in lines if not is_numbered(line)]
        if notes and len(notes) < len(lines):
            yield "plan_notes", f"{column}: {len(notes)} of {len(lines)} lines have no number"
        if any(_SEVERAL_STEPS.search(line.strip(), 1) for line in lines):
            yield "plan_one_line", f"{column}: a line holds several numbered steps, which count as one"


def _of_its_kind(pair: Pair, record: Record) -> Iterator[Oddity]:
    """Yield that a pair is of the kind added in 2025, and which of its plans it shows."""
    if is_new(pair, record):
        message = "plan_for_amb_task: is plan_for_clear_task, without numbers, as in pairs added in 2025"
        yield "new_pairs", message
        if member := plan_shown(pair):
            code = f"plan_{member}"
            yield code, f"plan_for_clear_task: {table('oddities')['titles'][code]}"


_Texts = tuple[str, str]


class LoadedPairs(NamedTuple):
    """One set of pairs.

    Attributes:
        pairs: in the order in which they first occur.
    """

    pairs: tuple[Pair, ...]
    faults: tuple[Fault, ...]
    report: LoadReport


def merge(files: Sequence[PairsFile]) -> LoadedPairs:
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
        load_report(*named),
        repeated=len(repeated),
        restored=sum(_texts(pair) in known for file in files if not file.has_ids for pair in file.rows),
    )
    return LoadedPairs(tuple(pairs.values()), tuple(faults), report)


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
