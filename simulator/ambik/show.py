"""The pages of an episode, built from the graph's state and the item, and its result page.

A robot sees the item after `playing.blind_item`; a user also sees the clear task, which is their wish,
and the data's answer, like a model as user.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from logs.rows import Ending, Turn
from simulator.ambik import graph
from simulator.ambik.annotation.page import pair_form, type_guide
from simulator.ambik.data import load_guidelines
from simulator.ambik.forms import field_text, read_pair_form
from simulator.ambik.intents import Concept
from simulator.ambik.items import LANGUAGE, DecideItem, DraftItem, Item, PairItem
from simulator.ambik.players import request_of
from simulator.ambik.playing import ANNOTATOR, ROBOT, USER, exchange_of, needs_question
from simulator.ambik.records import PairForm
from simulator.ambik.truth import is_right, right_in_the_end
from simulator.benchmark import Due, Move
from simulator.blocks import (
    Block,
    Card,
    Chips,
    Detail,
    Facts,
    Plan,
    Points,
    Talk,
    Text,
    Translated,
    Verdict,
    Words,
    message,
)
from simulator.form_blocks import Choice, Field, Form, Part, Way, Ways
from simulator.runner.machines import SeatPage
from simulator.studies.graph import occasion
from trees import Language

_SEARCHED: Final = 12
"""Number of things above which the page has a search field."""


def seat_page(
    context: graph.Context,
    state: graph.State,
    seat: str,
    ending: Ending | None = None,
    warning: str | None = None,
) -> SeatPage:
    """Return the page of a person in `seat` after `state`."""
    live, due = context.live, None if ending else graph.due(context, state)
    my_turn = due is not None and due.seat == seat
    stage = live.stage or ("task" if due else "done")
    people = tuple(other for other, who in live.seats.items() if who.kind == "person" and other != seat)
    return SeatPage(
        episode_id=live.episode.id,
        seat=seat,
        people=people,
        language=LANGUAGE,
        stage=stage,
        due=Due(seat, KINDS[seat]),
        my_turn=my_turn,
        waits_for=people[0] if stage == "gather" else "" if due is None or my_turn else due.seat,
        blocks=_blocks(context, state, seat, stage),
        moves=_moves(state) if stage in ("task", "done", TELL) and seat != ANNOTATOR else (),
        first=live.first,
        number=len(state["said"]),
        ending=ending,
        warning=warning,
    )


def _moves(state: graph.State) -> tuple[Move, ...]:
    return tuple(Move(who, kind, text) for who, kind, text, _ in state["said"])


def _blocks(context: graph.Context, state: graph.State, seat: str, stage: str) -> tuple[Block, ...]:
    """Return the blocks that a seat sees at a stage."""
    item, rules, moves = context.item, context.rules, _moves(state)
    if stage == "instructions":
        return instructions(seat)
    if stage == "done":
        never_asked = seat == USER and all(move.seat != USER for move in moves)
        in_study = occasion(context.live.episode.options) != "play"
        unasked = Card(message("result.talk"), [Text(message("result.not_asked"))])
        return (unasked,) if in_study and never_asked else ()
    if stage not in ("task", TELL):
        return ()
    if isinstance(item, DraftItem):
        return (pair_form(item.draft),)
    # With the context action_only a robot sees only the scene and the step (spec 5).
    full = seat == USER or rules.context == "full_plan"
    before = [(USER, item.instruction)] if full else []
    for question, answer in exchange_of(item, rules.dialogue):
        before += [(ROBOT, question), (USER, answer)]
    talk = Talk([*(Move(who, "", text) for who, text in before if text), *moves])
    side = _side_blocks(item, item.previous if full else ())
    if seat == USER:
        wish = request_of(item, rules.language)
        detail = [Detail(message("detail"), Text(wish.detail))] if wish.detail else []
        wish_card = Card(message("wish"), [Text(wish.text, "strong", wish.language), *detail])
        return (wish_card, talk, Card(message("look"), side, folded=True))
    form = decision(context.offered, may_ask=not graph.must_act(context, state))
    return (talk, Part("", side, beside=True), form)


def instructions(seat: str) -> tuple[Block, ...]:
    """Return a seat's instructions; for annotators also the guide to the types."""
    guides = [load_guidelines(language) for language in ("en", "zh")]
    texts_by_language = [
        [step.text for step in guide.steps] if seat == ANNOTATOR else getattr(guide, seat) for guide in guides
    ]
    points = Points([("", Translated(*texts)) for texts in zip(*texts_by_language, strict=True)])
    return (points, Part(message("form.types"), type_guide())) if seat == ANNOTATOR else (points,)


def _side_blocks(item: DecideItem, previous: Sequence[str]) -> tuple[Block, ...]:
    """Return the kitchen and the plan, if there is one."""
    things, appliances = item.about.objects, item.about.appliances
    kitchen: list[Block] = [
        Chips(things, search=len(things) > _SEARCHED) if things else Text(message("scene.empty"), "muted")
    ]
    if appliances:
        kitchen += [Text(message("scene.appliances"), "muted"), Chips(appliances)]
    plan: Sequence[Block] = ()
    if item.step:
        first = () if previous else (Text(message("plan.first"), "muted"),)
        plan = (Plan((*previous, item.step), len(previous)), *first)
    parts = ((message("scene.heading"), kitchen), (message("plan.heading"), plan))
    return tuple(Part(heading, blocks) for heading, blocks in parts if blocks)


def decision(options: Sequence[str], *, may_ask: bool) -> Form:
    """Return a robot's form: what may be meant, then an action or a question.

    `options`: actions to mark; without any, people write them.
    """
    marked = Field("marked", "lines", rows=3, note=message("field.marked.own"))
    if options:
        choices = [Choice(option, option) for option in options]
        marked = Field("marked", "choices", choices=choices, keys="123456789")
    act = Field("act", "entry", picks="marked")
    if not may_ask:
        why = Text(message("no_more"))
        return Form((marked, Ways([Way("act", (why, act), "d")])), keys=message("keys.act"))
    ask = (Field("ask", "text", own_words=True), Text(message("ask_note"), "muted"))
    return Form(
        (marked, Ways([Way("act", (act,), "d"), Way("ask", ask, "a", "clay")])), keys=message("keys.ask")
    )


def picture() -> tuple[Block, ...]:
    """Return the illustration on the entry page: an instruction, a kitchen and what may be meant."""
    things = ("lentil soup", "ladle", "glass bowl", "wooden bowl", "bread rolls", "chopping board")
    options = ("ladle the soup into the glass bowl", "ladle the soup into the wooden bowl")
    return (
        Talk([Move(USER, "", "Put the soup into a bowl, please.")]),
        Chips(things),
        Text(message("entry.set"), "muted"),
        Chips(options),
        Text(message("entry.ask")),
    )


Sets = Sequence[tuple[str, tuple[str, ...]]]
"""Pairs of a run and its prediction set."""
TELL: Final = "tell"
"""The study's stage that shows a user a further task before the robot acts."""
KINDS: Final[Mapping[str, str]] = {ROBOT: "decide", USER: "answer", ANNOTATOR: "annotate"}
"""The kind of turn by seat."""


FIELDS: Final = (
    *("clear", "objects", "scene", "indirect", "type", "passed_over", "ambiguous", "one_ambiguity"),
    *("question", "answer", "clear_plan", "ambiguous_plan", "step", "shortlist", "intent", "variants"),
    *("delete", "comment"),
)
"""The fields of an annotator's form, from top to bottom."""


def reveal(
    seat: str,
    item: Item,
    turns: Sequence[Turn],
    *,
    language: Language = "en",
    study: bool = False,
    sets: Sets = (),
) -> tuple[Block, ...]:
    """Return the result page of an ended episode for `seat`, including everything that was hidden.

    `language`: language in which the meaning of a scenario is worded, since the data have no sentence.
    `study`: True in a study, False in free play.
    """
    if isinstance(item, DraftItem):
        moves = (turn.payload["form"] for turn in turns if turn.payload.get("kind") == "annotate")
        form = next((read_pair_form(item.draft, move) for move in moves), None)
        deleted = "deleted" if form is not None and form.delete else "pair"
        lead = message(f"result.lead.{deleted if study else f'played_{deleted}'}")
        heading, kicker = message(f"result.heading.{deleted}"), message("result.kicker_annotator")
        return (
            Verdict(heading, lead, True, kicker=kicker),
            Card(message("result.form"), (Facts([*filled_in(form)] if form is not None else []),)),
        )
    decided = [turn.payload for turn in turns if turn.payload.get("kind") == "decide"]
    first, last = (decided[0], decided[-1]) if decided else ({}, {})
    answers = [turn.text for turn in turns if turn.payload.get("kind") == "answer"]
    asked = any(payload.get("asks") for payload in decided)
    needed = bool(needs_question(item, first.get("dialogue", "before")))
    right = right_in_the_end(item, last.get("asks"), last.get("action"), answers)
    right_call_wrong_action = needed == asked and right is False
    verdict = f"{seat}_{'asked' if asked else 'acted'}_{'needed' if needed else 'free'}"
    facts: list[tuple[Words, Words]] = [(message("result.step"), item.step)] if item.step else []
    if (action := last.get("action")) and not last.get("asks"):
        facts.append((message(f"result.action_{seat}"), action))
    if right is not None:
        facts.append((message("result.was"), message(f"result.{'right' if right else 'wrong'}")))
    story: list[Block] = [Talk(_spoken_moves(item, turns)), *([Facts(facts)] if facts else [])]
    if asked and (before := is_right(item, first.get("action", ""))) is not None:
        story.append(Text(message(f"result.before_{'right' if before else 'wrong'}"), "muted"))
    return (
        Verdict(
            message(f"result.heading.{verdict}{'_wrong' if right_call_wrong_action else ''}"),
            message(f"result.lead.{verdict}"),
            needed == asked and not right_call_wrong_action,
            kicker=message("result.kicker"),
        ),
        Card(message("result.talk"), story),
        Card(message("result.meant"), [*_meaning_blocks(item, language)]),
        Card(message("result.sets"), [*_sets(seat, item, first.get("prediction_set", ()), sets)]),
    )


def broken_off() -> tuple[Block, ...]:
    """Return the result page of an episode that ended too early: nothing hidden is revealed."""
    return (Verdict(message("result.broken"), message("result.broken_text"), False),)


def _spoken_moves(item: DecideItem, turns: Sequence[Turn]) -> list[Move]:
    """Return the instruction, the questions and the answers of an episode."""
    asked = (turn for turn in turns if turn.payload.get("kind") == "answer" or turn.payload.get("asks"))
    return [Move(USER, "", item.instruction), *(Move(turn.seat, "", turn.text) for turn in asked)]


def _meaning_blocks(item: DecideItem, language: Language) -> Iterator[Block]:
    wish, intent = request_of(item, language), item.about.intent
    if wish.text:
        yield Facts([(message("result.wish"), wish.text)], wish.language)
    if intent is not None and intent.text:
        yield Text(message("result.intent"), "muted")
        yield Chips([concept_words(each) for each in intent.concepts])
    elif not wish.text:
        yield Text(message("result.no_intent"), "muted")
    if not isinstance(item, PairItem):
        return
    if item.pair.question and item.pair.answer:
        asked = message("result.would_ask"), message("result.would_answer")
        yield Facts(list(zip(asked, (item.pair.question, item.pair.answer), strict=True)))
    yield Facts([(message(f"type.{item.type}"), message(f"why.{item.type}"))])


def concept_words(concept: Concept) -> str:
    """Return the alternatives of a concept, separated by slashes, with a minus before what must not occur."""
    words = " / ".join(f"{'−' if each.absent else ''}{each.text}" for each in concept.alternatives)
    return f"− {words}" if concept.negative else words


def _sets(seat: str, item: DecideItem, marked: Sequence[str], sets: Sets) -> Iterator[Block]:
    """Yield the robot's marked actions next to the shortlist and the sets of runs."""
    rows: list[tuple[Words, Words | Sequence[Words]]] = [
        (message(f"result.marked_{seat}"), tuple(marked) or (message("result.nothing_marked"),))
    ]
    if isinstance(item, PairItem) and item.pair.shortlist:
        rows.append((message("result.shortlist"), item.pair.shortlist))
    for run, texts in sets:
        rows.append((message("result.run", run=run), texts or (message("result.empty_set"),)))
    yield Text(message("result.sets_note"), "muted")
    yield Facts(rows)
    if not sets:
        yield Text(message("result.no_runs"), "muted")


def filled_in(form: PairForm) -> Iterator[tuple[Words, Words]]:
    """Yield the names and values of an annotator's form, in its order; steps count from 1."""
    for name in FIELDS:
        pair = form.pair if hasattr(form.pair, name) else None
        text = getattr(form, name, "") if pair is None else field_text(pair, name)
        if text:
            named = {"type": message(f"type.{text}"), "one_ambiguity": message("result.yes")}
            yield message(f"field.{name}"), named.get(name, text)
