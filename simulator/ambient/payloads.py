"""The payload of each kind of turn: the log's format, from which `trial_log` makes records.

============== =====================================================================================
kind           payload, in addition to ``kind`` and ``shown``
============== =====================================================================================
qualification  ``number``, ``answer``, ``gold``, ``correct``
label          ``answer``
plausible      ``answers``: true or false per candidate, in the order shown
relabel        ``answers``: a label per candidate; ``comment``
annotate       ``discard``, ``labels``, ``rewrites`` of ``{premise, hypothesis, label}``, ``comment``
true_false     ``number``, ``rewrite``, ``template``, ``prediction`` (null if unreadable),
               ``answer`` (the right one), ``mass``, ``scores``
generate       ``prompt_hash``, ``rewrites`` and ``robust`` (label -> text), ``warnings``
continue       ``option``, ``sentence``, ``continuations``, ``own``, ``original``, ``tokens``
nli            ``pair`` (0 is the original), ``prediction``, ``logits``, ``threshold``
paraphrase     ``texts`` as written, the distinct ones ``kept``
claim          ``paraphrases`` of ``{text, probabilities, score}``, ``score``, ``flagged``
============== =====================================================================================

People's turns also have ``person`` (true), ``private`` (fields removed when they are erased, see
`logs.erase`), ``shown_at`` and ``keys_used``; models' turns have ``decoding`` if a model was called.

If a model aborts an episode, its missing answers count as empty (`fill_missing_answers`) and the episode as
unsuccessful (`simulator.runner.logged`). Judgment tasks have no success: an annotator who aborts has given no
judgment and does not count as an annotator.

Forms are validated in the same way for people and models. An invalid form is a `SeatError` whose code pages
translate::

    over            the episode is over
    label           no label, or an unknown one
    plausible       not exactly one answer, true or false, per candidate
    relabel         not exactly one label per pair
    true_false      neither true nor false
    annotation      a linguist's form breaks rules: `FormError.problems` names them
    too_long        the text exceeds the limit
    malformed       the page's reply is not its form
    screened_out    too few right answers in the qualification
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any, Final

from logs.rows import Episode, Turn
from simulator.ambient.annotation.rules import (
    Annotation,
    Problem,
    check_annotation,
    describe,
    read_annotation,
)
from simulator.ambient.items import ContinueItem, GenerateItem, Item, TrueFalseItem
from simulator.ambient.labels import LABELS, SIDES, Label, in_order
from simulator.ambient.playing import (
    ANNOTATOR,
    Kind,
    Options,
    ShownTexts,
    Step,
    shown_in,
    shown_record,
    statements,
    task_steps,
)
from simulator.ambient.prompts import parse, prompt
from simulator.ambient.true_false import read_scores, read_table, read_text
from simulator.errors import InputError, SeatError
from simulator.forms import NO, YES, SeatFormError, checked_length, measurements
from simulator.seats import Reply

TRUE: Final = "true"
FALSE: Final = "false"


class FormError(SeatFormError[Problem]):
    """A linguist's form breaks rules (spec 3); it is not logged and can be corrected."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        listed = "; ".join(f"{problem.field}: {problem} ({problem.code})" for problem in problems)
        super().__init__(problems, ANNOTATOR, code="annotation", said=listed)


def read_form(kind: Kind, shown: ShownTexts, reply: Reply) -> tuple[str, dict[str, Any]]:
    """Return the text and the answers of the form of a step (one of `FORMS`).

    Raises:
        SeatError: if the reply is not a form of this step or breaks a rule.
    """
    move = reply.move or {}
    match kind:
        case "label" | "qualification":
            label = _label(move.get("label"), "label")
            return label, {"answer": label}
        case "plausible":
            answers = _list(move.get("plausible"), len(shown.candidates), "plausible")
            flags = [_flag(answer, "plausible") for answer in answers]
            return " ".join(YES if flag else NO for flag in flags), {"answers": flags}
        case "relabel":
            answers = _list(move.get("labels"), len(shown.pairs), "relabel")
            labels = [_label(answer, "relabel") for answer in answers]
            return ", ".join(labels), {"answers": labels, "comment": _comment(move)}
        case "true_false":
            flag = _flag(move.get("answer"), "true_false")
            return TRUE if flag else FALSE, {"prediction": flag}
        case "annotate":
            annotation = _annotation(shown, move)
            return describe(annotation), annotation.payload()
    raise SeatError(f"The step {kind} has no form.", ANNOTATOR, code="malformed")


def _label(value: object, code: str) -> Label:
    for label in LABELS:
        if value == label:
            return label
    raise SeatError(f"{value!r} is not a label; choose one of {', '.join(LABELS)}.", ANNOTATOR, code=code)


def _flag(value: object, code: str) -> bool:
    if not isinstance(value, bool):
        raise SeatError(f"{value!r} is neither true nor false.", ANNOTATOR, code=code)
    return value


def _list(value: object, length: int, code: str) -> list[Any]:
    if not isinstance(value, list | tuple) or len(value) != length:
        raise SeatError(f"Give exactly one answer to each of the {length} questions.", ANNOTATOR, code=code)
    return list(value)


def _comment(move: Mapping[str, Any]) -> str:
    comment = move.get("comment") or ""
    if not isinstance(comment, str):
        raise SeatError("The comment must be a text.", ANNOTATOR, code="malformed")
    return checked_length(comment, ANNOTATOR).strip()


def _annotation(shown: ShownTexts, move: Mapping[str, Any]) -> Annotation:
    try:
        annotation = read_annotation(move)
    except InputError as error:
        raise SeatError(str(error), ANNOTATOR, code="malformed") from error
    rewritten = (rewrite.sentence(side) for rewrite in annotation.rewrites for side in SIDES)
    for text in (annotation.comment, *rewritten):
        checked_length(text, ANNOTATOR)
    if problems := check_annotation(shown.premise, shown.hypothesis, annotation):
        raise FormError(problems)
    return annotation


# Fields that reveal a person's answer and are removed when the person is erased.
_PRIVATE: Final[Mapping[str, list[str]]] = {
    "qualification": ["answer", "correct"],
    "label": ["answer"],
    "plausible": ["answers"],
    "relabel": ["answers", "comment"],
    "annotate": ["discard", "labels", "rewrites", "comment"],
    "true_false": ["prediction"],
}


FORMS: Final = tuple(_PRIVATE)
"""Steps with a form, filled in by people or by models in their place."""


def turn_content(
    item: Item, step: Step, reply: Reply, options: Options, *, person: bool
) -> tuple[str, dict[str, Any]]:
    """Return the text and the payload of the turn for a reply."""
    questions = options.qualification.questions if options.qualification else ()
    shown = shown_in(item, step, questions)
    if step.kind in FORMS and (step.kind != "true_false" or "answer" in (reply.move or {})):
        text, answers = read_form(step.kind, shown, reply)
    else:
        text, answers = reply.text, {}
    payload = {"kind": step.kind, **_fields(item, step, reply, options, answers)}
    if texts := shown_record(item, step, shown):
        payload["shown"] = texts
    move = reply.move or {}
    if person:
        private = _PRIVATE.get(step.kind, [])
        return text, payload | {"person": True, "private": private, **measurements(move, ANNOTATOR)}
    if "decoding" in move:
        payload["decoding"] = dict(move["decoding"])
    if step.kind == "true_false" and not answers:
        text = _answer_text(payload["prediction"], reply.text)
    return text, payload


def _fields(
    item: Item, step: Step, reply: Reply, options: Options, answers: dict[str, Any]
) -> dict[str, Any]:
    move = reply.move or {}
    match item, step.kind:
        case _, "qualification" if options.qualification is not None:
            gold = options.qualification.questions[step.number].label
            return {"number": step.number, **answers, "gold": gold, "correct": answers["answer"] == gold}
        case TrueFalseItem(), "true_false":
            return _true_false(item, step, reply, answers)
        case GenerateItem(), "generate":
            return _generation_payload(item, reply.text)
        case ContinueItem(), "continue":
            name, sentence = item.options[step.number]
            lists = {key: list(move[key]) for key in ("continuations", "own", "original", "tokens")}
            return {"option": name, "sentence": sentence, **lists}
        case _, "nli":
            numbers = {key: move.get(key) for key in ("logits", "threshold")}
            return {"pair": step.number, "prediction": in_order(move["prediction"]), **numbers}
        case _, "paraphrase":
            return {key: list(move[key]) for key in ("texts", "kept")}
        case _, "claim":
            return {key: move[key] for key in ("paraphrases", "score", "flagged")}
    return answers


def _true_false(item: TrueFalseItem, step: Step, reply: Reply, answers: Mapping[str, Any]) -> dict[str, Any]:
    judged, move = statements(item)[step.number], reply.move or {}
    scores, table = move.get("scores"), move.get("table")
    if answers:
        prediction, mass = answers["prediction"], None
    elif scores is not None:
        prediction, mass = read_scores(scores["True"], scores["False"])
    elif table is not None:
        prediction, mass = read_table(dict(table))
    else:
        prediction, mass = read_text(reply.text)
    return {
        "number": step.number,
        "rewrite": judged.rewrite,
        "template": judged.template,
        "prediction": prediction,
        "answer": judged.answer,
        "mass": mass,
        "scores": dict(scores) if scores is not None else None,
    }


def _answer_text(prediction: bool | None, text: str) -> str:
    if text or prediction is None:
        return text
    return TRUE if prediction else FALSE


def _generation_payload(item: GenerateItem, text: str) -> dict[str, Any]:
    reference, robust = parse(text), parse(text, "robust")
    return {
        "prompt_hash": sha256(prompt(item).encode()).hexdigest(),
        "rewrites": dict(reference.rewrites),
        "robust": dict(robust.rewrites),
        "warnings": list(reference.warnings),
    }


_NOTHING: Final = Reply(
    move={
        "continuations": [],
        "own": [],
        "original": [],
        "tokens": [],
        "prediction": [],
        "texts": [],
        "kept": [],
        "paraphrases": [],
        "score": None,
        "flagged": False,
    }
)


def fill_missing_answers(item: Item, episode: Episode, turns: Sequence[Turn]) -> tuple[Turn, ...]:
    """Return the turns of an aborted episode, with an empty answer for each missing step."""
    options = Options.read(episode.options)
    missing = task_steps(item)[len(turns) :]
    answers = (turn_content(item, step, _NOTHING, options, person=False) for step in missing)
    return (
        *turns,
        *(
            Turn(episode_id=episode.id, number=number, seat=ANNOTATOR, text=text, payload=payload)
            for number, (text, payload) in enumerate(answers, start=len(turns))
        ),
    )
