"""Recorded answers of language models, to be given again without a model.

The model layer puts into ``ModelCall.request["key"]`` the sha256 of whatever makes two requests the same;
the log keeps it in an indexed column of its own.
"""

from __future__ import annotations

from logs.codec import decode, select
from logs.reader import LogReader
from logs.rows import ModelCall

# Each run's successful calls in the order in which they were answered.
_ANSWERED = (
    "FROM model_calls c JOIN episodes e ON e.id = c.episode_id "
    "WHERE e.run_id = ? AND c.error = '' AND c.request_key IS NOT NULL"
)


def find_response(reader: LogReader, run_id: str, request_key: str) -> ModelCall | None:
    """Return the first answer a run recorded to a request, None if it has none."""
    with reader.connection() as connection:
        record = connection.execute(
            f"SELECT {select(ModelCall, 'c')} {_ANSWERED} AND c.request_key = ? ORDER BY c.seq LIMIT 1",
            [run_id, request_key],
        ).fetchone()
    return decode(ModelCall, record) if record else None
