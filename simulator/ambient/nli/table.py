"""Tables 5 and 11: scores of predicted label sets by model, and thresholds (spec 9.3, 12)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Final

from simulator.ambient.labels import LABELS, SHOWN, Label, LabelSet
from simulator.ambient.nli.families import CheckedThreshold, Threshold, plain_threshold
from simulator.ambient.nli.metrics import (
    KEYS,
    RANDOM_SET,
    NliMeasures,
    SeedsSummary,
    Spread,
    constant_baselines,
)
from simulator.fields import read_as
from simulator.figures import Cell, Column, Table
from simulator.jsonlines import Codec
from simulator.stats import Interval, half_up
from simulator.tables.builtin import read_list

_PAPER: Final = Path(__file__).parent / "paper.yaml"
_MEASURES: Final = ("EM", "F1", "group EM")
_PER_CENT: Final = 100
_TABLE_11: Final = ("model", "threshold", "paper")
_TABLE_11_TITLE: Final = "Table 11: thresholds, medians over runs"
RANDOM: Final = "random set (1/7)"


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperRow:
    """A model of the paper; numbers in per cent, None where the tables have no value."""

    title: str
    folder: str
    em: Spread | None = None
    f1: Spread | None = None
    group_em: Spread | None = None
    threshold: Annotated[Threshold, read_as(CheckedThreshold)] = None


Score = Spread | Interval | float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A row of the tables: a model over its seeds, or the predictions of one trained model or a constant.

    `folder`: the model's name in the published results, by default its own; `threshold`: that of the
    predictions, without `seeds`.
    """

    name: str
    folder: str = ""
    seeds: SeedsSummary | None = None
    measures: NliMeasures | None = None
    threshold: Threshold = None

    @property
    def paper(self) -> PaperRow | None:
        """The paper's row for the model, if any."""
        name = self.folder or self.name
        return next((row for row in paper_rows() if row.folder == name), None)

    @property
    def scores(self) -> tuple[Score, ...]:
        """Exact match, F1 and group exact match, over seeds or of predictions, or of a random set."""
        source = self.seeds or self.measures
        return tuple(getattr(source, key) for key in KEYS) if source else (RANDOM_SET, None, None)

    @property
    def printed(self) -> tuple[Spread | None, ...]:
        """Exact match, F1 and group exact match in the paper; empty if not in the paper."""
        return tuple(getattr(self.paper, key) for key in KEYS) if self.paper and self.paper.em else ()

    @property
    def own_threshold(self) -> Threshold:
        """The median threshold over seeds, or that of the predictions."""
        return self.seeds.threshold if self.seeds is not None else self.threshold


@lru_cache(maxsize=1)
def paper_rows() -> tuple[PaperRow, ...]:
    """Return the paper's rows, in order."""
    return read_list(_PAPER, Codec[PaperRow](PaperRow).read_row)


def table_5(models: Sequence[Model]) -> Table:
    """Return Table 5 in the paper's layout, in per cent: mean (standard deviation), or value [95 % interval].

    The paper's values are in additional columns if there are any.
    """
    columns = ["model", "runs", *_MEASURES]
    if any(model.printed for model in models):
        columns += [f"paper {name}" for name in _MEASURES]
    rows = [
        [*_own_cells(model, ends=True), *(_cell(each, 1) for each in model.printed or (None,) * 3)]
        for model in models
    ]
    title = "Table 5: label sets, in %; mean (sd) over runs, or value [95 % interval over examples]"
    return Table(columns, [row[: len(columns)] for row in rows], title)


def table_5_short(models: Sequence[Model]) -> Table:
    """Return Table 5 for a terminal: without intervals, the paper's means in one column."""
    rows: list[list[Cell]] = [
        [
            *_own_cells(model, ends=False),
            "/".join(half_up(spread.mean, 1) for spread in model.printed if spread) or None,
        ]
        for model in models
    ]
    return Table(["model", "runs", *_MEASURES, "paper"], rows, "Table 5: label sets, in %; (sd) over runs")


def table_intervals(models: Sequence[Model]) -> Table:
    """Return the 95 % intervals over examples for models with predictions, in per cent."""
    values = [(model, [getattr(model.measures, key) for key in KEYS]) for model in models if model.measures]
    return _interval_table(values, _MEASURES, "95 % intervals over examples, in %")


def table_by_label(models: Sequence[Model]) -> Table:
    """Return F1 of each label with its interval for models with predictions, in per cent."""
    values = [(model, model.measures.f1_by_label.values()) for model in models if model.measures]
    return _interval_table(values, LABELS, "F1 by label, in %, with 95 % intervals over examples")


def _interval_table(
    values: Iterable[tuple[Model, Iterable[Interval | None]]], heads: Iterable[str], title: str
) -> Table:
    return Table(["model", *heads], [[model.name, *map(_cell, row)] for model, row in values], title)


def table_5_long(models: Sequence[Model]) -> Table:
    """Return Table 5 for files, as fractions of full precision: means, deviations, intervals, F1 by label."""
    columns = [
        *("model", "runs"),
        *(f"{key}{end}" for key in KEYS for end in ("_mean", "_sd")),
        *("examples", "empty", *KEYS),
        *(f"f1_{label}" for label in LABELS),
        *(f"paper_{key}{end}" for key in KEYS for end in ("_mean", "_sd")),
    ]
    return Table([Column(name, 4) for name in columns], [_long_cells(model) for model in models], "Table 5")


def table_11(models: Sequence[Model]) -> Table:
    """Return Table 11: the median thresholds over seeds, for intervals of each end."""
    rows = [
        [name, threshold_text(own), threshold_text(printed)] for name, own, printed in _thresholds(models)
    ]
    return Table([*_TABLE_11], rows, _TABLE_11_TITLE)


def table_11_plain(models: Sequence[Model]) -> dict[str, Any]:
    """Return Table 11 for JSON: thresholds as numbers, for intervals both ends of each label."""
    rows = [
        dict(zip(_TABLE_11, (name, plain_threshold(own), plain_threshold(printed)), strict=True))
        for name, own, printed in _thresholds(models)
    ]
    return {"title": _TABLE_11_TITLE, "columns": [*_TABLE_11], "rows": rows}


def _thresholds(models: Iterable[Model]) -> Iterator[tuple[str, Threshold, Threshold]]:
    """Yield name, own threshold and the paper's threshold of each model that has either."""
    for model in models:
        own, printed = model.own_threshold, model.paper.threshold if model.paper else None
        if own is not None or printed is not None:
            yield model.name, own, printed


def baseline_rows(gold: Sequence[LabelSet]) -> list[Model]:
    """Return rows for a random set and for constant sets."""
    rows = [Model(name=RANDOM)]
    for labels, measures in (constant_baselines(gold) if gold else {}).items():
        letters = "+".join(map(_letter, sorted(labels, key=SHOWN.index)))
        rows.append(Model(name=f"always {letters}", measures=measures))
    return rows


def threshold_text(threshold: Threshold) -> str | None:
    """Format a threshold as in Table 11; None without threshold."""
    if threshold is None:
        return None
    if isinstance(threshold, Mapping):
        ends = ((label, threshold[label]) for label in SHOWN if label in threshold)
        return ", ".join(f"{_letter(label)} [{low:.2f}, {high:.2f}]" for label, (low, high) in ends)
    return f"{threshold:.2f}"


def _letter(label: Label) -> str:
    return label[0].upper()


def _own_cells(model: Model, *, ends: bool) -> list[Cell]:
    runs = len(model.seeds.seeds) if model.seeds else None
    return [model.name, runs, *(_cell(score, ends=ends) for score in model.scores)]


def _long_cells(model: Model) -> list[Cell]:
    seeds, measures = model.seeds, model.measures
    counts = (measures.n, measures.empty) if measures else (None, None)
    printed = (number for spread in model.printed or (None,) * 3 for number in spread or (None, None))
    return [
        model.name,
        len(seeds.seeds) if seeds else None,
        *(
            number
            for score in model.scores
            for number in (score if isinstance(score, Spread) else (None, None))
        ),
        *counts,
        *(None if isinstance(score, Spread) else score for score in model.scores),
        *(measures.f1_by_label[label] if measures else None for label in LABELS),
        *(None if number is None else number / _PER_CENT for number in printed),
    ]


def _cell(score: Score, times: float = _PER_CENT, *, ends: bool = True) -> str | None:
    """Format a score: ``51.2 (1.3)`` over seeds, else with the `ends` of its interval if wanted."""
    match score:
        case None:
            return None
        case Spread(mean, sd):
            return half_up(times * mean, 1) + ("" if sd is None else f" ({half_up(times * sd, 1)})")
        case Interval(value) if not ends:
            return half_up(times * value, 1)
        case Interval():
            return score.times(times).bracketed(lambda end: half_up(end, 1))
    return half_up(times * score, 1)
