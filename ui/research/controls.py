"""Gradio components of the researchers' pages: menus, fields for command options, tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import gradio as gr
from markupsafe import escape

from simulator.form_blocks import Field
from ui.i18n import Strings
from ui.research.blocks import Visit, rebuild

_YES_OR_NO: Final = {"yes": True, "no": False, "1": True}
"""Values of a switch in menus and addresses; older addresses have a 1."""


class Menu(NamedTuple):
    """A menu above a page; its value is kept in the address.

    Attributes:
        choices: pairs of displayed text and value.
        value: selected value; a list for multiple choice.
        free: True if other values may be typed.
    """

    label: str
    choices: Sequence[tuple[str, str]]
    value: str | list[str]
    free: bool = False


def put_menus(visit: Visit, menus: Mapping[str, Menu], search: str = "") -> None:
    """Add menus to a page, which is rebuilt when one changes."""
    if not (menus or search):
        return
    fields: dict[str, Any] = {}
    with gr.Row(elem_classes=["rs-menus"]):
        if search:
            apply = visit.t("research.dialogues.apply")
            fields["text"] = gr.Textbox(
                visit.at.text, label=search, max_lines=1, submit_btn=apply, scale=3, min_width=240
            )
        for name, menu in menus.items():
            fields[name] = menu_field(menu, min_width=300 if menu.free else 160)
    for name, field in fields.items():
        rebuild(visit, field.submit if name == "text" else field.input, **fields)


def menu_field(menu: Menu, **more: Any) -> gr.Dropdown:
    """Return the component of a menu; a value that is not among the choices selects the empty one."""
    values, several = [value for _, value in menu.choices], not isinstance(menu.value, str)
    return gr.Dropdown(
        [*menu.choices],
        value=menu.value if several or menu.free or menu.value in values else "",
        label=menu.label[:1].upper() + menu.label[1:],
        multiselect=several,
        allow_custom_value=menu.free,
        interactive=True,
        **more,
    )


def copy_field(text: str, label: str, **more: Any) -> gr.Textbox:
    """Return a text to copy, such as a command."""
    return gr.Textbox(text, label=label, buttons=["copy"], **{"interactive": False, **more})


# ---- options of commands


def option_input(t: Strings, option: Field, value: Any, label: str = "") -> gr.components.Component:
    """Return the field for an option, named `label` or as the option; without a default it may be empty."""
    shown: dict[str, Any] = {
        "label": label or option.name.replace("_", " "),
        "info": t.phrase(str(option.note)) or None,
        "elem_id": f"option-{option.name}",
        "min_width": 240,
        # In dynamically built pages, Gradio makes components with a value read-only by default.
        "interactive": True,
    }
    usual = [] if option.value is not None else [(t("research.start.usual"), "")]
    match option.kind:
        case "menu" | "choices" | "switch" if usual or option.kind != "switch":
            is_switch, several = option.kind == "switch", option.kind == "choices"
            known = ("yes", "no") if is_switch else option.known
            value = "yes" if is_switch and value == "1" else value
            selected = value if several or value in known else ""  # an address may contain anything
            pairs = [*usual, *((t(f"research.start.{name}") if is_switch else name, name) for name in known)]
            return gr.Dropdown(pairs, value=selected, multiselect=several, **shown)
        case "switch":
            return gr.Checkbox(value, **shown)
        case "whole" | "number" if not usual:
            limits: dict[str, Any] = {"minimum": option.least, "maximum": option.most}
            return gr.Number(value, precision=0 if option.kind == "whole" else None, **limits, **shown)
        case _:
            # Optional numbers too, since Gradio's number field shows an empty value as 0.
            return gr.Textbox(value or "", max_lines=1, **shown)


def parse(option: Field, value: Any) -> Any:
    """Convert the value of an `option_input` or an address to the option's type.

    Several values are separated by commas. A text that cannot be converted is returned unchanged.
    """
    if not isinstance(value, str) or not value.strip():
        return value
    if option.kind in ("choices", "listed"):
        return [part.strip() for part in value.split(",") if part.strip()]
    if option.kind == "switch":
        return _YES_OR_NO.get(value, value)
    if option.kind in ("whole", "number"):
        try:
            number = float(value)
        except ValueError:
            return value
        return int(number) if option.kind == "whole" and number.is_integer() else number
    return value.strip()


# ---- sortable tables


class SheetCell(NamedTuple):
    """A cell: a value for sorting and copying, and what is shown (escaped text, or our own markup)."""

    value: str | float | None
    html: str


class Sheet(NamedTuple):
    """A table: the title of each column with its width in CSS pixels, and a cell per row and column."""

    heads: Mapping[str, int]
    rows: Sequence[Sequence[SheetCell]]

    @property
    def options(self) -> dict[str, Any]:
        """Settings of the Gradio table."""
        value = {
            "headers": list(self.heads),
            "data": [[cell.value for cell in row] for row in self.rows],
            "metadata": {"display_value": [[cell.html for cell in row] for row in self.rows]},
        }
        return {"value": value, "column_widths": list(self.heads.values())}


def text_cell(value: object) -> SheetCell:
    """Return a cell that shows its value."""
    return SheetCell(str(value), str(escape(value)))


def link_cell(value: str, address: str) -> SheetCell:
    """Return a cell with a link."""
    return SheetCell(value, f'<a href="{escape(address)}">{escape(value)}</a>')


def add_table(label: str, sheet: Sheet, *classes: str) -> gr.Dataframe:
    """Add a table to the page; with the class `rs-cards`, its rows become cards on narrow screens."""
    fixed: dict[str, Any] = {"datatype": "html", "interactive": False, "wrap": True, "max_height": 720}
    return gr.Dataframe(label=label, elem_classes=["rs-sheet", *classes], **fixed, **sheet.options)


def update_table(sheet: Sheet) -> gr.Dataframe:
    """Return the update of a table to a new sheet."""
    return gr.Dataframe(**sheet.options)
