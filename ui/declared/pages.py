"""The pages of a benchmark, built from its blocks, seats, choices and texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import groupby
from typing import Any, Final, TypeVar

from markupsafe import Markup

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
from simulator.model_forms import rule_fields
from simulator.plan_blocks import Menu, Places, Suggestions
from simulator.runner.machines import Result, SeatPage
from simulator.studies.admission import StudyCard
from simulator.studies.declared import PlaySessions
from simulator.studies.graph import COMMENT
from ui.declared.study import Invitation, PageContext, session_page, short_number, study_offer
from ui.i18n import DECLARED, DEFAULT, LANGUAGES, Strings, strings
from ui.render import BenchmarkLink, Frame, move_in_words, render

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
"""Stage of an episode -> step of the study."""
_WIDE: Final = (Talk, Meter)
"""Blocks that take the full width of a sheet."""
_IN_CONVERSATION: Final = (Talk, Meter, Menu, Progress, Suggestions, Form)
"""Blocks shown in the conversation, not in the cards next to it."""


def link_to(benchmark: Benchmark[Any, Any], *, home: bool = False) -> BenchmarkLink:
    """Return the link to a benchmark's entry page, which may be the home page."""
    path = "/" if home else f"/{benchmark.name}"
    return BenchmarkLink(f"{DECLARED}.{benchmark.name}", path, benchmark.icon)


def entry_page(
    frame: Frame, link: BenchmarkLink, sessions: PlaySessions, studies: Sequence[StudyCard]
) -> str:
    """Return the entry page with free play and the open studies. Items are numbered: names may be answers."""
    texts, benchmark = frame.texts, sessions.benchmark
    seats = [seat.name for seat in benchmark.seats]
    opponents = {seat: sessions.opponents(seat) for seat in seats} if len(seats) > 1 else {}
    menus = {language: menu for language in LANGUAGES if (menu := sessions.item_menu(language))}
    languages = [*menus] or sessions.languages
    return render(
        "home" if link.path == "/" else "declared/entry",
        texts,
        frame=frame,
        link=link,
        benchmark=benchmark.name,
        languages=[(language, strings(language)("language.name")) for language in languages],
        spoken=texts.language if texts.language in languages else next(iter(languages), ""),
        menus=menus,
        language=DEFAULT,
        items=len(sessions.items),
        rules=rule_fields(sessions.choices),
        offers=[study_offer(frame, card) for card in studies if card.open],
        seats=seats,
        metrics=[texts(f"{link.name}.metric.{metric.name}") for metric in benchmark.metrics],
        choices={seat: players for seat, players in opponents.items() if players},
        beside={seat: [each for each in seats if seat in sessions.other_seats(each)] for seat in seats},
        blocks=benchmark.picture() if benchmark.picture is not None else (),
    )


def task_page(context: PageContext, invitations: Mapping[str, Invitation]) -> str:
    """Return the page of a task in progress: a conversation, a sheet, or a form with one blank."""
    view: SeatPage = context.view
    texts, kind = context.texts, view.due.kind if view.due else ""
    if any(of_kind(passage.parts, Blank) for passage in of_kind(view.blocks, Passage)):
        return session_page("declared/form", context, **_places(view.blocks))
    shown: dict[str, Any] = {
        "seat_name": view.seat,
        "label": texts.get(f"{context.link.name}.{kind}", texts("play.message")),
        "lines": numbered_lines(context, _moves(view.blocks)),
        "invitations": invitations,
    }
    form = form_in(view.blocks)
    if form is not None and (view.my_turn or view.warning is None):  # warnings show in the conversation
        body = (block for block in view.blocks if isinstance(block, _WIDE) or not _is_in_conversation(block))
        parts = [(wide, [*part]) for wide, part in groupby(body, lambda block: isinstance(block, _WIDE))]
        shown |= {"kind": kind, "form": form, "head": of_kind(view.blocks, Progress), "parts": parts}
        shown["waits"] = waiting_text(context)
        return session_page("declared/sheet", context, **shown)
    cards = side_cards(context)
    tree = next((tree for card in cards for tree in of_kind(card.blocks, Tree)), None)
    drawn = bool(of_kind(view.blocks, Places))
    shown_beside = tree is not None or (cards and not drawn)
    return session_page(
        "declared/task",
        context,
        **shown,
        form=form,
        meters=of_kind(view.blocks, Meter),
        blocks=[block for block in view.blocks if not _is_in_conversation(block)],
        waiting=waiting_text(context),
        cards=cards,
        side=_side_markup(context, cards) if shown_beside else "",
        tree=tree,
        drawn=drawn,
        menus=of_kind(view.blocks, Menu),
        suggestions=next(iter(of_kind(view.blocks, Suggestions)), None),
        closing=strings(view.language).get(f"{context.link.name}.{view.due.closing}", view.due.closing)
        if view.due
        else "",
        choices=[
            (choice, texts.get(f"{context.link.name}.choice.{choice}", choice))
            for choice in (view.due.choices if view.due else ())
        ],
    )


def form_in(blocks: Sequence[Block]) -> Form | None:
    """Return the form among the blocks of a page; None if there is no form."""
    return next(iter(of_kind(blocks, Form)), None)


def of_kind(blocks: Iterable[object], kind: type[KindT]) -> list[KindT]:
    """Return the blocks (or parts of blocks) that are instances of `kind`."""
    return [block for block in blocks if isinstance(block, kind)]


def _is_in_conversation(block: Block) -> bool:
    return isinstance(block, _IN_CONVERSATION)


def _moves(blocks: Sequence[Block]) -> list[Move]:
    return [move for talk in of_kind(blocks, Talk) for move in talk.moves]


def side_cards(context: PageContext) -> list[Card]:
    """Return the cards next to a conversation; the first has the seat's instructions and all loose blocks."""
    texts, name = context.texts, f"{context.link.name}.instructions.{context.view.seat}"
    rest = [block for block in context.view.blocks if not _is_in_conversation(block)]
    cards = of_kind(rest, Card)
    loose = [block for block in rest if not isinstance(block, Card)]
    if not loose and (cards or name not in texts.texts):
        return cards
    goal = texts.get(name, "")
    return [Card(texts("declared.play.side"), [*([Text(goal, "muted")] if goal else []), *loose]), *cards]


@dataclass(frozen=True, slots=True)
class _SideCards:
    """The cards next to a conversation, with everything their templates need.

    Attributes:
        contents: the cards as text; cache key in place of `cards`.
    """

    contents: str
    texts: Strings
    link: BenchmarkLink
    seat: str
    language: str
    study: bool
    cards: Sequence[Card] = field(compare=False)


def _side_markup(context: PageContext, cards: Sequence[Card]) -> Markup:
    texts, link, view = context.texts, context.link, context.view
    return _render_side(_SideCards(repr(cards), texts, link, view.seat, view.language, view.study, cards))


# Most cards are the same at every turn, and rendering them takes a quarter of a page's time.
@lru_cache(maxsize=512)
def _render_side(side: _SideCards) -> Markup:
    return Markup(render("declared/side", side.texts, link=side.link, view=side, cards=side.cards))


def _places(blocks: Sequence[Block]) -> dict[str, Sequence[Block]]:
    """Return the blocks of a form by position: in its head, its scrolling body, and its foot."""
    return {
        "head": of_kind(blocks, Progress),
        "blocks": [block for block in blocks if not isinstance(block, Progress | Feedback)],
        "foot": of_kind(blocks, Feedback),
    }


def waiting_text(context: PageContext) -> str:
    """Return the text that says who the page is waiting for; empty if for nobody."""
    texts, link, view = context.texts, context.link, context.view
    if not view.waits_for:
        return ""
    seat = texts.get(f"{link.name}.speaker.{view.waits_for}", texts(f"{link.name}.seat.{view.waits_for}"))
    return texts(f"declared.play.{'waiting' if view.waits_for in view.people else 'thinking'}", seat=seat)


def step_page(context: PageContext, invitations: Mapping[str, Invitation]) -> str:
    """Return the page of a step of a study: its blocks, and the dialogue for steps that judge it."""
    view: SeatPage = context.view
    return session_page(
        f"declared/{view.stage if view.stage in STEPS else 'step'}",
        context,
        invitations=invitations,
        waiting=waiting_text(context),
        blocks=[block for block in view.blocks if not isinstance(block, Talk)],
        lines=numbered_lines(context, _moves(view.blocks)),
    )


def numbered_lines(context: PageContext, lines: Sequence[Move]) -> list[tuple[int, Move]]:
    """Return the lines of a dialogue with their turn numbers in the log; -1 for a line that is not a move."""
    numbers = {id(move): context.view.first + index for index, move in enumerate(context.view.moves)}
    return [(numbers.get(id(line), -1), localized_move(context, line)) for line in lines if line.text]


def localized_move(context: PageContext, move: Move) -> Move:
    """Return a move for display (`move_in_words`)."""
    return move._replace(text=move_in_words(context.texts, context.link.name, move.text, move.payload))


def end_page(context: PageContext, benchmark: Benchmark[Any, Any], result: Result | None) -> str:
    """Return the last page: thanks and the completion code in a study, the result in free play, or both."""
    view: SeatPage = context.view
    blocks = result_blocks(context, benchmark, result) if result is not None else [*view.blocks]
    talk = next(iter(of_kind(blocks, Talk)), None)
    moves = talk.moves if talk is not None else result.moves if result is not None else ()
    return session_page(
        "declared/done",
        context,
        seat_name=view.seat,
        blocks=[block for block in blocks if block is not talk],
        lines=[(-1, localized_move(context, move)) for move in moves if move.text],
    )


def result_blocks(context: PageContext, benchmark: Benchmark[Any, Any], result: Result) -> list[Block]:
    """Return the blocks of a result; without a verdict of its own, one with ending and metrics is added."""
    if any(isinstance(block, Verdict | Judge) for block in result.blocks):
        return [*result.blocks]
    texts, view = context.texts, context.view
    status = view.ending.status if view.ending is not None else "completed"
    figures = [
        metric_figure(context, metric, result.scores.get(metric.name))
        for metric in (benchmark.metrics if result.scores else ())
    ]
    heading, text = texts(f"declared.result.{status}"), texts(f"declared.result.{status}_text")
    shown = [block for block in result.blocks if not isinstance(block, Talk)]
    return [
        Verdict(heading, text, bool(figures) and figures[0].look == "right", figures),
        *([Card(texts("declared.result.revealed"), shown)] if shown else []),
        *of_kind(result.blocks, Talk),
    ]


def metric_figure(context: PageContext, metric: Metric, value: float | None) -> Figure:
    """Return a metric of the episode for display."""
    texts = context.texts
    name = texts(f"{context.link.name}.metric.{metric.name}")
    if value is None:
        return Figure(name, texts("declared.result.undefined"))
    if not metric.is_share:
        return Figure(name, short_number(value))
    if value in (0, 1) and not metric.graded:
        word = texts(f"declared.result.{'yes' if value else 'no'}")
        if metric.unsuccessful is None:
            return Figure(name, word)
        return Figure(name, word, look="wrong" if value == metric.unsuccessful else "right")
    return Figure(name, f"{100 * value:.0f} %")
