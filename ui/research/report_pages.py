"""The pages that show reports: of a run, of several runs, of runs compared item by item; and their parts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import groupby
from types import SimpleNamespace
from typing import Any

import gradio as gr
from gradio.components.plot import PlotData

from simulator import catalog
from simulator.benchmark import Benchmark
from simulator.commands.compare import one_benchmark
from simulator.errors import AskbackError
from simulator.field_options import OptionField
from simulator.reporting import Report, Section
from simulator.research import Shown
from simulator.runner.logged import endings_of_runs, failures_of
from ui.declared.pages import link_to
from ui.problems import problem_text
from ui.research.address import COMPARE
from ui.research.blocks import follow, part, rebuild
from ui.research.declared import whole_card
from ui.research.figures import Figure
from ui.research.office import Office
from ui.research.report_parts import Part, ReportParts, report_parts
from ui.research.run_page import (
    aborted,
    command,
    episodes_beside,
    item_rows,
    kept_comparison,
    kept_report,
    report_fields,
    typed,
)
from ui.research.runs import RunCard, run_cards
from ui.research.tables import Sheet, link, table, text
from ui.research.view import Visit

_WIDE = 600


def run_page(visit: Visit, office: Office) -> None:
    """Show what `askback report` says of a run."""
    at, reader = visit.at, office.reader
    card = whole_card(reader, reader.run(at.run))
    benchmark = one_benchmark(reader, [at.run])
    if card.live:
        follow(visit, lambda: reader.progress(at.run))
    shown = kept_report(visit.t, office.kept, benchmark, [at.run], dict(at.settings))
    part(visit, "run_head", card=card, tab="scores", aborted=aborted(benchmark, reader, at.run))
    _settings(visit, benchmark)
    show_report(visit, shown)
    part(
        visit,
        "run_rest",
        card=card,
        shown=shown,
        statuses=endings_of_runs(reader, [at.run]).statuses,
        failures=failures_of(reader, at.run),
        usage=reader.usage(at.run),
    )
    command_line(visit, command("report", benchmark, [at.run], dict(at.settings)))


def report_page(visit: Visit, office: Office) -> None:
    """Show what `askback report` says of several runs."""
    at = visit.at
    benchmark = one_benchmark(office.reader, at.runs)
    shown = kept_report(visit.t, office.kept, benchmark, at.runs, dict(at.settings))
    heading = "research.report.several"
    part(visit, "report_head", heading=heading, runs=at.runs, other=at.to(path=COMPARE, settings=()))
    _settings(visit, benchmark)
    show_report(visit, shown)
    if shown.nothing is None:
        part(visit, "downloads", query=at.query)
    command_line(visit, command("report", benchmark, at.runs, dict(at.settings)))


def compare_page(visit: Visit, office: Office) -> None:
    """Show runs of one benchmark side by side, on the items that they share."""
    t, at, reader = visit.t, visit.at, office.reader
    runs = tuple(dict.fromkeys(filter(None, (at.run, *at.runs))))
    if at.run:
        card = whole_card(reader, reader.run(at.run))
        part(visit, "run_head", card=card, tab="compare", aborted=0)
    else:
        part(visit, "report_head", heading="research.run.compare", runs=runs, other="")
    others = _others(run_cards(reader), at.run, runs)
    if at.run and not others:
        part(visit, "note", text=t("research.compare.none"))
        return
    chosen = [run for run in runs if run in others]
    with_runs = gr.Dropdown(
        others, value=chosen, multiselect=True, label=t("research.compare.choose"), interactive=True
    )
    rebuild(visit, with_runs.input, runs=with_runs)
    if len(runs) < 2:
        part(visit, "note", text=t(f"research.compare.{'choose_text' if at.run else 'too_few'}"))
        return
    try:
        shown = kept_comparison(t, office.kept, runs)
        items = office.kept.once("items", runs, lambda: tuple(item_rows(reader, runs)))
    except AskbackError as error:
        part(visit, "note", text=problem_text(t, error))
        return
    show_report(visit, shown)
    differing = sum(row.differs for row in items)
    part(visit, "items_head", differing=differing, total=len(items))
    ordered = sorted(items, key=lambda row: not row.differs)
    rows = [[link(row.item, at.to(item=row.item)), *map(text, row.values)] for row in ordered]
    table(t("research.list.items"), Sheet({t("research.list.item"): 320, **dict.fromkeys(runs, 200)}, rows))
    if at.item:
        with gr.Row():
            for episode in episodes_beside(reader, runs, at.item):
                with gr.Column(min_width=320):
                    part(visit, "turns", shown=episode)
    part(visit, "downloads", query=at.compared)
    command_line(visit, command("compare", None, runs, {}))


def command_line(visit: Visit, line: str) -> None:
    """Show the command that prints the same."""
    label, classes = visit.t("research.list.same"), ["rs-command-line"]
    gr.Textbox(line, label=label, interactive=False, buttons=["copy"], elem_classes=classes)


def _others(cards: Sequence[RunCard], run: str, runs: Sequence[str]) -> list[str]:
    """Return the runs that can be compared with those that are shown: of the same benchmark."""
    benchmarks = {card.run.benchmark for card in cards if card.run.id in runs}
    fitting = (card for card in cards if not benchmarks or card.run.benchmark in benchmarks)
    return [card.run.id for card in fitting if card.run.id != run]


def show_report(visit: Visit, shown: ReportParts) -> None:
    """Show a report: of each section its tables, its plots, and what else it says."""
    if shown.nothing is not None:
        part(visit, "note", text=problem_text(visit.t, shown.nothing))
    for section in shown.parts:
        _section(visit, section)


def show_own(visit: Visit, benchmark: str, shown: Iterable[Shown], language: str) -> None:
    """Show what a benchmark has declared: blocks as players see them, and sections of reports.

    Args:
        visit: of the page.
        benchmark: whose they are.
        shown: what.
        language: of the items that they show.
    """
    room, view = link_to(catalog.find(benchmark)), SimpleNamespace(language=language, seat="", study=True)
    for _, group in groupby(shown, lambda each: isinstance(each, Section)):
        together = [*group]
        if sections := [each for each in together if isinstance(each, Section)]:
            for section in report_parts(visit.t, Report(title="", sections=sections)).parts:
                _section(visit, section)
        else:
            part(visit, "own", room=room, view=view, language=language, blocks=together)


def _section(visit: Visit, section: Part) -> None:
    part(visit, "report_part", part=section)
    if section.plots:
        with gr.Row():
            for figure in section.plots:
                _plot(visit, figure)
    if section.pictures or section.text or section.remarks:
        part(visit, "report_words", part=section)


def _plot(visit: Visit, figure: Figure) -> None:
    """Show a plot for light ground; the style sheet turns it for dark."""
    drawn = {**figure.plotly, "config": {"displayModeBar": False}}
    with gr.Column(min_width=480, elem_classes=["rs-chart", *(["rs-wide"] if figure.width > _WIDE else [])]):
        part(visit, "figure", figure=figure)
        gr.Plot(PlotData(type="plotly", plot=json.dumps(drawn)), show_label=False, container=False)


def _settings(visit: Visit, benchmark: Benchmark[Any, Any]) -> None:
    """Let the settings of a report be chosen; they stand in the address."""
    chosen, made = dict(visit.at.settings), report_fields(benchmark)
    if made:
        with gr.Accordion(visit.t("research.report.settings"), open=bool(chosen)):
            with gr.Row():
                fields = {
                    f"s.{name}": _field(visit, option, chosen.get(name, "")) for name, option in made.items()
                }
            rebuild(visit, gr.Button(visit.t("research.report.apply")).click, **fields)


def _field(visit: Visit, option: OptionField, value: str) -> gr.Dropdown | gr.Number | gr.Textbox:
    named: dict[str, Any] = {
        "label": option.name,
        "info": visit.t.phrase(option.help),
        "min_width": 240,
        "interactive": True,
    }
    if option.kind in ("whole", "number"):
        return gr.Number(typed(option, value) if value else None, **named)
    if option.kind == "text":
        return gr.Textbox(value, **named)
    switch = [(visit.t("research.report.on"), "1")]
    values = switch if option.kind == "switch" else [(choice, choice) for choice in option.choices]
    known = value if value in dict(values).values() else ""  # an address may say anything
    return gr.Dropdown([(visit.t("research.report.usual"), ""), *values], value=known, **named)
