"""Tables that can be sorted and copied; lists that are filtered, with one of their things beside."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import gradio as gr
from markupsafe import escape

Values = Mapping[str, str | Sequence[str]]
"""The fields of a thing by which a list of such is filtered: a value of each, or several."""


def filters(every: Iterable[Values], most: int) -> dict[str, Sequence[str]]:
    """Return the fields that tell things apart, each with its values, which are not more than `most`."""
    held: dict[str, dict[str, None]] = {}
    for values in every:
        for name, value in values.items():
            held.setdefault(name, {}).update(dict.fromkeys(several(value)))
    return {
        name: sorted(values, key=lambda value: (len(value), value))
        if all(map(str.isdecimal, values))
        else [*values]
        for name, values in held.items()
        if 1 < len(values) <= most
    }


def fits(values: Values, wishes: Iterable[tuple[str, str]]) -> bool:
    """Return True if a thing has the values that are wished for; an empty wish is none."""
    return all(not wish or wish in several(values.get(name, ())) for name, wish in wishes)


def several(value: str | Sequence[str]) -> Sequence[str]:
    """Return the values of a field that may have one alone."""
    return (value,) if isinstance(value, str) else value


def neighbours(names: Sequence[str], shown: str) -> tuple[str | None, str | None]:
    """Return what stands in a list before and after the thing that is shown."""
    if shown not in names:
        return None, None
    place = names.index(shown)
    return (names[place - 1] if place else None), next(iter(names[place + 1 :]), None)


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


def table(label: str, sheet: Sheet, *classes: str) -> gr.Dataframe:
    """Return a table on the page; with the class `rs-cards`, its rows are cards on a narrow one."""
    fixed: dict[str, Any] = {"datatype": "html", "interactive": False, "wrap": True, "max_height": 720}
    return gr.Dataframe(label=label, elem_classes=["rs-sheet", *classes], **fixed, **sheet.options)


def filled(sheet: Sheet) -> gr.Dataframe:
    """Return what a table becomes."""
    return gr.Dataframe(**sheet.options)
