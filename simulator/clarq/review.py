"""Reviews of finished dialogues turn by turn (paper VI-G; spec section 6): the marks and their rules.

A mark is a `Judgment`; the latest row per annotator and place counts, so reviewers may change their minds:

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
should have given none and gave one. A turn has at most one of them; hallucination is marked separately.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final, Literal, get_args

from logs.rows import Judgment
from simulator.clarq.score import REVIEW_SUCCESS
from simulator.clarq.show import Replay, ReplayStep
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
"""Reasons for a missing node: the seeker never noticed the uncertainty, noticed it and lost it, or stated
a guess in a summary instead of asking; or it asked, and the provider is to blame."""

_MAX_NOTE = 4000


@dataclass(frozen=True, slots=True)
class ProviderMark:
    """A reviewer's mark of one provider turn.

    Attributes:
        type: type of the error, 0 for no error.
        node: for a type 1 error, the node that should have been given (``"0"``: the opening), if named.
        hallucination: whether the turn states something that is not in the task.
    """

    type: ErrorType = 0
    node: str | None = None
    hallucination: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """All marks of one reviewer on one dialogue.

    Attributes:
        provider: turn number -> mark; in a finished review, an unmarked turn has no error.
        seeker: missing node -> reason why it is missing.
        success: the reviewer's own verdict; None if not given yet.
        notes: turn number, or None for the dialogue -> text.
    """

    provider: Mapping[int, ProviderMark] = field(default_factory=dict)
    seeker: Mapping[str, Failure] = field(default_factory=dict)
    success: bool | None = None
    notes: Mapping[int | None, str] = field(default_factory=dict)
    done: bool = False


def read_reviews(judgments: Iterable[Judgment]) -> dict[tuple[str, str], Review]:
    """Return reviews by episode and annotator from judgments in logged order."""
    reviews: dict[tuple[str, str], Review] = {}
    for row in judgments:
        if row.kind in KINDS and row.episode_id is not None:
            place = (row.episode_id, row.annotator)
            before = reviews.get(place, Review())
            reviews[place] = (
                before if row.value.get("erased") else replace(before, **_changed_fields(before, row))
            )
    return reviews


def _changed_fields(review: Review, row: Judgment) -> dict[str, Any]:
    """Return the fields of a review that a mark changes."""
    value = row.value
    if row.kind == PROVIDER_ERROR:
        mark = ProviderMark(value["type"], value.get("node"), bool(value.get("hallucination")))
        return {"provider": {**review.provider, row.turn_number: mark}}
    if row.kind == SEEKER_FAILURE:
        # A changed reason moves to the end; a withdrawn reason is removed.
        others = {node: failure for node, failure in review.seeker.items() if node != value["node"]}
        return {"seeker": others | ({value["node"]: value["failure"]} if value["failure"] else {})}
    if row.kind == NOTE:
        return {"notes": {**review.notes, row.turn_number: str(value["text"])}}
    name = "success" if row.kind == REVIEW_SUCCESS else "done"
    return {name: bool(value[name])}


def write_changes(
    reviewer: str, key: str, episode_id: str, replay: Replay, before: Review, after: Review
) -> Iterator[Judgment]:
    """Yield the marks that turn one review into another; their ids depend on `key` alone.

    Raises:
        InputError: if a mark is impossible for its turn or node.
    """
    for place, (kind, turn, value) in enumerate(_changes(replay, before, after)):
        mark_key = f"{key}-{place}" if place else key
        yield Judgment(
            id=f"{episode_id}/review/{reviewer}/{mark_key}",
            episode_id=episode_id,
            annotator=reviewer,
            kind=kind,
            value=value,
            turn_number=turn,
            key=mark_key,
        )


def _changes(
    replay: Replay, before: Review, after: Review
) -> Iterator[tuple[str, int | None, dict[str, Any]]]:
    """Yield kind, turn and value of each changed mark."""
    for number, mark in after.provider.items():
        if mark != before.provider.get(number):
            _check_mark(reviewable_step(replay, number), mark)
            yield PROVIDER_ERROR, number, asdict(mark)
    if after.success is not None and after.success != before.success:
        yield REVIEW_SUCCESS, None, {"success": after.success}
    for node in dict.fromkeys((*before.seeker, *after.seeker)):
        if (failure := after.seeker.get(node)) != before.seeker.get(node):
            if node not in replay.scores.missing:
                problem = f"node {node} is not missing in this dialogue"
                raise InputError(problem, code="node_not_missing", node=node)
            require_known([failure] if failure is not None else [], FAILURES, "reason for a missing node")
            yield SEEKER_FAILURE, None, {"node": node, "failure": failure}
    for place, text in after.notes.items():
        if text != before.notes.get(place, ""):
            _check_note(replay, place, text)
            yield NOTE, place, {"text": text.strip()}
    if after.done != before.done:
        if after.done and (left := unanswered_parts(replay, after)):
            raise InputError(f"still to be answered: {', '.join(left)}", code="unsaid", count=len(left))
        yield DONE, None, {"done": after.done}


def _check_mark(step: ReplayStep, mark: ProviderMark) -> None:
    number = step.turn.number
    if mark.type not in possible_errors(step):
        raise InputError(
            f"turn {number}: a type 1 error needs an available node, a type 2 error a given node",
            code="no_such_error",
            turn=number,
        )
    if mark.node is not None and (mark.type != 1 or mark.node not in expectable_nodes(step)):
        raise InputError(
            f"turn {number}: node {mark.node} could not be given then",
            code="node_not_there",
            turn=number,
            node=mark.node,
        )


def _check_note(replay: Replay, number: int | None, text: str) -> None:
    if number is not None and not 0 <= number < len(replay.steps):
        raise InputError(
            f"turn {number}: this dialogue has turns 0 to {len(replay.steps) - 1}",
            code="no_turn",
            turn=number,
        )
    if len(text) > _MAX_NOTE:
        raise InputError(
            f"a note may have at most {_MAX_NOTE} characters; this one has {len(text)}",
            code="long_note",
            most=_MAX_NOTE,
        )


def unanswered_parts(replay: Replay, review: Review) -> tuple[str, ...]:
    """Return the unanswered parts of a review: ``success``, and missing nodes without a reason."""
    if review.success:
        return ()
    left = () if review.success is not None else ("success",)
    return (*left, *(node for node in replay.scores.missing if node not in review.seeker))


def reviewable_step(replay: Replay, number: int) -> ReplayStep:
    """Return the provider's turn with this number.

    Raises:
        InputError: if the turn does not exist, is the seeker's or is the greeting.
    """
    for step in replay.steps:
        if step.turn.number == number and step.reviewable:
            return step
    raise InputError(f"turn {number} is not a reviewable turn of the provider", code="no_turn", turn=number)


def expectable_nodes(step: ReplayStep) -> tuple[str, ...]:
    """Return the nodes that could have been given in a turn but were not."""
    available = [node.index for node in step.before.available] if step.before.opened else [OPENING]
    return tuple(index for index in available if index not in step.gave)


def possible_errors(step: ReplayStep) -> tuple[ErrorType, ...]:
    """Return the types of error that are possible in a turn, always including 0."""
    first: tuple[ErrorType, ...] = (1,) if expectable_nodes(step) else ()
    second: tuple[ErrorType, ...] = (2,) if step.gave else ()
    return (0, *first, *second)
