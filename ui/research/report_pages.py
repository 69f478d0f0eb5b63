"""Pages with reports on one run, on several runs, and on runs compared item by item."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from types import SimpleNamespace
from typing import Any, NamedTuple

import gradio as gr
from gradio.components.plot import PlotData

from logs import LogReader
from logs.transcript import Transcript, read_transcript
from simulator import catalog, frames
from simulator.benchmark import Benchmark, ReportSpec
from simulator.commands.compare import comparison, one_benchmark
from simulator.errors import AskbackError, InputError
from simulator.field_options import options_of, read_options
from simulator.figures import Figure, to_vega_lite
from simulator.figures.geometry import has_horizontal_bars
from simulator.form_blocks import Field
from simulator.frames import Frames
from simulator.model_forms import option_field, option_words
from simulator.reporting import Report, Section
from simulator.reports import build_report, metric_figure, present_metrics
from simulator.research import PageContent
from simulator.runner.logged import endings_of_runs
from ui.declared.pages import link_to
from ui.i18n import problem_text
from ui.research import format
from ui.research.address import COMPARE
from ui.research.blocks import Visit, add_part, rebuild, rebuild_on_change
from ui.research.controls import (
    Menu,
    Sheet,
    add_table,
    copy_field,
    link_cell,
    option_input,
    parse,
    put_menus,
    text_cell,
)
from ui.research.office import CachedReports
from ui.research.runs import full_card, run_cards

BenchmarkT = Benchmark[Any, Any]


class ItemRow(NamedTuple):
    """An item that runs are compared on, with the headline of each run, and whether the headlines differ."""

    item: str
    values: tuple[str, ...]
    differs: bool


def run_page(visit: Visit) -> None:
    """Show the report on a run, as by `askback report`."""
    at, reader = visit.at, visit.reader
    card = full_card(reader, reader.run(at.run))
    benchmark = one_benchmark(reader, [at.run])
    if card.live:
        rebuild_on_change(visit, lambda: reader.progress(at.run))
    add_part(visit, "run_head", card=card, tab="scores", aborted=_count_aborted(benchmark, reader, at.run))
    reported = _show_cached_report(visit, benchmark, [at.run])
    endings = endings_of_runs(reader, [at.run])
    add_part(
        visit,
        "run_rest",
        card=card,
        reported=reported,
        statuses=endings.statuses,
        failures={**endings.failures, **endings.left},
        usage=reader.usage(at.run),
    )
    command_line(visit, _command(benchmark, [at.run], dict(at.settings)))


def report_page(visit: Visit) -> None:
    """Show the report on several runs, as by `askback report`."""
    at = visit.at
    benchmark = one_benchmark(visit.reader, at.runs)
    heading = "research.report.several"
    add_part(visit, "report_head", heading=heading, runs=at.runs, other=at.to(path=COMPARE, settings=()))
    if _show_cached_report(visit, benchmark, at.runs):
        add_part(visit, "downloads", query=at.query)
    command_line(visit, _command(benchmark, at.runs, dict(at.settings)))


def compare_page(visit: Visit) -> None:
    """Show a comparison of runs of one benchmark on the items that they share."""
    t, at, reader = visit.t, visit.at, visit.reader
    runs = tuple(dict.fromkeys(filter(None, (at.run, *at.runs))))
    if at.run:
        card = full_card(reader, reader.run(at.run))
        add_part(visit, "run_head", card=card, tab="compare", aborted=0)
    else:
        add_part(visit, "report_head", heading="research.run.compare", runs=runs, other="")
    cards = run_cards(reader)
    benchmarks = {card.run.benchmark for card in cards if card.run.id in runs}
    fitting = (card for card in cards if not benchmarks or card.run.benchmark in benchmarks)
    others = [card.run.id for card in fitting if card.run.id != at.run]
    if at.run and not others:
        add_part(visit, "note", text=t("research.compare.none"))
        return
    chosen = [run for run in runs if run in others]
    put_menus(visit, {"runs": Menu(t("research.compare.choose"), [(run, run) for run in others], chosen)})
    if len(runs) < 2:
        add_part(visit, "note", text=t(f"research.compare.{'choose_text' if at.run else 'too_few'}"))
        return
    try:
        report = cached_comparison(visit.office.cache, runs)
        items = visit.office.cache.get("items", runs, lambda: tuple(item_rows(reader, runs)))
    except AskbackError as error:
        add_part(visit, "note", text=problem_text(t, error))
        return
    show_report(visit, report)
    add_part(visit, "items_head", differing=sum(row.differs for row in items), total=len(items))
    ordered = sorted(items, key=lambda row: not row.differs)
    rows = [[link_cell(row.item, at.to(item=row.item)), *map(text_cell, row.values)] for row in ordered]
    heads = {t("research.list.item"): 320, **dict.fromkeys(runs, 200)}
    add_table(t("research.list.items"), Sheet(heads, rows))
    if at.item:
        with gr.Row():
            for episode in _episodes_of_item(reader, runs, at.item):
                with gr.Column(min_width=320):
                    add_part(visit, "turns", shown=episode)
    add_part(visit, "downloads", query=replace(at, tab="compare", item="").query)
    command_line(visit, shlex.join(["askback", "compare", *runs]))


# ---- reports


def cached_report(
    cache: CachedReports, benchmark: BenchmarkT, runs: Sequence[str], settings: Mapping[str, str]
) -> Report:
    """Return the cached report on runs, with settings from an address.

    Raises:
        InputError: if a setting is invalid, or there is nothing to report.
    """

    def make() -> Report:
        report_settings = None
        if benchmark.report is not None and benchmark.report.settings is not None:
            fields = report_fields(benchmark).items()
            chosen = {name: parse(field, settings[name]) for name, field in fields if settings.get(name)}
            report_settings = read_options(benchmark.report.settings(), chosen)
        return build_report(benchmark, Frames(log=cache.reader, runs=tuple(runs), settings=report_settings))

    return cache.get(("report", tuple(sorted(settings.items()))), runs, make)


def report_fields(benchmark: BenchmarkT) -> dict[str, Field]:
    """Return the settings of a report that its page can change: choices, numbers and names, not files."""
    spec = benchmark.report
    if spec is None or spec.settings is None:
        return {}
    fields = {name: option_field(name, option) for name, option in options_of(spec.settings()).items()}
    # A single text may be the path of a file on the server.
    return {name: field for name, field in fields.items() if field.kind not in ("file", "line", "text")}


def _command(benchmark: BenchmarkT, runs: Sequence[str], settings: Mapping[str, str]) -> str:
    fields = report_fields(benchmark)
    chosen = [(fields[name], value) for name, value in settings.items() if value and name in fields]
    read = [(field, parse(field, value)) for field, value in chosen]
    options = [word for field, value in read if value != field.value for word in option_words(field, value)]
    return shlex.join(["askback", "report", benchmark.name, *runs, *options])


def _count_aborted(benchmark: BenchmarkT, reader: LogReader, run: str) -> int:
    """Return the number of episodes aborted by a failing seat; 0 where they do not count as unsuccessful."""
    spec = benchmark.report or ReportSpec()
    count = sum(endings_of_runs(reader, [run]).aborted.values())
    return count if count and spec.counts_aborted(Frames(log=reader, runs=(run,)), run) else 0


# ---- runs compared


def cached_comparison(cache: CachedReports, runs: Sequence[str]) -> Report:
    """Return the cached comparison of runs, as by `askback compare`, with their metrics as bars.

    Raises:
        InputError: if they cannot be compared.
    """

    def make() -> Report:
        report, benchmark = comparison(cache.reader, runs), one_benchmark(cache.reader, runs)
        frame = frames.episodes(cache.reader, runs)
        figure = metric_figure(benchmark, frame, present_metrics(benchmark, frame))
        if figure is None:
            return report
        section = Section(name="metrics", title="Metrics", figures=[figure])
        return replace(report, sections=[*report.sections, section])

    return cache.get("compared", runs, make)


def item_rows(reader: LogReader, runs: Sequence[str]) -> Iterator[ItemRow]:
    """Yield the items that all runs share, with the headline of each run."""
    frame = frames.episodes(reader, runs)
    metric, *_ = present_metrics(one_benchmark(reader, runs), frame)
    means = frame.pivot_table(metric.name, "item", "run", aggfunc="mean").reindex(columns=list(runs)).dropna()
    digits = 2 if metric.is_share else 1
    for item, values in zip(means.index, means.to_numpy(), strict=True):
        texts = tuple(f"{value:.{digits}f}".replace("-", format.MINUS) for value in values)
        yield ItemRow(str(item), texts, bool(values.min() != values.max()))


def _episodes_of_item(reader: LogReader, runs: Sequence[str], item: str) -> Iterator[Transcript]:
    names = {row.hash: row.name for row in reader.items()}
    for run in runs:
        fitting = (each for each in reader.episodes(run, latest=True) if names[each.item_hash] == item)
        if (episode := next(fitting, None)) is not None:
            yield read_transcript(reader, episode.id)


# ---- components


def command_line(visit: Visit, line: str) -> None:
    """Show the command that prints the same report."""
    copy_field(line, visit.t("research.list.same"), elem_classes=["rs-command-line"])


def show_report(visit: Visit, report: Report) -> None:
    """Show the sections of a report: tables, plots, pictures, texts and remarks."""
    for section in format.nonempty_sections(report.sections):
        add_part(visit, "report_part", part=section)
        if plots := format.plots(section):
            with gr.Row():
                for figure in plots:
                    _plot(visit, format.translate_figure(visit.t, figure))
        if format.pictures(section) or section.text or section.remarks:
            add_part(visit, "report_words", part=section)


def show_own(visit: Visit, benchmark: str, shown: Iterable[PageContent], language: str) -> None:
    """Show a benchmark's own content: blocks as players see them, and sections of reports."""
    link, view = link_to(catalog.find(benchmark)), SimpleNamespace(language=language, seat="", study=True)
    for _, group in groupby(shown, lambda each: isinstance(each, Section)):
        together = [*group]
        if sections := [each for each in together if isinstance(each, Section)]:
            show_report(visit, Report(title="", sections=sections))
        else:
            add_part(visit, "own", link=link, view=view, language=language, blocks=together)


def _plot(visit: Visit, figure: Figure) -> None:
    """Show a plot on a light background; the style sheet inverts it in dark mode."""
    plot = json.dumps(to_vega_lite(figure))
    kinds = {"rs-wide": format.is_wide(figure), "rs-lying": has_horizontal_bars(figure)}
    classes = ["rs-chart", *(name for name, holds in kinds.items() if holds)]
    # The style sheet's width plus the frame, so that a plot only scrolls on narrow screens.
    least = 660 if kinds["rs-wide"] else 500 if kinds["rs-lying"] else 480
    with gr.Column(min_width=least, elem_classes=classes):
        add_part(visit, "figure", figure=figure)
        gr.Plot(PlotData(type="altair", plot=plot), show_label=False, container=False)


def _show_cached_report(visit: Visit, benchmark: BenchmarkT, runs: Sequence[str]) -> bool:
    """Show the report on runs and its settings, or the error; return True if there is a report."""
    chosen, options = dict(visit.at.settings), report_fields(benchmark)
    if options:
        with gr.Accordion(visit.t("research.report.settings"), open=bool(chosen)):
            with gr.Row():
                fields = {
                    f"s.{name}": option_input(visit.t, option._replace(value=None), chosen.get(name, ""))
                    for name, option in options.items()
                }
            rebuild(visit, gr.Button(visit.t("research.report.apply")).click, **fields)
    try:
        report = cached_report(visit.office.cache, benchmark, runs, chosen)
    except InputError as error:
        add_part(visit, "note", text=problem_text(visit.t, error))
        return False
    show_report(visit, report)
    for problem in report.problems.unexpected:
        add_part(visit, "note", text=problem)
    return True
