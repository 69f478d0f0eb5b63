"""The kinds of AmbiEnt's files, each told by the fields of its first rows (spec 1, 3, 5.2, 10, 11)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from simulator.ambient.files.claims import CLAIM_ANNOTATIONS, CLAIMS
from simulator.ambient.files.dataset import (
    CATEGORY_ROWS,
    DATASET,
    DISTRACTORS,
    CheckedFile,
    check_dataset,
    has_sentence,
)
from simulator.ambient.files.nli import NLI_LOGITS, NLI_PREDICTIONS, NLI_SEED
from simulator.ambient.files.people import CROWD, LINGUISTS
from simulator.ambient.files.results import CONTINUATIONS, EDIT_F1_CASES, GENERATION, TRUE_FALSE
from simulator.ambient.merging import merge
from simulator.tables.spec import Tables, TableSpec
from trees.faults import Fault


def _check_datasets(files: Mapping[Path, CheckedFile]) -> tuple[Fault, ...]:
    merged = merge({path: file.read for path, file in files.items()})
    return (*(fault for file in files.values() for fault in file.faults), *merged.faults)


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
    title="AmbiEnt's examples, annotations and results (.jsonl, .json or .csv, told by their fields)",
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
