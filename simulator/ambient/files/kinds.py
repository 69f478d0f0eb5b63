"""Which of AmbiEnt's files a file is, told by the fields of its first rows (spec 1, 3, 5.2, 10, 11)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from simulator.ambient.files.categories import is_categories, read_categories_file
from simulator.ambient.files.claims import read_annotations, read_results
from simulator.ambient.files.crowd import read_crowd
from simulator.ambient.files.dataset import is_dataset, read_dataset
from simulator.ambient.files.distractors import is_distractors, read_distractors
from simulator.ambient.files.edit_f1_cases import read_edit_cases
from simulator.ambient.files.heads import files_below, head_of
from simulator.ambient.files.linguists import read_linguists
from simulator.ambient.files.nli import read_logits, read_predictions, read_seed
from simulator.ambient.files.results import read_continuations, read_generation, read_true_false
from simulator.ambient.records import SeedRecord
from simulator.duplicates import Duplicates
from simulator.errors import InputError
from simulator.jsonlines import Read
from trees.faults import Fault


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of file.

    Attributes:
        name: short.
        title: what such files hold, in words.
        is_of: whether an object is a row of such a file.
        read: its rows, with a fault for each that is none.
        repeats: whether `read` takes what becomes of rows that stand there twice (`simulator.duplicates`).
            Where not, an example is one example, a training one training.
    """

    name: str
    title: str
    is_of: Callable[[Mapping[str, Any]], bool]
    read: Callable[..., Read[Any]]
    repeats: bool = True

    def rows(self, path: Path, duplicates: Duplicates = "refuse") -> Read[Any]:
        """Read a file of this kind.

        Raises:
            InputError: if it cannot be read at all.
        """
        return self.read(path, duplicates) if self.repeats else self.read(path)


def kind_of(path: Path) -> Kind | None:
    """What most of a file's first rows are; None if it is none of AmbiEnt's, or cannot be read.

    A row that lacks a field may look like one of another kind, so that one row alone tells nothing.
    """
    head = head_of(path)
    rows = Counter(next((kind.name for kind in KINDS if kind.is_of(row)), "") for row in head)
    best = max(KINDS, key=lambda kind: rows[kind.name])
    return best if rows[best.name] else None


def files_of(path: Path) -> dict[Path, Kind]:
    """The files of AmbiEnt in a folder and the folders below, sorted; a file itself if it is one."""
    kinds = ((file, kind_of(file)) for file in files_below(path))
    return {file: kind for file, kind in kinds if kind is not None}


def _has(*fields: str) -> Callable[[Mapping[str, Any]], bool]:
    return lambda row: row.keys() >= set(fields)


def _is_logits(row: Mapping[str, Any]) -> bool:
    return _has("id", "pair")(row) and ("logits" in row or "value" in row)


def _read_seed_file(path: Path) -> Read[SeedRecord]:
    """The one row of a file that is one JSON object."""
    try:
        return Read((read_seed(path),), (1,), ())
    except InputError as error:
        return Read((), (), (Fault(str(path), "", 0, "format", str(error).removeprefix(f"{path}: ")),))


CATEGORY_ROWS: Final = Kind("categories", "kinds of ambiguity", is_categories, read_categories_file)
DATASET: Final = Kind("dataset", "examples", is_dataset, read_dataset, repeats=False)
CROWD: Final = Kind("crowd", "crowdworkers' annotations", _has("interpretations", "q1_gold"), read_crowd)
KINDS: Final[tuple[Kind, ...]] = (
    CATEGORY_ROWS,
    DATASET,
    Kind("linguists", "linguists' annotations", _has("worker_ids", "annotations"), read_linguists),
    Kind("distractors", "distractors of sentences", is_distractors, read_distractors, repeats=False),
    CROWD,
    Kind("generation", "generated disambiguations", _has("generation", "gold_rewrites"), read_generation),
    Kind(
        "true_false",
        "statements judged true or false",
        _has("template_id", "prediction", "ambiguous_sentence_key"),
        read_true_false,
    ),
    Kind("continuation", "continuations", _has("ambiguous_sentence", "options"), read_continuations),
    Kind(
        "nli_predictions",
        "predicted label sets",
        _has("id", "premise", "hypothesis", "prediction"),
        read_predictions,
    ),
    Kind("nli_logits", "logits of pairs", _is_logits, read_logits),
    Kind("nli_seed", "scores of a training", _has("em", "f1", "group_em"), _read_seed_file, repeats=False),
    Kind("claims", "claims with paraphrases", _has("example_id", "claim", "paraphrases"), read_results),
    Kind("claim_annotations", "marks of claims", _has("claim", "annotation"), read_annotations),
    Kind(
        "edit_f1_cases",
        "cases of EDIT-F1",
        _has("original", "gold", "predicted", "edit_f1"),
        read_edit_cases,
        repeats=False,
    ),
)
"""A row is of the first that fits."""
