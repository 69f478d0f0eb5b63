"""Results of multilabel NLI in files and folders, rescored and compared with stored scores.

A model folder contains files of seeds, predictions, or logits (directly, or in a folder per seed as written
by training). Any other folder is searched for model folders.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

from simulator.ambient.examples import Example
from simulator.ambient.files.nli import (
    LOGITS,
    NLI_PREDICTIONS,
    PREDICTIONS,
    PairScores,
    read_logits,
    read_seed,
    seed_of,
)
from simulator.ambient.generation import TOLERANCE
from simulator.ambient.intervals import Count
from simulator.ambient.labels import LABELS, LabelSet
from simulator.ambient.nli.families import Pairs, Threshold, plain_threshold, threshold_ends
from simulator.ambient.nli.metrics import (
    KEYS,
    Spread,
    nli_measures,
    nli_records,
    seed_record,
    seeds_summary,
    tuned_on,
    with_labels,
)
from simulator.ambient.nli.table import (
    Model,
    baseline_rows,
    table_5_long,
    table_5_short,
    table_11,
    table_by_label,
    table_intervals,
)
from simulator.ambient.records import NliRecord, SeedRecord
from simulator.ambient.reporting.measures import Measure, Results, build_measures
from simulator.errors import InputError
from simulator.jsonlines import Read

T = TypeVar("T")
_MAX_DEPTH: Final = 4


@dataclass(slots=True)
class NliResults:
    """The results in files and folders, comparisons with stored scores (`checks`), and unreadable files.

    `examples` loads the dev and test examples, for logits without labels; `pairs` are the intervals to try in
    tuning a regression; `known` has files that have been read; `gold` has the gold label sets of the
    predicted examples.
    """

    examples: Callable[[], Sequence[Example]]
    pairs: Pairs = "all"
    known: Mapping[Path, Read[Any]] = field(default_factory=dict)
    models: list[Model] = field(default_factory=list)
    gold: tuple[LabelSet, ...] = ()
    checks: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def read(self, paths: Sequence[Path]) -> None:
        """Add the contents of files and folders."""
        seeds: dict[Path, list[Path]] = {}
        for path in paths:
            if path.is_dir():
                self._read_folder(path)
            elif seed_of(path) is not None:
                seeds.setdefault(path.parent, []).append(path)
            elif path.name in LOGITS.values():
                self.problems.append(f"{path}: needs both dev and test logits; name the folder")
            elif records := self._predictions(path):
                name = path.parent.resolve().name if path.stem == Path(PREDICTIONS).stem else path.stem
                self._add_predictions(name, name, records)
        for folder, files in seeds.items():
            self._add_seeds(folder.resolve().name, self._seeds(files))

    def add_baselines(self) -> None:
        """Add a random set and constant sets as baselines if there are any models."""
        if self.models:
            self.models += baseline_rows(self.gold)

    def _add_seeds(self, name: str, records: Sequence[SeedRecord]) -> None:
        if records and (summary := self._attempt(lambda: seeds_summary(records))):
            self.models.append(Model(name=name, seeds=summary))

    def _add_predictions(
        self, name: str, folder: str, records: Sequence[NliRecord], threshold: Threshold = None
    ) -> None:
        self._set_gold(records)
        measures = nli_measures(records)
        self.models.append(Model(name=name, folder=folder, measures=measures, threshold=threshold))

    def _set_gold(self, records: Sequence[NliRecord]) -> None:
        self.gold = self.gold or tuple(record.gold for record in records)

    def _attempt(self, read: Callable[[], T], place: str = "") -> T | None:
        """Return the result of `read`, or record its error as a problem and return None."""
        try:
            return read()
        except InputError as error:
            self.problems.append(f"{place}{error}")
            return None

    def _read_folder(self, folder: Path) -> None:
        models = list(_model_folders(folder, 0))
        if not models:
            expected = f"{PREDICTIONS}, seed42.json or {' with '.join(LOGITS.values())}"
            self.problems.append(f"{folder}: contains no results ({expected})")
        for model in models:
            self._read_model(model)

    def _read_model(self, folder: Path) -> None:
        name, predictions = folder.resolve().name, folder / PREDICTIONS
        stored = self._seeds(_seed_files(folder))
        records = self._predictions(predictions) if predictions.is_file() else ()
        recomputed: list[SeedRecord] = []
        for part in _logits_folders(folder):
            scored = self._attempt(partial(self._predictions_of, part), f"{part}: ")
            if scored is None:
                continue
            seed = seed_of(part)
            if seed is None:
                # Logits directly in the model's folder come from one training with an unknown seed.
                self._add_predictions(name, name, *scored)
                continue
            self._set_gold(scored[0])
            record = self._attempt(partial(seed_record, name, seed, *scored))
            if record is None:
                self._add_predictions(f"{name}, seed {seed}", name, *scored)
            else:
                recomputed.append(record)
        by_seed = {record.seed: record for record in stored}
        for record in recomputed:
            if record.seed in by_seed:
                outcome = "; ".join(_differences(by_seed[record.seed], record)) or "agrees with its logits"
                self.checks.append(f"{name}, seed {record.seed}: {outcome}")
        self._add_seeds(name, stored or recomputed)
        if records:
            if stored:
                self.checks.append(f"{predictions}: {_nearest_seed(records, stored)}")
            self._add_predictions(f"{name}: predictions" if stored or recomputed else name, name, records)

    def _predictions_of(self, folder: Path) -> tuple[tuple[NliRecord, ...], Threshold]:
        """Return the predictions of a folder's test logits with the threshold tuned on its dev logits."""
        dev, test = (self._logits(folder / name) for name in LOGITS.values())
        if len({len(row.scores) for row in (*dev, *test)}) > 1:
            raise InputError("dev and test logits are of different kinds")
        threshold = tuned_on(dev, self.pairs)
        return nli_records(test, threshold), threshold

    def _logits(self, path: Path) -> tuple[PairScores, ...]:
        read = self.known.get(path) or read_logits(path)
        self.problems += map(str, read.faults)
        if all(row.labels is not None for row in read.rows):
            return read.rows
        return with_labels(read.rows, self.examples())

    def _predictions(self, path: Path) -> tuple[NliRecord, ...]:
        read = self.known.get(path) or self._attempt(lambda: NLI_PREDICTIONS.read(path))
        if read is None:
            return ()
        self.problems += map(str, read.faults)
        return read.rows

    def _seeds(self, files: Sequence[Path]) -> list[SeedRecord]:
        known = self.known
        records = (
            known[path].rows if path in known else [self._attempt(partial(read_seed, path))] for path in files
        )
        return [record for rows in records for record in rows if record is not None]


def _nearest_seed(records: Sequence[NliRecord], stored: Sequence[SeedRecord]) -> str:
    """Return a sentence that says which seed's scores match those of the predictions."""
    measures = nli_measures(records, resamples=0)
    distances = {
        record.seed: max(abs(record.em - measures.em.value), abs(record.f1 - measures.f1.value))
        for record in stored
    }
    same = [str(seed) for seed, distance in distances.items() if distance <= TOLERANCE]
    if same:
        return f"agrees with seed {', '.join(same)}"
    return f"agrees with no seed (nearest: {min(distances.values()):.2g} off)"


def _differences(stored: SeedRecord, recomputed: SeedRecord) -> list[str]:
    pairs = [(name, getattr(stored, name), getattr(recomputed, name)) for name in KEYS]
    old, new = threshold_ends(stored.threshold), threshold_ends(recomputed.threshold)
    pairs += [
        (f"threshold {place}", *each) for place, each in enumerate(zip(old, new, strict=False), start=1)
    ]
    differences = [
        f"{name} is stored as {first:.9g}, but recomputed as {second:.9g}"
        for name, first, second in pairs
        if abs(first - second) > TOLERANCE
    ]
    if len(old) != len(new):
        differences.append("the stored threshold is of a different kind")
    return differences


def _model_folders(folder: Path, depth: int) -> Iterator[Path]:
    if _seed_files(folder) or (folder / PREDICTIONS).is_file() or _logits_folders(folder):
        yield folder
    elif depth < _MAX_DEPTH:
        for inner in sorted(path for path in folder.iterdir() if path.is_dir()):
            yield from _model_folders(inner, depth + 1)


def _seed_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("seed*.json") if seed_of(path) is not None)


def _logits_folders(folder: Path) -> list[Path]:
    """Return those of the folder itself and its seeds' folders that have both dev and test logits."""
    parts = [folder, *sorted(path for path in folder.glob("seed*") if path.is_dir())]
    return [part for part in parts if all((part / name).is_file() for name in LOGITS.values())]


def read_nli_results(
    files: Mapping[Path, Read[Any]], examples: Sequence[Example], first: Sequence[Model]
) -> NliResults:
    """Return the results in the folders of some files, and in files with other names, with baselines.

    `files`: with their contents; `examples`: the dataset's dev and test, needed for logits without labels;
    `first`: models to put first.
    """

    def load() -> Sequence[Example]:
        if not examples:
            raise InputError("logits without labels need the dataset; name it with --data")
        return examples

    results, paths = NliResults(load, known=files, models=[*first]), dict[Path, None]()
    for file in files:
        folder = file.parent.parent if seed_of(file.parent) is not None else file.parent
        in_folder = (
            file.name == PREDICTIONS or file.name.endswith("_logits.jsonl") or seed_of(file) is not None
        )
        paths[folder if in_folder else file] = None
    results.read([*paths])
    results.gold = results.gold or tuple(example.labels for example in examples if example.split == "test")
    results.add_baselines()
    return results


def nli_results(results: NliResults, files: Sequence[str], left_out: int = 0) -> Results:
    """Return the report's results on label sets by model, with the baselines."""
    models = results.models
    single = [
        f"{model.name}: one seed; the paper's figures are means over five"
        for model in models
        if model.seeds is None and model.measures is not None and model.printed
    ]
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
        records=results.gold,
        left_out=left_out,
        remarks=(*results.checks, *single),
        tables={name: table for name, table in tables.items() if table.rows},
        exact={"table_5": table_5_long(models)},
        data={"models": {model.name: _model_json(model) for model in models}},
        listed=False,
    )


def _model_json(model: Model) -> dict[str, Any]:
    """Return a model's scores in per cent."""
    paper = model.paper
    plain: dict[str, Any] = {"threshold": plain_threshold(model.own_threshold)}
    if paper is not None:
        plain["paper_threshold"] = plain_threshold(paper.threshold)
    if model.seeds is not None:
        plain["seeds"] = list(model.seeds.seeds)
        plain |= {key: _spread(getattr(model.seeds, key), 100) for key in KEYS}
    if model.measures is not None:
        plain["examples"], plain["empty"] = model.measures.n, model.measures.empty
        plain["f1_by_label"] = {label: model.measures.f1_by_label[label].value for label in LABELS}
    if paper is not None and paper.em is not None:
        plain["paper"] = {key: _spread(getattr(paper, key), 1) for key in KEYS}
    return plain


def _measures(model: Model) -> tuple[Measure, ...]:
    n = len(model.seeds.seeds) if model.seeds else model.measures.n if model.measures else None
    values = [Count(score.mean if isinstance(score, Spread) else score, n) for score in model.scores]
    return build_measures(
        "nli",
        dict(zip(KEYS, values, strict=True)),
        paper={key: spread.mean for key, spread in zip(KEYS, model.printed, strict=False) if spread},
        key=f"{model.name}.{{key}}",
        model=model.name,
        counted="seeds" if model.seeds else "examples" if model.measures else "",
    )


def _spread(spread: Spread, times: float) -> dict[str, float | None]:
    return {"mean": times * spread.mean, "sd": None if spread.sd is None else times * spread.sd}
