"""Published files of answers: models' (spec 11), EDIT-F1 cases, people's (3, 5.2), claims (10).

Known variants of the published files are accepted: ids are numbers or texts; predictions booleans, 1.0, 0.0
or null; rewrites may be null, estimates null or NaN, prompts a text or a chat's messages, and the
probability of the two words may be missing. Any other deviation is a fault with line and field, and the
other rows are kept.

Judgments of models' rewrites have the format of crowdworkers' votes (6.5): a field ``origin`` names the
model, there are no votes on the original pair, and any number of candidates may be distractors;
``distractor_idx`` is null unless there is exactly one. Our files of linguists may have an additional field
``discarded``: who discarded the example -> reason. These are not among the row's annotators, which may be
empty.

Claims are rows of ``results.jsonl``; annotators' marks are in ``dev-annotations.csv`` (``claim,
justification, annotation, notes, label, url``). They are joined on the exact text of the claim.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple, Self

from pydantic import BaseModel, model_validator

from simulator.ambient.claims import AMBIGUITY, FACTUALITY, score
from simulator.ambient.examples import published_id
from simulator.ambient.generation import TOLERANCE, edit_f1, item_edit_f1, rewrites_of
from simulator.ambient.labels import Label, Side
from simulator.ambient.records import (
    ClaimRecord,
    ContinuationRecord,
    CrowdRecord,
    GenerationRecord,
    LinguistRecord,
    TrueFalseRecord,
)
from simulator.ambient.true_false import TEMPLATES, right_answer
from simulator.fields import Finite, FiniteOrNone, Flag, Key, NonBlank, OptionalText, of_length
from simulator.jsonlines import Codec, Duplicates, FieldError, Read, Row, report_duplicates
from simulator.tables.cells import Columns, Record, read_table
from simulator.tables.records import read_text
from simulator.tables.spec import TableSpec, has


def _line(record: Mapping[str, Any]) -> str:
    """Return a line in the published format: ASCII, no blanks between fields, escaped slashes."""
    return json.dumps(record, separators=(",", ":"), allow_nan=False).replace("/", r"\/")


def _generation_line(record: GenerationRecord) -> str:
    """Return a row with rewrites and score recomputed from the generated text.

    Equivalent stored values are kept: null for a missing rewrite, and the digits of an equal score.
    """
    rewrites = rewrites_of(record)
    score, stored = item_edit_f1(record.original, record.gold, rewrites), record.stored_edit_f1
    return _line(
        {
            **_GENERATIONS.write(record),
            "predicted_rewrites": _predicted_rewrites(record, rewrites),
            "edit_f1": score if stored is None or abs(stored - score) > TOLERANCE else stored,
        }
    )


def _predicted_rewrites(record: GenerationRecord, rewrites: Mapping[Label, str]) -> dict[Label, str | None]:
    """Return the rewrites in their stored order, including those stored as null."""
    stored = record.stored_rewrites or {}
    nulls = {label for label, text in stored.items() if text is None}
    labels = dict.fromkeys((*stored, *rewrites))
    return {label: rewrites.get(label) for label in labels if label in rewrites or label in nulls}


def _true_false(row: Row) -> TrueFalseRecord:
    record = _STATEMENTS.read_row(row)
    if not 0 <= record.template < len(TEMPLATES):
        raise row.error("template_id", f"is {record.template}, not 0 to {len(TEMPLATES) - 1}")
    if record.answer != right_answer(record.template):
        answer = json.dumps(record.answer)
        raise row.error("answer", f"is {answer}; template {record.template} has the other answer")
    return record


@dataclass(frozen=True, slots=True)
class EditCase:
    """A test case of EDIT-F1, as a fraction (spec 6.4)."""

    original: str
    gold: str
    predicted: str
    edit_f1: Finite


def _edit_case(row: Row) -> EditCase:
    """Return a case, checking its score."""
    case = _CASES.read_row(row)
    computed = edit_f1(case.original, case.gold, case.predicted)
    if abs(computed - case.edit_f1) > TOLERANCE:
        raise row.error("edit_f1", f"is {case.edit_f1:g}, but recomputed as {computed:g}")
    return case


_GENERATIONS: Final = Codec[GenerationRecord](GenerationRecord)
_STATEMENTS: Final = Codec[TrueFalseRecord](TrueFalseRecord)
_INSTANCES: Final = Codec[ContinuationRecord](ContinuationRecord)
_CASES: Final = Codec[EditCase](EditCase)
GENERATION: Final = TableSpec[GenerationRecord](
    name="generation",
    title="generated disambiguations",
    matches=has("generation", "gold_rewrites"),
    parse=_GENERATIONS.read_row,
    key=lambda record: (record.id, repr(record)),
    line=_generation_line,
)
"""``generative_evaluation/{model}-n4.jsonl``."""
TRUE_FALSE: Final = TableSpec[TrueFalseRecord](
    name="true_false",
    title="statements judged true or false",
    matches=has("template_id", "prediction", "ambiguous_sentence_key"),
    parse=_true_false,
    # A repeated statement is a duplicate even if the answers differ.
    key=lambda record: (record.id, (record.side, record.disambiguation, record.template)),
    id="example_id",
    line=lambda record: _line(_STATEMENTS.write(record)),
)
"""``TF_evaluation/{model}.jsonl``."""
CONTINUATIONS: Final = TableSpec[ContinuationRecord](
    name="continuation",
    title="continuations",
    matches=has("ambiguous_sentence", "options"),
    parse=_INSTANCES.read_row,
    key=lambda record: (record.id, repr(record)),
    line=lambda record: _line(_INSTANCES.write(record)),
)
"""``continuation_evaluation/{model}/results.jsonl``."""
EDIT_F1_CASES: Final = TableSpec[EditCase](
    name="edit_f1_cases",
    title="cases of EDIT-F1",
    matches=has("original", "gold", "predicted", "edit_f1"),
    parse=_edit_case,
    id="original",
    repeats=False,
)
"""A JSON list of cases."""


CANDIDATES: Final = 3


class CrowdRow(BaseModel, frozen=True):
    """A row of crowdworkers' votes; entry w of each list of votes is worker w's.

    `distractor_idx` agrees with `labels`, where null marks the distractor; ``q0_gold`` has the votes on the
    original pair; `origin` names the model that wrote the candidates.
    """

    id: Key
    premise: NonBlank
    hypothesis: NonBlank
    ambiguous_sent: Side
    distractor_idx: FiniteOrNone = None
    labels: Annotated[tuple[Label | None, ...], of_length(CANDIDATES)]
    interpretations: Annotated[tuple[NonBlank, ...], of_length(CANDIDATES)]
    q0_gold: tuple[Label, ...]
    q1_gold: tuple[Label, ...]
    q2_gold: tuple[Label, ...]
    q3_gold: tuple[Label, ...]
    d1_gold: tuple[Flag, ...]
    d2_gold: tuple[Flag, ...]
    d3_gold: tuple[Flag, ...]
    origin: OptionalText = ""

    @model_validator(mode="after")
    def _distractor_is_marked(self) -> Self:
        places = [place for place, label in enumerate(self.labels) if label is None]
        if len(places) > 1 and not self.origin:
            raise ValueError(f"labels has {len(places)} distractors (null); there is at most one")
        if self.distractor_idx != (places[0] if len(places) == 1 else None):
            index = "null" if self.distractor_idx is None else f"{self.distractor_idx:g}"
            marked = f"labels is null at {', '.join(map(str, places))}"
            raise ValueError(f"distractor_idx is {index}, but {marked if places else 'no label is null'}")
        return self

    @model_validator(mode="after")
    def _require_same_workers(self) -> Self:
        votes = {name: getattr(self, name) for name in type(self).model_fields if name.endswith("_gold")}
        if self.origin and not self.q0_gold:
            del votes["q0_gold"]
        first = next(iter(votes))
        for name, workers in votes.items():
            if not workers:
                raise ValueError(f"{name} contains no votes")
            if len(workers) != len(votes[first]):
                raise ValueError(f"{name} has {len(workers)} votes, but {first} has {len(votes[first])}")
        return self

    def record(self) -> CrowdRecord:
        """Return the votes on the candidates."""
        return CrowdRecord(
            id=self.id,
            premise=self.premise,
            hypothesis=self.hypothesis,
            side=self.ambiguous_sent,
            interpretations=self.interpretations,
            labels=self.labels,
            original=self.q0_gold,
            relabelled=(self.q1_gold, self.q2_gold, self.q3_gold),
            plausible=(self.d1_gold, self.d2_gold, self.d3_gold),
            origin=self.origin,
        )


FIELDS: Final = tuple(name for name in CrowdRow.model_fields if name != "origin")
"""The fields of every row, in order."""
_CROWD_ROWS: Final = Codec[CrowdRow](CrowdRow)
_LINGUIST_RECORDS: Final = Codec[LinguistRecord](LinguistRecord)


def crowd_line(record: CrowdRecord) -> str:
    """Return a line in the published format: ASCII JSON without blanks."""
    values: tuple[Any, ...] = (
        published_id(record.id),
        record.premise,
        record.hypothesis,
        record.side,
        None if record.distractor is None else float(record.distractor),
        record.labels,
        record.interpretations,
        record.original,
        *record.relabelled,
        *record.plausible,
    )
    data = dict(zip(FIELDS, values, strict=True)) | ({"origin": record.origin} if record.origin else {})
    return json.dumps(data, separators=(",", ":"))


def _linguist_record(row: Row) -> LinguistRecord:
    record = _LINGUIST_RECORDS.read_row(row)
    if len(record.annotations) != len(record.workers):
        raise row.error("annotations", f"has {len(record.annotations)} entries, not {len(record.workers)}")
    if not record.annotations and not record.discarded:
        raise row.error("annotations", "is empty")
    return record


CROWD: Final = TableSpec[CrowdRecord](
    name="crowd",
    title="crowdworkers' annotations",
    matches=has("interpretations", "q1_gold"),
    parse=lambda row: _CROWD_ROWS.read_row(row).record(),
    # An id may occur several times (spec 5.2).
    key=lambda record: (record.id, repr(record)),
    line=crowd_line,
)
LINGUISTS: Final = TableSpec[LinguistRecord](
    name="linguists",
    title="linguists' annotations",
    matches=has("worker_ids", "annotations"),
    parse=_linguist_record,
    key=lambda record: (record.id, repr(record)),
    line=lambda record: json.dumps(_LINGUIST_RECORDS.write(record), separators=(",", ":")),
)


_SEPARATORS: Final = str.maketrans("", "", " ,;/&+")
_COLUMNS: Final = Columns(("claim", "annotation"), ("claim", "annotation"))
_CLAIM_RECORDS: Final = Codec[ClaimRecord](ClaimRecord)


@dataclass(frozen=True, slots=True)
class ClaimAnnotation:
    """The marked complaints of a claim's fact-check; None if the cell is empty."""

    claim: str
    marks: frozenset[str] | None
    notes: str = ""


class Joined(NamedTuple):
    """Claims with their marks; the number of claims without annotation, and of annotations without claim."""

    records: tuple[ClaimRecord, ...]
    unannotated: int
    unknown: int


def read_annotations(path: str | Path, duplicates: Duplicates = "refuse") -> Read[ClaimAnnotation]:
    """Return the marks in a CSV file; a second row on the same claim is a fault (`simulator.jsonlines`).

    Raises:
        InputError: if the file cannot be read or has no columns ``claim`` and ``annotation``.
    """
    read_text(path)  # raises for other encodings, since claims are joined by their exact text
    read = read_table(path, _COLUMNS).read(_annotation, lambda record: record.text("claim")[:40])
    message = "claim is the same as in an earlier row"
    return report_duplicates(
        path, read, lambda each: (each.claim[:40], each.claim), duplicates, message=message
    )


def join(records: Sequence[ClaimRecord], annotations: Iterable[ClaimAnnotation]) -> Joined:
    """Return claims with the marks of the annotation that has exactly their text."""
    by_claim = {annotation.claim: annotation for annotation in annotations}
    claims = {record.claim for record in records}
    return Joined(
        tuple(
            replace(record, marks=annotation.marks, notes=annotation.notes) if annotation else record
            for record in records
            for annotation in [by_claim.get(record.claim)]
        ),
        unannotated=sum(record.claim not in by_claim for record in records),
        unknown=sum(claim not in claims for claim in by_claim),
    )


def _annotation(row: Row, record: Record) -> ClaimAnnotation:
    claim, cell = record.cells["claim"], record.cells["annotation"]
    if not claim.strip():
        raise FieldError("claim is empty")
    marks = cell.translate(_SEPARATORS).lower()
    if wrong := sorted(set(marks) - {AMBIGUITY, FACTUALITY}):
        raise FieldError(
            f"annotation is {cell!r}, not {AMBIGUITY} (ambiguity), {FACTUALITY} (factuality) "
            f"or both ({wrong[0]!r} is neither)"
        )
    return ClaimAnnotation(claim, frozenset(marks) or None, record.cells.get("notes", ""))


CLAIMS: Final = TableSpec[ClaimRecord](
    name="claims",
    title="claims with paraphrases",
    matches=has("example_id", "claim", "paraphrases"),
    parse=_CLAIM_RECORDS.read_row,
    key=lambda record: (record.id, ""),
    id="example_id",
    repeat_message="example_id is the same as in an earlier row",
    line=lambda record: json.dumps(
        {**_CLAIM_RECORDS.write(record), "ambiguity_score": score(record.paraphrases)}, ensure_ascii=False
    ),
)
CLAIM_ANNOTATIONS: Final = TableSpec[ClaimAnnotation](
    name="claim_annotations",
    title="marks of claims",
    matches=lambda header: _COLUMNS.has(header, *_COLUMNS.needed),
    csv=True,
    reader=read_annotations,
)
