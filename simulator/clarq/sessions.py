"""ClarQ dialogues with people in them, free play and studies: what the web app calls."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from logs import LogReader, LogWriter
from simulator.clarq.assignment import DialogueStudy
from simulator.clarq.data import load_items
from simulator.clarq.players.seeker_offline import STYLES
from simulator.clarq.playing import PROVIDER, SEEKER
from simulator.clarq.room import ROOM
from simulator.clarq.score import SUCCESS
from simulator.clarq.views import SeatView
from simulator.errors import InputError
from simulator.forms import NO, YES
from simulator.models import ChatModel
from simulator.runner.lobby import Opponent, menu, require_offered
from simulator.runner.logged import ENDED
from simulator.seats import Reply
from simulator.studies import Study
from simulator.studies.graph import CONSENT, READY, Step
from simulator.studies.sessions import StudySessions
from trees import Language, Task
from trees.model import task_type

VERDICT: Final = Step(
    node="questions_after", kind="verdict", when=("first", "further"), seat=PROVIDER, choices=(YES, NO)
)
"""What a provider is asked in a study when the dialogue is over: did the seeker succeed?"""


@dataclass(frozen=True, slots=True)
class CatalogEntry:
    """A task that can be played."""

    task_id: str
    type: int
    type_name: str
    title: str
    uncertainties: int
    depth: int


class ClarqSessions(StudySessions):
    """Play the tasks of one data set (the built-in ones by default), and those of studies.

    Whoever provides in a study says at the end whether the seeker succeeded; in free play they may (`judge`).
    """

    material = DialogueStudy
    around = (CONSENT, replace(READY, when=("first",)), VERDICT)

    def __init__(
        self,
        log: LogWriter,
        reader: LogReader,
        models: Callable[[str], ChatModel],
        *,
        data: str = "builtin",
        studies: Sequence[Study] | None = None,
        env: Mapping[str, str] = os.environ,
        opponents: Sequence[str] | None = None,
    ) -> None:
        super().__init__(ROOM, log, reader, models, studies=studies)
        self._data = data
        self._env = env
        self._models = opponents

    def catalog(self, language: Language) -> tuple[CatalogEntry, ...]:
        """Return every task in `language`, by type."""
        return tuple(
            CatalogEntry(
                task_id=task.id,
                type=task.type,
                type_name=task_type(task.type).name(language),
                title=task.background.task,
                uncertainties=task.tree.uncertainties,
                depth=task.tree.depth,
            )
            for task in load_items(self._data, language)
        )

    def opponents(self, seat: str) -> tuple[Opponent, ...]:
        """Return who can sit opposite a person in `seat`: built-in, a second person, models with a key."""
        offline = "offline/seeker" if seat == PROVIDER else "offline/experts"
        return menu([offline], self._env, self._models)

    async def start(
        self,
        *,
        task_id: str,
        language: Language,
        seats: Mapping[str, str],
        options: Mapping[str, Any] | None = None,
    ) -> str:
        """Begin a dialogue about the task `task_id`; see `Sessions.start_item`.

        Raises:
            InputError: if there is no such task in that language, or somebody is named who is not offered
                (`opponents`): the names come from a browser, and must not reach files or other servers.
        """
        for seat, name in seats.items():
            require_offered(name, seat, self._offered(seat))
        return await self.start_item(self._task(task_id, language), seats, options)

    async def view(self, episode_id: str, seat: str) -> SeatView:
        """See `StudySessions.view`."""
        await self._judge_as_said(episode_id)
        shown: SeatView = await super().view(episode_id, seat)
        return shown

    async def submit(
        self, episode_id: str, seat: str, reply: Reply, *, number: int | None = None
    ) -> SeatView:
        """See `StudySessions.submit`."""
        shown: SeatView = await super().submit(episode_id, seat, reply, number=number)
        await self._judge_as_said(episode_id)
        return shown

    async def _judge_as_said(self, episode_id: str) -> None:
        """Log the verdict that a study's provider has given as the judgment that it is, once."""
        ending = self._reader.ending(episode_id)
        if ending is None or ending.status not in ENDED:
            return
        for turn in self._reader.turns(episode_id):
            if turn.payload.get("kind") == VERDICT.kind:
                judged = self._reader.judgments(episode_id=episode_id, kind=SUCCESS, annotator=turn.seat)
                if not any(True for _ in judged):
                    await self.judge(episode_id, turn.seat, turn.text == YES, turn.key or VERDICT.kind)

    def _offered(self, seat: str) -> tuple[Opponent, ...]:
        """Return who may sit in `seat`; the built-in seeker has styles that the menu does not list."""
        if seat == PROVIDER:
            return self.opponents(SEEKER)
        return (*self.opponents(PROVIDER), *(Opponent(f"offline/seeker:{style}", True) for style in STYLES))

    def _task(self, task_id: str, language: Language) -> Task:
        for task in load_items(self._data, language):
            if task.id == task_id:
                return task
        raise InputError(
            f"There is no task {task_id!r} in {language}; pick one from the list.",
            code="no_task",
            task=task_id,
        )
