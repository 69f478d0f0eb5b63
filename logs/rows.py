"""The rows of the log, one frozen dataclass per table; `schema.md` documents every column.

Every value is plain (str, int, float, bool, None, or JSON-able dict/list). Times are UTC, ISO 8601 with
milliseconds. Ids are strings chosen by the producer of the row, so that a retry writes the same row.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from time import time_ns
from typing import Any, Final, Literal

Json = dict[str, Any]
Status = Literal["completed", "truncated", "aborted", "failed"]
Setup = Literal["H2H", "H2L", "L2H", "L2L"]


def now() -> str:
    """Return the current time, UTC, ISO 8601 with milliseconds."""
    seconds, milliseconds = divmod(time_ns() // 1_000_000, 1000)
    return f"{_iso_second(seconds)}.{milliseconds:03d}+00:00"


# Every row has a time, and most share their second with the row before.
@lru_cache(maxsize=1)
def _iso_second(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat().removesuffix("+00:00")


def content_hash(data: Json) -> str:
    """Return the hash of an item's content: sha256 (hex) of its canonical JSON."""
    canonical = json.dumps(data, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A batch of episodes under one configuration.

    Attributes:
        id: the run's name, chosen by the user or derived from the configuration.
        benchmark: the benchmark's name, as in ``askback run NAME``.
        setup: a letter for each seat, in order: H human, L model.
        seed: the run's seed, from which every episode's seed is derived.
        config: everything needed to start it again (seats, data, language, options, versions);
            ``planned``, if present, is the number of episodes the run will have.
    """

    id: str
    benchmark: str
    setup: Setup
    seed: int
    config: Json = field(default_factory=dict)
    created_at: str = field(default_factory=now)


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A task of a benchmark as it was played, stored once per content.

    Attributes:
        hash: `content_hash` of `data`.
        benchmark: the benchmark it belongs to.
        name: the item's id in its data set.
        language: the language of its texts.
        data: the complete item, so that a log can be scored without the data set.
    """

    hash: str
    benchmark: str
    name: str
    language: str
    data: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """One run of one item.

    Attributes:
        id: the episode's name, chosen when it is started.
        language: the language it is played in.
        seats: seat name to occupant (``{"seeker": "person", "provider": "offline/experts"}``).
        seed: the seed of every random choice in the episode.
        repeat: 0, 1, … for the plays of the item in this run; for people a random number, only to be unique.
        attempt: 0, plus one each time a failed episode is run again.
        participant_id: the person who plays, if any. If two people play, the payload of each of their turns
            has a ``participant_id``.
        options: the episode's options (turn limit, mode, …).
    """

    id: str
    run_id: str
    item_hash: str
    language: str
    seats: dict[str, str]
    seed: int
    repeat: int = 0
    attempt: int = 0
    participant_id: str | None = None
    options: Json = field(default_factory=dict)
    created_at: str = field(default_factory=now)


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One move of one seat.

    Attributes:
        number: 0, 1, 2, … within the episode, for all seats together.
        seat: the seat that moved.
        text: the complete text.
        payload: effects and reasons of the move (the experts' decision, the frontier before and after).
        key: idempotency key of a person's submission; the same key is the same turn.
        seconds: time from when the seat could move until it had moved.
    """

    episode_id: str
    number: int
    seat: str
    text: str
    payload: Json = field(default_factory=dict)
    key: str | None = None
    seconds: float | None = None
    created_at: str = field(default_factory=now)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """The ending of an episode.

    Attributes:
        status: completed, truncated (turn limit), aborted (a seat broke the rules) or failed
            (infrastructure; the item is run again as another attempt).
        cause: for aborted and failed: seeker, provider, parser, scorer or infrastructure.
        message: a human-readable explanation.
    """

    episode_id: str
    status: Status
    cause: str | None = None
    message: str = ""
    created_at: str = field(default_factory=now)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCall:
    """One request to a language model.

    Attributes:
        id: the call's name, chosen by the caller.
        turn_number: the turn it was made for; None outside a turn (a judge).
        purpose: the expert or seat that asked (``seeker``, ``provider.type``, ``judge``, …).
        model: ``provider/model``.
        prompt_version: content hash of the prompt template; empty if there was none.
        request: ``messages``, ``parameters``, ``schema``, ``repeat``; ``key`` is the sha256 by which replay
            finds the call. In the file, a request similar to an earlier one of the same episode is stored as
            a list of differences (`logs.shorten`); readers and exports restore it.
        response: text, parsed object, log-probabilities, finish reason; ``server`` is the address of the
            fleet server that answered (or failed).
        input_tokens: tokens read; None if the server did not report them.
        output_tokens: tokens written; None if the server did not report them.
        cost: None if the model has no price.
        seconds: time from sending the request to the complete answer, retries included.
        attempts: requests sent, retries included; 0 if cached.
        cached: answered from the response cache; usage is then that of the original call.
        error: name of the error if it failed, else empty.
    """

    id: str
    episode_id: str | None
    turn_number: int | None
    purpose: str
    model: str
    prompt_version: str = ""
    request: Json = field(default_factory=dict)
    response: Json = field(default_factory=dict)
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: float | None = None
    seconds: float | None = None
    attempts: int = 1
    cached: bool = False
    error: str = ""
    created_at: str = field(default_factory=now)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgment:
    """A statement of an annotator, a reviewer or a judge about an episode, a turn or an item.

    Attributes:
        id: the judgment's name, chosen by its collector.
        episode_id: the episode it is about; None if it is only about an item.
        annotator: a participant id, or a model's name.
        kind: the question (``review.provider_error``, ``success``, ``judge``, …).
        value: the answer.
        turn_number: the turn it is about; None for the episode as a whole.
        item_hash: the item it is about, if there is no episode.
        key: idempotency key of a person's submission; the same annotator's same key is the same judgment.
    """

    id: str
    episode_id: str | None
    annotator: str
    kind: str
    value: Json
    turn_number: int | None = None
    item_hash: str | None = None
    key: str | None = None
    created_at: str = field(default_factory=now)


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """A number computed from logged turns.

    Attributes:
        metric: ``success``, ``aqd``, ``aql``, …
        value: None if the metric is undefined for the episode.
        version: the scorer's version; scoring again appends a row if anything has changed; the latest counts.
        details: the basis of the number (missing nodes, …).
    """

    episode_id: str
    metric: str
    value: float | None
    version: str
    details: Json = field(default_factory=dict)
    created_at: str = field(default_factory=now)


@dataclass(frozen=True, slots=True, kw_only=True)
class Participant:
    """A person, by pseudonym.

    Attributes:
        id: keyed hash of the outside identity.
        language: the language of the pages shown to them.
        details: their answers about themselves, consent, …
    """

    id: str
    language: str = "en"
    details: Json = field(default_factory=dict)
    created_at: str = field(default_factory=now)


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """A person's outside identity (a payment id), in a separate table and exported only on request.

    Attributes:
        kind: the kind of identity (``prolific_pid``, ``email``, …).
        value: the identity itself.
    """

    participant_id: str
    kind: str
    value: str
    created_at: str = field(default_factory=now)


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """A participant's place in a study, and its state: one row per change of state.

    Attributes:
        id: the assignment's name, shared by all its states; its latest row is the current one.
        state: ``reserved``, ``started``, ``completed``, ``returned``, …
        details: condition, place in the order, …
    """

    id: str
    participant_id: str
    run_id: str
    item_hash: str
    state: str
    details: Json = field(default_factory=dict)
    created_at: str = field(default_factory=now)


WITHDREW: Final = "participant.withdrew"
"""Kind of the event that a person withdrew; ``erase_at`` in its details is when they will be erased."""

RESTORED: Final = "participant.restored"
"""Kind of the event that revokes a withdrawal."""

EXCLUDED: Final = "participant.excluded"
"""Kind of the event that a researcher excluded a person from a study's run, with the reason and the name."""

INCLUDED: Final = "participant.included"
"""Kind of the event that revokes an exclusion."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Anything else worth knowing later (a researcher's action, a reload, an import).

    Attributes:
        kind: the kind of event (``run.started``, ``participant.erased``, …).
        details: further facts about the event.
    """

    kind: str
    run_id: str | None = None
    episode_id: str | None = None
    participant_id: str | None = None
    details: Json = field(default_factory=dict)
    created_at: str = field(default_factory=now)


Row = (
    Run
    | Item
    | Episode
    | Turn
    | Ending
    | ModelCall
    | Judgment
    | Score
    | Participant
    | Identity
    | Assignment
    | Event
)
