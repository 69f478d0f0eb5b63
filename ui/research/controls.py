"""What researchers' pages are made of beside markup: menus, options of commands, tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import gradio as gr
from markupsafe import escape

from simulator.field_options import OptionField
from ui.i18n import Strings
from ui.research.blocks import Visit, rebuild

_YES_OR_NO: Final = {"yes": True, "no": False, "1": True}
"""Values of a switch, as a menu and an address say them; older addresses have a 1."""


class Menu(NamedTuple):
    """A menu above a page; what is chosen stands in the address.

    Attributes:
        choices: each as it is shown, and as the address has it.
        value: what is chosen; a list of several that may be.
        free: True if something else may be typed.
    """

    label: str
    choices: Sequence[tuple[str, str]]
    value: str | list[str]
    free: bool = False


def put_menus(visit: Visit, menus: Mapping[str, Menu], search: str = "") -> None:
    """Put menus on the page, by the names that the address has for them; it is built anew for what is chosen.

    Args:
        visit: of the page.
        menus: what can be chosen.
        search: label of a field for words, before them; empty for none.
    """
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
            known, several = [value for _, value in menu.choices], not isinstance(menu.value, str)
            fields[name] = gr.Dropdown(
                [*menu.choices],
                value=menu.value if several or menu.free or menu.value in known else "",
                label=menu.label[:1].upper() + menu.label[1:],
                multiselect=several,
                allow_custom_value=menu.free,
                interactive=True,
                min_width=300 if menu.free else 160,
            )
    for name, field in fields.items():
        rebuild(visit, field.submit if name == "text" else field.input, **fields)


# ---- options of commands


def option_input(t: Strings, option: OptionField, value: Any, label: str = "") -> gr.components.Component:
    """Return the field of an option, as it is set; one without a default may be left as usual.

    `label`: by default the option's name.
    """
    shown: dict[str, Any] = {
        "label": label or option.name.replace("_", " "),
        "info": t.phrase(option.help) or None,
        "elem_id": f"option-{option.name}",
        "min_width": 240,
        # In a page that is made for a visit Gradio takes what has a value for something to be read.
        "interactive": True,
    }
    usual = [] if option.default is not None else [(t("research.start.usual"), "")]
    match option.kind:
        case "menu" | "switch" if usual or option.kind == "menu":
            named = {name: t(f"research.start.{name}") for name in ("yes", "no")}
            choices = named if option.kind == "switch" else {choice: choice for choice in option.choices}
            value = "yes" if choices is named and value == "1" else value
            known = value if option.several or value in choices else ""  # an address may say anything
            pairs = [*usual, *((words, name) for name, words in choices.items())]
            return gr.Dropdown(pairs, value=known, multiselect=option.several, **shown)
        case "switch":
            return gr.Checkbox(value, **shown)
        case "whole" | "number" if not usual:
            limits: dict[str, Any] = {"minimum": option.least, "maximum": option.most}
            return gr.Number(value, precision=0 if option.kind == "whole" else None, **limits, **shown)
        case _:
            # Also a number that may be left out: Gradio's field for numbers shows nothing as 0.
            return gr.Textbox(value or "", max_lines=1, **shown)


def typed(option: OptionField, value: Any) -> Any:
    """Return what an `option_input` holds, or an address, as the option has it.

    Of several, commas stand between them. A text that cannot be so is left as it is.
    """
    if not isinstance(value, str) or not value.strip():
        return value
    if option.several:
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


# ---- tables that can be sorted and copied


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
