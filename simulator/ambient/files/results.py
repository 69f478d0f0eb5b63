"""Published result files of the three tests of language models, read and written (spec 11), and of EDIT-F1.

What varies between the published files is taken as it comes: ids are numbers or texts, predictions booleans,
1.0 and 0.0, or null; rewrites may be null, estimates null or NaN, prompts a text or a chat's messages, and
the probability of the two words may be missing. Anything else that is not as it should be is a fault with its
line and field, and the other rows are kept.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, Self

from pydantic import AfterValidator, BaseModel, model_validator

from simulator.ambient.edit_f1 import edit_f1, item_edit_f1
from simulator.ambient.examples import PublishedKey, published_id
from simulator.ambient.generation import TOLERANCE, rewrites_of
from simulator.ambient.labels import SIDES, Label, parse_label
from simulator.ambient.records import ContinuationRecord, GenerationRecord, Prompt, TrueFalseRecord
from simulator.ambient.true_false import TEMPLATES, expected
from simulator.codecs import Codec
from simulator.fields import Finite, FiniteOrNone, Flag, Said, must, reading
from simulator.jsonlines import Row
from simulator.tables.spec import TableSpec, has


def _line(record: Mapping[str, Any]) -> str:
    """Return a line as published: ASCII, no blanks between fields, slashes escaped."""
    return json.dumps(record, separators=(",", ":"), allow_nan=False).replace("/", r"\/")


def _by_label(rewrites: Mapping[str, Any]) -> Mapping[Any, Any]:
    return {reading(parse_label)(name): text for name, text in rewrites.items()}


class GenerationRow(BaseModel, frozen=True):
    """A row of ``generative_evaluation/{model}-n4.jsonl``."""

    id: PublishedKey
    premise: Said
    hypothesis: Said
    premise_ambiguous: Flag
    hypothesis_ambiguous: Flag
    prompt: Prompt = ""
    generation: str
    gold_rewrites: Annotated[Mapping[str, Said], must(bool, "is empty"), AfterValidator(_by_label)]
    predicted_rewrites: Annotated[Mapping[str, str | None], AfterValidator(_by_label)] | None = None
    edit_f1: FiniteOrNone = None

    @model_validator(mode="after")
    def _one_side_is_ambiguous(self) -> Self:
        if self.premise_ambiguous == self.hypothesis_ambiguous:
            raise ValueError("premise_ambiguous and hypothesis_ambiguous: exactly one should be true")
        return self

    def record(self) -> GenerationRecord:
        """Return what the model wrote, and what the file says of it."""
        return GenerationRecord(
            id=self.id,
            premise=self.premise,
            hypothesis=self.hypothesis,
            side="premise" if self.premise_ambiguous else "hypothesis",
            prompt=self.prompt,
            generation=self.generation,
            gold=self.gold_rewrites,  # type: ignore[arg-type]
            stored_rewrites=self.predicted_rewrites,  # type: ignore[arg-type]
            stored_edit_f1=self.edit_f1,
        )


def _generation_line(record: GenerationRecord) -> str:
    """Return a row whose rewrites and score are computed from what was generated.

    What a file has stored stays as it is where it says the same: null for a rewrite that there is none of,
    and the digits of the score.
    """
    rewrites = rewrites_of(record)
    score, stored = item_edit_f1(record.original, record.gold, rewrites), record.stored_edit_f1
    return _line(
        {
            "id": published_id(record.id),
            "premise": record.premise,
            "hypothesis": record.hypothesis,
            **{f"{side}_ambiguous": side == record.side for side in SIDES},
            "prompt": record.prompt,
            "generation": record.generation,
            "gold_rewrites": dict(record.gold),
            "predicted_rewrites": _predicted(record, rewrites),
            "edit_f1": score if stored is None or abs(stored - score) > TOLERANCE else stored,
        }
    )


def _predicted(record: GenerationRecord, rewrites: Mapping[Label, str]) -> dict[Label, str | None]:
    """Return the rewrites in the order in which they are stored, with those that are stored as null."""
    stored = record.stored_rewrites or {}
    nulls = {label for label, text in stored.items() if text is None}
    labels = dict.fromkeys((*stored, *rewrites))
    return {label: rewrites.get(label) for label in labels if label in rewrites or label in nulls}


def _true_false(row: Row) -> TrueFalseRecord:
    record = _STATEMENTS.read_row(row)
    if not 0 <= record.template < len(TEMPLATES):
        raise row.wrong("template_id", f"is {record.template}, not 0 to {len(TEMPLATES) - 1}")
    if record.answer != expected(record.template):
        answer = json.dumps(record.answer)
        raise row.wrong("answer", f"is {answer}; that of template {record.template} is the other")
    return record


@dataclass(frozen=True, slots=True)
class EditCase:
    """A unit case of EDIT-F1, a fraction (spec 6.4)."""

    original: str
    gold: str
    predicted: str
    edit_f1: Finite


def _edit_case(row: Row) -> EditCase:
    """Return a case that comes out as it says."""
    case = _CASES.read_row(row)
    computed = edit_f1(case.original, case.gold, case.predicted)
    if abs(computed - case.edit_f1) > TOLERANCE:
        raise row.wrong("edit_f1", f"is {case.edit_f1:g}, but comes out as {computed:g}")
    return case


_GENERATIONS: Final = Codec[GenerationRow](GenerationRow)
_STATEMENTS: Final = Codec[TrueFalseRecord](TrueFalseRecord)
_INSTANCES: Final = Codec[ContinuationRecord](ContinuationRecord)
_CASES: Final = Codec[EditCase](EditCase)
GENERATION: Final = TableSpec[GenerationRecord](
    name="generation",
    title="generated disambiguations",
    is_of=has("generation", "gold_rewrites"),
    parse=lambda row: _GENERATIONS.read_row(row).record(),
    key=lambda record: (record.id, repr(record)),
    line=_generation_line,
)
"""``generative_evaluation/{model}-n4.jsonl``."""
TRUE_FALSE: Final = TableSpec[TrueFalseRecord](
    name="true_false",
    title="statements judged true or false",
    is_of=has("template_id", "prediction", "ambiguous_sentence_key"),
    parse=_true_false,
    # A statement that was told before is a duplicate, whatever was answered.
    key=lambda record: (record.id, (record.side, record.disambiguation, record.template)),
    id="example_id",
    line=lambda record: _line(_STATEMENTS.write(record)),
)
"""``TF_evaluation/{model}.jsonl``."""
CONTINUATIONS: Final = TableSpec[ContinuationRecord](
    name="continuation",
    title="continuations",
    is_of=has("ambiguous_sentence", "options"),
    parse=_INSTANCES.read_row,
    key=lambda record: (record.id, repr(record)),
    line=lambda record: _line(_INSTANCES.write(record)),
)
"""``continuation_evaluation/{model}/results.jsonl``."""
EDIT_F1_CASES: Final = TableSpec[EditCase](
    name="edit_f1_cases",
    title="cases of EDIT-F1",
    is_of=has("original", "gold", "predicted", "edit_f1"),
    parse=_edit_case,
    id="original",
    repeats=False,
)
"""A JSON list of cases."""
