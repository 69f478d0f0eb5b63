"""Published result files of the three tests of language models, read and written (spec 11).

What varies between the published files is taken as it comes: ids are numbers or texts, predictions booleans,
1.0 and 0.0, or null; rewrites may be null, estimates null or NaN, prompts a text or a chat's messages, and
the probability of the two words may be missing. Anything else that is not as it should be is a fault with its
line and field, and the other rows are kept.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from simulator.ambient.edit_f1 import item_edit_f1
from simulator.ambient.files.shares import share
from simulator.ambient.generation import TOLERANCE, rewrites_of
from simulator.ambient.labels import SIDES, Label, parse_label
from simulator.ambient.records import (
    ContinuationOption,
    ContinuationRecord,
    GenerationRecord,
    TrueFalseRecord,
)
from simulator.ambient.true_false import TEMPLATES, expected
from simulator.jsonlines import Row
from simulator.tables.spec import TableSpec, has

DISTRACTOR: Final = "d"
_SLACK: Final = 1e-6  # by which two probabilities of single precision may exceed 1 together


def _generation(row: Row) -> GenerationRecord:
    flagged = [side for side in SIDES if row.flag(f"{side}_ambiguous")]
    if len(flagged) != 1:
        raise row.wrong("premise_ambiguous", "and hypothesis_ambiguous: exactly one should be true")
    gold = row.object("gold_rewrites")
    if not gold.data:
        raise row.wrong("gold_rewrites", "is empty")
    return GenerationRecord(
        id=row.key("id"),
        premise=row.text("premise"),
        hypothesis=row.text("hypothesis"),
        side=flagged[0],
        prompt=_prompt(row),
        generation=row.text("generation", empty=True),
        gold={label: gold.text(label) for label in _labels(row, gold)},
        stored_rewrites=_stored(row),
        stored_edit_f1=row.number_or_none("edit_f1"),
    )


def _stored(row: Row) -> dict[Label, str | None] | None:
    if row.get("predicted_rewrites") is None:
        return None
    stored = row.object("predicted_rewrites")
    return {label: _text_or_none(stored, label) for label in _labels(row, stored)}


def _labels(row: Row, rewrites: Row) -> list[Label]:
    return [row.parsed(rewrites.where.rstrip("."), parse_label, name) for name in rewrites.data]


def _text_or_none(row: Row, name: str) -> str | None:
    return None if row.get(name) is None else row.text(name, empty=True)


def _prompt(row: Row) -> str:
    """Return a prompt, which need not be there; of a chat, its messages with an empty line between them."""
    value = row.get("prompt")
    if isinstance(value, list):
        return "\n\n".join(message.text("content", empty=True) for message in row.rows("prompt"))
    return "" if value is None else row.text("prompt", empty=True)


def _true_false(row: Row) -> TrueFalseRecord:
    template = row.whole("template_id")
    if not 0 <= template < len(TEMPLATES):
        raise row.wrong("template_id", f"is {template}, not 0 to {len(TEMPLATES) - 1}")
    answer = row.flag("answer")
    if answer != expected(template):
        raise row.wrong("answer", f"is {json.dumps(answer)}; that of template {template} is the other")
    return TrueFalseRecord(
        id=row.key("example_id"),
        side=row.one_of("ambiguous_sentence_key", SIDES),
        disambiguation=row.text("disambiguation"),
        template=template,
        prediction=_prediction(row),
        answer=answer,
        mass=_mass(row),
        prompt=_prompt(row),
    )


def _mass(row: Row) -> float | None:
    known = row.number_or_none("TF_prob_mass") is not None
    return share(row, "TF_prob_mass", slack=_SLACK) if known else None


def _prediction(row: Row) -> bool | None:
    """True for true and 1.0, False for false and 0.0, None for null and NaN."""
    if "prediction" not in row.data:
        raise row.wrong("prediction", "is missing")
    value = row.get("prediction")
    if value is None or value != value:
        return None
    if value not in (True, False):
        raise row.wrong("prediction", f"is {json.dumps(value)}, not true, false, 1.0, 0.0 or null")
    return bool(value)


def _continuation(row: Row) -> ContinuationRecord:
    options = row.object("options")
    names = [*(f"y{place}" for place in range(len(options.data) - 1)), DISTRACTOR]
    if len(names) < 2 or options.data.keys() != set(names):
        called = ", ".join(options.data) or "nothing"
        problem = f"should be a distractor, {DISTRACTOR}, and rewrites, y0, y1, …, not {called}"
        raise row.wrong("options", problem)
    return ContinuationRecord(
        id=row.key("id"),
        sentence=row.text("ambiguous_sentence"),
        options=tuple(_option(options, name) for name in names),
        num_conts=_count(row),
    )


def _option(options: Row, name: str) -> ContinuationOption:
    option = options.object(name)
    return ContinuationOption(name, _text_or_none(option, "sentence") or "", option.number_or_none("KL_div"))


def _count(row: Row) -> int:
    number = row.number_or_none("num_conts") or 0
    if number < 0 or number != int(number):
        raise row.wrong("num_conts", f"is {number:g}, not a number of continuations")
    return int(number)


def _generation_row(record: GenerationRecord) -> dict[str, object]:
    """Return a row whose rewrites and score are computed from what was generated.

    What a file has stored stays as it is where it says the same: null for a rewrite that there is none of,
    and the digits of the score.
    """
    rewrites = rewrites_of(record)
    return {
        "id": _id(record.id),
        "premise": record.premise,
        "hypothesis": record.hypothesis,
        **{f"{side}_ambiguous": side == record.side for side in SIDES},
        "prompt": record.prompt,
        "generation": record.generation,
        "gold_rewrites": dict(record.gold),
        "predicted_rewrites": _predicted(record, rewrites),
        "edit_f1": _score(record, rewrites),
    }


def _predicted(record: GenerationRecord, rewrites: Mapping[Label, str]) -> dict[Label, str | None]:
    """Return the rewrites in the order in which they are stored, with those that are stored as null."""
    stored = record.stored_rewrites or {}
    nulls = {label for label, text in stored.items() if text is None}
    labels = dict.fromkeys((*stored, *rewrites))
    return {label: rewrites.get(label) for label in labels if label in rewrites or label in nulls}


def _score(record: GenerationRecord, rewrites: Mapping[Label, str]) -> float:
    score, stored = item_edit_f1(record.original, record.gold, rewrites), record.stored_edit_f1
    return score if stored is None or abs(stored - score) > TOLERANCE else stored


def _true_false_row(record: TrueFalseRecord) -> dict[str, object]:
    mass = {} if record.mass is None else {"TF_prob_mass": record.mass}
    return {
        "example_id": _id(record.id),
        "template_id": record.template,
        "prompt": record.prompt,
        "prediction": record.prediction,
        "answer": record.answer,
        **mass,
        "ambiguous_sentence_key": record.side,
        "disambiguation": record.disambiguation,
    }


def _continuation_row(record: ContinuationRecord) -> dict[str, object]:
    options = {option.name: {"sentence": option.sentence, "KL_div": option.kl} for option in record.options}
    return {
        "id": _id(record.id),
        "ambiguous_sentence": record.sentence,
        "options": options,
        "num_conts": record.num_conts,
    }


def _id(text: str) -> str | int:
    """As published: the ids of generated examples are numbers."""
    return int(text) if text.isdecimal() and str(int(text)) == text else text


def _line(record: Mapping[str, object]) -> str:
    """Return a line as published: ASCII, no blanks between fields, slashes escaped."""
    return json.dumps(record, separators=(",", ":"), allow_nan=False).replace("/", r"\/")


GENERATION: Final = TableSpec[GenerationRecord](
    name="generation",
    title="generated disambiguations",
    is_of=has("generation", "gold_rewrites"),
    parse=_generation,
    key=lambda record: (record.id, repr(record)),
    line=lambda record: _line(_generation_row(record)),
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
    line=lambda record: _line(_true_false_row(record)),
)
"""``TF_evaluation/{model}.jsonl``."""
CONTINUATIONS: Final = TableSpec[ContinuationRecord](
    name="continuation",
    title="continuations",
    is_of=has("ambiguous_sentence", "options"),
    parse=_continuation,
    key=lambda record: (record.id, repr(record)),
    line=lambda record: _line(_continuation_row(record)),
)
"""``continuation_evaluation/{model}/results.jsonl``."""
