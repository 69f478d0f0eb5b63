"""The report on logged runs and published files, of people and models (spec 12)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

import pandas as pd

from simulator.ambient.annotation.consolidation import flow
from simulator.ambient.data import read_examples
from simulator.ambient.files.kinds import TABLES, merge
from simulator.ambient.nli.metrics import nli_measures
from simulator.ambient.nli.results import nli_results, read_nli_results
from simulator.ambient.nli.table import Model
from simulator.ambient.reporting.answers import (
    claims_results,
    continuation_results,
    crowd_results,
    evaluation_results,
    generation_results,
    linguists_results,
    true_false_results,
)
from simulator.ambient.reporting.datasets import (
    categories_results,
    dataset_results,
    edit_cases_results,
    examples_of_results,
    kinds_table,
)
from simulator.ambient.reporting.figures import (
    FlowDiagram,
    label_sets_venn,
    log_odds_figure,
    probabilities_figure,
    templates_figure,
)
from simulator.ambient.reporting.measures import Measure, Results, exact_table, paper
from simulator.ambient.reporting.runs import export_runs, write_run_lines
from simulator.ambient.reporting.sources import (
    Context,
    Files,
    ReportSettings,
    answers_of_files,
    tasks_of_run,
    with_notes,
)
from simulator.errors import InputError
from simulator.figures import Cell, Column, Figure, Table, Venn
from simulator.frames import Frames
from simulator.jsonlines import count_left_out
from simulator.output_files import write_atomically
from simulator.reporting import Drawing, Problems, Report, Section, renumber, report_latex
from simulator.stats import Interval

_TESTS: Final[Mapping[tuple[str, str], str]] = {
    # Kind of results and key of the measure -> heading; keys of people's judgments also contain the model.
    ("generation", "edit_f1"): "EDIT-F1",
    ("evaluation", "correct"): "correct",
    ("true_false", "accuracy"): "T/F acc.",
    ("continuation", "accuracy"): "KL rank.",
}
_TEMPLATES: Final = {**{f"template_{place}": str(place) for place in range(1, 5)}, "accuracy": "average"}
_CROWD: Final[Mapping[str, str]] = {
    "kappa_original": "κ original",
    "kappa_disambiguated": "κ rewritten",
    "true_plausible": "readings, %",
    "distractor_plausible": "distractors, %",
    "accepts_all": "accept all, %",
    "agreement": "agree, %",
}
_RESULTS: Final[Mapping[str, Callable[[Results, Context], Results]]] = {
    "linguists": linguists_results,
    "crowd": crowd_results,
    "evaluation": evaluation_results,
    "generation": generation_results,
    "true_false": true_false_results,
    "continuation": continuation_results,
    "claims": claims_results,
}
"""The function that adds measures to each kind of answers; label sets have joint tables (`nli_results`)."""
_NLI: Final = ("nli_predictions", "nli_logits", "nli_seed")
_CHANCE: Final = 0.5
DrawingT = TypeVar("DrawingT", Venn, FlowDiagram)


class Contents(NamedTuple):
    """The contents of a report.

    `results`: of runs, then of files in the order of the paper, then of NLI models.
    """

    results: tuple[Results, ...]
    played: tuple[Results, ...]
    flows: tuple[FlowDiagram, ...]


def read_contents(source: Frames) -> Contents:
    """Read the runs and files of a report, adding faults of files to `Frames.problems`.

    Raises:
        InputError: if a run is of another benchmark or empty, or data do not exist.
        NotInLog: if there is no such run.
    """
    settings: ReportSettings = source.settings or ReportSettings()
    if (settings.instance or settings.pair) and source.out is None:
        raise InputError("--instance and --pair draw figures: name a folder for them with --out.")
    if (settings.lines or settings.export or settings.instance or settings.pair) and not source.runs:
        raise InputError("--lines, --export, --instance and --pair need a run: name one (askback log list).")
    files = TABLES.read_all(source.files, source.problems, settings.duplicates, owner="AmbiEnt")
    paths = [file for reads in files.values() for file in reads]
    categories = [row for read in files.get("categories", {}).values() for row in read.rows]
    context = Context(
        settings=settings,
        examples=examples_of_results(settings.data, paths, list(files.get("dataset", {}))),
        categories=categories,
    )
    contexts = _run_contexts(context, source) if settings.data is None else {}
    aborted = not source.exclude_aborted
    played = [each for run in source.runs for each in tasks_of_run(source.reader, run, aborted=aborted)]
    results = [
        _RESULTS[answers.kind](answers, contexts.get(answers.run, context))
        for answers in played
        if answers.kind != "nli"
    ]
    results += _file_results(files, context, source.problems)
    results += _nli_results(played, files, next(iter(contexts.values()), context), source.problems)
    _check_votes(settings.votes, [answers.records for answers in played if answers.kind == "crowd"], files)
    linguists = dict.fromkeys(answers.run for answers in played if answers.kind == "linguists")
    flows = (FlowDiagram(flow(source.reader, run), run) for run in linguists)
    return Contents(tuple(_number_duplicates(results)), tuple(played), tuple(flows))


def _run_contexts(context: Context, source: Frames) -> dict[str, Context]:
    """Return each run's context with its data, or those of another run if its own no longer exist."""

    @cache
    def context_on(data: str) -> Context | None:
        try:
            if read_examples(data).examples:
                return replace(context, examples=examples_of_results(data, ()))
        except InputError:
            pass
        return None

    named = {run: source.reader.run(run).config.get("data") for run in source.runs}
    contexts = {run: context_on(data) if isinstance(data, str) else None for run, data in named.items()}
    other = next(filter(None, contexts.values()), context)
    return {run: own or other for run, own in contexts.items()}


def _file_results(files: Files, context: Context, problems: Problems) -> Iterator[Results]:
    folders: dict[Path, dict[Path, Any]] = {}
    for file, read in files.get("dataset", {}).items():
        folders.setdefault(file.parent, {})[file] = read
    results: list[Results] = []
    for folder, reads in folders.items():
        merged = merge(reads)
        problems.faults += merged.faults
        name = folder.resolve().name if len(reads) > 1 else next(iter(reads)).stem
        faulty = sum(len(read.faults) for read in reads.values())
        examples, names = tuple(merged.examples.values()), list(map(str, reads))
        results.append(dataset_results(examples, name, merged=merged, files=names, left_out=faulty))
    for file, read in files.get("categories", {}).items():
        faulty = count_left_out(read.faults)
        results.append(
            categories_results(
                read.rows, context.examples, name=file.stem, files=[str(file)], left_out=faulty
            )
        )
    results += [_RESULTS[answers.kind](answers, context) for answers in answers_of_files(files)]
    results += [edit_cases_results(read, str(file)) for file, read in files.get("edit_f1_cases", {}).items()]
    for result in results:
        yield with_notes(result, files, context.by_id)


def _nli_results(
    played: Sequence[Results], files: Files, context: Context, problems: Problems
) -> Iterator[Results]:
    """Yield the joint results of all runs and files with label sets, which share tables."""
    played = [answers for answers in played if answers.kind == "nli"]
    reads = {file: read for kind in _NLI for file, read in files.get(kind, {}).items()}
    if not played and not reads:
        return
    models = [
        Model(
            name=answers.name,
            folder=answers.name,
            measures=nli_measures(answers.records, [record.id for record in answers.records]),
        )
        for answers in played
    ]
    results = read_nli_results(reads, context.examples, models)
    # Faults of rows were already added when the files were read.
    reported = set(map(str, problems.faults))
    problems.faults += [problem for problem in results.problems if problem not in reported]
    if played and not results.gold:
        results.gold = tuple(record.gold for record in played[0].records)
    if results.models:
        faulty = sum(count_left_out(read.faults) for read in reads.values())
        names = [*(f"run {answers.run}" for answers in played), *map(str, reads)]
        yield with_notes(nli_results(results, names, faulty), files, context.by_id)


def _check_votes(votes: Iterable[str], answers: Sequence[Sequence[Any]], files: Files) -> None:
    rows = [*answers, *(read.rows for read in files.get("crowd", {}).values())]
    ids = {record.id for records in rows for record in records}
    if missing := [id for id in votes if id not in ids and not (id == "all" and ids)]:
        raise InputError(f"--votes {missing[0]}: there are no votes on an example with this id")


def _number_duplicates(results: Iterable[Results]) -> Iterator[Results]:
    """Yield results, numbering those with the same kind and name."""
    counts: dict[tuple[str, str], int] = {}
    for result in results:
        key = (result.kind, result.name)
        counts[key] = count = counts.get(key, 0) + 1
        yield result if count == 1 else replace(result, name=f"{result.name} ({count})")


# ---- the report


def report_sections(source: Frames) -> Sequence[Section]:
    """Return the report's sections: tables over models, single runs and files, all measures, figures."""
    return source.once(_sections)


def _sections(source: Frames) -> tuple[Section, ...]:
    contents = source.once(read_contents)
    results = contents.results
    sections = [*side_by_side(results)]
    if contents.flows:
        counts = {diagram.run: diagram.flow for diagram in contents.flows}
        captions = [diagram.caption for diagram in contents.flows]
        sections.append(Section(name="flow", title="Annotation flow (Fig. 2)", remarks=captions, data=counts))
    sections += [result.section() for result in results]
    if results:
        sections.append(Section(name="measures", title="All measures", exact=[exact_table(results)]))
    elif not source.problems.unreadable:
        source.problems.unexpected.append("there is nothing to report")
    if source.draws and (figures := [*_figures(source, contents)]):
        sections.append(Section(name="figures", title="Figures", figures=figures))
    return tuple(sections)


def _figures(source: Frames, contents: Contents) -> Iterator[Figure | Drawing]:
    settings: ReportSettings = source.settings or ReportSettings()
    if (templates := templates_figure(contents.results)) is not None:
        yield templates
    if settings.instance is not None:
        yield log_odds_figure(source.reader, source.runs, settings.instance)
    if settings.pair is not None:
        yield probabilities_figure(source.reader, source.runs, settings.pair)
    datasets = [result for result in contents.results if result.kind == "dataset"]
    venns = [label_sets_venn(result.data["label_sets"], result.name) for result in datasets]
    yield from (_number_figure(venn, number) for number, venn in enumerate(venns, start=1))
    yield from (_number_figure(diagram, number) for number, diagram in enumerate(contents.flows, start=1))


def _number_figure(drawing: DrawingT, number: int) -> DrawingT:
    return drawing if number == 1 else replace(drawing, name=f"{drawing.name}-{number}")


def write_files(source: Frames) -> Iterator[object]:
    """Write the files named in the settings (lines and answers of runs, measures, tables) and yield each."""
    settings: ReportSettings = source.settings
    contents = source.once(read_contents)
    if settings.lines is not None:
        yield f"{settings.lines}: {write_run_lines(settings.lines, source.reader, source.runs)} lines"
    if settings.export is not None:
        yield from export_runs(settings.export, contents.played)
    if settings.csv is not None:
        yield write_atomically(settings.csv, exact_table(contents.results).to_csv())
    if settings.latex is not None:
        sections = [replace(section, exact=()) for section in report_sections(source)]
        yield write_atomically(settings.latex, report_latex(Report(title="", sections=renumber(sections))))


# ---- tables over several models


def side_by_side(results: Sequence[Results]) -> Iterator[Section]:
    """Yield Tables 4, 9 and 10 of the paper, and crowdworkers' votes, each rounded and exact."""
    frame = pd.DataFrame(
        [
            (result.kind, result.name, len(result.records), m.key, m)
            for result in results
            for m in result.measures
        ],
        columns=["kind", "name", "rows", "key", "measure"],
    )
    for name, make in {"table_4": table_4, "table_10": table_10, "crowd": crowd_table}.items():
        if (tables := make(frame)) is not None:
            rounded, exact = (replace(t, name=n) for t, n in zip(tables, ("rounded", "exact"), strict=True))
            yield Section(name=name, title=rounded.title, tables=[rounded], exact=[exact])
    categories = next((result for result in results if result.kind == "categories"), None)
    if (table := kinds_table(categories)) is not None:
        yield Section(name="table_9", title=table.title, tables=[table])


def table_4(frame: pd.DataFrame) -> tuple[Table, Table] | None:
    """Return the tests of language models and baselines, a row each; None without results."""
    rows = []
    for kind, name, key, measure in frame[["kind", "name", "key", "measure"]].itertuples(index=False):
        test, _, model = key.partition(".")
        if (kind, test) in _TESTS:
            rows.append((model if kind == "evaluation" else name, _TESTS[kind, test], measure))
    if not rows:
        return None
    tested = {head for _, head, _ in rows}
    baselines = [
        ("repeats the sentence", "EDIT-F1", _baseline(frame, "generation", "copy")),
        ("chance", "T/F acc.", _CHANCE),
        ("chance", "KL rank.", _baseline(frame, "continuation", "random_examples")),
        ("chance per instance", "KL rank.", _baseline(frame, "continuation", "random")),
    ]
    rows += [
        (name, head, Measure(name, "", value))
        for name, head, value in baselines
        if value is not None and head in tested
    ]
    tests = pd.DataFrame(rows, columns=["name", "head", "measure"])
    wide = _pivot(tests, "head", [*_TESTS.values()])
    cells = [[cell if isinstance(cell, Measure) else None for cell in row] for row in wide.to_numpy()]
    papers = [[cell.paper if cell else None for cell in row] for row in cells]
    any_printed = any(value is not None for row in papers for value in row)
    shown: list[list[Cell]] = []
    exact: list[list[Cell]] = []
    for name, row, printed in zip(wide.index, cells, papers, strict=True):
        figures = "/".join((cell and cell.printed) or "–" for cell in row)
        has_any = any(value is not None for value in printed)
        rounded = [cell.rounded if cell else "" for cell in row]
        shown.append([name, *rounded, *([figures if has_any else ""] if any_printed else [])])
        exact.append([name, *(cell.in_unit if cell else None for cell in row), *printed])
    title, heads = "Table 4: tests of language models, in %", [*wide]
    columns = [Column(head, 4) for head in (*heads, *(f"paper {head}" for head in heads))]
    return (
        Table(["model", *heads, *(["paper"] if any_printed else [])], shown, title),
        Table(["model", *columns], exact, title),
    )


def table_10(frame: pd.DataFrame) -> tuple[Table, Table] | None:
    """Return accuracy by template for models and people; None without true-false results."""
    wide, sizes = _measure_results(frame, "true_false", _TEMPLATES)
    if wide.empty:
        return None
    shown: list[list[Cell]] = []
    for name, row in zip(wide.index, wide.to_numpy(), strict=True):
        shown.append([name, *(cell.rounded for cell in row), sizes[name]])
        if any(cell.printed for cell in row):
            shown.append(["  in the paper", *(cell.printed or "–" for cell in row), None])
    chance = Measure("chance", "", _CHANCE).rounded
    shown.append(["chance", *(chance for _ in _TEMPLATES), None])
    title, heads = "Table 10: statements judged rightly, in %, by template", [*_TEMPLATES.values()]
    columns = [Column(head, 4) for head in ("model", *heads, "n")]
    return (
        Table(["model", *heads, Column("n", 0)], shown, title),
        Table(columns, _exact_rows(wide, sizes), title),
    )


def crowd_table(frame: pd.DataFrame) -> tuple[Table, Table] | None:
    """Return measures of crowdworkers' votes of files and runs, with the paper's; None without votes."""
    wide, sizes = _measure_results(frame, "crowd", _CROWD)
    if wide.empty:
        return None
    printed = paper()["crowd"]
    # One measure per row: there may be many runs.
    shown: list[list[Cell]] = [
        [title, *(cell.rounded for cell in wide[key]), replace(wide[key].iloc[0], paper=printed[key]).printed]
        for key, title in _CROWD.items()
    ]
    shown.append(["rows", *(str(sizes[name]) for name in wide.index), "the whole file"])
    title = "Crowdworkers' votes"
    return (
        Table(["", *wide.index, "in the paper"], shown, title),
        Table(["votes", *_CROWD, "rows"], _exact_rows(wide, sizes), title),
    )


def _measure_results(
    frame: pd.DataFrame, kind: str, keys: Mapping[str, str]
) -> tuple[pd.DataFrame, dict[str, int]]:
    """Return some measures of results of a kind, one row per name, and the number of records by name."""
    selected = frame[(frame["kind"] == kind) & frame["key"].isin(keys)]
    sizes = {name: int(rows) for name, rows in selected[["name", "rows"]].itertuples(index=False)}
    return _pivot(selected, "key", [*keys]), sizes


def _exact_rows(wide: pd.DataFrame, sizes: Mapping[str, int]) -> list[list[Cell]]:
    rows = zip(wide.index, wide.to_numpy(), strict=True)
    return [[name, *(cell.in_unit for cell in row), sizes[name]] for name, row in rows]


def _pivot(frame: pd.DataFrame, columns: str, order: Sequence[str]) -> pd.DataFrame:
    """Return a table with a row of measures per name, in the order of the names' first results."""
    wide = frame.drop_duplicates(["name", columns], keep="last").pivot(
        index="name", columns=columns, values="measure"
    )
    return wide.reindex(frame["name"].drop_duplicates())[[key for key in order if key in wide]]


def _baseline(frame: pd.DataFrame, kind: str, key: str) -> float | None:
    """Return a baseline, which depends only on the items, from the results with the most items."""
    measures = frame[(frame["kind"] == kind) & (frame["key"] == key)]["measure"]
    values = [measure.value for measure in measures if isinstance(measure.value, Interval)]
    return max(values, key=lambda value: value.n).value if values else None
