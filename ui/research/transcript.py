"""An episode of any benchmark, turn by turn, with what the log holds beside."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from logs import LogReader
from logs.rows import Episode, Item, ModelCall, Turn


@dataclass(frozen=True, slots=True)
class TranscriptTurn:
    """A turn.

    Attributes:
        kind: of the move; empty if the log names none.
        payload: what else was logged, as JSON; empty if nothing was.
        calls: the model calls made for it.
    """

    turn: Turn
    kind: str
    payload: str
    calls: Sequence[ModelCall]


@dataclass(frozen=True, slots=True)
class Transcript:
    """An episode.

    Attributes:
        status: how it ended; ``open`` if it has not.
        cause: why it did not end well; empty otherwise.
        scores: metric -> value.
        item_data: the item as JSON.
        other_calls: made outside a turn.
    """

    episode: Episode
    item: Item
    status: str
    cause: str
    scores: Mapping[str, float]
    turns: tuple[TranscriptTurn, ...]
    item_data: str
    other_calls: Sequence[ModelCall]


def transcript(reader: LogReader, id: str) -> Transcript:
    """Return an episode.

    Raises:
        NotInLog: if there is none.
    """
    episode, ending = reader.episode(id), reader.ending(id)
    item = reader.item(episode.item_hash)
    calls: dict[int | None, list[ModelCall]] = {}
    for call in reader.model_calls(episode_id=id):
        calls.setdefault(call.turn_number, []).append(call)
    scores = reader.scores(episode_id=id)
    return Transcript(
        episode,
        item,
        ending.status if ending else "open",
        (ending.cause or "") if ending else "",
        {score.metric: score.value for score in scores if score.value is not None},
        tuple(_turn(turn, calls.get(turn.number, ())) for turn in reader.turns(id)),
        _json(item.data),
        calls.get(None, ()),
    )


def _turn(turn: Turn, calls: Sequence[ModelCall]) -> TranscriptTurn:
    kind = turn.payload.get("kind")
    rest = {name: value for name, value in turn.payload.items() if name != "kind"}
    return TranscriptTurn(turn, str(kind or ""), _json(rest) if rest else "", calls)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1)
