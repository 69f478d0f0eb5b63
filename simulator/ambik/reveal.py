"""The blocks of an ended episode: whether it was right to ask, what was meant, whose set was what."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from simulator.ambik.intents import Concept, parse_intent
from simulator.ambik.playing import ANNOTATOR, ROBOT, USER
from simulator.ambik.terms import task_type
from simulator.ambik.views import Replay
from simulator.benchmark import Move
from simulator.blocks import Block, Card, Chips, Facts, Talk, Text, Verdict, Words, message

FIELDS: Final = (
    *("clear", "objects", "scene", "indirect", "type", "passed_over", "ambiguous", "one_ambiguity"),
    *("question", "answer", "clear_plan", "ambiguous_plan", "step", "shortlist", "intent", "variants"),
    *("delete", "comment"),
)
"""Of an annotator's form, from top to bottom."""


def reveal(seat: str, replay: Replay, *, study: bool) -> tuple[Block, ...]:
    """Return the result of an episode for whoever sat in `seat`, in a study or in free play."""
    if seat == ANNOTATOR:
        deleted = "deleted" if dict(replay.form).get("delete") else "pair"
        lead = message(f"result.lead.{deleted if study else f'played_{deleted}'}")
        heading, kicker = message(f"result.heading.{deleted}"), message("result.kicker_annotator")
        return (
            Verdict(heading, lead, True, kicker=kicker),
            Card(message("result.form"), (Facts(filled_in(dict(replay.form))),)),
        )
    verdict = f"{seat}_{'asked' if replay.asked else 'acted'}_{'needed' if replay.needed else 'free'}"
    return (
        Verdict(
            message(f"result.heading.{verdict}"),
            message(f"result.lead.{verdict}"),
            replay.needed == bool(replay.asked),
            kicker=message("result.kicker"),
        ),
        Card(message("result.talk"), _went(seat, replay)),
        Card(message("result.meant"), _meant(replay)),
        Card(message("result.sets"), _sets(seat, replay)),
    )


def broken_off() -> tuple[Block, ...]:
    """Return what an episode shows that ended too early: nothing that was hidden."""
    return (Verdict(message("result.broken"), message("result.broken_text"), False),)


def moves_of(replay: Replay) -> tuple[Move, ...]:
    """Return what was said, the instruction first."""
    said = [(USER, replay.task)]
    for exchange in replay.asked:
        answered = [] if exchange.answer is None else [(USER, exchange.answer)]
        said += [(ROBOT, exchange.question), *answered]
    return tuple(Move(seat, "", text) for seat, text in said)


def _went(seat: str, replay: Replay) -> tuple[Block, ...]:
    rows: list[tuple[Words, Words]] = [(message("result.step"), replay.step)] if replay.step else []
    if replay.action:
        rows.append((message(f"result.action_{seat}"), replay.action))
    if replay.right is not None:
        rows.append((message("result.was"), message(f"result.{'right' if replay.right else 'wrong'}")))
    before: tuple[Block, ...] = ()
    if replay.asked and replay.right_before is not None:
        before = (Text(message(f"result.before_{'right' if replay.right_before else 'wrong'}"), "muted"),)
    return (Talk(moves_of(replay)), *([Facts(rows)] if rows else []), *before)


def _meant(replay: Replay) -> tuple[Block, ...]:
    blocks: list[Block] = []
    if replay.wish:
        blocks.append(Facts([(message("result.wish"), replay.wish)], replay.wish_language))
    if replay.intent:
        concepts = parse_intent(replay.intent).concepts
        blocks += [Text(message("result.intent"), "muted"), Chips([concept_words(each) for each in concepts])]
    elif not replay.wish:
        blocks.append(Text(message("result.no_intent"), "muted"))
    if replay.question and replay.answer:
        asked = [
            (message("result.would_ask"), replay.question),
            (message("result.would_answer"), replay.answer),
        ]
        blocks.append(Facts(asked))
    if replay.type is not None or replay.member == "clear":
        kind = task_type(replay.member, replay.type or "preferences")
        blocks.append(Facts([(message(f"type.{kind}"), message(f"why.{kind}"))]))
    return tuple(blocks)


def concept_words(concept: Concept) -> str:
    """Return the words of a concept, one of which is enough; a minus stands before what may not occur."""
    words = " / ".join(f"{'−' if each.absent else ''}{each.text}" for each in concept.alternatives)
    return f"− {words}" if concept.negative else words


def _sets(seat: str, replay: Replay) -> tuple[Block, ...]:
    marked = replay.marked or (message("result.nothing_marked"),)
    rows: list[tuple[Words, Words | tuple[Words, ...]]] = [(message(f"result.marked_{seat}"), tuple(marked))]
    if replay.shortlist:
        rows.append((message("result.shortlist"), replay.shortlist))
    for run, texts in replay.conformal:
        rows.append((message("result.run", run=run), texts or (message("result.empty_set"),)))
    note = () if replay.conformal else (Text(message("result.no_runs"), "muted"),)
    return (Text(message("result.sets_note"), "muted"), Facts(rows), *note)


def filled_in(form: Mapping[str, str]) -> list[tuple[Words, Words]]:
    """Return what an annotator filled in, in the form's order, with its names and steps from 1."""
    shown: dict[str, Words] = {name: form[name] for name in FIELDS if form.get(name)}
    for name in ("objects", "shortlist"):
        if name in shown:
            shown[name] = ", ".join(form[name].splitlines())
    if "type" in shown:
        shown["type"] = message(f"type.{form['type']}")
    if "step" in shown:
        shown["step"] = str(int(form["step"]) + 1)
    if "one_ambiguity" in shown:
        shown["one_ambiguity"] = message("result.yes")
    return [(message(f"field.{name}"), value) for name, value in shown.items()]
