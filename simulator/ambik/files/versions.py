"""Which published version a file of pairs is, told by its rows and columns (spec 2.1, 2.5)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, get_args

from simulator.ambik.files.pairs import OLD_NAMES, PairsFile, is_numbered
from simulator.ambik.intents import realises
from simulator.ambik.pairs import Pair
from simulator.ambik.terms import Ambiguity, Member, Part
from simulator.tables.cells import Record, spelled
from trees.faults import Fault

Version = Literal["builtin", "june_2024", "paper", "2025", "other"]
Kind = Literal["released", "added"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
TITLES: Final[Mapping[Version, str]] = {
    "builtin": "built in",
    "june_2024": "June 2024 (500 pairs, from which the paper's Tables 2 and 5 are)",
    "paper": "the paper's release (500 pairs: 100 for calibration, 400 for tests)",
    "2025": "2025 (1000 pairs, about half of them of another kind)",
    "other": "none of the published versions, or not whole",
}
_OLD: Final = ("unambiguous_direct", "unambiguous_indirect")
_ROWS_2025: Final = (900, 1000)
# Types of the released 500 (spec 2.1), as they are split.
_CALIBRATION: Final[Mapping[Ambiguity, int]] = {
    "preferences": 47,
    "common_sense_knowledge": 40,
    "safety": 13,
}
_TEST: Final[Mapping[Ambiguity, int]] = {"preferences": 189, "common_sense_knowledge": 159, "safety": 52}


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What a file of pairs is.

    Attributes:
        file: its path.
        version: of the published ones.
        why: what it was told by, in words.
        pairs: good ones.
        parts: how many of them are of which part.
        has_ids: whether there is a column of ids.
        new: how many are of the kind that was added in 2025 (spec 2.5).
    """

    file: str
    version: Version
    why: str
    pairs: int
    parts: Mapping[Part, int]
    has_ids: bool
    new: int = 0


def part_of(pair: Pair) -> Part:
    """Return what a pair serves: rows that say which member to take are for calibration (spec 2.2)."""
    return "test" if pair.take_ambiguous is None else "calibration"


def is_new(pair: Pair, record: Record) -> bool:
    """Return True if a pair is of the kind added in 2025: one plan twice, without numbers and variants.

    Which of the two plans that is `plan_shown` says (spec 2.5).
    """
    same = pair.clear_plan == pair.ambiguous_plan != ()
    lines = record.text("plan_for_clear_task").split("\n")
    return same and not pair.variants and not any(map(is_numbered, lines))


def kind_of_pair(pair: Pair) -> Kind:
    """Return whether a pair is as those added in 2025, with neither indirect wording nor variants."""
    return "added" if not pair.indirect and not pair.variants else "released"


def plan_shown(pair: Pair) -> Member | None:
    """Return whose plan a pair shows in both columns: the clear one's if its step holds the whole intent.

    None if the plans differ, or intent or step are not there to tell it by.
    """
    intent = pair.intent
    if pair.clear_plan != pair.ambiguous_plan or intent is None or intent.malformed or not pair.clear_step:
        return None
    return "clear" if realises(intent, pair.clear_step) else "ambiguous"


def seen(file: PairsFile) -> Seen:
    """Return which version a file is."""
    new = sum(map(is_new, file.rows, file.records))
    version, why = _version(file, new)
    parts = Counter(map(part_of, file.rows))
    return Seen(
        file=file.table.path,
        version=version,
        why=why,
        pairs=len(file.rows),
        parts=dict(sorted(parts.items())),
        has_ids=file.has_ids,
        new=new,
    )


def mixture(files: Sequence[Seen]) -> tuple[Fault, ...]:
    """Return a warning if files of one folder are of several versions, which must not be mixed (spec 2.1).

    The calibration rows of 2025 are those of the paper's release.
    """
    new = any(file.version == "2025" for file in files)
    first: dict[Version, Seen] = {}
    for file in files:
        calibration = new and file.version == "paper" and set(file.parts) == {"calibration"}
        if file.version != "other" and not calibration:
            first.setdefault(file.version, file)
    if len(first) < 2:
        return ()
    versions = "; ".join(f"{file.file}: {TITLES[version]}" for version, file in first.items())
    message = f"files of several versions, which must not be mixed: {versions}"
    return (Fault([*first.values()][1].file, "", 0, "version", message, "warning"),)


def _version(file: PairsFile, new: int) -> tuple[Version, str]:
    rows = len(file.table.records)
    written = (file.table.renamed.get(name, "") for name in _OLD)
    old = [name for name in written if spelled(name) in OLD_NAMES]
    if old:
        return "june_2024", f"the old name of the column {', '.join(old)}; {rows} rows"
    if rows in _ROWS_2025:
        return "2025", f"{rows} rows"
    if new * 10 > rows:
        return "2025", f"in {new} of {rows} rows both plans are the same and have no numbers"
    types: dict[Part, Counter[Ambiguity]] = {"calibration": Counter(), "test": Counter()}
    for pair in file.rows:
        types[part_of(pair)][pair.type] += 1
    whole = {"calibration": _CALIBRATION, "test": _TEST}
    if rows and all(not counts or counts == whole[part] for part, counts in types.items()):
        parts = " and ".join(f"{counts.total()} for {part}" for part, counts in types.items() if counts)
        return "paper", f"{parts}, with the types of the release"
    if Counter(pair.type for pair in file.rows) == Counter(_CALIBRATION) + Counter(_TEST):
        return "paper", f"{rows} rows with the types of the release"
    return "other", f"{rows} rows"
