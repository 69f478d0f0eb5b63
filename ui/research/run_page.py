"""The content of runs' pages, made from a benchmark's declaration: the report of runs, and runs compared."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, get_args, get_origin

import pandas as pd
from pydantic import ValidationError

from logs import LogReader
from simulator import frames
from simulator.benchmark import Benchmark, Metric, ReportSpec
from simulator.commands.compare import comparison, one_benchmark
from simulator.errors import InputError
from simulator.fields import Fields
from simulator.frames import Frames
from simulator.reporting import Report, Section
from simulator.reports import build_report, metric_figure, present_metrics
from simulator.runner.logged import seat_failures
from ui.i18n import Strings
from ui.research.kept import CachedReports
from ui.research.report_parts import MINUS, ReportParts, report_parts
from ui.research.transcript import Transcript, transcript


class Choice(NamedTuple):
    """A setting of a report that a page lets change.

    Attributes:
        kind: ``choice``, ``switch``, ``number`` or ``texts``, with commas between them.
        help: as the command's help says it.
        value: as the address says; empty where nothing was chosen.
        choices: that there are.
    """

    name: str
    kind: Literal["choice", "switch", "number", "texts"]
    help: str
    value: str
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ItemRow:
    """An item that runs were compared on.

    Attributes:
        values: the headline of each run.
        differs: whether they are not the same.
    """

    item: str
    values: tuple[str, ...]
    differs: bool


# ---- the report


def kept_report(
    t: Strings,
    kept: CachedReports,
    benchmark: Benchmark[Any, Any],
    runs: Sequence[str],
    settings: Mapping[str, str],
) -> ReportParts:
    """Return the report of runs, made once for each state of theirs."""

    def make() -> ReportParts:
        try:
            return report_parts(t, read_report(kept.reader, benchmark, runs, settings))
        except InputError as error:
            return ReportParts(Report(title=benchmark.title, sections=()), nothing=error)

    return kept.once(("report", t.language, tuple(sorted(settings.items()))), runs, make)


def read_report(
    reader: LogReader, benchmark: Benchmark[Any, Any], runs: Sequence[str], settings: Mapping[str, str]
) -> Report:
    """Return the report of runs under settings out of an address.

    Raises:
        InputError: if a setting cannot be, or there is nothing to report.
    """
    spec = benchmark.report or ReportSpec()
    made = None
    if spec.settings is not None:
        model = spec.settings()
        names = {choice.name for choice in choices(benchmark, {})}
        chosen = {name: value for name, value in settings.items() if name in names and value}
        try:
            made = model.model_validate({name: _typed(model, name, chosen[name]) for name in chosen})
        except ValidationError as error:
            first = error.errors()[0]
            raise InputError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from error
    return build_report(benchmark, Frames(log=reader, runs=tuple(runs), settings=made))


def choices(benchmark: Benchmark[Any, Any], settings: Mapping[str, str]) -> tuple[Choice, ...]:
    """Return the settings that a page lets change: choices, numbers and names, but no file or folder."""
    spec = benchmark.report
    if spec is None or spec.settings is None:
        return ()
    fields = spec.settings().model_fields
    made = (_choice(name, field, settings.get(name, "")) for name, field in fields.items())
    return tuple(choice for choice in made if choice is not None)


def command(
    verb: str, benchmark: Benchmark[Any, Any] | None, runs: Sequence[str], settings: Mapping[str, str]
) -> str:
    """Return the command line that prints the same."""
    switches: list[str] = []
    kinds = {} if benchmark is None else {choice.name: choice.kind for choice in choices(benchmark, {})}
    for name, value in settings.items():
        if value and name in kinds:
            flag = f"--{name.replace('_', '-')}"
            if kinds[name] == "switch":
                switches.append(flag)
            else:
                for part in _parts(value) if kinds[name] == "texts" else (value,):
                    switches += [flag, part]
    return shlex.join(["askback", verb, *([benchmark.name] if benchmark else []), *runs, *switches])


def aborted(benchmark: Benchmark[Any, Any], reader: LogReader, run: str) -> int:
    """Return how many episodes a failing seat aborted, where they count as unsuccessful."""
    spec = benchmark.report or ReportSpec()
    count = sum(seat_failures(reader, [run]).values())
    return count if count and spec.counts_aborted(Frames(log=reader, runs=(run,)), run) else 0


def _kinds(annotation: Any) -> tuple[Any, ...]:
    """Return the types of a union without None, or the type alone."""
    if get_origin(annotation) is Literal:
        return (annotation,)
    return tuple(kind for kind in get_args(annotation) if kind is not type(None)) or (annotation,)


def _parts(value: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in value.split(",") if part.strip())


def _choice(name: str, field: Any, value: str) -> Choice | None:
    help = field.description or getattr(next(iter(field.metadata), None), "help", None) or ""
    if field.annotation == tuple[str, ...]:
        return Choice(name, "texts", help, value)
    kinds = _kinds(field.annotation)
    if len(kinds) != 1:
        return None
    (kind,) = kinds
    if get_origin(kind) is Literal:
        return Choice(name, "choice", help, value, tuple(map(str, get_args(kind))))
    if kind is bool:
        return Choice(name, "switch", help, value, ("1",))
    return Choice(name, "number", help, value) if kind in (int, float) else None


def _typed(model: type[Fields], name: str, value: str) -> Any:
    annotation = model.model_fields[name].annotation
    if annotation == tuple[str, ...]:
        return _parts(value)
    kind = _kinds(annotation)[0]
    if kind is bool:
        return value == "1"
    try:
        return kind(value) if kind in (int, float) else value
    except ValueError as error:
        raise InputError(f"{name}: {value!r} is not a number") from error


# ---- runs compared


def kept_comparison(t: Strings, kept: CachedReports, runs: Sequence[str]) -> ReportParts:
    """Return the comparison of runs, made once for each state of theirs.

    Raises:
        InputError: if they cannot be compared.
    """
    return kept.once(
        ("compared", t.language), runs, lambda: report_parts(t, read_comparison(kept.reader, runs))
    )


def read_comparison(reader: LogReader, runs: Sequence[str]) -> Report:
    """Return what `askback compare` says, and the metrics as bars.

    Raises:
        InputError: if runs cannot be compared.
    """
    report = comparison(reader, runs)
    benchmark = one_benchmark(reader, runs)
    frame = frames.episodes(reader, runs)
    figure = metric_figure(benchmark, frame, present_metrics(benchmark, frame))
    if figure is None:
        return report
    section = Section(name="metrics", title="Metrics", figures=[figure])
    return replace(report, sections=[*report.sections, section])


def item_rows(reader: LogReader, runs: Sequence[str]) -> Iterator[ItemRow]:
    """Yield the items that all runs share, with the headline of each."""
    benchmark = one_benchmark(reader, runs)
    frame = frames.episodes(reader, runs)
    metric, *_ = present_metrics(benchmark, frame)
    means = _means(frame, metric).reindex(columns=list(runs)).dropna()
    digits = 2 if metric.is_share else 1
    for item, values in zip(means.index, means.to_numpy(), strict=True):
        texts = tuple(f"{value:.{digits}f}".replace("-", MINUS) for value in values)
        yield ItemRow(str(item), texts, bool(values.min() != values.max()))


def _means(frame: pd.DataFrame, metric: Metric) -> pd.DataFrame:
    return frame.pivot_table(metric.name, "item", "run", aggfunc="mean")


def episodes_beside(reader: LogReader, runs: Sequence[str], item: str) -> tuple[Transcript, ...]:
    """Return the episodes of runs on one item, the first of each."""
    named = {row.hash: row.name for row in reader.items()}
    episodes = (
        next((each for each in reader.episodes(run, latest=True) if named[each.item_hash] == item), None)
        for run in runs
    )
    return tuple(transcript(reader, episode.id) for episode in episodes if episode is not None)
