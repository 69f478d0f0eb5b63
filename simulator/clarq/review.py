"""Reviewing a finished dialogue turn by turn (paper VI-G; spec section 6): the marks and their rules.

A mark is a `Judgment` whose newest row per annotator and place counts, so a reviewer may change their mind:

======================== ============ ==========================================================
kind                     about        value
======================== ============ ==========================================================
``review.provider_error`` a turn      ``{"type": 0 | 1 | 2, "node": index | null, "hallucination": bool}``
``review.seeker_failure`` the episode ``{"node": index, "failure": one of FAILURES | null}``
``review.success``        the episode ``{"success": bool}``
``review.note``           a turn, or  ``{"text": str}``
                          the episode
``review.done``           the episode ``{"done": bool}``
======================== ============ ==========================================================

A type 1 error: the provider should have given a node and gave a wrong one or none. A type 2 error: it
should have given none and gave one. One turn holds one of them at most; a hallucination stands by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Final, Literal, get_args

from logs.rows import Judgment
from simulator.clarq.playing import PROVIDER
from simulator.clarq.score import REVIEW_SUCCESS
from simulator.clarq.views import Replay, ReplayStep
from simulator.errors import InputError
from simulator.judging import require_known
from trees import OPENING

PROVIDER_ERROR: Final = "review.provider_error"
SEEKER_FAILURE: Final = "review.seeker_failure"
NOTE: Final = "review.note"
DONE: Final = "review.done"
KINDS: Final = (PROVIDER_ERROR, SEEKER_FAILURE, REVIEW_SUCCESS, NOTE, DONE)

ErrorType = Literal[0, 1, 2]
Failure = Literal["overlooked", "forgotten", "hidden", "provider"]
FAILURES: Final[tuple[Failure, ...]] = get_args(Failure)
"""Why a node is missing: the seeker never noticed the uncertainty, noticed and lost it, stated its own
guess in a summary instead of asking; or it asked, and the provider is to blame."""

_LONGEST_NOTE = 4000


@dataclass(frozen=True, slots=True)
class ProviderMark:
    """A reviewer's mark of one provider turn.

    Attributes:
        type: 1 or 2, 0 for neither.
        node: of a type 1 error, which node should have been given; ``"0"`` is the opening; None if unsaid.
        hallucination: the turn states something that its task does not hold.
    """

    type: ErrorType = 0
    node: str | None = None
    hallucination: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """All marks of one reviewer on one dialogue.

    Attributes:
        provider: turn number -> mark; an unmarked turn of a finished review holds no error.
        seeker: missing node -> why it is missing.
        success: the reviewer's own verdict, None before there is one.
        notes: turn number, or None for the whole dialogue -> text.
        done: whether the reviewer has finished.
    """

    annotator: str
    provider: Mapping[int, ProviderMark] = field(default_factory=dict)
    seeker: Mapping[str, Failure] = field(default_factory=dict)
    success: bool | None = None
    notes: Mapping[int | None, str] = field(default_factory=dict)
    done: bool = False


def read_reviews(judgments: Iterable[Judgment]) -> dict[tuple[str, str], Review]:
    """Return reviews by episode and annotator, out of judgments in the order in which they were written."""
    grouped: dict[tuple[str, str], list[Judgment]] = {}
    for judgment in judgments:
        if judgment.kind in KINDS and judgment.episode_id is not None:
            grouped.setdefault((judgment.episode_id, judgment.annotator), []).append(judgment)
    return {place: _review(place[1], rows) for place, rows in grouped.items()}


def _review(annotator: str, judgments: Sequence[Judgment]) -> Review:
    provider: dict[int, ProviderMark] = {}
    seeker: dict[str, Failure] = {}
    notes: dict[int | None, str] = {}
    success, done = None, False
    for row in judgments:
        value = row.value
        if value.get("erased"):
            continue
        if row.kind == PROVIDER_ERROR and row.turn_number is not None:
            provider[row.turn_number] = ProviderMark(
                value["type"], value.get("node"), bool(value.get("hallucination"))
            )
        elif row.kind == SEEKER_FAILURE:
            seeker.pop(value["node"], None)
            if value["failure"] is not None:
                seeker[value["node"]] = value["failure"]
        elif row.kind == REVIEW_SUCCESS:
            success = bool(value["success"])
        elif row.kind == NOTE:
            notes[row.turn_number] = str(value["text"])
        elif row.kind == DONE:
            done = bool(value["done"])
    return Review(
        annotator=annotator, provider=provider, seeker=seeker, success=success, notes=notes, done=done
    )


# Making marks


@dataclass(frozen=True, slots=True)
class Pen:
    """The writer of a mark, and its idempotency key.

    Attributes:
        annotator: the reviewer's pseudonym.
        key: of this submission; the same key is the same mark.
    """

    annotator: str
    key: str

    def mark(self, episode_id: str, kind: str, value: dict[str, Any], turn: int | None = None) -> Judgment:
        """Return the row of a mark."""
        return Judgment(
            id=f"{episode_id}/review/{self.annotator}/{self.key}",
            episode_id=episode_id,
            annotator=self.annotator,
            kind=kind,
            value=value,
            turn_number=turn,
            key=self.key,
        )


def mark_provider(pen: Pen, episode_id: str, replay: Replay, number: int, mark: ProviderMark) -> Judgment:
    """Return a mark on a provider turn.

    Raises:
        InputError: if there is no such turn, or the error cannot have happened there.
    """
    step = reviewable_step(replay, number)
    if mark.type not in possible_errors(step):
        raise InputError(
            f"turn {number}: type 1 needs something that could be given, type 2 something that was given",
            code="no_such_error",
            turn=number,
        )
    expected = expectable_nodes(step) if mark.type == 1 else ()
    if mark.node is not None and mark.node not in expected:
        raise InputError(
            f"turn {number}: node {mark.node} could not be given there",
            code="node_not_there",
            turn=number,
            node=mark.node,
        )
    value = {"type": mark.type, "node": mark.node, "hallucination": mark.hallucination}
    return pen.mark(episode_id, PROVIDER_ERROR, value, number)


def mark_failure(pen: Pen, episode_id: str, replay: Replay, node: str, failure: Failure | None) -> Judgment:
    """Return why a node is missing; None takes the mark back.

    Raises:
        InputError: if the node is not missing, or the reason is unknown.
    """
    if node not in replay.scores.missing:
        raise InputError(f"node {node} is not missing in this dialogue", code="node_not_missing", node=node)
    require_known([failure] if failure is not None else [], FAILURES, "reason for a missing node")
    return pen.mark(episode_id, SEEKER_FAILURE, {"node": node, "failure": failure})


def mark_success(pen: Pen, episode_id: str, success: bool) -> Judgment:
    """Return the reviewer's own verdict: did the seeker get what it needed?"""
    return pen.mark(episode_id, REVIEW_SUCCESS, {"success": success})


def write_note(pen: Pen, episode_id: str, replay: Replay, text: str, number: int | None) -> Judgment:
    """Return a note on a turn, or on the whole dialogue.

    Raises:
        InputError: if there is no such turn, or the note is too long.
    """
    if number is not None and not 0 <= number < len(replay.steps):
        raise InputError(
            f"turn {number}: this dialogue has turns 0 to {len(replay.steps) - 1}",
            code="no_turn",
            turn=number,
        )
    if len(text) > _LONGEST_NOTE:
        raise InputError(
            f"a note may have {_LONGEST_NOTE} characters; this one has {len(text)}",
            code="long_note",
            most=_LONGEST_NOTE,
        )
    return pen.mark(episode_id, NOTE, {"text": text.strip()}, number)


def finish(pen: Pen, episode_id: str, replay: Replay, review: Review, *, done: bool = True) -> Judgment:
    """Say that a review is finished, or open it again.

    Raises:
        InputError: if something is still to be said.
    """
    left = unanswered(replay, review)
    if done and left:
        raise InputError(f"still to be said: {', '.join(left)}", code="unsaid", count=len(left))
    return pen.mark(episode_id, DONE, {"done": done})


def write_changes(
    pen: Pen, episode_id: str, replay: Replay, before: Review, after: Review
) -> Iterator[Judgment]:
    """Yield the marks that lead from one review to another.

    Raises:
        InputError: if one of them makes no sense.
    """
    pens = (Pen(pen.annotator, pen.key if not number else f"{pen.key}-{number}") for number in count())
    for number, mark in after.provider.items():
        if before.provider.get(number) != mark:
            yield mark_provider(next(pens), episode_id, replay, number, mark)
    if after.success is not None and after.success != before.success:
        yield mark_success(next(pens), episode_id, after.success)
    for node in dict.fromkeys((*before.seeker, *after.seeker)):
        if (failure := after.seeker.get(node)) != before.seeker.get(node):
            yield mark_failure(next(pens), episode_id, replay, node, failure)
    for place, text in after.notes.items():
        if text != before.notes.get(place, ""):
            yield write_note(next(pens), episode_id, replay, text, place)
    if after.done != before.done:
        yield finish(next(pens), episode_id, replay, after, done=after.done)


def unanswered(replay: Replay, review: Review) -> tuple[str, ...]:
    """Return what a review still lacks: ``success``, and of a failure the nodes left unexplained."""
    if review.success:
        return ()
    left = () if review.success is not None else ("success",)
    return (*left, *(node for node in replay.scores.missing if node not in review.seeker))


# What can be marked


def unmarked_turns(replay: Replay, review: Review) -> tuple[int, ...]:
    """Return the provider's turns without a mark; a finished review holds no error there."""
    return tuple(step.number for step in provider_steps(replay) if step.number not in review.provider)


def provider_steps(replay: Replay) -> tuple[ReplayStep, ...]:
    """Return the provider's turns that can be right or wrong: all but the fixed greeting."""
    return tuple(step for step in replay.steps if step.seat == PROVIDER and step.number > 0)


def reviewable_step(replay: Replay, number: int) -> ReplayStep:
    """Return the provider's turn of that number.

    Raises:
        InputError: if there is none, or it is the greeting.
    """
    for step in provider_steps(replay):
        if step.number == number:
            return step
    raise InputError(
        f"turn {number} is no turn of the provider's that can be reviewed", code="no_turn", turn=number
    )


def expectable_nodes(step: ReplayStep) -> tuple[str, ...]:
    """Return the nodes that should perhaps have been given in a turn instead of what was given."""
    available = step.available_before if step.opened else (OPENING,)
    return tuple(node for node in available if node not in step.gave)


def possible_errors(step: ReplayStep) -> tuple[ErrorType, ...]:
    """Return the types of error that can have happened in a turn; 0 always."""
    first: tuple[ErrorType, ...] = (1,) if expectable_nodes(step) else ()
    second: tuple[ErrorType, ...] = (2,) if step.gave else ()
    return (0, *first, *second)
