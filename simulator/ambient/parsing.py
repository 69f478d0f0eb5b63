"""Disambiguations read out of a model's continuation (spec 6.3), after its first blank line is cut off.

==================  ====================================================================================
warning             what was met
==================  ====================================================================================
empty               nothing was written
no_list             it does not begin with ``1. `` (robust: no line does begin with a number)
separator_repeated  ``2. `` or ``3. `` stands there twice; it was split at the first (reference only)
no_verdict          an item says of no label that it follows
several_verdicts    an item says so of several labels, and counts for each (reference only)
no_rewrite          an item is a verdict with nothing beside it (an empty rewrite, for reference alone)
label_repeated      two items have one label; the later one counts
==================  ====================================================================================
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal, get_args

from simulator.ambient.labels import VERBALIZERS, Label

Parser = Literal["reference", "robust"]
ParseWarning = Literal[
    "empty",
    "no_list",
    "separator_repeated",
    "no_verdict",
    "several_verdicts",
    "no_rewrite",
    "label_repeated",
]
PARSE_WARNINGS: Final[tuple[ParseWarning, ...]] = get_args(ParseWarning)
BLANK_LINE: Final = "\n\n"
_START: Final = "1. "
_SEPARATORS: Final = ("2. ", "3. ")
_NUMBER: Final = re.compile(r"^[ \t]*\d+[.)](?!\d)[ \t]*", re.MULTILINE)
_VERDICTS: Final[Mapping[Label, re.Pattern[str]]] = {
    label: re.compile(rf"\s*\b{re.escape(text.rstrip('.'))}\s*\.?\s*$".replace(r"\ ", r"\s+"), re.IGNORECASE)
    for label, text in VERBALIZERS.items()
}


@dataclass(frozen=True, slots=True)
class Parsed:
    """What a continuation says.

    Attributes:
        rewrites: label -> rewrite.
        warnings: in the order of the table above, each once.
        items: pieces that the list was split into.
    """

    rewrites: Mapping[Label, str]
    warnings: tuple[ParseWarning, ...] = ()
    items: int = 0


def cut(generation: str) -> str:
    """Return what stands before the first blank line: some files hold uncut continuations."""
    return generation.partition(BLANK_LINE)[0]


def parse(generation: str, parser: Parser = "reference") -> Parsed:
    """Return the labelled rewrites of a continuation.

    Args:
        generation: as the model wrote it.
        parser: ``reference`` is the published program's rule, and gives the numbers of the paper;
            ``robust`` takes any number of items that begin a line, with a verdict at their end whatever
            its case and with or without its full stop.
    """
    if parser == "robust":
        return _robust(generation)
    return _reference(cut(generation).strip())


def _reference(text: str) -> Parsed:
    if not text.startswith(_START):
        return Parsed({}, ("no_list",) if text else ("empty",))
    rest = text.removeprefix(_START).replace("\n", "")
    pieces: list[str] = []
    repeated = False
    for separator in _SEPARATORS:
        piece, split, after = rest.partition(separator)
        if not split:
            break
        repeated = repeated or separator in after
        pieces.append(piece)
        rest = after
    pieces = [piece.strip() for piece in (*pieces, rest)]
    return _parsed(map(_contained, pieces), repeated=repeated, keep_empty=True)


def _contained(piece: str) -> list[tuple[Label, str]]:
    return [
        (label, piece.replace(verdict, "").strip())
        for label, verdict in VERBALIZERS.items()
        if verdict in piece
    ]


def _robust(generation: str) -> Parsed:
    text = cut(generation.replace("\r\n", "\n").strip())
    starts = list(_NUMBER.finditer(text))
    if not starts:
        return Parsed({}, ("no_list",) if text else ("empty",))
    ends = [*(start.start() for start in starts[1:]), len(text)]
    items = (" ".join(text[start.end() : end].split("\n")) for start, end in zip(starts, ends, strict=True))
    return _parsed(list(_ending(item.strip())) for item in items)


def _ending(item: str) -> Iterator[tuple[Label, str]]:
    for label, pattern in _VERDICTS.items():
        match = pattern.search(item)
        if match:
            yield label, item[: match.start()].strip()


def _parsed(
    items: Iterable[list[tuple[Label, str]]], *, repeated: bool = False, keep_empty: bool = False
) -> Parsed:
    rewrites: dict[Label, str] = {}
    met: dict[ParseWarning, None] = {"separator_repeated": None} if repeated else {}
    count = 0
    for verdicts in items:
        count += 1
        if len(verdicts) != 1:
            met["several_verdicts" if verdicts else "no_verdict"] = None
        for label, rewrite in verdicts:
            if not rewrite:
                met["no_rewrite"] = None
            if rewrite or keep_empty:
                if label in rewrites:
                    met["label_repeated"] = None
                rewrites[label] = rewrite
    return Parsed(rewrites, tuple(code for code in PARSE_WARNINGS if code in met), count)
