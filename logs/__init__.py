"""The SQLite log: schema and migrations, the one writer, readers, export, replay.

The turn log is the truth: a turn is in the file before anybody is told that it counts. `LogWriter` puts
rows (`logs.rows`) there, `LogReader` reads them, ``schema.md`` says what every column means.
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
