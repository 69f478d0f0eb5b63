"""The SQLite log: schema and migrations, the one writer, readers, export, replay."""

from logs.errors import LogConflict, LogError, NewerLog, NotALog, NotInLog
from logs.query import ModelUsage, Played, Progress
from logs.reader import LogReader
from logs.writer import LogWriter, Written

__all__ = [
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
    "Written",
]
