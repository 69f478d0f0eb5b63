"""The SQLite log: schema, migrations, writer, readers, export and erasure.

The turn log is the source of truth: a turn is in the file before it is acknowledged. `LogWriter` writes rows
(`logs.rows`), `LogReader` reads them, and ``schema.md`` documents every column.
"""

from logs.erase import Erasure, erase_participant
from logs.errors import LogConflict, LogError, NewerLog, NotALog, NotInLog
from logs.paths import default_path
from logs.pseudonym import load_key, pseudonym_of
from logs.query import ModelUsage, Played, Progress
from logs.reader import LogReader
from logs.writer import LogWriter

__all__ = [
    "Erasure",
    "LogConflict",
    "LogError",
    "LogReader",
    "LogWriter",
    "ModelUsage",
    "NewerLog",
    "NotALog",
    "NotInLog",
    "Played",
    "Progress",
    "default_path",
    "erase_participant",
    "load_key",
    "pseudonym_of",
]
