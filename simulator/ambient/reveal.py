"""The blocks of an episode that is over: what was said beside what the dataset says, and what was hidden."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from simulator.ambient.annotation.rules import Annotation
from simulator.ambient.examples import Disambiguation
from simulator.ambient.labels import SIDES, Label, Side
from simulator.ambient.show import SHOWN, pair, tag
from simulator.ambient.views import Replay, ReplayCandidate
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
from simulator.form_blocks import Part
from simulator.word_diff import word_diff


def result_blocks(replay: Replay) -> tuple[Block, ...]:
    """Return how an episode went, and what was hidden in it."""
    verdict = Verdict(
        heading(replay),
        lead(replay),
        replay.correct is not None and replay.correct == replay.of,
        kicker=message("result.kicker"),
    )
    if replay.statements:
        return verdict, statements(replay)
    return (verdict, original(replay), *candidates(replay), *annotated(replay))


def heading(replay: Replay) -> Message:
    """Return the result in a line."""
    form = replay.annotation
    if form is not None:
        verdict = "unknown" if replay.correct is None else "same" if replay.correct else "other"
        return message(f"result.annotate_{'discarded' if form.discard else verdict}")
    name = "true_false" if replay.task == "true_false" else "crowd"
    return message(f"result.{name}_score", correct=replay.correct, of=replay.of)


def lead(replay: Replay) -> Message:
    """Return it in a sentence."""
    if replay.task == "true_false":
        return message("result.true_false_lead")
    if replay.annotation is not None or replay.side is None:
        return message("result.annotate_lead")
    count = sum(candidate.label is not None for candidate in replay.candidates)
    return message("result.crowd_lead", side=message(f"side.{replay.side}_within"), count=count)


def _sentence(replay: Replay) -> str:
    if replay.side is None:
        return ""
    return replay.premise if replay.side == "premise" else replay.hypothesis


def statements(replay: Replay) -> Card:
    """Return the statements of the true/false task with what is right and what was said."""
    sentence = _sentence(replay)
    rows = [
        (
            statement.statement.removeprefix(sentence).strip(),
            message(f"field.answer.{str(statement.answer).lower()}"),
            "–"
            if statement.given is None
            else Cell(
                message(f"field.answer.{str(statement.given).lower()}"),
                "right" if statement.given == statement.answer else "wrong",
            ),
        )
        for statement in replay.statements
    ]
    head = [message(f"result.{name}") for name in ("statement", "right_answer", "you")]
    return Card(message("true_false.sentence"), [Quotes([Quote("", sentence)]), Table(rows, head)])


def original(replay: Replay, said: str = "result.you_said") -> Card:
    """Return the pair with the labels that it was given (`said`), and those of the dataset."""
    form, gold = replay.annotation, [label for label in SHOWN if label in replay.gold]
    rows: list[tuple[Words, Sequence[Words | Tag]]] = []
    if form is not None or replay.label:
        rows.append((message(said), _said(form, replay.label)))
    rows.append((message("result.dataset_says"), _tags(gold)))
    both = replay.label in gold and len(gold) > 1
    note = (Text(message("result.both"), "muted"),) if both else ()
    return Card(message("result.pair"), (pair(replay.premise, replay.hypothesis), Facts(rows), *note))


def _said(form: Annotation | None, label: Label | None) -> Sequence[Words | Tag]:
    if form is not None and form.discard:
        return [message(f"discard.{form.discard}")]
    chosen = form.labels if form is not None else {label}
    return _tags([label for label in SHOWN if label in chosen])


def _tags(labels: Sequence[Label]) -> Sequence[Words | Tag]:
    return [tag(label) for label in labels] or [message("result.nothing")]


def candidates(replay: Replay, said: str = "result.you_said") -> tuple[Card, ...]:
    """Return the candidates of a crowdworker's task with what was hidden and answered (`said`)."""
    sentence = _sentence(replay)
    parts = [
        Part(
            message("result.reading" if candidate.label else "result.distractor"),
            (
                *(() if candidate.label else (Text(message("result.distractor_note"), "muted"),)),
                Revision("", word_diff(sentence, candidate.sentence)),
                Facts(_answers(candidate, said)),
            ),
        )
        for candidate in replay.candidates
    ]
    return (Card(message("result.readings"), parts),) if parts else ()


def _answers(candidate: ReplayCandidate, said: str) -> list[tuple[Words, Sequence[Words | Tag]]]:
    rows: list[tuple[Words, Sequence[Words | Tag]]] = []
    if candidate.plausible is not None:
        word = message(f"result.{'possible' if candidate.plausible else 'not_possible'}")
        rows.append((message(said), [Tag(word, right=candidate.found)]))
    if candidate.answer is not None:
        rows.append((message("result.with_it"), [tag(candidate.answer, candidate.labelled)]))
    if candidate.label and candidate.answer != candidate.label:
        rows.append((message("result.dataset_says"), [tag(candidate.label)]))
    return rows


def annotated(
    replay: Replay,
    own: str = "result.your_rewrites",
    others: str = "result.dataset_rewrites",
) -> tuple[Card, ...]:
    """Return a linguist's rewrites beside those of the dataset, each under a heading."""
    form = replay.annotation
    if form is None:
        return ()
    mine = _rewritten(replay, form.rewrites) or [Text(message("result.nothing"), "muted")]
    theirs = _rewritten(replay, replay.disambiguations) or [Text(message("result.no_rewrites"), "muted")]
    return Card(message(own), mine), Card(message(others), theirs)


def _rewritten(replay: Replay, readings: Iterable[Disambiguation]) -> list[Block]:
    return [
        Part(message(f"labels.{reading.label}"), revisions(replay.premise, replay.hypothesis, reading))
        for reading in readings
    ]


def revisions(premise: str, hypothesis: str, reading: Disambiguation) -> list[Revision]:
    """Return the sentences of a pair that a reading changes, word by word."""
    originals: dict[Side, str] = {"premise": premise, "hypothesis": hypothesis}
    return [
        Revision(message(f"side.{side}"), word_diff(originals[side], reading.sentence(side)))
        for side in SIDES
        if reading.sentence(side) != originals[side]
    ]
