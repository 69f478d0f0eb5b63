"""The pages of a benchmark, made from its blocks, seats, choices and texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import groupby
from typing import Any, Final, Literal, TypeVar

from markupsafe import Markup
from pydantic import BaseModel

from simulator.benchmark import Benchmark, Metric, Move
from simulator.blocks import (
    Blank,
    Block,
    Card,
    Feedback,
    Figure,
    Judge,
    Meter,
    Passage,
    Progress,
    Talk,
    Text,
    Verdict,
)
from simulator.drawn_blocks import Tree
from simulator.form_blocks import Form
from simulator.model_forms import bounds, flat
from simulator.plan_blocks import Menu, Places, Suggestions
from simulator.runner.machines import Result, SeatPage
from simulator.studies.admission import StudyCard
from simulator.studies.declared import PlaySessions
from simulator.studies.graph import COMMENT
from ui.declared.study import Here, Invitation, offer, session_page, whole
from ui.i18n import DECLARED, DEFAULT, LANGUAGES, Strings, strings
from ui.render import BenchmarkLink, Frame, render

KindT = TypeVar("KindT")
STEPS: Final[Mapping[str, str]] = {
    "consent": "consent",
    "instructions": "instructions",
    "gather": "instructions",
    "qualification": "qualification",
    "task": "task",
    COMMENT.kind: "comment",
    "verdict": "task",
}
"""The step of a study that each stage of an episode belongs to."""
_APART: Final = (Talk, Meter)
"""Blocks of a sheet that are as wide as it is."""
_AT_TALK: Final = (Talk, Meter, Menu, Progress, Suggestions, Form)
"""Blocks that stand at the dialogue, not beside it."""


def link_to(benchmark: Benchmark[Any, Any], *, home: bool = False) -> BenchmarkLink:
    """Return how pages lead to the entry of a benchmark, which may be the home page."""
    path = "/" if home else f"/{benchmark.name}"
    return BenchmarkLink(f"{DECLARED}.{benchmark.name}", path, benchmark.icon)


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleField:
    """A choice of free play as a field of a form.

    Attributes:
        name: of the choice.
        kind: of the field.
        value: the usual one.
        choices: of a menu.
        least: of a number; None where there is none.
        most: likewise.
        optional: True if it may be left open.
        fitting: of a menu, for a choice that does not go with all others, those that it goes with, by field.
        seats: that it is a choice of; empty for all.
    """

    name: str
    kind: Literal["whole", "number", "switch", "menu", "text"]
    value: Any
    choices: tuple[Any, ...] = ()
    least: float | None = None
    most: float | None = None
    optional: bool = False
    fitting: Mapping[str, Mapping[str, Sequence[str]]] = field(default_factory=dict)
    seats: Sequence[str] = ()


def rule_fields(choices: type[BaseModel]) -> tuple[RuleField, ...]:
    """Return the fields of a model as fields of a form."""
    described, usual = choices.model_json_schema()["properties"], choices()
    return tuple(_rule_field(name, schema, getattr(usual, name)) for name, schema in described.items())


def _rule_field(name: str, schema: Mapping[str, Any], value: Any) -> RuleField:
    optional = any(kind["type"] == "null" for kind in schema.get("anyOf", ()))
    schema = flat(schema)
    kinds: Mapping[str, Any] = {"integer": "whole", "number": "number", "boolean": "switch"}
    least, most = bounds(schema)
    return RuleField(
        name=name,
        kind="menu" if "enum" in schema else kinds.get(schema.get("type", ""), "text"),
        value=value,
        choices=tuple(schema.get("enum", ())),
        least=least,
        most=most,
        optional=optional,
        fitting=schema.get("fitting", {}),
        seats=schema.get("seats", ()),
    )


def entry_page(
    frame: Frame, link: BenchmarkLink, sessions: PlaySessions, studies: Sequence[StudyCard]
) -> str:
    """Return the entry: free play, and the studies that are open.

    Args:
        frame: its frame.
        link: how pages lead there.
        sessions: of the benchmark; of its items the number alone is shown, as a name may tell what is to be
            found out.
        studies: of the benchmark.
    """
    texts, benchmark = frame.texts, sessions.benchmark
    seats = [seat.name for seat in benchmark.seats]
    opponents = {seat: sessions.opponents(seat) for seat in seats} if len(seats) > 1 else {}
    menus = {language: menu for language in LANGUAGES if (menu := sessions.item_menu(language))}
    spoken = [*menus] or sessions.languages
    return render(
        "home" if link.path == "/" else "declared/entry",
        texts,
        frame=frame,
        link=link,
        benchmark=benchmark.name,
        languages=[(language, strings(language)("language.name")) for language in spoken],
        spoken=texts.language if texts.language in spoken else next(iter(spoken), ""),
        menus=menus,
        language=DEFAULT,
        items=len(sessions.items),
        rules=rule_fields(sessions.choices),
        offers=[offer(frame, card) for card in studies if card.open],
        seats=seats,
        metrics=[texts(f"{link.name}.metric.{metric.name}") for metric in benchmark.metrics],
        choices={seat: known for seat, known in opponents.items() if known},
        beside={seat: [each for each in seats if seat in sessions.beside(each)] for seat in seats},
        blocks=benchmark.picture() if benchmark.picture is not None else (),
    )


def task_page(here: Here, invitations: Mapping[str, Invitation]) -> str:
    """Return the page of a task that is going on: a conversation, or a form of one field.

    Args:
        here: the episode.
        invitations: for each seat that this page's person may invite somebody to.
    """
    view: SeatPage = here.view
    texts, kind = here.texts, view.due.kind if view.due else ""
    if any(of_kind(passage.parts, Blank) for passage in of_kind(view.blocks, Passage)):
        return session_page("declared/form", here, **_places(view.blocks))
    shown: dict[str, Any] = {
        "seat_name": view.seat,
        "label": texts.get(f"{here.link.name}.{kind}", texts("play.message")),
        "lines": numbered(here, _moves(view.blocks)),
        "invitations": invitations,
    }
    form = form_in(view.blocks)
    if form is not None and (view.my_turn or view.warning is None):  # trouble is met in the conversation
        body = (block for block in view.blocks if isinstance(block, _APART) or not _at_talk(block))
        parts = [(apart, [*part]) for apart, part in groupby(body, lambda block: isinstance(block, _APART))]
        shown |= {"kind": kind, "form": form, "head": of_kind(view.blocks, Progress), "parts": parts}
        shown["waits"] = waiting(here)
        return session_page("declared/sheet", here, **shown)
    cards = side_cards(here)
    tree = next((tree for card in cards for tree in of_kind(card.blocks, Tree)), None)
    drawn = bool(of_kind(view.blocks, Places))
    shown_beside = tree is not None or (cards and not drawn)
    return session_page(
        "declared/task",
        here,
        **shown,
        form=form,
        meters=of_kind(view.blocks, Meter),
        blocks=[block for block in view.blocks if not _at_talk(block)],
        waiting=waiting(here),
        cards=cards,
        side=_side(here, cards) if shown_beside else "",
        tree=tree,
        drawn=drawn,
        menus=of_kind(view.blocks, Menu),
        suggestions=next(iter(of_kind(view.blocks, Suggestions)), None),
        closing=strings(view.language)(f"{here.link.name}.{view.due.closing}")
        if view.due and view.due.closing
        else "",
        choices=[
            (choice, texts.get(f"{here.link.name}.choice.{choice}", choice))
            for choice in (view.due.choices if view.due else ())
        ],
    )


def form_in(blocks: Sequence[Block]) -> Form | None:
    """Return the form of a page; None if nothing is to be filled in."""
    return next(iter(of_kind(blocks, Form)), None)


def of_kind(blocks: Iterable[object], kind: type[KindT]) -> list[KindT]:
    """Return those of some blocks, or of their parts, that are of a kind."""
    return [block for block in blocks if isinstance(block, kind)]


def _at_talk(block: Block) -> bool:
    return isinstance(block, _AT_TALK)


def _moves(blocks: Sequence[Block]) -> list[Move]:
    """Return the moves of the dialogue that is shown."""
    return [move for talk in of_kind(blocks, Talk) for move in talk.moves]


def side_cards(here: Here) -> list[Card]:
    """Return the cards beside a conversation, first that of the seat's part and of what stands in none."""
    texts, name = here.texts, f"{here.link.name}.instructions.{here.view.seat}"
    rest = [block for block in here.view.blocks if not _at_talk(block)]
    cards = of_kind(rest, Card)
    loose = [block for block in rest if not isinstance(block, Card)]
    if not loose and (cards or name not in texts.texts):
        return cards
    goal = texts.get(name, "")
    return [Card(texts("declared.play.side"), [*([Text(goal, "muted")] if goal else []), *loose]), *cards]


@dataclass(frozen=True, slots=True)
class _Side:
    """The cards beside a conversation, with all that their templates ask for.

    Attributes:
        contents: the cards as text, by which they are compared.
    """

    contents: str
    texts: Strings
    link: BenchmarkLink
    seat: str
    language: str
    study: bool
    cards: Sequence[Card] = field(compare=False)


def _side(here: Here, cards: Sequence[Card]) -> Markup:
    view = here.view
    return _draw(_Side(repr(cards), here.texts, here.link, view.seat, view.language, view.study, cards))


# Most of them are the same at every turn, and to draw them takes a quarter of a page's time.
@lru_cache(maxsize=512)
def _draw(side: _Side) -> Markup:
    return Markup(render("declared/side", side.texts, link=side.link, view=side, cards=side.cards))


def _places(blocks: Sequence[Block]) -> dict[str, Sequence[Block]]:
    """Return the blocks of a form by their places: at its head, in the part that scrolls, at its foot."""
    return {
        "head": of_kind(blocks, Progress),
        "blocks": [block for block in blocks if not isinstance(block, Progress | Feedback)],
        "foot": of_kind(blocks, Feedback),
    }


def waiting(here: Here) -> str:
    """Return who is waited for, in words; empty if nobody is."""
    texts, link, view = here.texts, here.link, here.view
    if not view.waits_for:
        return ""
    seat = texts.get(f"{link.name}.speaker.{view.waits_for}", texts(f"{link.name}.seat.{view.waits_for}"))
    return texts(f"declared.play.{'waiting' if view.waits_for in view.people else 'thinking'}", seat=seat)


def step_page(here: Here, invitations: Mapping[str, Invitation]) -> str:
    """Return the page of a step of a study: its blocks, with the dialogue before those who judge it."""
    view: SeatPage = here.view
    return session_page(
        f"declared/{view.stage if view.stage in STEPS else 'step'}",
        here,
        invitations=invitations,
        waiting=waiting(here),
        blocks=[block for block in view.blocks if not isinstance(block, Talk)],
        lines=numbered(here, _moves(view.blocks)),
    )


def numbered(here: Here, lines: Sequence[Move]) -> list[tuple[int, Move]]:
    """Return what a page shows of the moves with their numbers in the log; -1 for a line that is no move."""
    numbers = {id(move): here.view.first + place for place, move in enumerate(here.view.moves)}
    return [(numbers.get(id(line), -1), in_words(here, line)) for line in lines]


def in_words(here: Here, move: Move) -> Move:
    """Return a move as people read it: a choice that is all its text, in the words of its button."""
    chosen = [f"field.{name}" for name, value in move.payload.items() if str(value) == move.text]
    words = (here.texts.get(f"{here.link.name}.{name}.{move.text}", "") for name in (*chosen, "choice"))
    return move._replace(text=next(filter(None, words), move.text))


def end_page(here: Here, benchmark: Benchmark[Any, Any], result: Result | None) -> str:
    """Return the last page: in a study thanks and the code, in free play the result, or both."""
    view: SeatPage = here.view
    blocks = result_blocks(here, benchmark, result) if result is not None else [*view.blocks]
    talk = next(iter(of_kind(blocks, Talk)), None)
    moves = talk.moves if talk is not None else result.moves if result is not None else ()
    return session_page(
        "declared/done",
        here,
        seat_name=view.seat,
        blocks=[block for block in blocks if block is not talk],
        lines=[(-1, in_words(here, move)) for move in moves],
    )


def result_blocks(here: Here, benchmark: Benchmark[Any, Any], result: Result) -> list[Block]:
    """Return what is revealed; where no verdict is, under one that says the ending and the metrics."""
    if any(isinstance(block, Verdict | Judge) for block in result.blocks):
        return [*result.blocks]
    texts, view = here.texts, here.view
    status = view.ending.status if view.ending is not None else "completed"
    figures = [
        figure(here, metric, result.scores.get(metric.name))
        for metric in (benchmark.metrics if result.scores else ())
    ]
    heading, text = texts(f"declared.result.{status}"), texts(f"declared.result.{status}_text")
    shown = [block for block in result.blocks if not isinstance(block, Talk)]
    return [
        Verdict(heading, text, bool(figures) and figures[0].look == "right", figures),
        *([Card(texts("declared.result.revealed"), shown)] if shown else []),
        *of_kind(result.blocks, Talk),
    ]


def figure(here: Here, metric: Metric, value: float | None) -> Figure:
    """Return a metric of the episode as people read it."""
    texts = here.texts
    name = texts(f"{here.link.name}.metric.{metric.name}")
    if value is None:
        return Figure(name, texts("declared.result.undefined"))
    if not metric.is_share:
        return Figure(name, whole(value))
    if value in (0, 1) and not metric.graded:
        word = texts(f"declared.result.{'yes' if value else 'no'}")
        return Figure(name, word, look="right" if value else "wrong")
    return Figure(name, f"{100 * value:.0f} %")
