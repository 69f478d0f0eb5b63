"""The pages of a benchmark that is a declaration, made from its blocks, seats, rules and texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from simulator.benchmark import Benchmark, Block, Meter, Metric, Move, Talk
from simulator.runner.declared_views import Result, SeatPage
from simulator.runner.lobby import Opponent
from simulator.studies.cards import StudyCard
from ui.i18n import Strings
from ui.render.environment import render
from ui.render.frame import Frame, RoomLink
from ui.render.opponents import opponent_options
from ui.render.play import Invitation
from ui.study.pages import Here, offer, session_page, whole

STEPS: Final[Mapping[str, str]] = {
    "consent": "consent",
    "instructions": "instructions",
    "gather": "instructions",
    "task": "task",
}
"""The step of a study that each stage of an episode belongs to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleField:
    """A rule as a field of a form.

    Attributes:
        name: of the rule.
        kind: of the field.
        value: the usual one.
        choices: of a menu.
        least: of a number; None where there is none.
        most: likewise.
    """

    name: str
    kind: Literal["whole", "number", "switch", "menu", "text"]
    value: Any
    choices: tuple[Any, ...] = ()
    least: float | None = None
    most: float | None = None


def rule_fields(benchmark: Benchmark[Any, Any]) -> tuple[RuleField, ...]:
    """Return the rules of a benchmark as fields of a form."""
    assert benchmark.rules is not None
    described, usual = benchmark.rules.model_json_schema()["properties"], benchmark.rules()
    return tuple(_rule_field(name, schema, getattr(usual, name)) for name, schema in described.items())


def _rule_field(name: str, schema: Mapping[str, Any], value: Any) -> RuleField:
    # What may be left out (``int | None``) is a number all the same.
    schema = {**schema, **next((kind for kind in schema.get("anyOf", ()) if kind["type"] != "null"), {})}
    whole_number = schema.get("type") == "integer"
    kinds: Mapping[str, Any] = {"integer": "whole", "number": "number", "boolean": "switch"}
    least, most = schema.get("minimum"), schema.get("maximum")
    if whole_number and "exclusiveMinimum" in schema:
        least = schema["exclusiveMinimum"] + 1
    if whole_number and "exclusiveMaximum" in schema:
        most = schema["exclusiveMaximum"] - 1
    return RuleField(
        name=name,
        kind="menu" if "enum" in schema else kinds.get(schema.get("type", ""), "text"),
        value=value,
        choices=tuple(schema.get("enum", ())),
        least=least,
        most=most,
    )


def entry_page(
    frame: Frame,
    link: RoomLink,
    benchmark: Benchmark[Any, Any],
    items: int,
    studies: Sequence[StudyCard],
    opponents: Mapping[str, Sequence[Opponent]],
) -> str:
    """Return the entry: free play, and the studies that are open.

    Args:
        frame: its frame.
        link: how pages lead there.
        benchmark: the declaration.
        items: how many there are; an item's name may tell what is to be found out.
        studies: of the benchmark.
        opponents: who can sit in each seat.
    """
    return render(
        "declared/entry",
        frame.texts,
        frame=frame,
        room=link,
        items=items,
        rules=rule_fields(benchmark),
        offers=[offer(frame, card) for card in studies if card.open],
        seats=[seat.name for seat in benchmark.seats],
        metrics=[frame.texts(f"{link.name}.metric.{metric.name}") for metric in benchmark.metrics],
        choices={
            seat: opponent_options(frame.texts, known, f"{link.name}.player")
            for seat, known in opponents.items()
        },
    )


def play_page(frame: Frame, link: RoomLink, here: Here, invitations: Mapping[str, Invitation]) -> str:
    """Return the page of an episode that is going on.

    Args:
        frame: its frame.
        link: the benchmark.
        here: the episode.
        invitations: for each seat that this page's person may invite somebody to.
    """
    view: SeatPage = here.view
    texts = frame.texts
    said = [move for block in view.blocks if isinstance(block, Talk) for move in block.moves]
    return session_page(
        "declared/task",
        frame,
        link,
        here,
        STEPS,
        seat_name=view.seat,
        lines=numbered(said, view.moves, view.first),
        meters=[block for block in view.blocks if isinstance(block, Meter)],
        blocks=[block for block in view.blocks if not isinstance(block, Talk | Meter)],
        choices=[(choice, choice_label(texts, link, choice)) for choice in view.due.choices]
        if view.due
        else (),
        label=kind_label(texts, link, view),
        invitations=invitations,
    )


def numbered(lines: Sequence[Move], moves: Sequence[Move], first: int) -> list[tuple[int, Move]]:
    """Return what a page shows of the moves with their numbers in the log; -1 for a line that is no move."""
    numbers = {id(move): first + place for place, move in enumerate(moves)}
    return [(numbers.get(id(line), -1), line) for line in lines]


def choice_label(texts: Strings, link: RoomLink, choice: str) -> str:
    """Return what stands on the button of a choice."""
    return texts.get(f"{link.name}.choice.{choice}", choice)


def kind_label(texts: Strings, link: RoomLink, view: SeatPage) -> str:
    """Return what a page calls the move that is due."""
    kind = view.due.kind if view.due is not None else ""
    return texts.get(f"{link.name}.{kind}", texts("play.message"))


@dataclass(frozen=True, slots=True)
class Figure:
    """A metric of the episode: its value in words, and ``good``, ``poor`` or nothing of a yes or no."""

    metric: Metric
    value: str
    verdict: str = ""


def end_page(
    frame: Frame, link: RoomLink, here: Here, benchmark: Benchmark[Any, Any], result: Result | None
) -> str:
    """Return the last page: in a study thanks and the code, in free play the result, or both."""
    view: SeatPage = here.view
    known = benchmark.metrics if result is not None and result.scores else ()
    blocks: Sequence[Block] = result.blocks if result is not None else ()
    talk = next((block for block in blocks if isinstance(block, Talk)), None)
    moves = talk.moves if talk is not None else result.moves if result is not None else ()
    return session_page(
        "declared/done",
        frame,
        link,
        here,
        STEPS,
        seat_name=view.seat,
        result=result,
        status=view.ending.status if view.ending is not None else "completed",
        figures=[figure(frame.texts, metric, result.scores.get(metric.name)) for metric in known]
        if result is not None
        else (),
        blocks=[block for block in blocks if not isinstance(block, Talk)],
        lines=[(-1, move) for move in moves],
    )


def figure(texts: Strings, metric: Metric, value: float | None) -> Figure:
    """Return a metric's value as people read it."""
    if value is None:
        return Figure(metric, texts("declared.result.undefined"))
    if not metric.is_share:
        return Figure(metric, whole(value))
    if value in (0, 1):
        return Figure(
            metric, texts(f"declared.result.{'yes' if value else 'no'}"), "good" if value else "poor"
        )
    return Figure(metric, f"{100 * value:.0f} %")
