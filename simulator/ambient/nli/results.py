"""Results of multilabel inference in files and folders: every score made anew, and compared with stored ones.

A folder is that of a model if it has files of seeds, predictions, or logits (its own, or in a folder for each
seed, as training leaves them); any other folder is looked through for such folders.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from simulator.ambient.examples import Example
from simulator.ambient.files.nli import (
    LOGITS,
    NLI_PREDICTIONS,
    PREDICTIONS,
    PairScores,
    is_seed_file,
    read_logits,
    read_seed,
    seed_of_folder,
)
from simulator.ambient.labels import LabelSet
from simulator.ambient.nli.families import Pairs, Threshold
from simulator.ambient.nli.metrics import nli_measures, seeds_summary
from simulator.ambient.nli.scoring import nli_records, seed_record, tuned_on, with_labels
from simulator.ambient.nli.table import Model
from simulator.ambient.records import NliRecord, SeedRecord
from simulator.errors import InputError

TOLERANCE: Final = 1e-9
_DEEPEST: Final = 4

# Examples of dev and test, for logits without labels; raises `InputError`.
Examples = Callable[[], Sequence[Example]]


@dataclass(slots=True)
class Results:
    """What was found.

    Attributes:
        models: rows for tables.
        gold: label sets of the examples that were predicted, of the first model that says them.
        checks: how stored scores compare with those made anew.
        problems: what could not be read or scored, a sentence each; the rest was.
    """

    models: list[Model] = field(default_factory=list)
    gold: tuple[LabelSet, ...] = ()
    checks: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Options:
    examples: Examples
    pairs: Pairs


def read_results(paths: Sequence[Path], examples: Examples, pairs: Pairs = "all") -> Results:
    """Return everything that files and folders hold.

    Args:
        paths: predictions, files of seeds, folders.
        examples: gives those of the data, where logits come without labels.
        pairs: which intervals are tried in tuning a regression.
    """
    results, options = Results(), _Options(examples, pairs)
    seeds: dict[Path, list[Path]] = {}
    for path in paths:
        if path.is_dir():
            _read_folder(path, results, options)
        elif is_seed_file(path):
            seeds.setdefault(path.parent, []).append(path)
        else:
            _read_file(path, results)
    for folder, files in seeds.items():
        _add_seeds(results, _name(folder), _seeds(files, results))
    return results


def _read_file(path: Path, results: Results) -> None:
    if path.name in LOGITS.values():
        results.problems.append(f"{path}: dev and test belong together; name the folder")
        return
    records = _predictions(path, results)
    if records:
        name = _name(path.parent) if path.name == PREDICTIONS else path.stem
        _add_predictions(results, name, name, records)


def _read_folder(folder: Path, results: Results, options: _Options) -> None:
    models = list(_model_folders(folder, 0))
    if not models:
        wanted = f"{PREDICTIONS}, seed42.json or {' with '.join(LOGITS.values())}"
        results.problems.append(f"{folder}: no results in it; they are called {wanted}")
    for model in models:
        _read_model(model, results, options)


def _read_model(folder: Path, results: Results, options: _Options) -> None:
    name = _name(folder)
    stored = _seeds(sorted(filter(is_seed_file, folder.glob("seed*.json"))), results)
    records = _predictions(folder / PREDICTIONS, results) if (folder / PREDICTIONS).is_file() else ()
    anew: list[SeedRecord] = []
    for part in _logits_folders(folder):
        tuned = _tuned(part, results, options)
        if tuned is None:
            continue
        seed = seed_of_folder(part)
        if seed is None:
            # Logits in the model's own folder: one training, of whatever seed.
            _add_predictions(results, name, name, tuned[0], tuned[1])
            continue
        results.gold = results.gold or _gold(tuned[0])
        anew += _seed_record(name, seed, tuned, results)
    _compare_seeds(name, stored, anew, results)
    _add_seeds(results, name, stored or anew)
    if records:
        _compare_predictions(folder / PREDICTIONS, records, stored, results)
        shown = f"{name}: predictions" if stored or anew else name
        _add_predictions(results, shown, name, records)


def _tuned(
    folder: Path, results: Results, options: _Options
) -> tuple[tuple[NliRecord, ...], Threshold] | None:
    try:
        rows = {split: _logits(folder / name, results, options) for split, name in LOGITS.items()}
        if len({len(row.scores) for some in rows.values() for row in some}) > 1:
            raise InputError("dev and test logits are of different kinds")
        threshold = tuned_on(rows["dev"], options.pairs)
        return nli_records(rows["test"], threshold), threshold
    except InputError as error:
        results.problems.append(f"{folder}: {error}")
        return None


def _logits(path: Path, results: Results, options: _Options) -> tuple[PairScores, ...]:
    read = read_logits(path)
    results.problems += map(str, read.faults)
    if all(row.labels is not None for row in read.rows):
        return read.rows
    return with_labels(read.rows, options.examples())


def _seed_record(
    name: str, seed: int, tuned: tuple[tuple[NliRecord, ...], Threshold], results: Results
) -> list[SeedRecord]:
    try:
        return [seed_record(name, seed, *tuned)]
    except InputError as error:
        results.problems.append(str(error))
        _add_predictions(results, f"{name}, seed {seed}", name, *tuned)
        return []


def _predictions(path: Path, results: Results) -> tuple[NliRecord, ...]:
    try:
        read = NLI_PREDICTIONS.read(path)
    except InputError as error:
        results.problems.append(str(error))
        return ()
    results.problems += map(str, read.faults)
    return read.rows


def _seeds(files: Sequence[Path], results: Results) -> list[SeedRecord]:
    records = []
    for path in files:
        try:
            records.append(read_seed(path))
        except InputError as error:
            results.problems.append(str(error))
    return records


def _add_seeds(results: Results, name: str, records: Sequence[SeedRecord]) -> None:
    if not records:
        return
    try:
        results.models.append(Model(name=name, seeds=seeds_summary(records)))
    except InputError as error:
        results.problems.append(str(error))


def _add_predictions(
    results: Results, name: str, folder: str, records: Sequence[NliRecord], threshold: Threshold = None
) -> None:
    results.gold = results.gold or _gold(records)
    measures = nli_measures(records)
    results.models.append(Model(name=name, folder=folder, measures=measures, threshold=threshold))


def _compare_seeds(
    name: str, stored: Sequence[SeedRecord], anew: Sequence[SeedRecord], results: Results
) -> None:
    known = {record.seed: record for record in stored}
    for record in anew:
        if record.seed in known:
            off = _differences(known[record.seed], record)
            told = "; ".join(off) or "agrees with its logits"
            results.checks.append(f"{name}, seed {record.seed}: {told}")


def _compare_predictions(
    path: Path, records: Sequence[NliRecord], stored: Sequence[SeedRecord], results: Results
) -> None:
    if not stored:
        return
    some = nli_measures(records, resamples=1)

    def off(record: SeedRecord) -> float:
        return max(abs(record.em - some.em.value), abs(record.f1 - some.f1.value))

    same = [str(record.seed) for record in stored if off(record) <= TOLERANCE]
    least = min(map(off, stored))
    told = f"is that of seed {', '.join(same)}" if same else f"agrees with no seed (nearest: {least:.2g} off)"
    results.checks.append(f"{path}: {told}")


def _differences(stored: SeedRecord, anew: SeedRecord) -> list[str]:
    pairs = [(name, getattr(stored, name), getattr(anew, name)) for name in ("em", "f1", "group_em")]
    ends = zip(_ends(stored.threshold), _ends(anew.threshold), strict=False)
    pairs += [(f"threshold {place + 1}", *each) for place, each in enumerate(ends)]
    found = [
        f"{name} is stored as {before:.9g}, but is {now:.9g}"
        for name, before, now in pairs
        if abs(before - now) > TOLERANCE
    ]
    if len(_ends(stored.threshold)) != len(_ends(anew.threshold)):
        found.append("the stored threshold is of another kind")
    return found


def _ends(threshold: Threshold) -> tuple[float, ...]:
    if isinstance(threshold, Mapping):
        return tuple(end for label in sorted(threshold) for end in threshold[label])
    return () if threshold is None else (threshold,)


def _model_folders(folder: Path, depth: int) -> Iterator[Path]:
    if _is_model(folder):
        yield folder
    elif depth < _DEEPEST:
        for inner in sorted(path for path in folder.iterdir() if path.is_dir()):
            yield from _model_folders(inner, depth + 1)


def _is_model(folder: Path) -> bool:
    seeds = any(is_seed_file(path) for path in folder.glob("seed*.json"))
    return seeds or (folder / PREDICTIONS).is_file() or any(_logits_folders(folder))


def _logits_folders(folder: Path) -> list[Path]:
    """Return the folder itself and those of its seeds, as far as they have logits of dev and test."""
    parts = [folder, *sorted(path for path in folder.glob("seed*") if path.is_dir())]
    return [part for part in parts if all((part / name).is_file() for name in LOGITS.values())]


def _gold(records: Sequence[NliRecord]) -> tuple[LabelSet, ...]:
    return tuple(record.gold for record in records)


def _name(folder: Path) -> str:
    return folder.resolve().name
