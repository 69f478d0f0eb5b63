"""The kinds of AmbiEnt's files (spec 1, 3, 5.2, 10, 11), and folders whose files are parts of one dataset."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from simulator.ambient.examples import Example
from simulator.ambient.files.dataset import (
    CATEGORY_ROWS,
    DATASET,
    DISTRACTORS,
    CategoryRecord,
    check_dataset,
    has_sentence,
)
from simulator.ambient.files.nli import NLI_LOGITS, NLI_PREDICTIONS, NLI_SEED
from simulator.ambient.files.results import (
    CLAIM_ANNOTATIONS,
    CLAIMS,
    CONTINUATIONS,
    CROWD,
    EDIT_F1_CASES,
    GENERATION,
    LINGUISTS,
    TRUE_FALSE,
)
from simulator.ambient.items import SPLITS
from simulator.ambient.labels import Category, Side
from simulator.ambient.records import CrowdRecord
from simulator.jsonlines import Read
from simulator.tables.spec import Tables, TableSpec
from trees.faults import Fault

# Fields that must be the same wherever an id stands; the others may stand in one file alone.
_COMMON: Final = (
    *("premise", "hypothesis", "premise_ambiguous", "hypothesis_ambiguous"),
    *("labels", "disambiguations"),
)
_OWN: Final = ("meta", "categories", "distractors")


@dataclass(frozen=True, slots=True)
class Merged:
    """The common contents of several files: examples by id, and the ids of each split in their order."""

    examples: Mapping[str, Example]
    splits: Mapping[str, tuple[str, ...]]
    faults: tuple[Fault, ...]


def merge(reads: Mapping[Path, Read[Example]]) -> Merged:
    """Return one dataset out of its files, of which ``dev`` and ``test`` are named after their split.

    A fault: rows of one id that differ, an id in both splits, and a row that is in the file of all
    (its name ends in ``full``) and in neither split, or the other way round.
    """
    examples: dict[str, Example] = {}
    places: dict[str, str] = {}
    splits: dict[str, dict[str, None]] = {split: {} for split in SPLITS}
    faults: list[Fault] = []
    for file, read in reads.items():
        of_file = next((split for split in SPLITS if split == file.stem), None)
        for row, line in zip(read.rows, read.lines, strict=True):
            example = replace(row, split=of_file) if of_file and not row.split else row
            known = examples.get(example.id)
            problem = "" if known is None else _contradiction(known, example)
            if problem:
                code, message = problem.split(" ", 1)
                faults.append(Fault(str(file), example.id, line, code, f"{message} ({places[example.id]})"))
                continue
            examples[example.id] = example if known is None else _unite_examples(known, example)
            places.setdefault(example.id, f"{file.name}:{line}")
            if example.split:
                splits[example.split][example.id] = None
    faults += _uncovered_faults(reads)
    return Merged(examples, {split: tuple(ids) for split, ids in splits.items()}, tuple(faults))


def with_categories(examples: Iterable[Example], annotated: Iterable[CategoryRecord]) -> Iterator[Example]:
    """Yield examples with the kinds of ambiguity of those annotated rows that have the same two sentences.

    Ids do not tell: annotated files have ids of their own, and some of their pairs are out of date (1.3).
    """
    categories: dict[tuple[str, str | None], tuple[Category, ...]] = {
        (row.premise, row.hypothesis): row.categories for row in annotated
    }
    for example in examples:
        kinds = categories.get((example.premise, example.hypothesis))
        yield replace(example, categories=kinds) if kinds and not example.categories else example


def with_distractors(examples: Iterable[Example], shown: Iterable[CrowdRecord]) -> Iterator[Example]:
    """Yield examples with the distractors that crowdworkers were shown, where they bring none of their own.

    A row is of the example that has its id, its two sentences and its ambiguous side (some published rows are
    of no example any more, spec 5.2). Of several rows on one sentence the first counts.
    """
    texts: dict[tuple[str, str, str, Side], str] = {}
    for row in shown:
        if row.distractor is not None and not row.origin:
            key = (row.id, row.premise, row.hypothesis, row.side)
            texts.setdefault(key, row.interpretations[row.distractor])
    for example in examples:
        own: dict[Side, str] = {
            side: text
            for side in example.sides
            if (text := texts.get((example.id, example.premise, example.hypothesis, side)))
        }
        yield replace(example, distractors={**own, **example.distractors}) if own else example


def _contradiction(known: Example, other: Example) -> str:
    """Return code and message of what two rows of one id disagree about; empty if nothing."""
    for field in (*_COMMON, *_OWN):
        mine, its = getattr(known, field), getattr(other, field)
        if mine != its and (field in _COMMON or (mine and its)):
            return f"differs {field}: not what another file says of the same id"
    if known.split and other.split and known.split != other.split:
        return f"split split: {other.split}, but the same id stands in {known.split}, too"
    return ""


def _unite_examples(known: Example, other: Example) -> Example:
    own = {field: getattr(known, field) or getattr(other, field) for field in ("split", *_OWN)}
    return replace(known, **own)


def _uncovered_faults(reads: Mapping[Path, Read[Example]]) -> Iterator[Fault]:
    by_stem = {file.stem: file for file in reads}
    whole = [file for file in reads if file.stem.endswith("full")]
    if len(whole) != 1 or not all(split in by_stem for split in SPLITS):
        return
    parts = [by_stem[split] for split in SPLITS]
    yield from _missing_items(
        whole, reads, parts, "id: stands in none of " + ", ".join(p.name for p in parts)
    )
    yield from _missing_items(parts, reads, whole, f"id: does not stand in {whole[0].name}")


def _missing_items(
    files: Sequence[Path], reads: Mapping[Path, Read[Example]], others: Sequence[Path], message: str
) -> Iterator[Fault]:
    held = {example.id for file in others for example in reads[file].rows}
    for file in files:
        for example, line in zip(reads[file].rows, reads[file].lines, strict=True):
            if example.id not in held:
                yield Fault(str(file), example.id, line, "cover", message)


def _check_datasets(files: Mapping[Path, Read[Example]]) -> tuple[Fault, ...]:
    return (*(fault for file in files.values() for fault in file.faults), *merge(files).faults)


def _check_other(path: Path, spec: TableSpec[Any]) -> tuple[Fault, ...]:
    contents = spec.read(path)
    faults = list(contents.faults)
    if spec is CATEGORY_ROWS:
        for row, line in zip(contents.rows, contents.lines, strict=True):
            if row.missing:
                message = f"{', '.join(row.missing)}: missing, as in some published rows"
                faults.append(Fault(str(path), row.id, line, "missing", message, "warning"))
    return tuple(faults)


TABLES: Final = Tables(
    title="AmbiEnt's examples, annotations and results (.jsonl, .json or .csv, known by their fields)",
    specs=(
        CATEGORY_ROWS,
        DATASET,
        LINGUISTS,
        DISTRACTORS,
        CROWD,
        GENERATION,
        TRUE_FALSE,
        CONTINUATIONS,
        NLI_PREDICTIONS,
        NLI_LOGITS,
        NLI_SEED,
        CLAIMS,
        CLAIM_ANNOTATIONS,
        EDIT_F1_CASES,
    ),
    main=DATASET,
    looks_main=has_sentence,
    read_main=check_dataset,
    check_main=_check_datasets,
    check_other=_check_other,
)
