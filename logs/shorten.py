"""Requests to language models, stored as what sets each apart from the one before.

Why. Each prompt of a dialogue holds all that was said before, and a provider's experts are asked about one
node after the other in nearly the same words. Stored whole, n turns take n² of text, and by far most of
the file is what it holds already.

How. The first request of an episode is stored whole. Each later one is a JSON list (`_Short`): which call
it rests on (the last of the same purpose; for the first of a purpose the likest of all), how many characters
are the same at the beginning and at the end, and the text between them. The key, which differs every time
and stands elsewhere, is taken out before texts are compared; it has a column of its own. The SQL function
``whole_request(id, request, request_key)``, which every connection of `logs.connect` knows, puts the text
together again; `logs.codec.select` applies it, so readers and exports see nothing of this. After 64 links a
request is stored whole again.
"""

from __future__ import annotations

import json
import sqlite3
import weakref
from collections import OrderedDict
from typing import Final, NamedTuple

from logs.codec import Values, dump_json, stored_columns
from logs.rows import ModelCall
from logs.schema import TABLES

_LINKS: Final = 64
# What is remembered: more episodes than are played at a time, and texts that others may rest on.
_EPISODES: Final = 512
_TEXTS: Final = 2048
# Below this many characters saved, a request is stored whole.
_WORTH: Final = 128
# As `logs.erase` leaves it.
_ERASED: Final = '{"erased":true}'

_ID, _EPISODE, _PURPOSE, _REQUEST, _KEY = map(
    stored_columns(TABLES[ModelCall]).index, ("id", "episode_id", "purpose", "request", "request_key")
)


class _Short(NamedTuple):
    """The stored part of a request.

    Attributes:
        before: id of the call before.
        length: of that call's text without its key.
        head: characters that are the same at the beginning.
        tail: characters that are the same at the end.
        between: the rest.
        place: where the key goes in; -1 if there is none.
    """

    before: str
    length: int
    head: int
    tail: int
    between: str
    place: int


class _Last(NamedTuple):
    """A request without its key, and how many links it hangs on."""

    id: str
    text: str
    links: int


class Shortener:
    """Shortens requests in the order in which they are inserted; one per connection that writes."""

    def __init__(self) -> None:
        # Episode -> purpose -> its last request.
        self._episodes: OrderedDict[str, dict[str, _Last]] = OrderedDict()

    def shorten(self, values: Values) -> Values:
        """Return the values of a `ModelCall` with its request shortened, if that is worth it."""
        episode, purpose = values[_EPISODE], values[_PURPOSE]
        if episode is None:
            return values
        text, place = _cut_key(values[_KEY], values[_REQUEST])
        purposes = self._last_of(episode)
        last = purposes.pop(purpose, None) or max(
            purposes.values(), key=lambda other: _common_head(text, other.text), default=None
        )
        short = _shorten_text(text, place, last) if last and last.links < _LINKS else None
        purposes[purpose] = _Last(values[_ID], text, last.links + 1 if last and short else 0)
        if short is None:
            return values
        return (*values[:_REQUEST], dump_json(short), *values[_REQUEST + 1 :])

    def _last_of(self, episode: str) -> dict[str, _Last]:
        purposes = self._episodes.pop(episode, {})
        self._episodes[episode] = purposes
        if len(self._episodes) > _EPISODES:
            self._episodes.popitem(last=False)
        return purposes

    def forget(self) -> None:
        """Have the next requests stored whole: what was shortened last may not be in the file."""
        self._episodes.clear()


def _cut_key(key: str | None, text: str) -> tuple[str, int]:
    """Return a request's text without its key, and where that was."""
    place = text.find(key) if key else -1
    if key is None or place < 0:
        return text, -1
    return text[:place] + text[place + len(key) :], place


def _shorten_text(text: str, place: int, last: _Last) -> _Short | None:
    head = _common_head(text, last.text)
    tail = _common_tail(text, last.text, min(len(text), len(last.text)) - head)
    if head + tail < _WORTH:
        return None
    return _Short(last.id, len(last.text), head, tail, text[head : len(text) - tail], place)


# Both halve: comparing slices is fast, comparing characters is slow.


def _common_head(first: str, other: str) -> int:
    """Return how many characters both begin with."""
    low, high = 0, min(len(first), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if first[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _common_tail(first: str, other: str, most: int) -> int:
    """Return how many characters both end with, but not more than `most`."""
    low, high, end, other_end = 0, most, len(first), len(other)
    while low < high:
        middle = (low + high + 1) // 2
        if first[end - middle : end - low] == other[other_end - middle : other_end - low]:
            low = middle
        else:
            high = middle - 1
    return low


class Connection(sqlite3.Connection):
    """A connection that can be referred to weakly, as its own SQL functions must."""


def teach(connection: Connection) -> None:
    """Have `connection` know ``whole_request(id, request, request_key)``."""
    connection.create_function("whole_request", 3, _Restorer(weakref.ref(connection)))


class _Restorer:
    """Puts requests together; remembers the last ones, since each is what the next rests on."""

    def __init__(self, connection: weakref.ref[Connection]) -> None:
        self._connection = connection
        self._texts: OrderedDict[str, str] = OrderedDict()

    def __call__(self, id: str, request: str, key: str | None) -> str:
        """Return the whole text of a request.

        Raises:
            ValueError: the call it rests on is not in the file.
        """
        if not request.startswith("["):
            self._remember(id, _cut_key(key, request)[0])
            return request
        short = _Short(*json.loads(request))
        text = _restore(short, self._text(short.before))
        self._remember(id, text)
        if key is None or short.place < 0 or text == _ERASED:
            return text
        return text[: short.place] + key + text[short.place :]

    def _text(self, id: str) -> str:
        """Return the text, without its key, of an earlier request."""
        resting: list[tuple[str, _Short]] = []
        while (text := self._texts.get(id)) is None:
            request, key = self._read(id)
            if not request.startswith("["):
                text = _cut_key(key, request)[0]
                break
            resting.append((id, _Short(*json.loads(request))))
            id = resting[-1][1].before
        for id, short in reversed(resting):
            text = _restore(short, text)
            self._remember(id, text)
        return text

    def _read(self, id: str) -> tuple[str, str | None]:
        connection = self._connection()
        assert connection is not None
        query = "SELECT request, request_key FROM model_calls WHERE id = ?"
        row: tuple[str, str | None] | None = connection.execute(query, [id]).fetchone()
        if row is None:
            raise ValueError(f"the call {id!r}, on which another rests, is not in the log")
        return row

    def _remember(self, id: str, text: str) -> None:
        self._texts[id] = text
        self._texts.move_to_end(id)
        if len(self._texts) > _TEXTS:
            self._texts.popitem(last=False)


def _restore(short: _Short, before: str) -> str:
    if before == _ERASED:
        return before
    if len(before) != short.length:
        raise ValueError(f"the call {short.before!r}, on which another rests, is not what it was")
    return before[: short.head] + short.between + before[short.length - short.tail :]
