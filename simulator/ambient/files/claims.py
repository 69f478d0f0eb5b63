"""Files of claims: results with paraphrases and scores, and what annotators marked (spec 10).

``results.jsonl`` has ``example_id, label, url, annotations, claim, person, venue, justification,
cleaned_claim, ambiguity_score, paraphrases`` (pairs of text and score); ``dev-annotations.csv`` has
``claim, justification, annotation, notes, label, url``. They are joined on the exact text of the claim.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, NamedTuple

from simulator.ambient.claims import AMBIGUITY, FACTUALITY, score
from simulator.ambient.files.shares import share
from simulator.ambient.records import ClaimRecord, Paraphrase
from simulator.duplicates import Duplicates, told_once
from simulator.jsonlines import FieldError, Read, Row
from simulator.tables.cells import Columns, read_table
from simulator.tables.records import read_text
from simulator.tables.spec import TableSpec, has

_SEPARATORS: Final = str.maketrans("", "", " ,;/&+")
_COLUMNS: Final = Columns(("claim", "annotation"), ("claim", "annotation"))


@dataclass(frozen=True, slots=True)
class ClaimAnnotation:
    """What a fact-check complains about, as somebody marked it.

    Attributes:
        marks: ``a`` (ambiguity), ``f`` (factuality); None if the cell is empty.
    """

    claim: str
    marks: frozenset[str] | None
    notes: str = ""
    justification: str = ""
    rating: str = ""
    url: str = ""


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
    """Return the marks in a CSV file; a second row on the same claim is a fault.

    Args:
        path: the file.
        duplicates: see `simulator.duplicates`.

    Raises:
        InputError: if the file cannot be read at all, or has no columns ``claim`` and ``annotation``.
    """
    read_text(path)  # in another encoding it is refused whole: claims are joined by their exact text
    table = read_table(path, _COLUMNS)
    read = table.read(lambda row, record: _annotation(record.cells), lambda record: record.text("claim")[:40])
    message = "claim is that of an earlier row"
    return told_once(path, read, lambda one: (one.claim[:40], one.claim), duplicates, message=message)


def join(records: Sequence[ClaimRecord], annotations: Iterable[ClaimAnnotation]) -> Joined:
    """Claims with the marks of the annotation that has exactly their text."""
    marked = {annotation.claim: annotation for annotation in annotations}
    known = {record.claim for record in records}
    return Joined(
        tuple(
            replace(record, marks=found.marks, notes=found.notes) if found else record
            for record in records
            for found in [marked.get(record.claim)]
        ),
        unannotated=sum(record.claim not in marked for record in records),
        unknown=sum(claim not in known for claim in marked),
    )


def _record(row: Row) -> ClaimRecord:
    return ClaimRecord(
        id=row.key("example_id"),
        claim=row.text("claim"),
        cleaned=row.text("cleaned_claim"),
        paraphrases=tuple(
            _paraphrase(row, value, place) for place, value in enumerate(row.list("paraphrases"))
        ),
        justification=_said(row, "justification"),
        rating=_said(row, "label"),
        person=_said(row, "person"),
        venue=_said(row, "venue"),
        url=_said(row, "url"),
        annotations=_kept(row, "annotations"),
        stored_score=row.number_or_none("ambiguity_score"),
    )


def _paraphrase(row: Row, value: Any, place: int) -> Paraphrase:
    name = f"paraphrases[{place}]"
    if not isinstance(value, list) or len(value) != 2:
        raise row.wrong(name, "is not a pair of text and score")
    inner = Row({"text": value[0], "score": value[1]}, f"{name}.")
    return Paraphrase(inner.text("text"), share(inner, "score"))


def _said(row: Row, name: str) -> str:
    """Return a text that may be missing; justifications are lists of sentences in some files."""
    value = row.get(name)
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return " ".join(value)
    return row.text(name, empty=True) if value is not None else ""


def _kept(row: Row, name: str) -> Any:
    """Whatever a field holds, as long as it can be written again."""
    try:
        json.dumps(row.get(name), allow_nan=False)
    except ValueError as error:
        raise row.wrong(name, "holds a number that is not finite") from error
    return row.get(name)


def _plain(record: ClaimRecord) -> dict[str, Any]:
    annotations = {} if record.annotations is None else {"annotations": record.annotations}
    return {
        "example_id": record.id,
        "label": record.rating,
        "url": record.url,
        **annotations,
        "claim": record.claim,
        "person": record.person,
        "venue": record.venue,
        "justification": record.justification,
        "cleaned_claim": record.cleaned,
        "ambiguity_score": score(record),
        "paraphrases": [[paraphrase.text, paraphrase.score] for paraphrase in record.paraphrases],
    }


def _annotation(cells: Mapping[str, str]) -> ClaimAnnotation:
    claim = cells.get("claim") or ""
    if not claim.strip():
        raise FieldError("claim is empty")
    said = (cells.get("annotation") or "").translate(_SEPARATORS).lower()
    if wrong := sorted(set(said) - {AMBIGUITY, FACTUALITY}):
        raise FieldError(
            f"annotation is {cells['annotation']!r}, not {AMBIGUITY} (ambiguity), {FACTUALITY} (factuality) "
            f"or both ({wrong[0]!r} is neither)"
        )
    return ClaimAnnotation(
        claim=claim,
        marks=frozenset(said) or None,
        notes=cells.get("notes") or "",
        justification=cells.get("justification") or "",
        rating=cells.get("label") or "",
        url=cells.get("url") or "",
    )


CLAIMS: Final = TableSpec[ClaimRecord](
    name="claims",
    title="claims with paraphrases",
    is_of=has("example_id", "claim", "paraphrases"),
    parse=_record,
    key=lambda record: (record.id, ""),
    id="example_id",
    twice="example_id is that of an earlier row",
    line=lambda record: json.dumps(_plain(record), ensure_ascii=False),
)
CLAIM_ANNOTATIONS: Final = TableSpec[ClaimAnnotation](
    name="claim_annotations",
    title="marks of claims",
    is_of=lambda header: _COLUMNS.hold(header, *_COLUMNS.needed),
    csv=True,
    reader=read_annotations,
)
