"""Word diffs of a sentence and its rewrite, for highlighting.

Words and punctuation marks are compared; white space belongs to the word before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from itertools import groupby
from typing import Final, Literal, NamedTuple

Change = Literal["same", "added", "removed"]
_TOKEN: Final = re.compile(r"\w+(?:['’-]\w+)*|[^\w\s]")


class Piece(NamedTuple):
    """A piece of both sentences (``same``), of the original (``removed``), or of the rewrite (``added``)."""

    text: str
    change: Change


class _Word(NamedTuple):
    """A word or punctuation mark, and the white space after it."""

    text: str
    space: str


def word_diff(original: str, rewrite: str) -> tuple[Piece, ...]:
    """Return both sentences as pieces: neighbours differ in `Piece.change`, and removed precede added words.

    The pieces that are not ``added`` concatenate to the exact original, those that are not ``removed`` to the
    rewrite.
    """
    (marked, old), (other, new) = _words(original), _words(rewrite)
    matcher = SequenceMatcher(None, [w.text for w in old], [w.text for w in new], autojunk=False)
    pieces = list(_replaced_pieces(marked, other))
    for kind, start, end, begin, stop in matcher.get_opcodes():
        if kind == "equal":
            for before, after in zip(old[start:end], new[begin:stop], strict=True):
                pieces += [Piece(before.text, "same"), *_replaced_pieces(before.space, after.space)]
        else:
            pieces.append(Piece(_join_words(old[start:end]), "removed"))
            pieces.append(Piece(_join_words(new[begin:stop]), "added"))
    return tuple(_merge_neighbours(pieces))


def _words(text: str) -> tuple[str, list[_Word]]:
    """Return the leading white space of a text, and its words."""
    spans = [match.span() for match in _TOKEN.finditer(text)]
    begins = [begin for begin, _ in spans] + [len(text)]
    words = [_Word(text[a:b], text[b:nxt]) for (a, b), nxt in zip(spans, begins[1:], strict=True)]
    return text[: begins[0]], words


def _replaced_pieces(before: str, after: str) -> Iterator[Piece]:
    if before == after:
        yield Piece(before, "same")
    else:
        yield from (Piece(before, "removed"), Piece(after, "added"))


def _join_words(words: Iterable[_Word]) -> str:
    return "".join(word.text + word.space for word in words)


def _merge_neighbours(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """Merge neighbours of one kind; between ``same`` pieces, removed ones come before added ones."""
    kept = [piece for piece in pieces if piece.text]
    for same, group in groupby(kept, key=lambda piece: piece.change == "same"):
        members = list(group)
        kinds: tuple[Change, ...] = ("same",) if same else ("removed", "added")
        for kind in kinds:
            if text := "".join(piece.text for piece in members if piece.change == kind):
                yield Piece(text, kind)
