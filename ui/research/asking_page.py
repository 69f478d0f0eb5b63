"""The page that compares who asks back, and when, over runs of all benchmarks: tables and one figure."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

import gradio as gr

from logs import LogReader
from simulator import catalog
from simulator.asking import AskingRecords, askable, asking_spec, may_ask_back, read_asking
from simulator.commands.asking import asking_figure, full_report
from simulator.commands.asking_measures import Row, rows
from simulator.figures import Cell, Table
from simulator.reporting import Report, Section
from simulator.stats import Interval
from ui.i18n import Strings
from ui.research.address import Address
from ui.research.blocks import Visit, add_part, rebuild
from ui.research.controls import Menu, copy_field, menu_field
from ui.research.report_pages import command_line, show_report
from ui.research.runs import RunCard, Words, run_cards

BY: Final = ("", "kind", "user", "both")
MEASURES: Final = (
    *("when_needed", "when_inferred", "when_nothing", "youden", "decided", "questions", "useful", "price"),
    *("right", "right_asking", "right_silent", "before", "after", "gain"),
)
SHARES: Final = MEASURES[:3]
"""Measures that are shares of decisions; each is shown with its n."""
_N: Final = "_n"
_TEXTS: Final = "research.asking"


def asking_page(visit: Visit) -> None:
    """Show a choice of runs, a table for each benchmark of the chosen runs, and a figure."""
    t, at = visit.t, visit.at
    every = (card for card in run_cards(visit.reader) if may_ask_back(card.run.benchmark, card.seats))
    cards = {card.run.id: card for card in every}
    runs = [run for run in cards if run in at.runs]
    records = read_asking(visit.reader, runs)
    add_part(visit, "asking", empty=not cards, aborted=sum(records.aborted.values()))
    if not cards:
        for name in askable():
            command = catalog.find(name).example_command(t.language)
            copy_field(command, t("research.list.type"))
        return
    _choice(visit, cards, runs)
    if not records.askings:
        add_part(visit, "note", text=t(f"{_TEXTS}.{'nobody' if runs else 'choose'}"))
        return
    show_report(visit, _report(t, records, at))
    add_part(visit, "downloads", query=replace(at, tab="asking").query)
    users = ["--users"] if _splits(at, "user") else []
    command_line(visit, shlex.join(["askback", "report", "asking", *runs, *users]))


def asking_report(reader: LogReader, at: Address) -> Report:
    """Return the report to download for an address: one table for all benchmarks, and every episode."""
    return full_report(read_asking(reader, at.runs), by_kind=_splits(at, "kind"), users=_splits(at, "user"))


def robot_name(t: Strings, row: Row) -> str:
    """Return who could ask, with their mode of play in brackets; names of methods and models stay English."""
    return f"{row.seat} ({', '.join(map(t.phrase, row.manner))})" if row.manner else row.seat


def kind_name(t: Strings, row: Row) -> str:
    """Return the kind of tasks of a row, or the text for all kinds."""
    if not row.kind:
        return t(f"{_TEXTS}.kind_all")
    return Words(t, row.benchmark)(f"asking.kind.{row.kind}", t.phrase(row.kind))


def _splits(at: Address, by: str) -> bool:
    """Return True if the table has separate rows for each kind, or for each user."""
    return at.by in (by, "both")


def _choice(visit: Visit, cards: dict[str, RunCard], runs: Sequence[str]) -> None:
    """Show the choices of runs and of what rows stand for; both are kept in the address."""
    t, by = visit.t, visit.at.by
    ordered = sorted(cards.values(), key=lambda card: card.run.id not in runs)
    described = [(card.run.id, t.phrase(card.title), *card.seats.values()) for card in ordered]
    labels = [(" · ".join(words), words[0]) for words in described]
    chosen = gr.CheckboxGroup(
        labels,
        value=list(runs),
        label=t("research.runs"),
        show_select_all=True,
        interactive=True,
        elem_classes=["rs-runs"],
    )
    kinds = [(t(f"{_TEXTS}.by.{name or 'robot'}"), name) for name in BY]
    lines = menu_field(Menu(t(f"{_TEXTS}.rows_for"), kinds, by))
    button = gr.Button(t("research.run.compare"), variant="primary", size="md")
    for event in (lines.input, button.click):
        rebuild(visit, event, runs=chosen, by=lines)


def _report(t: Strings, records: AskingRecords, at: Address) -> Report:
    """Return the tables, the figure and notes on how to read them, in the page's language."""
    users = _splits(at, "user")
    table_rows, figure_rows = (
        [replace(row, robot=robot_name(t, row), kind=kind_name(t, row)) for row in split_rows]
        for split_rows in (
            rows(records.askings, by_kind=_splits(at, "kind"), by_user=users),
            rows(records.askings, by_user=users),
        )
    )
    compared = [name for name in askable() if any(row.benchmark == name for row in table_rows)]
    figure = asking_figure(figure_rows)
    section = Section(
        name="asking",
        title=t(f"{_TEXTS}.table"),
        tables=[_table(t, at, [row for row in table_rows if row.benchmark == name]) for name in compared],
        figures=[] if figure is None else [figure],
        remarks=list(_remarks(t, records, compared)),
    )
    return Report(title=section.title, sections=[section])


def _table(t: Strings, at: Address, lines: Sequence[Row]) -> Table:
    split = [name for name in ("user", "kind") if _splits(at, name)]
    counts = ["episodes", *(["open"] if any(row.open for row in lines) else [])]
    measures = [name for name in MEASURES if any(getattr(row, name) is not None for row in lines)]
    fields = ["robot", *split, *counts, *(column for name in measures for column in _with_n(name))]
    cells = [[_value(row, name) for name in fields] for row in lines]
    heads = [t(f"{_TEXTS}.column.{name}") for name in fields]
    return Table(heads, cells, catalog.find(lines[0].benchmark).title)


def _with_n(measure: str) -> Sequence[str]:
    """Return the columns of a measure; a share of decisions is followed by its n."""
    return (measure, f"{measure}{_N}") if measure in SHARES else (measure,)


def _value(row: Row, column: str) -> Cell:
    """Return a row's value in a column: a field, or the n of a share."""
    value: Interval | str | int | None = getattr(row, column.removesuffix(_N))
    if column.endswith(_N):
        return value.n if isinstance(value, Interval) else None
    return "–" if value == "" else value


def _remarks(t: Strings, records: AskingRecords, compared: Sequence[str]) -> Iterator[str]:
    """Yield notes on how to read the tables, per benchmark where they differ, and on what is left out."""
    yield from (t(f"{_TEXTS}.note.{name}") for name in ("needed", "useful", "right", "intervals"))
    for name in compared:
        if (notes := asking_spec(name).notes) is not None:
            texts = {field: t.phrase(text) for field, text in notes._asdict().items()}
            title = t.phrase(catalog.find(name).title)
            price = t(f"{_TEXTS}.note.price", **texts) if notes.price else ""
            yield f"{t(f'{_TEXTS}.note.of', benchmark=title, **texts)} {price}".strip()
    if records.left_out:
        reasons = (
            f"{count} × {t.get(f'{_TEXTS}.why.' + why.replace(' ', '_'), why)}"
            for why, count in records.left_out.items()
        )
        yield f"{t(f'{_TEXTS}.left_out')}: {', '.join(reasons)}"
