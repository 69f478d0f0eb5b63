"""Cells that no spreadsheet takes for a formula, and back."""

from __future__ import annotations

# What makes Excel, LibreOffice or Google Sheets read a cell as a formula; the wide ones do so in East Asian
# editions (OWASP, "CSV Injection"). The quote itself is in it so that `unguard` knows whose quote it is.
_DANGEROUS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠", "'")

RULE = (
    "A text cell that would begin with one of = + - @ (or their wide forms), a tab, a line end or ' has one "
    "' put before it, so that no spreadsheet takes it for a formula. To read such a file by program, take "
    "one ' off every text cell that begins with one (`logs.export.unguard`)."
)


def guard(text: str) -> str:
    """`text` as a cell that is no formula."""
    return f"'{text}" if text.startswith(_DANGEROUS) else text


def unguard(cell: str) -> str:
    """The text that `guard` made `cell` of."""
    return cell.removeprefix("'")
