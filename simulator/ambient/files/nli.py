"""Files of multilabel NLI (spec 11, last two rows), and our own of logits.

============================ ==========================================================================
``predictions.jsonl``        ``id, premise, hypothesis, labels, prediction``; a prediction may be empty
``seed42.json``              ``logit_threshold, f1, em, group_em`` as fractions; a threshold is a number,
                             an object from labels to intervals (regression), or absent (set classifier)
``dev_logits.jsonl``,        ours, one line a pair: ``id``, ``pair`` (0 is the original, then its
``test_logits.jsonl``        disambiguations in their order), ``premise``, ``hypothesis``, ``labels`` (of
                             the pair; may be absent where the data set is at hand), and ``logits`` (an
                             object from the three labels or the seven sets to numbers) or ``value``
============================ ==========================================================================
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from simulator.ambient.files.shares import share
from simulator.ambient.labels import LABELS, Label, LabelSet, format_labels, parse_label, parse_labels
from simulator.ambient.nli.families import (
    CLASSES,
    SET_NAMES,
    VALUE,
    Output,
    Scores,
    Threshold,
    output_of_width,
)
from simulator.ambient.records import NliRecord, SeedRecord
from simulator.duplicates import Duplicates
from simulator.errors import InputError
from simulator.jsonlines import FieldError, Read, Row, write_lines
from simulator.tables.records import read_json, read_records
from simulator.tables.spec import TableSpec, has
from trees.faults import Fault

PREDICTIONS: Final = "predictions.jsonl"
LOGITS: Final[Mapping[str, str]] = {"dev": "dev_logits.jsonl", "test": "test_logits.jsonl"}
_SEED: Final = re.compile(r"seed(\d+)\.json")
_BY_NAMES: Final[Mapping[frozenset[str], Output]] = {
    frozenset(LABELS): "labels",
    frozenset(SET_NAMES): "sets",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PairScores:
    """What a model gave for one pair of an example.

    Attributes:
        id: of the example.
        pair: 0 for the original, then the disambiguations.
        scores: the model's numbers (`families.CLASSES`).
        labels: gold, of this pair; None if the file does not say.
    """

    id: str
    pair: int
    premise: str
    hypothesis: str
    scores: Scores
    labels: LabelSet | None = None


def _nli_record(row: Row) -> NliRecord:
    return NliRecord(
        id=row.key("id"),
        premise=row.text("premise"),
        hypothesis=row.text("hypothesis"),
        gold=row.parsed("labels", _some_labels, row.text("labels")),
        predicted=row.parsed("prediction", parse_labels, row.text("prediction", empty=True)),
    )


def is_seed_file(path: Path) -> bool:
    """Return True if a file is called as those of seeds are."""
    return _SEED.fullmatch(path.name) is not None


def read_seed(path: str | Path, model: str | None = None) -> SeedRecord:
    """Return the stored scores of one training.

    Args:
        path: ``seed42.json``; its name says the seed.
        model: whose; default: the name of the folder.

    Raises:
        InputError: if it is no such file; names the field.
    """
    path = Path(path)
    named = _SEED.fullmatch(path.name)
    if named is None:
        raise InputError(f"{path}: files of seeds are called seed42.json, with the seed's number")
    value = read_json(path)
    if not isinstance(value, dict):
        raise InputError(f"{path}: is not an object with logit_threshold, f1, em and group_em")
    row = Row(value)
    try:
        return SeedRecord(
            model=model or path.resolve().parent.name,
            seed=int(named[1]),
            em=share(row, "em"),
            f1=share(row, "f1"),
            group_em=share(row, "group_em"),
            threshold=_threshold(row),
        )
    except FieldError as error:
        raise InputError(f"{path}: {error}") from error


def write_seed(folder: str | Path, record: SeedRecord) -> Path:
    """Write the scores of one training in the published format; the file is there whole or not at all.

    Returns:
        Its path, ``seed42.json`` in `folder`.

    Raises:
        InputError: if it cannot be written.
    """
    threshold = record.threshold
    plain = (
        {label: list(ends) for label, ends in threshold.items()}
        if isinstance(threshold, Mapping)
        else (threshold)
    )
    data = {} if threshold is None else {"logit_threshold": plain}
    data |= {"f1": record.f1, "em": record.em, "group_em": record.group_em}
    path = Path(folder) / f"seed{record.seed}.json"
    write_lines(path, [json.dumps(data, indent=4)])
    return path


def read_logits(path: str | Path, duplicates: Duplicates = "refuse") -> Read[PairScores]:
    """What a model gave for pairs; rows that are there twice, or of another kind than the first, are faults.

    Args:
        path: the file.
        duplicates: see `simulator.duplicates`.

    Raises:
        InputError: if the file cannot be read at all.
    """
    widths: list[int] = []

    def parse(row: Row) -> PairScores:
        scores = _pair_scores(row)
        widths.append(len(scores.scores))
        if widths[-1] != widths[0]:
            wanted = " or ".join(CLASSES[output_of_width(widths[0])][:3])
            raise FieldError(f"gives {widths[-1]} numbers where the first row gives {widths[0]} ({wanted}…)")
        return scores

    message = "pair: that of this example is in an earlier row, line {line}"
    return read_records(
        path, parse, lambda pair: (pair.id, pair.pair), duplicates=duplicates, message=message
    )


def _pair_scores(row: Row) -> PairScores:
    pair = row.whole("pair")
    if pair < 0:
        raise row.wrong("pair", f"is {pair}; the original is 0")
    labels = row.parsed("labels", _some_labels, row.text("labels")) if "labels" in row.data else None
    return PairScores(
        id=row.key("id"),
        pair=pair,
        premise=row.text("premise"),
        hypothesis=row.text("hypothesis"),
        scores=(row.number(VALUE),) if VALUE in row.data else _logits(row.object("logits")),
        labels=labels,
    )


def _logits(row: Row) -> Scores:
    output = _BY_NAMES.get(frozenset(row.data))
    if output is None:
        raise FieldError(
            f"logits are of {'; '.join(sorted(row.data)) or 'nothing'}, not of the three labels "
            f"({', '.join(LABELS)}) or of the seven sets ({'; '.join(SET_NAMES)})"
        )
    return tuple(row.number(name) for name in CLASSES[output])


def _pair_record(row: PairScores) -> dict[str, Any]:
    output = output_of_width(len(row.scores))
    said: dict[str, Any] = {
        "id": row.id,
        "pair": row.pair,
        "premise": row.premise,
        "hypothesis": row.hypothesis,
    }
    if row.labels is not None:
        said["labels"] = format_labels(row.labels)
    if output == "value":
        return said | {VALUE: row.scores[0]}
    return said | {"logits": dict(zip(CLASSES[output], row.scores, strict=True))}


def _prediction(record: NliRecord) -> dict[str, Any]:
    return {
        "id": record.id,
        "premise": record.premise,
        "hypothesis": record.hypothesis,
        "labels": format_labels(record.gold),
        "prediction": format_labels(record.predicted),
    }


def _threshold(row: Row) -> Threshold:
    value = row.get("logit_threshold")
    if value is None:
        return None
    if not isinstance(value, dict):
        return row.number("logit_threshold")
    inner = row.object("logit_threshold")
    threshold: dict[Label, tuple[float, float]] = {}
    for name in value:
        low, high = inner.list(name, 2)
        ends = Row({"low": low, "high": high}, f"logit_threshold.{name}.")
        interval = ends.number("low"), ends.number("high")
        if interval[0] >= interval[1]:
            raise inner.wrong(name, f"is {json.dumps(interval)}; the first end should be below the second")
        threshold[inner.parsed(name, parse_label, name)] = interval
    if missing := [label for label in LABELS if label not in threshold]:
        raise inner.wrong(missing[0], "is missing")
    return threshold


def _some_labels(text: str) -> LabelSet:
    labels = parse_labels(text)
    if not labels:
        raise ValueError("names no label")
    return labels


def seed_of_folder(folder: Path) -> int | None:
    """Return the seed in the name of a folder such as ``seed42``; None for any other."""
    named = _SEED.fullmatch(f"{folder.name}.json")
    return int(named[1]) if named else None


def _read_seed_file(path: Path) -> Read[SeedRecord]:
    """Return the one row of a file that is one JSON object."""
    try:
        return Read((read_seed(path),), (1,), ())
    except InputError as error:
        return Read((), (), (Fault(str(path), "", 0, "format", str(error).removeprefix(f"{path}: ")),))


NLI_PREDICTIONS: Final = TableSpec[NliRecord](
    name="nli_predictions",
    title="predicted label sets",
    is_of=has("id", "premise", "hypothesis", "prediction"),
    parse=_nli_record,
    key=lambda record: (record.id, ""),
    twice="id is that of an earlier row",
    line=lambda record: json.dumps(_prediction(record), ensure_ascii=False),
)
NLI_LOGITS: Final = TableSpec[PairScores](
    name="nli_logits",
    title="logits of pairs",
    is_of=lambda row: has("id", "pair")(row) and ("logits" in row or "value" in row),
    reader=read_logits,
    line=lambda pair: json.dumps(_pair_record(pair), ensure_ascii=False),
)
NLI_SEED: Final = TableSpec[SeedRecord](
    name="nli_seed",
    title="scores of a training",
    is_of=has("em", "f1", "group_em"),
    reader=_read_seed_file,
    repeats=False,
)
