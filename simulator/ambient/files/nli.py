"""Files of multilabel NLI (spec 11, last two rows), and our own files of logits.

============================ ==========================================================================
``predictions.jsonl``        ``id, premise, hypothesis, labels, prediction``; a prediction may be empty
``seed42.json``              ``logit_threshold, f1, em, group_em`` as fractions; a threshold is a number,
                             an object from labels to intervals (regression), or absent (set classifier)
``dev_logits.jsonl``,        ours, one line per pair: ``id``, ``pair`` (0 is the original, then its
``test_logits.jsonl``        disambiguations in order), ``premise``, ``hypothesis``, ``labels`` (of the
                             pair; optional if the data set is available), and ``logits`` (an object
                             from the three labels or the seven sets to numbers) or ``value``
============================ ==========================================================================
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import Field, PlainSerializer, model_validator

from simulator.ambient.labels import LABELS, LabelSet, SomeLabels
from simulator.ambient.nli.families import CLASSES, SET_NAMES, VALUE, Scores, output_of_width, plain_threshold
from simulator.ambient.records import NliRecord, SeedRecord
from simulator.errors import InputError
from simulator.fields import Finite, Key, NonBlank, Whole, must, read_as
from simulator.jsonlines import Codec, Duplicates, FieldError, Read, Row, write_lines
from simulator.tables.records import read_json, read_records
from simulator.tables.spec import TableSpec, has
from trees.faults import Fault

PREDICTIONS: Final = "predictions.jsonl"
LOGITS: Final[Mapping[str, str]] = {"dev": "dev_logits.jsonl", "test": "test_logits.jsonl"}
_SEED: Final = re.compile(r"seed(\d+)(\.json)?")


def _scores(numbers: Mapping[str, float]) -> Scores:
    for names in CLASSES.values():
        if numbers.keys() == set(names):
            return tuple(numbers[name] for name in names)
    raise ValueError(
        f"are for {'; '.join(sorted(numbers)) or 'nothing'}, not for the three labels ({', '.join(LABELS)}) "
        f"or the seven sets ({'; '.join(SET_NAMES)})"
    )


def _name_scores(scores: Scores) -> dict[str, float]:
    return dict(zip(CLASSES[output_of_width(len(scores))], scores, strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class PairScores:
    """A model's scores (`families.CLASSES`) and gold labels of an original pair (0) or a disambiguation."""

    id: Key
    pair: Annotated[Whole, must(lambda pair: pair >= 0, lambda pair: f"is {pair}; the original is 0")]
    premise: NonBlank
    hypothesis: NonBlank
    labels: Annotated[
        LabelSet | None, read_as(SomeLabels, lambda labels: labels), Field(exclude_if=lambda value: not value)
    ] = None
    scores: Annotated[
        Scores, read_as(Mapping[str, Finite], _scores), PlainSerializer(_name_scores), Field(alias="logits")
    ]

    @model_validator(mode="before")
    @classmethod
    def _value_as_logits(cls, row: Any) -> Any:
        return {**row, "logits": {VALUE: row[VALUE]}} if VALUE in row else row


_PAIRS: Final = Codec[PairScores](PairScores)
_SEEDS: Final = Codec[SeedRecord](SeedRecord)


def read_logits(path: str | Path, duplicates: Duplicates = "refuse") -> Read[PairScores]:
    """Read a model's scores of pairs; rows that repeat a pair or differ from the first in kind are faults."""
    widths: list[int] = []

    def parse(row: Row) -> PairScores:
        pair = _PAIRS.read_row(row)
        widths.append(len(pair.scores))
        if widths[-1] != widths[0]:
            first = " or ".join(CLASSES[output_of_width(widths[0])][:3])
            raise FieldError(f"has {widths[-1]} instead of the first row's {widths[0]} numbers ({first}…)")
        return pair

    message = "pair: the same as of this example in an earlier row, line {line}"
    return read_records(
        path, parse, lambda pair: (pair.id, pair.pair), duplicates=duplicates, message=message
    )


def _logits_line(pair: PairScores) -> str:
    row = _PAIRS.write(pair)
    if VALUE in row["logits"]:
        row |= row.pop("logits")
    return json.dumps(row, ensure_ascii=False)


def seed_of(path: Path) -> int | None:
    """Return the seed in the name of a file such as ``seed42.json`` or a folder ``seed42``; else None."""
    match = _SEED.fullmatch(path.name)
    return int(match[1]) if match and (bool(match[2]) is not path.is_dir()) else None


def read_seed(path: str | Path, model: str | None = None) -> SeedRecord:
    """Return the stored scores of one trained model.

    Raises:
        InputError: if the file is not valid; names the field.
    """
    path = Path(path)
    seed = seed_of(path)
    if seed is None:
        raise InputError(f"{path}: a file with a seed's scores must be called like seed42.json")
    content = read_json(path)
    if not isinstance(content, dict):
        raise InputError(f"{path}: is not an object with logit_threshold, f1, em and group_em")
    source = {"model": model or path.resolve().parent.name, "seed": seed}
    return _SEEDS.read({**content, **source}, str(path))


def write_seed(folder: str | Path, record: SeedRecord) -> Path:
    """Write the scores of one trained model in the published format, and return the path, ``seed42.json``."""
    data: dict[str, Any] = {"f1": record.f1, "em": record.em, "group_em": record.group_em}
    if record.threshold is not None:
        data = {"logit_threshold": plain_threshold(record.threshold), **data}
    path = Path(folder) / f"seed{record.seed}.json"
    write_lines(path, [json.dumps(data, indent=4)])
    return path


def _read_seed_file(path: Path) -> Read[SeedRecord]:
    """Read a file that contains one JSON object as a table with one row."""
    try:
        return Read((read_seed(path),), (1,), ())
    except InputError as error:
        return Read((), (), (Fault(str(path), "", 0, "format", str(error).removeprefix(f"{path}: ")),))


_PREDICTIONS: Final = Codec[NliRecord](NliRecord)
NLI_PREDICTIONS: Final = TableSpec[NliRecord](
    name="nli_predictions",
    title="predicted label sets",
    matches=has("id", "premise", "hypothesis", "prediction"),
    parse=_PREDICTIONS.read_row,
    key=lambda record: (record.id, ""),
    repeat_message="id is the same as in an earlier row",
    line=lambda record: json.dumps(_PREDICTIONS.write(record), ensure_ascii=False),
)
NLI_LOGITS: Final = TableSpec[PairScores](
    name="nli_logits",
    title="logits of pairs",
    matches=lambda row: has("id", "pair")(row) and ("logits" in row or "value" in row),
    reader=read_logits,
    line=_logits_line,
)
NLI_SEED: Final = TableSpec[SeedRecord](
    name="nli_seed",
    title="scores of a training",
    matches=has("em", "f1", "group_em"),
    reader=_read_seed_file,
    repeats=False,
)
