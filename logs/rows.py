"""The rows of the log, one frozen dataclass per table; `schema.md` documents every column.

Every value is plain (str, int, float, bool, None, or JSON-able dict/list). Times are UTC, ISO 8601 with
milliseconds. Ids are strings made by whoever produces the row (so that a retry writes the same row).
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
    """Return the present time, UTC, ISO 8601 with milliseconds."""
    seconds, milliseconds = divmod(time_ns() // 1_000_000, 1000)
    return f"{_iso_second(seconds)}.{milliseconds:03d}+00:00"


# Every row has a time, and most have their second in common with the one before.
@lru_cache(maxsize=1)
def _iso_second(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat().removesuffix("+00:00")


def content_hash(data: Json) -> str:
    """Return the name of an item's content: sha256 of its canonical JSON, hexadecimal."""
    canonical = json.dumps(data, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A batch of episodes under one configuration.

    Attributes:
        id: the run's name, chosen by the user or derived from the configuration.
        benchmark: its name, as in ``askback run NAME``.
        setup: who sat where; first letter the seeker's side, second the provider's; H human, L model.
        seed: the run's seed; every episode's seed derives from it.
        config: everything needed to start it again (seats, data, language, options, versions);
            ``planned`` in it, if there, is the number of episodes the run will have.
    """

    id: str
    benchmark: str
    setup: Setup
    seed: int
    config: Json = field(default_factory=dict)
    created_at: str = field(default_factory=now)


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One task of a benchmark as it was played, stored once per content.

    Attributes:
        hash: `content_hash` of `data`.
        benchmark: the benchmark it belongs to.
        name: the item's id within its data set.
        language: the language of its texts.
        data: the whole item, so that a log can be scored without the data set.
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
        id: the episode's name, made by whoever starts it.
        language: the language it is played in.
        seats: seat name to who sits there (``{"seeker": "person", "provider": "offline/experts"}``).
        seed: every random choice within the episode descends from it.
        repeat: 0 for the first play of the item in this run.
        attempt: 0, then one more each time a failed episode is run again.
        participant_id: the person who plays, if one does. Where two play, each of their turns says in its
            payload's ``participant_id`` whose it is.
        options: what governs this episode (turn limit, mode, …).
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
        number: 0, 1, 2, … within the episode, all seats counted.
        seat: who moved.
        text: what was said, whole.
        payload: what the move did and why (the experts' decision, the frontier before and after).
        key: idempotency key of a person's submission; the same key is the same turn.
        seconds: from the moment the seat could move until it had moved.
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
        message: for a person to read.
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
        id: the call's name, made by the caller.
        turn_number: the turn it was made for, None outside a turn (a judge).
        purpose: which expert or seat asked (``seeker``, ``provider.type``, ``judge``, …).
        model: ``provider/model``.
        prompt_version: content hash of the prompt template, empty if there was none.
        request: ``messages``, ``parameters``, ``schema``, ``repeat``; ``key`` is the sha256 by which replay
            finds the call. In the file, a request that repeats an earlier one of the same episode is a
            list of what differs (`logs.shorten`); readers and exports give it whole.
        response: text, parsed object, log-probabilities, finish reason; ``server`` is the address that
            answered (or failed) where a fleet of servers has the model.
        input_tokens: tokens read, None if the server did not say.
        output_tokens: tokens written, None if the server did not say.
        cost: None if the model has no price.
        seconds: from sending the request to having the whole answer, retries included.
        attempts: requests sent, retries included; 0 if cached.
        cached: answered from the response cache; usage is then what the first call took.
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
    """A statement of an annotator, a reviewer or a judge about something.

    Attributes:
        id: the judgment's name, made by whoever collects it.
        episode_id: the episode it is about, None if it is about an item alone.
        annotator: a participant id, or a model's name.
        kind: what was asked (``review.provider_error``, ``success``, ``judge``, …).
        value: the answer.
        turn_number: the turn it is about, None for the whole episode.
        item_hash: the item it is about, where there is no episode.
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
    """One number computed from logged turns.

    Attributes:
        metric: ``success``, ``aqd``, ``aql``, …
        value: None where the metric is undefined for the episode.
        version: of the scorer; re-scoring appends a row if anything has changed.
        details: what the number rests on (missing nodes, …).
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
        details: what they told about themselves, consent, …
    """

    id: str
    language: str = "en"
    details: Json = field(default_factory=dict)
    created_at: str = field(default_factory=now)


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """A person's outside identity (a payment id), kept in a table of its own and never exported unasked.

    Attributes:
        kind: what it is (``prolific_pid``, ``email``, …).
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
        id: the assignment's name; all its states share it and its newest row holds now.
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
"""Kind of the event of somebody who withdrew; ``erase_at`` in its details says when they are erased."""

RESTORED: Final = "participant.restored"
"""Kind of the event that takes a withdrawal back."""

EXCLUDED: Final = "participant.excluded"
"""Kind of the event of somebody whom a researcher excluded from a study's run: why, and who did."""

INCLUDED: Final = "participant.included"
"""Kind of the event that takes an exclusion back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Anything else worth knowing later (a researcher's action, a reload, an import).

    Attributes:
        kind: what happened (``run.started``, ``participant.erased``, …).
        details: whatever belongs to it.
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
