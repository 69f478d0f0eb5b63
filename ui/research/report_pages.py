"""The pages that show reports: of a run, of several runs, of runs compared item by item; and their parts."""

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
from simulator import catalog, frames
from simulator.benchmark import Benchmark, ReportSpec
from simulator.commands.compare import comparison, one_benchmark
from simulator.errors import AskbackError, InputError
from simulator.field_options import OptionField, option_field, options_of, read_options
from simulator.figures import Figure, to_plotly
from simulator.figures.geometry import has_horizontal_bars
from simulator.frames import Frames
from simulator.reporting import Report, Section
from simulator.reports import build_report, metric_figure, present_metrics
from simulator.research import Shown
from simulator.runner.logged import endings_of_runs
from ui.declared.pages import link_to
from ui.i18n import problem_text
from ui.research import format
from ui.research.address import COMPARE
from ui.research.blocks import Visit, follow, part, rebuild
from ui.research.controls import Menu, Sheet, link, option_input, put_menus, table, text, typed
from ui.research.office import CachedReports, Office
from ui.research.runs import Transcript, run_cards, transcript, whole_card

BenchmarkT = Benchmark[Any, Any]


class ItemRow(NamedTuple):
    """An item that runs were compared on, with the headline of each, and whether they are not the same."""

    item: str
    values: tuple[str, ...]
    differs: bool


def run_page(visit: Visit, office: Office) -> None:
    """Show what `askback report` says of a run."""
    at, reader = visit.at, office.reader
    card = whole_card(reader, reader.run(at.run))
    benchmark = one_benchmark(reader, [at.run])
    if card.live:
        follow(visit, lambda: reader.progress(at.run))
    part(visit, "run_head", card=card, tab="scores", aborted=_aborted(benchmark, reader, at.run))
    reported, endings = _show_kept(visit, office, benchmark, [at.run]), endings_of_runs(reader, [at.run])
    part(
        visit,
        "run_rest",
        card=card,
        reported=reported,
        statuses=endings.statuses,
        failures={**endings.failures, **endings.left},
        usage=reader.usage(at.run),
    )
    command_line(visit, _command(benchmark, [at.run], dict(at.settings)))


def report_page(visit: Visit, office: Office) -> None:
    """Show what `askback report` says of several runs."""
    at = visit.at
    benchmark = one_benchmark(office.reader, at.runs)
    heading = "research.report.several"
    part(visit, "report_head", heading=heading, runs=at.runs, other=at.to(path=COMPARE, settings=()))
    if _show_kept(visit, office, benchmark, at.runs):
        part(visit, "downloads", query=at.query)
    command_line(visit, _command(benchmark, at.runs, dict(at.settings)))


def compare_page(visit: Visit, office: Office) -> None:
    """Show runs of one benchmark side by side, on the items that they share."""
    t, at, reader = visit.t, visit.at, office.reader
    runs = tuple(dict.fromkeys(filter(None, (at.run, *at.runs))))
    if at.run:
        card = whole_card(reader, reader.run(at.run))
        part(visit, "run_head", card=card, tab="compare", aborted=0)
    else:
        part(visit, "report_head", heading="research.run.compare", runs=runs, other="")
    cards = run_cards(reader)
    benchmarks = {card.run.benchmark for card in cards if card.run.id in runs}
    fitting = (card for card in cards if not benchmarks or card.run.benchmark in benchmarks)
    others = [card.run.id for card in fitting if card.run.id != at.run]
    if at.run and not others:
        part(visit, "note", text=t("research.compare.none"))
        return
    chosen = [run for run in runs if run in others]
    put_menus(visit, {"runs": Menu(t("research.compare.choose"), [(run, run) for run in others], chosen)})
    if len(runs) < 2:
        part(visit, "note", text=t(f"research.compare.{'choose_text' if at.run else 'too_few'}"))
        return
    try:
        report = kept_comparison(office.kept, runs)
        items = office.kept.once("items", runs, lambda: tuple(item_rows(reader, runs)))
    except AskbackError as error:
        part(visit, "note", text=problem_text(t, error))
        return
    show_report(visit, report)
    part(visit, "items_head", differing=sum(row.differs for row in items), total=len(items))
    ordered = sorted(items, key=lambda row: not row.differs)
    rows = [[link(row.item, at.to(item=row.item)), *map(text, row.values)] for row in ordered]
    table(t("research.list.items"), Sheet({t("research.list.item"): 320, **dict.fromkeys(runs, 200)}, rows))
    if at.item:
        with gr.Row():
            for episode in _episodes_beside(reader, runs, at.item):
                with gr.Column(min_width=320):
                    part(visit, "turns", shown=episode)
    part(visit, "downloads", query=replace(at, tab="compare", item="").query)
    command_line(visit, shlex.join(["askback", "compare", *runs]))


# ---- reports


def kept_report(
    kept: CachedReports, benchmark: BenchmarkT, runs: Sequence[str], settings: Mapping[str, str]
) -> Report:
    """Return the report of runs under settings out of an address, made once for each state of theirs.

    Raises:
        InputError: if a setting cannot be, or there is nothing to report.
    """

    def make() -> Report:
        made = None
        if benchmark.report is not None and benchmark.report.settings is not None:
            fields = report_fields(benchmark).items()
            chosen = {name: typed(field, settings[name]) for name, field in fields if settings.get(name)}
            made = read_options(benchmark.report.settings(), chosen)
        return build_report(benchmark, Frames(log=kept.reader, runs=tuple(runs), settings=made))

    return kept.once(("report", tuple(sorted(settings.items()))), runs, make)


def report_fields(benchmark: BenchmarkT) -> dict[str, OptionField]:
    """Return the settings of a report that a page lets change: choices, numbers and names, but no files."""
    spec = benchmark.report
    if spec is None or spec.settings is None:
        return {}
    made = {name: option_field(name, option) for name, option in options_of(spec.settings()).items()}
    # A single text may name a file of this machine, too.
    return {
        name: field
        for name, field in made.items()
        if field.kind != "file" and (field.several or field.kind != "text")
    }


def _command(benchmark: BenchmarkT, runs: Sequence[str], settings: Mapping[str, str]) -> str:
    """Return the command line that prints the same."""
    fields = report_fields(benchmark)
    chosen = [(fields[name], value) for name, value in settings.items() if value and name in fields]
    read = [(field, typed(field, value)) for field, value in chosen]
    options = [word for field, value in read if value != field.default for word in field.words(value)]
    return shlex.join(["askback", "report", benchmark.name, *runs, *options])


def _aborted(benchmark: BenchmarkT, reader: LogReader, run: str) -> int:
    """Return how many episodes a failing seat aborted, where they count as unsuccessful."""
    spec = benchmark.report or ReportSpec()
    count = sum(endings_of_runs(reader, [run]).aborted.values())
    return count if count and spec.counts_aborted(Frames(log=reader, runs=(run,)), run) else 0


# ---- runs compared


def kept_comparison(kept: CachedReports, runs: Sequence[str]) -> Report:
    """Return what `askback compare` says and the metrics as bars, made once for each state of the runs.

    Raises:
        InputError: if they cannot be compared.
    """

    def make() -> Report:
        report, benchmark = comparison(kept.reader, runs), one_benchmark(kept.reader, runs)
        frame = frames.episodes(kept.reader, runs)
        figure = metric_figure(benchmark, frame, present_metrics(benchmark, frame))
        if figure is None:
            return report
        section = Section(name="metrics", title="Metrics", figures=[figure])
        return replace(report, sections=[*report.sections, section])

    return kept.once("compared", runs, make)


def item_rows(reader: LogReader, runs: Sequence[str]) -> Iterator[ItemRow]:
    """Yield the items that all runs share, with the headline of each."""
    frame = frames.episodes(reader, runs)
    metric, *_ = present_metrics(one_benchmark(reader, runs), frame)
    means = frame.pivot_table(metric.name, "item", "run", aggfunc="mean").reindex(columns=list(runs)).dropna()
    digits = 2 if metric.is_share else 1
    for item, values in zip(means.index, means.to_numpy(), strict=True):
        texts = tuple(f"{value:.{digits}f}".replace("-", format.MINUS) for value in values)
        yield ItemRow(str(item), texts, bool(values.min() != values.max()))


def _episodes_beside(reader: LogReader, runs: Sequence[str], item: str) -> Iterator[Transcript]:
    """Yield the episodes of runs on one item, the first of each."""
    named = {row.hash: row.name for row in reader.items()}
    for run in runs:
        fitting = (each for each in reader.episodes(run, latest=True) if named[each.item_hash] == item)
        if (episode := next(fitting, None)) is not None:
            yield transcript(reader, episode.id)


# ---- on the page


def command_line(visit: Visit, line: str) -> None:
    """Show the command that prints the same."""
    label, classes = visit.t("research.list.same"), ["rs-command-line"]
    gr.Textbox(line, label=label, interactive=False, buttons=["copy"], elem_classes=classes)


def show_report(visit: Visit, report: Report) -> None:
    """Show a report: of each section its tables, its plots, and what else it says."""
    for section in format.holding(report.sections):
        part(visit, "report_part", part=section)
        if plots := format.plots(section):
            with gr.Row():
                for figure in plots:
                    _plot(visit, format.translated(visit.t, figure))
        if format.pictures(section) or section.text or section.remarks:
            part(visit, "report_words", part=section)


def show_own(visit: Visit, benchmark: str, shown: Iterable[Shown], language: str) -> None:
    """Show what a benchmark has declared: blocks as players see them, and sections of reports.

    Args:
        visit: of the page.
        benchmark: whose they are.
        shown: what.
        language: of the items that they show.
    """
    link, view = link_to(catalog.find(benchmark)), SimpleNamespace(language=language, seat="", study=True)
    for _, group in groupby(shown, lambda each: isinstance(each, Section)):
        together = [*group]
        if sections := [each for each in together if isinstance(each, Section)]:
            show_report(visit, Report(title="", sections=sections))
        else:
            part(visit, "own", link=link, view=view, language=language, blocks=together)


def _plot(visit: Visit, figure: Figure) -> None:
    """Show a plot for light ground; the style sheet turns it for dark."""
    drawn = json.dumps({**to_plotly(figure), "config": {"displayModeBar": False}})
    kinds = {"rs-wide": format.is_wide(figure), "rs-lying": has_horizontal_bars(figure)}
    classes = ["rs-chart", *(name for name, holds in kinds.items() if holds)]
    # What the style sheet gives them, and its frame: only on a narrow screen is there something to scroll.
    least = 660 if kinds["rs-wide"] else 500 if kinds["rs-lying"] else 480
    with gr.Column(min_width=least, elem_classes=classes):
        part(visit, "figure", figure=figure)
        gr.Plot(PlotData(type="plotly", plot=drawn), show_label=False, container=False)


def _show_kept(visit: Visit, office: Office, benchmark: BenchmarkT, runs: Sequence[str]) -> bool:
    """Show the report of runs under its settings, or why there is none; return whether there is."""
    chosen, made = dict(visit.at.settings), report_fields(benchmark)
    if made:
        with gr.Accordion(visit.t("research.report.settings"), open=bool(chosen)):
            with gr.Row():
                fields = {
                    f"s.{name}": option_input(visit.t, replace(option, default=None), chosen.get(name, ""))
                    for name, option in made.items()
                }
            rebuild(visit, gr.Button(visit.t("research.report.apply")).click, **fields)
    try:
        report = kept_report(office.kept, benchmark, runs, chosen)
    except InputError as error:
        part(visit, "note", text=problem_text(visit.t, error))
        return False
    show_report(visit, report)
    for problem in report.problems.unexpected:
        part(visit, "note", text=problem)
    return True
