"""What is cleaned off the sentences that a model writes (spec 2.2.4)."""

from __future__ import annotations

from typing import Final

from simulator.ambient.pool.lists import Lists, load_lists

_APOSTROPHES: Final = ("'", "’")


def clean(text: str, lists: Lists | None = None) -> str:
    """A sentence without blanks, enclosing quotes or brackets, or a single one without partner at an end.

    What encloses a part only (``"Yes" and "no"``) stays, and so do apostrophes. Cleaned text is clean.
    """
    known = lists or load_lists()
    while (shorter := _once(text.strip(), known)) != text:
        text = shorter
    return text


def _once(text: str, lists: Lists) -> str:
    """`text` with one thing less, if there is one."""
    for opening, closing in lists.enclosing:
        if _encloses(text, opening, closing):
            return text[1:-1].strip()
    for opening, closing in lists.enclosing:
        if _dangles_first(text, opening, closing, lists):
            return text[1:].strip()
        if _dangles_last(text, opening, closing):
            return text[:-1].strip()
    return text


def _encloses(text: str, opening: str, closing: str) -> bool:
    if len(text) < 2 or text[0] != opening or text[-1] != closing:
        return False
    inner = text[1:-1]
    if opening == closing:
        return not _marks(inner, opening)
    depth = 1
    for character in inner:
        depth += (character == opening) - (character == closing)
        if not depth:
            return False
    return depth == 1


def _dangles_first(text: str, opening: str, closing: str, lists: Lists) -> bool:
    if not text.startswith(opening) or text.lower().startswith(lists.elisions):
        return False
    return not _marks(text[1:], closing)


def _dangles_last(text: str, opening: str, closing: str) -> bool:
    if not text.endswith(closing) or (closing in _APOSTROPHES and text[-2:-1].lower() == "s"):
        return False
    return not _marks(text[:-1], opening)


def _marks(text: str, mark: str) -> bool:
    """Whether a quote or bracket is in a text; apostrophes within words are none."""
    return any(
        character == mark and not (mark in _APOSTROPHES and _within_word(text, place))
        for place, character in enumerate(text)
    )


def _within_word(text: str, place: int) -> bool:
    return text[place - 1 : place].isalpha() and text[place + 1 : place + 2].isalpha()
