"""`askback report BENCHMARK`: a benchmark's metrics and sections in every format; its settings are options.

`askback score BENCHMARK FILES` reports on files, `askback stats BENCHMARK` on a benchmark's items.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import pandas as pd
import typer
from rich.console import Console

from logs import LogReader
from logs.cli import LogOption
from logs.paths import default_path
from simulator import catalog
from simulator.benchmark import Benchmark, ReportSpec
from simulator.errors import InputError
from simulator.field_options import AnnotatedOption, options_of, read_options
from simulator.figures import Cell, Table
from simulator.frames import Frames
from simulator.reporting import (
    DRAWN_AS,
    SUFFIXES,
    Report,
    Section,
    json_text,
    print_report,
    report_csv,
    report_latex,
    write_report,
)
from simulator.reports import build_report, print_run_report
from simulator.runner.build import machine_of
from simulator.runner.options import (
    DataOption,
    ExactJsonOption,
    ExcludeAbortedOption,
    RunsAndFilesArgument,
    WithExcludedOption,
    command_of,
)
from simulator.runner.run_summary import print_problems, runs_and_files, say

Format = Literal["text", "json", "csv", "latex"]
OutOption = Annotated[
    Path | None,
    typer.Option(help="folder for the report: JSON, HTML, tables (CSV, LaTeX), figures (PNG, SVG, PDF)"),
]
ByOption = Annotated[
    list[str] | None,
    typer.Option(help="column to break results down by: language, repeat or seat.NAME (repeatable)"),
]
FormatOption = Annotated[
    Format, typer.Option("--format", "--table", help="output format: text, json, csv or latex")
]
SuffixOption = Annotated[str, typer.Option(help=f"file formats of figures: {', '.join(SUFFIXES)}")]
RunsArgument = Annotated[
    list[str], typer.Argument(help="names of runs (askback log list shows them)", metavar="RUN…")
]
FilesArgument = Annotated[list[Path], typer.Argument(help="files, or folders of files", metavar="PATH…")]
_REQUIRED: Final = inspect.Parameter.empty
_FORMS: Final[dict[str, AnnotatedOption]] = {
    "out": (OutOption, None),
    "suffix": (SuffixOption, ",".join(DRAWN_AS)),
    "form": (FormatOption, "text"),
    "as_json": (ExactJsonOption, False),
}
_HELP: Final = "Show every metric of runs of {title} side by side, with intervals."


def report_command(benchmark: Benchmark[Any, Any]) -> Callable[..., None]:
    """Return the command that reports on runs of a benchmark, and on files if the benchmark reads any."""
    spec = benchmark.report or ReportSpec()
    named = _REQUIRED if spec.named else None
    options = {
        **({"names": (RunsAndFilesArgument, named)} if spec.files else {"runs": (RunsArgument, named)}),
        **_settings_options(spec),
        "by": (ByOption, None),
        **_FORMS,
        "exclude_aborted": (ExcludeAbortedOption, False),
        "with_excluded": (WithExcludedOption, False),
        "log": (LogOption, None),
    }

    def report(**values: Any) -> None:
        runs, files = runs_and_files(values.pop("names") or ()) if spec.files else (values.pop("runs"), [])
        _report(benchmark, spec, runs, files, **values)

    return command_of(report, options, spec.help or _HELP.format(title=benchmark.title))


def read_suffixes(text: str) -> tuple[str, ...]:
    """Return the file formats of figures in a comma list, without repeats.

    Raises:
        InputError: if a format is unknown.
    """
    suffixes = tuple(
        dict.fromkeys(part.strip().removeprefix(".") for part in text.split(",") if part.strip())
    )
    if unknown := [suffix for suffix in suffixes if suffix not in SUFFIXES]:
        raise InputError(f"--suffix {unknown[0]}: figures can be written as {', '.join(SUFFIXES)}.")
    return suffixes


def files_command(benchmark: Benchmark[Any, Any]) -> Callable[..., None]:
    """Return the command that scores files by the benchmark's rules and reports on them."""
    spec = benchmark.report or ReportSpec()
    options = {"paths": (FilesArgument, _REQUIRED), **_settings_options(spec), **_FORMS}

    def score(paths: list[Path], **values: Any) -> None:
        _report(benchmark, spec, [], paths, **values)

    return command_of(score, options, f"Score files by {benchmark.title}'s rules.\n\n{spec.help}")


def _settings_options(spec: ReportSpec) -> dict[str, AnnotatedOption]:
    return {} if spec.settings is None else options_of(spec.settings())


def _report(
    benchmark: Benchmark[Any, Any],
    spec: ReportSpec,
    runs: Sequence[str],
    files: Sequence[Path],
    *,
    exclude_aborted: bool = False,
    with_excluded: bool = False,
    log: Path | None = None,
    by: Sequence[str] | None = None,
    **values: Any,
) -> None:
    with LogReader(log or default_path(), with_excluded=with_excluded) if runs else nullcontext() as reader:
        source = Frames(
            log=reader,
            runs=tuple(dict.fromkeys(runs)),
            files=tuple(files),
            settings=None if spec.settings is None else read_options(spec.settings(), values),
            exclude_aborted=exclude_aborted,
            out=values["out"],
            draws=values["out"] is not None or not spec.draws_late,
        )
        report = build_report(benchmark, source, by or ())
        written = [*spec.write(source)] if spec.write else []
    form: Format = "json" if values["as_json"] else values["form"]
    suffixes = read_suffixes(values["suffix"])
    output_report(report, values["out"], form=form, title=benchmark.title, written=written, suffixes=suffixes)


def output_report(
    report: Report,
    out: Path | None,
    *,
    form: Format = "text",
    title: str = "",
    written: Sequence[object] = (),
    suffixes: Sequence[str] = DRAWN_AS,
) -> None:
    """Print a report, and write it to a folder if one is given.

    Raises:
        InputError: if the folder is a file, or a file cannot be written.
        typer.Exit: with status 1 if a file could not be read, or its contents are unexpected.
    """
    files = [] if out is None else write_report(report, out, suffixes)
    match form:
        case "json":
            typer.echo(json_text(report))
        case "csv":
            typer.echo(report_csv(report), nl=False)
        case "latex":
            typer.echo(report_latex(report), nl=False)
        case _:
            print_run_report(Console(), report)
    problems = report.problems
    print_problems(title, problems.faults, problems.unreadable, problems.passed_over, [*files, *written])
    for sentence in problems.unexpected:
        say(Console(stderr=True), sentence)
    if problems.unreadable or problems.unexpected:
        raise typer.Exit(1)


_MOST: Final = 20
"""The most distinct values of a field that are counted one by one."""


def stats_command(benchmark: Benchmark[Any, Any]) -> Callable[..., None]:
    """Return the command that counts a benchmark's items."""

    def stats(data: DataOption = "builtin", as_json: ExactJsonOption = False) -> None:
        assert benchmark.load is not None
        report = items_report(benchmark, data)
        if as_json:
            typer.echo(json_text(report))
        else:
            print_report(Console(), report)

    stats.__doc__ = f"Count the items of {benchmark.title}: values of each field, lengths of texts and lists."
    return stats


def items_report(benchmark: Benchmark[Any, Any], data: str) -> Report:
    """Return a report on items: their number, the lengths of texts and lists, and values that repeat.

    Raises:
        InputError: if there are no such data.
    """
    rows = [machine_of(benchmark).item_row(item) for item in catalog.load_items(benchmark, data)]
    frame = pd.DataFrame([row.data for row in rows])
    fields: list[list[Cell]] = []
    counts: list[list[Cell]] = []
    for name in frame:
        values = frame[name]
        lengths = values.map(
            lambda value: len(value) if isinstance(value, str | list | dict) else None
        ).dropna()
        kinds = values.map(lambda value: json.dumps(value, ensure_ascii=False, sort_keys=True))
        spread: list[Cell] = [None] * 3
        if len(lengths):
            spread = [int(lengths.min()), float(lengths.mean()), int(lengths.max())]
        fields.append([str(name), int(values.notna().sum()), int(kinds.nunique()), *spread])
        if kinds.nunique() <= min(_MOST, len(rows) - 1):
            counts += ([str(name), str(value), int(n)] for value, n in kinds.value_counts(sort=True).items())
    languages = ", ".join(
        f"{n} {language}" for language, n in pd.Series([r.language for r in rows]).value_counts().items()
    )
    tables = [
        Table(["field", "items", "different", "shortest", "mean length", "longest"], fields, "Fields"),
        *([Table(["field", "value", "items"], counts, "Values that repeat")] if counts else []),
    ]
    title, lengths_of = f"{len(rows)} items ({languages})", "Lengths: characters of texts, entries of lists."
    section = Section(name="items", title=title, tables=tables, remarks=[lengths_of])
    return Report(title=f"{benchmark.title}, {data}", sections=[section])
