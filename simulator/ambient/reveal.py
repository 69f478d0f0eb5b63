"""The blocks of a finished episode: the person's answers next to the dataset's, and the distractors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from logs.rows import Turn
from simulator.ambient.annotation.rules import Annotation, read_annotation
from simulator.ambient.examples import Disambiguation, Example
from simulator.ambient.items import AnnotateItem, Candidate, CrowdItem, Item, TrueFalseItem
from simulator.ambient.labels import SHOWN, SIDES, Label, Side
from simulator.ambient.playing import statements
from simulator.ambient.show import pair, tag
from simulator.blocks import (
    Block,
    Card,
    Cell,
    Facts,
    Message,
    Quote,
    Quotes,
    Revision,
    Table,
    Tag,
    Text,
    Verdict,
    Words,
    message,
)
from simulator.errors import InputError
from simulator.form_blocks import Part
from simulator.word_diff import word_diff

FactRow = tuple[Words, Sequence[Words | Tag]]


def result_blocks(item: Item, turns: Sequence[Turn]) -> tuple[Block, ...]:
    """Return the result of a person's finished episode.

    Raises:
        InputError: if people do not do the task.
    """
    match item:
        case TrueFalseItem():
            judged = [
                (statements(item)[turn.payload["number"]], turn.payload["prediction"])
                for turn in turns
                if turn.payload.get("kind") == "true_false"
            ]
            right = [answer == statement.answer for statement, answer in judged]
            rows = [
                (
                    statement.text.removeprefix(item.sentence).strip(),
                    truth(statement.answer),
                    "–" if answer is None else Cell(truth(answer), "right" if correct else "wrong"),
                )
                for (statement, answer), correct in zip(judged, right, strict=True)
            ]
            head = [message(f"result.{name}") for name in ("statement", "right_answer", "you")]
            card = Card(
                message("true_false.sentence"), [Quotes([Quote("", item.sentence)]), Table(rows, head)]
            )
            lead = message("result.true_false_lead")
            return _verdict(_score("true_false", right), lead, all(right)), card
        case CrowdItem():
            right = [
                bool(plausible) and answer == candidate.label
                for candidate, plausible, answer in _slots(item, turns)
                if candidate.label and answer
            ]
            count = sum(candidate.label is not None for candidate in item.candidates)
            side = message(f"side.{item.side}_within")
            lead = message("result.crowd_lead", side=side, count=count)
            verdict = _verdict(_score("crowd", right), lead, bool(right) and all(right))
            return (verdict, *details(item, turns))
        case AnnotateItem():
            form, labels = _form(turns), item.example.labels
            same = form is not None and not form.discard and form.labels == labels and bool(labels)
            comparison = "same" if same else "other" if labels else "unknown"
            name = "unknown" if form is None else "discarded" if form.discard else comparison
            verdict = _verdict(message(f"result.annotate_{name}"), message("result.annotate_lead"), same)
            return (verdict, *details(item, turns))
    raise InputError(f"Episodes of the task {item.task} have no result page: it is not a task for people.")


def details(
    item: CrowdItem | AnnotateItem,
    turns: Sequence[Turn],
    answer_title: str = "result.you_said",
    rewrites_title: str = "result.your_rewrites",
    gold_title: str = "result.dataset_rewrites",
) -> tuple[Card, ...]:
    """Return the pair with the given labels and the dataset's, then the rewrites or candidates.

    Titles are names of texts: above the answer, its rewrites, and the dataset's rewrites.
    """
    if isinstance(item, AnnotateItem):
        form, example = _form(turns), item.example
        chosen: Sequence[Words | Tag] | None = None
        if form is not None:
            chosen = [message(f"discard.{form.discard}")] if form.discard else _tags(form.labels)
        head = _pair(example.premise, example.hypothesis, example.labels, (message(answer_title), chosen))
        if form is None:
            return (head,)
        rewrites = _rewrite_blocks(example, form.rewrites) or [Text(message("result.nothing"), "muted")]
        gold = _rewrite_blocks(example, example.disambiguations)
        gold = gold or [Text(message("result.no_rewrites"), "muted")]
        return head, Card(message(rewrites_title), rewrites), Card(message(gold_title), gold)
    label = _answers(turns).get("label", {}).get("answer")
    answer_row = (message(answer_title), _tags([label]) if label else None)
    head = _pair(item.premise, item.hypothesis, item.gold, answer_row, both=label in item.gold)
    parts = [
        Part(
            message("result.reading" if candidate.label else "result.distractor"),
            (
                *(() if candidate.label else (Text(message("result.distractor_note"), "muted"),)),
                Revision("", word_diff(item.sentence, candidate.sentence)),
                Facts(_candidate_rows(candidate, plausible, answer, answer_title)),
            ),
        )
        for candidate, plausible, answer in _slots(item, turns)
    ]
    return head, Card(message("result.readings"), parts)


def revisions(premise: str, hypothesis: str, reading: Disambiguation) -> list[Revision]:
    """Return word-by-word differences for the sentences of a pair that a reading changes."""
    originals: dict[Side, str] = {"premise": premise, "hypothesis": hypothesis}
    return [
        Revision(message(f"side.{side}"), word_diff(originals[side], reading.sentence(side)))
        for side in SIDES
        if reading.sentence(side) != originals[side]
    ]


def truth(value: bool) -> Message:
    """Return the text of an answer to a statement."""
    return message(f"field.answer.{'true' if value else 'false'}")


def _verdict(heading: Message, lead: Message, correct: bool) -> Verdict:
    return Verdict(heading, lead, correct, kicker=message("result.kicker"))


def _score(task: str, right: Sequence[bool]) -> Message:
    return message(f"result.{task}_score", correct=sum(right), of=len(right))


def _answers(turns: Sequence[Turn]) -> dict[str, Mapping[str, Any]]:
    return {turn.payload["kind"]: turn.payload for turn in turns if turn.payload.get("kind")}


def _form(turns: Sequence[Turn]) -> Annotation | None:
    payload = _answers(turns).get("annotate")
    return None if payload is None else read_annotation(payload)


def _slots(item: CrowdItem, turns: Sequence[Turn]) -> list[tuple[Candidate, bool | None, Label | None]]:
    """Return each candidate with the answers to it: whether it is possible, and the label of its pair."""
    answers, unanswered = _answers(turns), [None] * len(item.candidates)
    plausible = answers.get("plausible", {}).get("answers", unanswered)
    relabelled = answers.get("relabel", {}).get("answers", unanswered)
    return list(zip(item.candidates, plausible, relabelled, strict=True))


def _pair(
    premise: str,
    hypothesis: str,
    gold: Iterable[Label],
    answer: tuple[Words, Sequence[Words | Tag] | None],
    *,
    both: bool = False,
) -> Card:
    heading, chosen = answer
    labels = _tags(gold)
    rows: list[FactRow] = [] if chosen is None else [(heading, chosen)]
    rows.append((message("result.dataset_says"), labels))
    note = (Text(message("result.both"), "muted"),) if both and len(labels) > 1 else ()
    return Card(message("result.pair"), (pair(premise, hypothesis), Facts(rows), *note))


def _tags(labels: Iterable[Label]) -> Sequence[Words | Tag]:
    chosen = set(labels)
    return [tag(label) for label in SHOWN if label in chosen] or [message("result.nothing")]


def _candidate_rows(
    candidate: Candidate, plausible: bool | None, answer: Label | None, answer_title: str
) -> list[FactRow]:
    """Return the answers to a candidate; those to a distractor are neither right nor wrong."""
    label, rows = candidate.label, list[FactRow]()
    if plausible is not None:
        word = message(f"result.{'possible' if plausible else 'not_possible'}")
        rows.append((message(answer_title), [Tag(word, right=plausible if label else None)]))
    if answer is not None:
        rows.append((message("result.with_it"), [tag(answer, answer == label if label else None)]))
    if label and answer != label:
        rows.append((message("result.dataset_says"), [tag(label)]))
    return rows


def _rewrite_blocks(example: Example, readings: Iterable[Disambiguation]) -> list[Block]:
    return [
        Part(message(f"labels.{reading.label}"), revisions(example.premise, example.hypothesis, reading))
        for reading in readings
    ]
