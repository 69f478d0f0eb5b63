"""Delta compression of requests to language models: each is stored as its difference from an earlier one.

Why. Each prompt of a dialogue repeats the dialogue so far, and a provider's experts are asked about one node
after another in almost the same words. Stored in full, n turns would take text of order n², most of which the
file already contains.

How. The first request of an episode is stored in full. Each later one is a JSON list (`_Short`): the call it
is based on (the last one of the same purpose, or for the first one of a purpose the most similar of all), the
lengths of the common beginning and end, and the text between them. The key, which always differs and has a
separate column, is removed before texts are compared. The SQL function
``whole_request(id, request, request_key)``, which every connection of `logs.connect` has, restores the text;
`logs.codec.column_list` applies it, so readers and exports only see full requests. After 64 links a request
is stored in full again.
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
# Cache sizes: more episodes than are played concurrently, and texts that others may be based on.
_EPISODES: Final = 512
_TEXTS: Final = 2048
# A request is stored in full if less than this many characters would be saved.
_WORTH: Final = 128
# As written by `logs.erase`.
_ERASED: Final = '{"erased":true}'

_ID, _EPISODE, _PURPOSE, _REQUEST, _KEY = map(
    stored_columns(TABLES[ModelCall]).index, ("id", "episode_id", "purpose", "request", "request_key")
)


class _Short(NamedTuple):
    """A shortened request.

    Attributes:
        before: id of the call it is based on.
        length: length of that call's text without its key.
        head: length of the common beginning, in characters.
        tail: length of the common end.
        between: the text between them.
        place: offset of the key; -1 if there is none.
    """

    before: str
    length: int
    head: int
    tail: int
    between: str
    place: int


class _Last(NamedTuple):
    """A request without its key, and the number of links to a full request."""

    id: str
    text: str
    links: int


class Shortener:
    """Shortens requests in the order of insertion; one per writing connection."""

    def __init__(self) -> None:
        # Episode -> purpose -> its last request.
        self._episodes: OrderedDict[str, dict[str, _Last]] = OrderedDict()

    def shorten(self, values: Values) -> Values:
        """Return the values of a `ModelCall` with its request shortened, if that saves enough."""
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
        """Store the next requests in full, since the previous ones may not be in the file."""
        self._episodes.clear()


def _cut_key(key: str | None, text: str) -> tuple[str, int]:
    """Return a request's text without its key, and the key's offset."""
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


# Both use bisection: comparing slices is fast, comparing characters is slow.


def _common_head(first: str, other: str) -> int:
    """Return the length of the common beginning."""
    low, high = 0, min(len(first), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if first[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _common_tail(first: str, other: str, most: int) -> int:
    """Return the length of the common end, at most `most`."""
    low, high, end, other_end = 0, most, len(first), len(other)
    while low < high:
        middle = (low + high + 1) // 2
        if first[end - middle : end - low] == other[other_end - middle : other_end - low]:
            low = middle
        else:
            high = middle - 1
    return low


class Connection(sqlite3.Connection):
    """A connection that supports weak references, which its own SQL functions need."""


def add_functions(connection: Connection) -> None:
    """Add the SQL function ``whole_request(id, request, request_key)`` to a connection."""
    connection.create_function("whole_request", 3, _Restorer(weakref.ref(connection)))


class _Restorer:
    """Restores full requests; caches the last ones, since the next requests are based on them."""

    def __init__(self, connection: weakref.ref[Connection]) -> None:
        self._connection = connection
        self._texts: OrderedDict[str, str] = OrderedDict()

    def __call__(self, id: str, request: str, key: str | None) -> str:
        """Return the full text of a request.

        Raises:
            ValueError: if the call it is based on is not in the file, or has changed.
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
        chain: list[tuple[str, _Short]] = []
        while (text := self._texts.get(id)) is None:
            request, key = self._read(id)
            if not request.startswith("["):
                text = _cut_key(key, request)[0]
                break
            chain.append((id, _Short(*json.loads(request))))
            id = chain[-1][1].before
        for id, short in reversed(chain):
            text = _restore(short, text)
            self._remember(id, text)
        return text

    def _read(self, id: str) -> tuple[str, str | None]:
        connection = self._connection()
        assert connection is not None
        query = "SELECT request, request_key FROM model_calls WHERE id = ?"
        row: tuple[str, str | None] | None = connection.execute(query, [id]).fetchone()
        if row is None:
            raise ValueError(f"the call {id!r}, on which another is based, is not in the log")
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
        raise ValueError(f"the call {short.before!r}, on which another is based, has changed")
    return before[: short.head] + short.between + before[short.length - short.tail :]
