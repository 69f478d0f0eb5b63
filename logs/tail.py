"""The newest turns of a run, and those to come."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from logs.codec import decode, select
from logs.reader import LogReader
from logs.rows import Turn

POLL_SECONDS = 0.5

# CROSS JOIN makes SQLite walk the turns by `seq`, so that a look costs what is new, not what is there.
_OF_RUN = (
    f"SELECT {select(Turn, 't')}, t.seq FROM turns t CROSS JOIN episodes e ON e.id = t.episode_id "
    "WHERE e.run_id = ? AND t.seq > ? ORDER BY t.seq"
)


def tail(
    reader: LogReader, run_id: str, lines: int, *, follow: Callable[[], bool] | None = None
) -> Iterator[Turn]:
    """Yield the last turns of a run in the order of writing; then new ones, for as long as `follow` says so.

    Raises:
        NotInLog: there is no such run.
    """
    reader.run(run_id)
    with reader.connection() as connection:
        (seq,) = connection.execute("SELECT coalesce(max(seq), 0) FROM turns").fetchone()
        records = connection.execute(f"{_OF_RUN} DESC LIMIT ?", [run_id, 0, lines]).fetchall()
    seq = max([seq, *(record[-1] for record in records)])
    yield from (decode(Turn, record) for record in reversed(records))
    while follow is not None and follow():
        with reader.connection() as connection:
            records = connection.execute(_OF_RUN, [run_id, seq]).fetchall()
        yield from (decode(Turn, record) for record in records)
        seq = records[-1][-1] if records else seq
        time.sleep(0 if records else POLL_SECONDS)
