"""The SQLite log: schema and migrations, the one writer, readers, export, replay."""

from logs.errors import LogConflict, LogError, NewerLog, NotALog, NotInLog
from logs.writer import LogWriter, Written

__all__ = ["LogConflict", "LogError", "LogWriter", "NewerLog", "NotALog", "NotInLog", "Written"]
