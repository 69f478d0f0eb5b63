"""The kinds of AmbiEnt's files (spec 1, 3, 5.2, 10, 11), and merging of the files of one dataset."""

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

# Fields that must be equal in all rows of an id; other fields may be missing from some files.
_COMMON: Final = (
    *("premise", "hypothesis", "premise_ambiguous", "hypothesis_ambiguous"),
    *("labels", "disambiguations"),
)
_OPTIONAL: Final = ("meta", "categories", "distractors")


@dataclass(frozen=True, slots=True)
class Merged:
    """The merged contents of several files: examples by id, the ids of each split in order, and faults."""

    examples: Mapping[str, Example]
    splits: Mapping[str, tuple[str, ...]]
    faults: tuple[Fault, ...]


def merge(reads: Mapping[Path, Read[Example]]) -> Merged:
    """Merge the files of a dataset, where files named ``dev`` and ``test`` define its splits.

    Faults are rows of one id that differ, ids in both splits, and ids that are only in the complete file
    (whose name ends in ``full``) or only in a split.
    """
    examples: dict[str, Example] = {}
    places: dict[str, str] = {}
    splits: dict[str, dict[str, None]] = {split: {} for split in SPLITS}
    faults: list[Fault] = []
    for file, read in reads.items():
        file_split = next((split for split in SPLITS if split == file.stem), None)
        for row, line in zip(read.rows, read.lines, strict=True):
            example = replace(row, split=file_split) if file_split and not row.split else row
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
    """Yield examples with the kinds of ambiguity of the rows that have the same two sentences.

    Ids cannot be compared: annotated files have other ids, and some of their pairs are out of date (1.3).
    """
    categories: dict[tuple[str, str | None], tuple[Category, ...]] = {
        (row.premise, row.hypothesis): row.categories for row in annotated
    }
    for example in examples:
        kinds = categories.get((example.premise, example.hypothesis))
        yield replace(example, categories=kinds) if kinds and not example.categories else example


def with_distractors(examples: Iterable[Example], shown: Iterable[CrowdRecord]) -> Iterator[Example]:
    """Yield examples, adding the distractors shown to crowdworkers to those that have none.

    A row belongs to the example with the same id, sentences and ambiguous side (for some published rows there
    is no such example any more, spec 5.2). The first row for a sentence counts.
    """
    texts: dict[tuple[str, str, str, Side], str] = {}
    for row in shown:
        if row.distractor is not None and not row.origin:
            key = (row.id, row.premise, row.hypothesis, row.side)
            texts.setdefault(key, row.interpretations[row.distractor])
    for example in examples:
        added: dict[Side, str] = {
            side: text
            for side in example.sides
            if (text := texts.get((example.id, example.premise, example.hypothesis, side)))
        }
        yield replace(example, distractors={**added, **example.distractors}) if added else example


def _contradiction(known: Example, other: Example) -> str:
    """Return code and message of the first contradiction between two rows of one id; empty if none."""
    for field in (*_COMMON, *_OPTIONAL):
        first, second = getattr(known, field), getattr(other, field)
        if first != second and (field in _COMMON or (first and second)):
            return f"differs {field}: differs from another file's row with the same id"
    if known.split and other.split and known.split != other.split:
        return f"split split: {other.split}, but the same id is also in {known.split}"
    return ""


def _unite_examples(known: Example, other: Example) -> Example:
    values = {field: getattr(known, field) or getattr(other, field) for field in ("split", *_OPTIONAL)}
    return replace(known, **values)


def _uncovered_faults(reads: Mapping[Path, Read[Example]]) -> Iterator[Fault]:
    by_stem = {file.stem: file for file in reads}
    complete = [file for file in reads if file.stem.endswith("full")]
    if len(complete) != 1 or not all(split in by_stem for split in SPLITS):
        return
    parts = [by_stem[split] for split in SPLITS]
    yield from _missing_items(
        complete, reads, parts, "id: missing from " + " and ".join(part.name for part in parts)
    )
    yield from _missing_items(parts, reads, complete, f"id: missing from {complete[0].name}")


def _missing_items(
    files: Sequence[Path], reads: Mapping[Path, Read[Example]], others: Sequence[Path], message: str
) -> Iterator[Fault]:
    covered = {example.id for file in others for example in reads[file].rows}
    for file in files:
        for example, line in zip(reads[file].rows, reads[file].lines, strict=True):
            if example.id not in covered:
                yield Fault(str(file), example.id, line, "cover", message)


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
    title="AmbiEnt's examples, annotations and results (.jsonl, .json or .csv, recognized by their fields)",
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
    check_main=lambda files: (
        *(fault for file in files.values() for fault in file.faults),
        *merge(files).faults,
    ),
    check_other=_check_other,
)
