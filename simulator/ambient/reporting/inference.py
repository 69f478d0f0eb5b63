"""The results of multilabel inference: numbers and tables of `askback score ambient-nli` (spec 9.3)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from simulator.ambient.examples import Example
from simulator.ambient.files.nli import PREDICTIONS, seed_of
from simulator.ambient.labels import LABELS
from simulator.ambient.nli.families import plain_threshold
from simulator.ambient.nli.metrics import RANDOM_SET, Spread
from simulator.ambient.nli.results import Results as Inferred
from simulator.ambient.nli.results import read_results
from simulator.ambient.nli.table import (
    Model,
    table_5_long,
    table_5_short,
    table_11,
    table_by_label,
    table_intervals,
)
from simulator.ambient.reporting.measures import Count, Measure, Results, Value, worded
from simulator.errors import InputError

_KEYS: Final = ("em", "f1", "group_em")


def model_places(files: Sequence[Path]) -> list[Path]:
    """What `read_results` is to be given for some files: folders of models, and files called otherwise."""
    found: dict[Path, None] = {}
    for file in files:
        folder = file.parent.parent if seed_of(file.parent) is not None else file.parent
        odd = file.suffix == ".jsonl" and file.name != PREDICTIONS and not file.name.endswith("_logits.jsonl")
        found[file if odd else folder] = None
    return list(found)


def inferred(places: Sequence[Path], examples: Sequence[Example], *, first: Sequence[Model] = ()) -> Inferred:
    """Return what files and folders hold, with the baselines.

    Args:
        places: predictions, files of seeds, folders of models.
        examples: of the dataset, dev and test; needed where logits come without labels.
        first: models that stand before them: runs.
    """

    def known() -> Sequence[Example]:
        if not examples:
            raise InputError("logits without labels need the dataset; name it with --data")
        return examples

    results = read_results(places, known)
    results.models[:0] = first
    test = [example.labels for example in examples if example.split == "test"]
    results.gold = results.gold or tuple(test)
    results.add_baselines()
    return results


def nli_results(results: Inferred, files: Sequence[str], left_out: int = 0) -> Results:
    """Return what is told of label sets by model, with the baselines.

    Args:
        results: of all models.
        files: and runs that they are from.
        left_out: rows of the files that were faulty.
    """
    models = results.models
    tables = {
        "table_5": table_5_short(models),
        "table_5_intervals": table_intervals(models),
        "f1_by_label": table_by_label(models),
        "table_11": table_11(models),
    }
    return Results(
        kind="nli",
        name="results",
        measures=tuple(measure for model in models for measure in _measures(model)),
        files=tuple(files),
        rows=len(results.gold),
        left_out=left_out,
        remarks=(*results.checks, *map(_single, filter(_is_single, models))),
        tables={name: table for name, table in tables.items() if table.rows},
        exact={"table_5": table_5_long(models)},
        data={"models": {model.name: model_json(model) for model in models}},
        listed=False,
    )


def _is_single(model: Model) -> bool:
    """Return True if a model that the paper trained several times is told of once."""
    return model.seeds is None and model.measures is not None and bool(model.printed)


def _single(model: Model) -> str:
    return f"{model.name}: one training; the paper's figures are means over five"


def model_json(model: Model) -> dict[str, Any]:
    """Return a model's scores in per cent."""
    paper = model.paper
    plain: dict[str, Any] = {"threshold": plain_threshold(model.own_threshold)}
    if paper is not None:
        plain["paper_threshold"] = plain_threshold(paper.threshold)
    if model.seeds is not None:
        plain["seeds"] = list(model.seeds.seeds)
        plain |= {key: _spread(getattr(model.seeds, key), 100) for key in _KEYS}
    if model.measures is not None:
        plain["examples"], plain["empty"] = model.measures.n, model.measures.empty
        plain["f1_by_label"] = {label: model.measures.f1_by_label[label].value for label in LABELS}
    if paper is not None and paper.em is not None:
        plain["paper"] = {key: _spread(getattr(paper, key), 1) for key in _KEYS}
    return plain


def _measures(model: Model) -> tuple[Measure, ...]:
    counted = "examples"
    values: dict[str, Value] = {"em": RANDOM_SET, "f1": None, "group_em": None}
    if model.seeds is not None:
        spreads = {key: getattr(model.seeds, key) for key in _KEYS}
        values = {key: Count(spread.mean, len(model.seeds.seeds)) for key, spread in spreads.items()}
        counted = "seeds"
    elif model.measures is not None:
        n = model.measures.n
        values = {key: Count(getattr(model.measures, key), n) for key in _KEYS}
    return worded(
        "nli",
        values,
        paper={key: spread.mean for key, spread in zip(_KEYS, model.printed, strict=False) if spread},
        key=f"{model.name}.{{key}}",
        model=model.name,
        counted=counted if model.seeds or model.measures else "",
    )


def _spread(spread: Spread, times: float) -> dict[str, float | None]:
    return {"mean": times * spread.mean, "sd": None if spread.sd is None else times * spread.sd}
