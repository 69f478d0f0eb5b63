"""New pairs in the published format (spec 2.2): what annotators and a third person made of drafts.

A file is written only if it reads back as the same pairs.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Final

from logs import LogReader
from simulator.ambik.annotation.desk import Case, cases
from simulator.ambik.annotation.form import errors_of
from simulator.ambik.files.pairs import read_pairs_file, write_pairs_file
from simulator.ambik.files.table import clean
from simulator.ambik.intents import Intent, parse_intent
from simulator.ambik.pairs import Pair
from simulator.errors import InputError

NAME: Final = "{run}-pairs.csv"


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """Pairs that were written, and what was left out.

    Attributes:
        path: the file.
        pairs: as they read back.
        due: drafts left out on which annotators differ and nobody has decided.
        open: drafts left out with too few annotators.
        deleted: drafts that were deleted.
        broken: drafts left out because the one form there is breaks rules, or because what all annotators
            left alike does.
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
        export_cases(Path(folder) / NAME.format(run=_safe(run)), cases(reader, run), single=single)
        for run in dict.fromkeys(runs)
    )


def export_cases(path: str | Path, some: Sequence[Case], *, single: bool = False) -> Exported:
    """Write the pairs that drafts have become.

    Args:
        path: of the file.
        some: drafts, with what was left of them.
        single: as for `export_runs`.

    Raises:
        InputError: if there is no pair yet, or the file cannot be written.
    """
    fates = [_fate(one, single) for one in some]
    good = [fate for fate in fates if isinstance(fate, Pair)]
    if not good:
        raise InputError(f"{path}: no draft has become a pair yet, so there is nothing to write.")
    return Exported(
        path=Path(path),
        pairs=export_pairs(path, good),
        due=fates.count("due"),
        open=fates.count("open"),
        deleted=fates.count("deleted"),
        broken=fates.count("broken"),
    )


def export_pairs(path: str | Path, pairs: Iterable[Pair]) -> tuple[Pair, ...]:
    """Write pairs as the published files have them.

    Returns:
        The pairs as they read back: texts cleaned (spec 2.4), options of our own left out.

    Raises:
        InputError: if one would not read back as it is, or the file cannot be written.
    """
    wanted = tuple(map(cleaned, pairs))
    with tempfile.TemporaryDirectory() as folder:
        read = read_pairs_file(write_pairs_file(Path(folder) / "pairs.csv", wanted))
    if read.faults:
        raise InputError(f"{path}: {read.faults[0].message}; nothing was written.")
    for one, other in zip(wanted, read.pairs, strict=True):
        if names := [
            part.name for part in fields(Pair) if getattr(one, part.name) != getattr(other, part.name)
        ]:
            told = f"pair {one.id} would not read back as it is ({', '.join(names)})"
            raise InputError(f"{path}: {told}; nothing was written.")
    write_pairs_file(path, wanted)
    return wanted


def cleaned(pair: Pair) -> Pair:
    """A pair as a file can hold it: texts in one line and cleaned, each thing once, no options."""
    return replace(
        pair,
        id=_line(pair.id),
        objects=_things(pair.objects),
        scene=_line(pair.scene),
        clear=_line(pair.clear),
        indirect=_line(pair.indirect),
        ambiguous=_line(pair.ambiguous),
        shortlist=_things(pair.shortlist),
        question=_line(pair.question),
        answer=_line(pair.answer),
        clear_plan=_lines(pair.clear_plan),
        ambiguous_plan=_lines(pair.ambiguous_plan),
        intent=None if pair.intent is None else _intent(pair.intent),
        variants=tuple(map(_intent, pair.variants)),
        options=(),
    )


def _fate(one: Case, single: bool) -> Pair | str:
    """The pair that a draft has become, or why it has not."""
    if one.state == "consolidated":
        assert one.pair is not None
        return one.pair
    alone = single and one.state == "open" and bool(one.voices)
    if one.state != "agreed" and not alone:
        return one.state
    form = one.voices[0].form
    if form.pair is None:
        return "deleted"
    return "broken" if errors_of(one.voices[0].problems) else form.pair


def _line(text: str) -> str:
    return " ".join(clean(text).split())


def _lines(plan: Iterable[str]) -> tuple[str, ...]:
    return tuple(filter(None, map(_line, plan)))


def _things(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(filter(None, map(_line, names))))


def _intent(intent: Intent) -> Intent:
    text = _line(intent.text)
    return intent if text == intent.text else parse_intent(text)


def _safe(name: str) -> str:
    """A name fit for a file."""
    return "".join(sign if sign.isalnum() or sign in "._-" else "-" for sign in name).strip("-.") or "run"
