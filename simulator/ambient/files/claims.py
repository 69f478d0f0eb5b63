"""Files of claims: results with paraphrases and scores, and what annotators marked (spec 10).

``results.jsonl`` has a claim in each row; ``dev-annotations.csv`` has ``claim, justification, annotation,
notes, label, url``. They are joined on the exact text of the claim.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, NamedTuple

from simulator.ambient.claims import AMBIGUITY, FACTUALITY, score
from simulator.ambient.records import ClaimRecord
from simulator.codecs import Codec
from simulator.duplicates import Duplicates, told_once
from simulator.jsonlines import FieldError, Read, Row
from simulator.tables.cells import Columns, Record, read_table
from simulator.tables.records import read_text
from simulator.tables.spec import TableSpec, has

_SEPARATORS: Final = str.maketrans("", "", " ,;/&+")
_COLUMNS: Final = Columns(("claim", "annotation"), ("claim", "annotation"))
_CLAIM_RECORDS: Final = Codec[ClaimRecord](ClaimRecord)


@dataclass(frozen=True, slots=True)
class ClaimAnnotation:
    """What a fact-check complains about, as somebody marked it.

    Attributes:
        marks: ``a`` (ambiguity), ``f`` (factuality); None if the cell is empty.
    """

    claim: str
    marks: frozenset[str] | None
    notes: str = ""


class Joined(NamedTuple):
    """Claims with their marks.

    Attributes:
        records: all claims; `marks` is None where there is no annotation.
        unannotated: claims of the results for which the annotations have no row.
        unknown: rows of the annotations whose claim is not in the results.
    """

    records: tuple[ClaimRecord, ...]
    unannotated: int
    unknown: int


def read_annotations(path: str | Path, duplicates: Duplicates = "refuse") -> Read[ClaimAnnotation]:
    """Return the marks in a CSV file; a second row on the same claim is a fault (`simulator.duplicates`).

    Raises:
        InputError: if the file cannot be read at all, or has no columns ``claim`` and ``annotation``.
    """
    read_text(path)  # in another encoding it is refused whole: claims are joined by their exact text
    read = read_table(path, _COLUMNS).read(_annotation, lambda record: record.text("claim")[:40])
    message = "claim is that of an earlier row"
    return told_once(path, read, lambda each: (each.claim[:40], each.claim), duplicates, message=message)


def join(records: Sequence[ClaimRecord], annotations: Iterable[ClaimAnnotation]) -> Joined:
    """Return claims with the marks of the annotation that has exactly their text."""
    marked = {annotation.claim: annotation for annotation in annotations}
    known = {record.claim for record in records}
    return Joined(
        tuple(
            replace(record, marks=annotation.marks, notes=annotation.notes) if annotation else record
            for record in records
            for annotation in [marked.get(record.claim)]
        ),
        unannotated=sum(record.claim not in marked for record in records),
        unknown=sum(claim not in known for claim in marked),
    )


def _annotation(row: Row, record: Record) -> ClaimAnnotation:
    claim, written = record.cells["claim"], record.cells["annotation"]
    if not claim.strip():
        raise FieldError("claim is empty")
    marks = written.translate(_SEPARATORS).lower()
    if wrong := sorted(set(marks) - {AMBIGUITY, FACTUALITY}):
        raise FieldError(
            f"annotation is {written!r}, not {AMBIGUITY} (ambiguity), {FACTUALITY} (factuality) "
            f"or both ({wrong[0]!r} is neither)"
        )
    return ClaimAnnotation(claim, frozenset(marks) or None, record.cells.get("notes", ""))


CLAIMS: Final = TableSpec[ClaimRecord](
    name="claims",
    title="claims with paraphrases",
    is_of=has("example_id", "claim", "paraphrases"),
    parse=_CLAIM_RECORDS.read_row,
    key=lambda record: (record.id, ""),
    id="example_id",
    twice="example_id is that of an earlier row",
    line=lambda record: json.dumps(
        {**_CLAIM_RECORDS.write(record), "ambiguity_score": score(record)}, ensure_ascii=False
    ),
)
CLAIM_ANNOTATIONS: Final = TableSpec[ClaimAnnotation](
    name="claim_annotations",
    title="marks of claims",
    is_of=lambda header: _COLUMNS.hold(header, *_COLUMNS.needed),
    csv=True,
    reader=read_annotations,
)
