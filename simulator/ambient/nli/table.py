"""Tables 5 and 11: label sets by model, and the thresholds they were made with (spec 9.3, 12)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import yaml

from simulator.ambient.labels import LABELS, LabelSet
from simulator.ambient.nli.families import Threshold
from simulator.ambient.nli.metrics import RANDOM_SET, NliMeasures, SeedsSummary, Spread
from simulator.figures import Cell, Column, Table
from simulator.stats import Interval

_PAPER: Final = Path(__file__).parent / "paper.yaml"
_SHORT: Final = {"entailment": "E", "neutral": "N", "contradiction": "C"}
_PER_CENT: Final = 100
_MEASURES: Final = ("EM", "F1", "group EM")
_TABLE_11: Final = ("model", "threshold", "paper")
_TABLE_11_TITLE: Final = "Table 11: thresholds, medians over runs"
RANDOM: Final = "random set (1/7)"


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperRow:
    """A model of the paper; numbers in per cent, None where the tables have none."""

    title: str
    folder: str
    em: Spread | None
    f1: Spread | None
    group_em: Spread | None
    threshold: Threshold


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A row of the tables: a model over its seeds, or what one training of it, or a constant, predicts.

    Attributes:
        folder: what the published results would call the model; default: `name`.
        seeds: means over seeds; None if there is nothing but predictions.
        measures: of predictions, with intervals over examples.
        threshold: with which the predictions were made, where `seeds` says nothing.
    """

    name: str
    folder: str = ""
    seeds: SeedsSummary | None = None
    measures: NliMeasures | None = None
    threshold: Threshold = None


@lru_cache(maxsize=1)
def paper_rows() -> tuple[PaperRow, ...]:
    """Return what the paper prints, in its order."""
    rows = yaml.safe_load(_PAPER.read_text(encoding="utf-8"))
    return tuple(_paper_row(row) for row in rows)


def paper_row(name: str) -> PaperRow | None:
    """Return what the paper prints of a model that the published results call so."""
    return next((row for row in paper_rows() if row.folder == name), None)


def table_5(models: Sequence[Model]) -> Table:
    """Table 5 in the paper's shape, in per cent: mean (standard deviation), or value [95 % interval].

    What the paper prints of a model stands in columns beside, if it prints anything of one.
    """
    printed = any(_printed(model) for model in models)
    columns = ["model", "runs", *_MEASURES, *([f"paper {name}" for name in _MEASURES] if printed else [])]
    rows = [
        [*_own(model, True), *(_spread(one, 1) for one in _printed(model) or (None, None, None))]
        for model in models
    ]
    title = "Table 5: label sets, in %; mean (sd) over runs, or value [95 % interval over examples]"
    return Table(columns, [row[: len(columns)] for row in rows], title)


def table_5_short(models: Sequence[Model]) -> Table:
    """Table 5 for a terminal: without intervals, the paper's means in one column."""
    rows: list[list[Cell]] = []
    for model in models:
        printed = [f"{one.mean:.1f}" for one in _printed(model) or () if one]
        rows.append([*_own(model, False), "/".join(printed) or None])
    return Table(["model", "runs", *_MEASURES, "paper"], rows, "Table 5: label sets, in %; (sd) over runs")


def table_intervals(models: Sequence[Model]) -> Table:
    """Return the 95 % intervals over examples, of models with predictions, in per cent."""
    some = [(model, model.measures) for model in models if model.measures is not None]
    rows: list[list[Cell]] = [
        [model.name, _interval(found.em), _interval(found.f1), _interval(found.group_em)]
        for model, found in some
    ]
    return Table(["model", *_MEASURES], rows, "95 % intervals over examples, in %")


def table_5_long(models: Sequence[Model]) -> Table:
    """Table 5 with every digit, as fractions, for files: means and deviations, intervals, F1 by label."""
    columns = [
        *("model", "runs"),
        *(f"{name}{end}" for name in ("em", "f1", "group_em") for end in ("_mean", "_sd")),
        *("examples", "empty", "em", "f1", "group_em"),
        *(f"f1_{label}" for label in LABELS),
        *(f"paper_{name}{end}" for name in ("em", "f1", "group_em") for end in ("_mean", "_sd")),
    ]
    return Table([Column(name, 4) for name in columns], [_row_long(model) for model in models], "Table 5")


def table_by_label(models: Sequence[Model]) -> Table:
    """F1 of each label with its interval, of models with predictions, in per cent."""
    some = [(model, model.measures) for model in models if model.measures is not None]
    rows: list[list[Cell]] = [
        [model.name, *(_interval(found.f1_by_label[label]) for label in LABELS)] for model, found in some
    ]
    return Table(["model", *LABELS], rows, "F1 by label, in %, with 95 % intervals over examples")


def table_11(models: Sequence[Model]) -> Table:
    """Table 11: thresholds, the median over seeds; of intervals each end's."""
    rows: list[list[Cell]] = []
    for model in models:
        paper = paper_row(model.folder or model.name)
        own = threshold_text(_threshold(model))
        printed = threshold_text(paper.threshold) if paper else None
        if own or printed:
            rows.append([model.name, own, printed])
    return Table([*_TABLE_11], rows, _TABLE_11_TITLE)


def table_11_plain(models: Sequence[Model]) -> dict[str, Any]:
    """Table 11 for JSON: thresholds as numbers with every digit, of intervals both ends of each label."""
    rows = []
    for model in models:
        paper = paper_row(model.folder or model.name)
        own, printed = threshold_plain(_threshold(model)), threshold_plain(paper.threshold if paper else None)
        if own is not None or printed is not None:
            rows.append({"model": model.name, "threshold": own, "paper": printed})
    return {"title": _TABLE_11_TITLE, "columns": [*_TABLE_11], "rows": rows}


def threshold_plain(threshold: Threshold) -> float | dict[str, list[float]] | None:
    """Return a threshold for JSON, with every digit: a number, or both ends of each label's interval."""
    if isinstance(threshold, Mapping):
        return {label: list(threshold[label]) for label in _order(threshold)}
    return threshold


def baseline_rows(constants: Mapping[LabelSet, NliMeasures]) -> list[Model]:
    """Rows for somebody who always gives the same set."""
    return [
        Model(name=f"always {'+'.join(_SHORT[label] for label in _order(one))}", measures=measures)
        for one, measures in constants.items()
    ]


def random_row() -> Model:
    """Return a row for somebody who draws one of the seven sets."""
    return Model(name=RANDOM)


def threshold_text(threshold: Threshold) -> str | None:
    """Return a threshold as Table 11 prints it; None for none."""
    if threshold is None:
        return None
    if isinstance(threshold, Mapping):
        ends = ((label, threshold[label]) for label in _order(threshold))
        return ", ".join(f"{_SHORT[label]} [{low:.2f}, {high:.2f}]" for label, (low, high) in ends)
    return f"{threshold:.2f}"


def _own(model: Model, intervals: bool) -> list[Cell]:
    own: list[Cell]
    if model.seeds is not None:
        found = model.seeds
        own = [len(found.seeds), *(_spread(one, 100) for one in (found.em, found.f1, found.group_em))]
    elif model.measures is not None:
        some = model.measures
        own = [None, *(_interval(one, intervals) for one in (some.em, some.f1, some.group_em))]
    else:
        own = [None, f"{_PER_CENT * RANDOM_SET:.1f}", None, None]
    return [model.name, *own]


def _printed(model: Model) -> tuple[Spread | None, ...] | None:
    """Exact match, F1 and group exact match of a model in the paper; None if it prints none."""
    paper = paper_row(model.folder or model.name)
    return (paper.em, paper.f1, paper.group_em) if paper and paper.em else None


def _row_long(model: Model) -> list[Cell]:
    seeds, some = model.seeds, model.measures
    means = (seeds.em, seeds.f1, seeds.group_em) if seeds else (None, None, None)
    printed = _printed(model) or (None, None, None)
    measured: list[Cell] = [None] * 8
    if some is not None:
        by_label = [some.f1_by_label[label] for label in LABELS]
        measured = [some.n, some.empty, some.em, some.f1, some.group_em, *by_label]
    elif seeds is None:
        measured[2] = RANDOM_SET
    return [
        model.name,
        len(seeds.seeds) if seeds else None,
        *(number for mean in means for number in (mean or (None, None))),
        *measured,
        *(None if number is None else number / 100 for one in printed for number in (one or (None, None))),
    ]


def _threshold(model: Model) -> Threshold:
    return model.seeds.threshold if model.seeds is not None else model.threshold


def _spread(spread: Spread | None, times: float) -> Cell:
    if spread is None:
        return None
    sd = "" if spread.sd is None else f" ({times * spread.sd:.1f})"
    return f"{times * spread.mean:.1f}{sd}"


def _interval(interval: Interval | None, ends: bool = True) -> Cell:
    if interval is None:
        return None
    if not ends:
        return f"{_PER_CENT * interval.value:.1f}"
    return interval.times(_PER_CENT).bracketed("{:.1f}".format)


def _order(labels: Any) -> list[Any]:
    return [label for label in _SHORT if label in labels]


def _paper_row(row: Mapping[str, Any]) -> PaperRow:
    numbers = {name: Spread(*row[name]) if name in row else None for name in ("em", "f1", "group_em")}
    found = row.get("threshold")
    threshold: Threshold = (
        {label: (float(found[label][0]), float(found[label][1])) for label in LABELS}
        if isinstance(found, Mapping)
        else found
    )
    return PaperRow(title=row["title"], folder=row["folder"], threshold=threshold, **numbers)
