"""Cells that no spreadsheet takes for a formula, and back."""

from __future__ import annotations

import unicodedata

# What makes Excel, LibreOffice or Google Sheets read a cell as a formula; the wide ones do so in East Asian
# editions (OWASP, "CSV Injection"). The quote itself is in it so that `unguard` knows whose quote it is.
_DANGEROUS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠", "'")

# Programs pass over such letters before they look for a formula: control and format characters, spaces,
# marks, and the fillers that count as letters.
_UNSEEN = frozenset(("Cc", "Cf", "Zs", "Zl", "Zp", "Mn"))
_FILLERS = frozenset("\u115f\u1160\u3164\uffa0")

RULE = (
    "A text cell that would begin with one of = + - @ (or their wide forms), a tab, a line end or ', behind "
    "invisible characters or not, has one "
    "' put before it, so that no spreadsheet takes it for a formula. To read such a file by program, take "
    "one ' off every text cell that begins with one (`logs.export.unguard`)."
)


def _is_unseen(letter: str) -> bool:
    return letter in _FILLERS or unicodedata.category(letter) in _UNSEEN


def guard(text: str) -> str:
    """Return `text` as a cell that is no formula."""
    seen = next((place for place, letter in enumerate(text) if not _is_unseen(letter)), len(text))
    return f"'{text}" if text.startswith(_DANGEROUS) or text[seen:].startswith(_DANGEROUS) else text


def unguard(cell: str) -> str:
    """Return the text that `guard` made `cell` of."""
    return cell.removeprefix("'")
