"""Reviewing: the start, one dialogue to be marked, and what the reviews add up to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final, NamedTuple

from logs.rows import Judgment
from simulator.blocks import Detail
from simulator.clarq.data import BENCHMARK
from simulator.clarq.playing import PROVIDER
from simulator.clarq.reporting.agreement import (
    Agreement,
    Disagreement,
    ErrorRates,
    agreement,
    error_rates,
    reviewers,
    success_agreement,
)
from simulator.clarq.review import (
    FAILURES,
    ErrorType,
    ProviderMark,
    Review,
    expectable_nodes,
    possible_errors,
    read_review,
    read_reviews,
    unanswered,
    unmarked_turns,
)
from simulator.clarq.show import background_parts, tree_replay
from simulator.clarq.views import ReplayStep
from simulator.tree_blocks import TreeReplay
from ui.i18n import DECLARED
from ui.render.frame import RoomLink
from ui.research.desk import Dialogue, RunCard, RunData
from ui.research.format import Cell, cell, scale
from ui.research.view import Page, Visit

ROOM: Final = RoomLink(f"{DECLARED}.{BENCHMARK}", "", "")
"""Where the words of blocks are found."""


class Drawn(NamedTuple):
    """The drawn parts of a dialogue: its tree turn by turn, and the seeker's background."""

    replay: TreeReplay
    background: tuple[Detail, ...]


@dataclass(frozen=True, slots=True)
class MarkedTurn:
    """A turn of the dialogue under review.

    Attributes:
        markable: whether it is a provider's turn that can be right or wrong.
        errors: the types that can be marked there.
        expectable: the nodes that should perhaps have been given.
        marked: whether the reviewer has said anything of it.
    """

    step: ReplayStep
    markable: bool
    errors: tuple[ErrorType, ...]
    expectable: tuple[str, ...]
    mark: ProviderMark
    marked: bool
    note: str


@dataclass(frozen=True, slots=True)
class Agreed:
    """One question's agreement as the table shows it.

    Attributes:
        shown: disagreements that may be seen.
        hidden: how many others there are.
    """

    question: str
    n: int
    observed: Cell
    kappa: Cell | None
    shown: tuple[Disagreement, ...]
    hidden: int


def start_page(visit: Visit, cards: Sequence[RunCard]) -> Page:
    """Choose a run and a reviewer's name."""
    return visit.page("review_start", cards=cards)


def marking_page(visit: Visit, dialogue: Dialogue, own: Sequence[Judgment], done: int, total: int) -> Page:
    """Return one dialogue, with the marks of this reviewer alone.

    Args:
        visit: the request; its address names the reviewer.
        dialogue: what is reviewed.
        own: this reviewer's judgments of it.
        done: dialogues of the run that this reviewer has finished.
        total: dialogues of the run that can be reviewed.
    """
    replay = dialogue.replay
    review = read_review(own, visit.at.reviewer)
    return visit.page(
        "review",
        dialogue=dialogue,
        review=review,
        turns=[_turn(dialogue, review, step) for step in replay.steps],
        drawn=Drawn(tree_replay(replay), tuple(background_parts(replay.task.background, PROVIDER))),
        room=ROOM,
        failures=FAILURES,
        left=unanswered(replay, review),
        unmarked=len(unmarked_turns(replay, review)),
        note=review.notes.get(None, ""),
        done=done,
        total=total,
    )


def all_done_page(visit: Visit, total: int) -> Page:
    """Return the page that says that nothing is left to review."""
    return visit.page("review_done", total=total)


def agreement_page(visit: Visit, data: RunData) -> Page:
    """Return error rates, agreement and the lists of disagreements."""
    judgments, turns = data.judgments, data.turns
    reviews = read_reviews(judgments)
    unseen = {
        episode
        for episode, _ in reviews
        if visit.at.reviewer and not _finished(reviews.get((episode, visit.at.reviewer)))
    }
    rates = error_rates(judgments, turns)
    pairs = [
        (first, second, [agreed(measure, unseen) for measure in measures])
        for first, second in combinations(reviewers(judgments), 2)
        if (measures := agreement(judgments, turns, first, second))
    ]
    automatic = success_agreement(data.scored, judgments)
    return visit.page(
        "agreement",
        data=data,
        rates=rates,
        rate_cells=_rate_cells(rates),
        pairs=pairs,
        automatic=agreed(automatic, unseen) if automatic else None,
        names={id: played.episode.id.removeprefix(f"{data.run.id}/") for id, played in data.played.items()},
    )


def agreed(agreement: Agreement, unseen: set[str]) -> Agreed:
    """Return an agreement as the table shows it; disagreements on `unseen` dialogues are only counted."""
    shown = tuple(each for each in agreement.disagreements if each.episode_id not in unseen)
    return Agreed(
        question=agreement.question,
        n=agreement.observed.n,
        observed=cell(agreement.observed, scale((), fixed=(0.0, 1.0)), 3),
        kappa=None if agreement.kappa is None else cell(agreement.kappa, scale((), fixed=(-0.2, 1.0)), 3),
        shown=shown,
        hidden=len(agreement.disagreements) - len(shown),
    )


def _finished(review: Review | None) -> bool:
    return review is not None and review.done


def _rate_cells(rates: ErrorRates) -> list[tuple[str, int, Cell]]:
    if not rates.rates:
        return []
    top = max(5.0, *(rate.per_100.reach[1] for rate in rates.rates))
    on = scale((), fixed=(0.0, top))
    return [(rate.error, rate.count, cell(rate.per_100, on, 1)) for rate in rates.rates]


def _turn(dialogue: Dialogue, review: Review, step: ReplayStep) -> MarkedTurn:
    markable = step.seat == "provider" and step.number > 0
    return MarkedTurn(
        step=step,
        markable=markable,
        errors=possible_errors(step) if markable else (),
        expectable=expectable_nodes(step) if markable else (),
        mark=review.provider.get(step.number, ProviderMark()),
        marked=step.number in review.provider,
        note=review.notes.get(step.number, ""),
    )
