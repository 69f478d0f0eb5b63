"""The SQLite log: schema and migrations, the one writer, readers, export, replay.

The turn log is the truth: a turn is in the file before anybody is told that it counts. `LogWriter` puts
rows (`logs.rows`) there, `LogReader` reads them, ``schema.md`` says what every column means.
"""

from logs.conflicts import Written
from logs.erase import ERASED, Erasure, erase_participant
from logs.errors import LogConflict, LogError, NewerLog, NotALog, NotInLog
from logs.export import export_log
from logs.paths import default_path
from logs.pseudonym import load_key, pseudonym_of
from logs.query import ModelUsage, Played, Progress
from logs.reader import LogReader
from logs.replay import find_response
from logs.transcript import Transcript, as_markdown, as_rich, as_text, read_transcript
from logs.writer import LogWriter

__all__ = [
    "ERASED",
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
    "Transcript",
    "Written",
    "as_markdown",
    "as_rich",
    "as_text",
    "default_path",
    "erase_participant",
    "export_log",
    "find_response",
    "load_key",
    "pseudonym_of",
    "read_transcript",
]
