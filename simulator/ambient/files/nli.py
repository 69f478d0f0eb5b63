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
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from simulator.ambient.files.shares import share
from simulator.ambient.labels import LABELS, Label, LabelSet, format_labels, parse_label, parse_labels
from simulator.ambient.nli.families import CLASSES, SET_NAMES, VALUE, Output, Scores, output_of_width
from simulator.ambient.nli.thresholds import Threshold
from simulator.ambient.records import NliRecord, SeedRecord
from simulator.duplicates import Duplicates, told_once
from simulator.errors import InputError
from simulator.jsonlines import FieldError, Read, Row, read_lines, write_lines

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


def read_predictions(path: str | Path, duplicates: Duplicates = "refuse") -> Read[NliRecord]:
    """The predicted label sets in a file; a second row of an example is a fault.

    Args:
        path: the file.
        duplicates: see `simulator.duplicates`.

    Raises:
        InputError: if the file cannot be read at all.
    """

    def parse(row: Row) -> NliRecord:
        return NliRecord(
            id=row.key("id"),
            premise=row.text("premise"),
            hypothesis=row.text("hypothesis"),
            gold=row.parsed("labels", _some_labels, row.text("labels")),
            predicted=row.parsed("prediction", parse_labels, row.text("prediction", empty=True)),
        )

    message = "id is that of an earlier row"
    return told_once(path, read_lines(path, parse), lambda one: (one.id, ""), duplicates, message=message)


def write_predictions(path: str | Path, records: Iterable[NliRecord]) -> None:
    """Write predicted label sets in the published format.

    Raises:
        InputError: if the file cannot be written.
    """
    write_lines(path, (_line(_prediction(record)) for record in records))


def is_seed_file(path: Path) -> bool:
    """Whether a file is called as those of seeds are."""
    return _SEED.fullmatch(path.name) is not None


def read_seed(path: str | Path, model: str | None = None) -> SeedRecord:
    """The stored scores of one training.

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
    row = Row(_object(path))
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
        one = _pair_scores(row)
        widths.append(len(one.scores))
        if widths[-1] != widths[0]:
            wanted = " or ".join(CLASSES[output_of_width(widths[0])][:3])
            raise FieldError(f"gives {widths[-1]} numbers where the first row gives {widths[0]} ({wanted}…)")
        return one

    message = "pair: that of this example is in an earlier row, line {line}"
    return told_once(
        path, read_lines(path, parse), lambda one: (one.id, one.pair), duplicates, message=message
    )


def write_logits(path: str | Path, rows: Iterable[PairScores]) -> None:
    """Write what a model gave for pairs.

    Raises:
        InputError: if the file cannot be written.
    """
    write_lines(path, (_line(_pair_record(row)) for row in rows))


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
    found: dict[Label, tuple[float, float]] = {}
    for name in value:
        low, high = inner.list(name, 2)
        ends = Row({"low": low, "high": high}, f"logit_threshold.{name}.")
        interval = ends.number("low"), ends.number("high")
        if interval[0] >= interval[1]:
            raise inner.wrong(name, f"is {json.dumps(interval)}; the first end should be below the second")
        found[inner.parsed(name, parse_label, name)] = interval
    if missing := [label for label in LABELS if label not in found]:
        raise inner.wrong(missing[0], "is missing")
    return found


def _some_labels(text: str) -> LabelSet:
    found = parse_labels(text)
    if not found:
        raise ValueError("names no label")
    return found


def _object(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_bytes().decode("utf-8-sig"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: is not JSON ({error})") from error
    if not isinstance(value, dict):
        raise InputError(f"{path}: is not an object with logit_threshold, f1, em and group_em")
    return value


def _line(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False)


def seed_of_folder(folder: Path) -> int | None:
    """The seed in the name of a folder such as ``seed42``; None for any other."""
    named = _SEED.fullmatch(f"{folder.name}.json")
    return int(named[1]) if named else None
