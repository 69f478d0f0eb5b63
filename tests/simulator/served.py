"""A web app's sessions that can be killed and started again, for tests of every benchmark's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from logs import LogReader, LogWriter
from logs.rows import Item


class Server:
    """A web app on a log file, with the studies that it was last started with."""

    def __init__(self, path: Path, make: Callable[..., Any], read_item: Callable[[Item], Any]) -> None:
        self._path, self._make, self._read_item = path, make, read_item
        self._studies: tuple[Any, ...] = ()
        self.start()

    def start(self, *studies: Any) -> None:
        """Begin, with `studies` from now on; without any, with those before, or with the built-in ones."""
        self._studies = studies or self._studies
        self.writer = LogWriter(self._path, durable=False, group_seconds=0.0)
        self.reader = LogReader(self._path)
        self.sessions = self._make(self.writer, self.reader, studies=self._studies or None)

    def stop(self) -> None:
        """End, as if it were killed: everything acknowledged is on disk."""
        self.reader.close()
        self.writer.close()

    def again(self, *studies: Any) -> Any:
        """Kill it and start it; its sessions."""
        self.stop()
        self.start(*studies)
        return self.sessions

    def item(self, episode: str) -> Any:
        """Return the item of an episode."""
        return self._read_item(self.reader.item(self.reader.episode(episode).item_hash))

    async def enter(self, who: str, study: str = "s", language: str = "en") -> Any:
        """Come by a platform's link."""
        identity = {"PROLIFIC_PID": who, "STUDY_ID": "x", "SESSION_ID": "y"}
        return await self.sessions.enter(study, identity=identity, participant_key="k", language=language)


def doing(view: Any) -> str:
    """Return what somebody is at: the stage of their page; of the task the move that is due, or ``wait``."""
    if view.stage != "task":
        return str(view.stage)
    return str(view.due.kind) if view.my_turn else "wait"
