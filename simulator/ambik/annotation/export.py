"""New pairs in the published format (spec 2.2): what annotators and a third person made of drafts.

A file is written only if it reads back as the same pairs.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Final

from logs import LogReader
from simulator.ambik.annotation.desk import Case, cases
from simulator.ambik.annotation.form import errors_of
from simulator.ambik.files.pairs import read_pairs_file, write_pairs_file
from simulator.ambik.intents import parse_intent
from simulator.ambik.pairs import Pair
from simulator.errors import InputError
from simulator.tables.cells import clean
from simulator.whole import file_name

NAME: Final = "{run}-pairs.csv"
_LINES: Final = ("id", "scene", "clear", "indirect", "ambiguous", "question", "answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """Pairs that were written, and how many drafts were left out.

    Attributes:
        path: the file.
        pairs: as they read back.
        due: annotators differ, and nobody has decided.
        open: with too few annotators.
        deleted: by all, or by a third person.
        broken: the one form there is breaks rules, or what all annotators left alike does.
    """

    path: Path
    pairs: tuple[Pair, ...]
    due: int = 0
    open: int = 0
    deleted: int = 0
    broken: int = 0


def export_runs(
    folder: str | Path, reader: LogReader, runs: Iterable[str], *, single: bool = False
) -> tuple[Exported, ...]:
    """Write the pairs of some runs of annotators, each into its own file of a folder.

    Args:
        folder: is made if it is missing.
        reader: of the log.
        runs: of annotators.
        single: whether the form of a draft's only annotator makes a pair.

    Raises:
        InputError: if a run has no drafts, or no pair yet, or a file cannot be written.
        NotInLog: if there is no such run.
    """
    return tuple(
        export_cases(Path(folder) / NAME.format(run=file_name(run)), cases(reader, run), single=single)
        for run in dict.fromkeys(runs)
    )


def export_cases(path: str | Path, drafts: Sequence[Case], *, single: bool = False) -> Exported:
    """Write the pairs that drafts have become; `single` as for `export_runs`.

    Raises:
        InputError: if there is no pair yet, or the file cannot be written.
    """
    fates = [_fate(draft, single) for draft in drafts]
    good = [fate for fate in fates if isinstance(fate, Pair)]
    if not good:
        raise InputError(f"{path}: no draft has become a pair yet, so there is nothing to write.")
    left_out = {name: fates.count(name) for name in ("due", "open", "deleted", "broken")}
    return Exported(path=Path(path), pairs=export_pairs(path, good), **left_out)


def export_pairs(path: str | Path, pairs: Iterable[Pair]) -> tuple[Pair, ...]:
    """Write pairs as the published files have them.

    Returns:
        The pairs as they read back: texts cleaned (spec 2.4), options of our own left out.

    Raises:
        InputError: if one would not read back as it is, or the file cannot be written.
    """
    written = tuple(map(cleaned, pairs))
    with tempfile.TemporaryDirectory() as folder:
        read = read_pairs_file(write_pairs_file(Path(folder) / "pairs.csv", written))
    if read.faults:
        raise InputError(f"{path}: {read.faults[0].message}; nothing was written.")
    for pair, back in zip(written, read.rows, strict=True):
        if names := [
            part.name for part in fields(Pair) if getattr(pair, part.name) != getattr(back, part.name)
        ]:
            problem = f"pair {pair.id} would not read back as it is ({', '.join(names)})"
            raise InputError(f"{path}: {problem}; nothing was written.")
    write_pairs_file(path, written)
    return written


def cleaned(pair: Pair) -> Pair:
    """Return a pair as a file can hold it: texts in one line and cleaned, each thing once, no options."""
    changes: dict[str, Any] = {name: _line(getattr(pair, name)) for name in _LINES}
    changes |= {name: tuple(dict.fromkeys(_lines(getattr(pair, name)))) for name in ("objects", "shortlist")}
    changes |= {name: _lines(getattr(pair, name)) for name in ("clear_plan", "ambiguous_plan")}
    intent = pair.intent and parse_intent(_line(pair.intent.text))
    variants = tuple(parse_intent(_line(variant.text)) for variant in pair.variants)
    return replace(pair, **changes, intent=intent, variants=variants, options=())


def _fate(draft: Case, single: bool) -> Pair | str:
    """Return the pair that a draft has become, or why it has not."""
    if draft.state == "consolidated" and draft.pair is not None:
        return draft.pair
    alone = single and draft.state == "open" and bool(draft.voices)
    if draft.state != "agreed" and not alone:
        return draft.state
    voice = draft.voices[0]
    if voice.form.pair is None:
        return "deleted"
    return "broken" if errors_of(voice.problems) else voice.form.pair


def _line(text: str) -> str:
    return " ".join(clean(text).split())


def _lines(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(filter(None, map(_line, texts)))
