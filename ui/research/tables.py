"""Tables that can be sorted and copied: each cell has a value for that, and markup that shows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import gradio as gr
from markupsafe import escape


class Shown(NamedTuple):
    """A cell.

    Attributes:
        value: what it is sorted and copied by.
        html: what is shown; escaped text, or markup of ours.
    """

    value: str | float | None
    html: str


class Sheet(NamedTuple):
    """A table.

    Attributes:
        heads: of its columns, with the width of each in CSS pixels.
        rows: of cells, one for each head.
    """

    heads: Mapping[str, int]
    rows: Sequence[Sequence[Shown]]

    @property
    def options(self) -> dict[str, Any]:
        """The settings of a table component."""
        value = {
            "headers": list(self.heads),
            "data": [[cell.value for cell in row] for row in self.rows],
            "metadata": {"display_value": [[cell.html for cell in row] for row in self.rows]},
        }
        return {"value": value, "column_widths": list(self.heads.values())}


def text(value: object) -> Shown:
    """Return a cell that shows its value."""
    return Shown(str(value), str(escape(value)))


def link(value: str, address: str) -> Shown:
    """Return a cell that leads somewhere."""
    return Shown(value, f'<a href="{escape(address)}">{escape(value)}</a>')


def table(label: str, sheet: Sheet) -> gr.Dataframe:
    """Return a table on the page."""
    fixed: dict[str, Any] = {"datatype": "html", "interactive": False, "wrap": True, "max_height": 720}
    return gr.Dataframe(label=label, elem_classes=["rs-sheet"], **fixed, **sheet.options)


def filled(sheet: Sheet) -> gr.Dataframe:
    """Return what a table becomes."""
    return gr.Dataframe(**sheet.options)
