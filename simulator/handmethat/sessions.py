"""HandMeThat sessions with people, in free play and in studies, for the web app."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from functools import cached_property
from hashlib import blake2b
from typing import Any, ClassVar, Final, Literal, get_args

from simulator.errors import InputError
from simulator.fields import Fields
from simulator.handmethat.data import load_tasks
from simulator.handmethat.items import LEVELS, Task
from simulator.handmethat.playing import GIVER, HUMAN, PARTNER, Posed
from simulator.handmethat.reveal import Replay, result
from simulator.runner.lobby import Opponent, require_choice
from simulator.runner.machines import Result
from simulator.studies.declared import DrawnItem, PlaySessions, chosen_item
from trees import Language

# The first is the default.
_ROBOTS: Final = (PARTNER, "offline/asker:0", "offline/asker:1", "offline/asker:2", "offline/asker:3")
_OTHER_ROBOTS: Final = ("offline/heuristic", "offline/random", "offline/expert")


class Choices(Fields):
    """Choices of an episode in free play. `level` None: any level may be drawn."""

    mode: Literal["partial", "full"] = "partial"
    level: Literal[1, 2, 3, 4] | None = None


class HandMeThatSessions(PlaySessions):
    """Sessions on the tasks of one data set (the built-in ones by default), and on those of studies.

    Pages show no task's name, since published names reveal what is meant.
    """

    choices = Choices
    loads_items: ClassVar[bool] = True
    languages: ClassVar[tuple[str, ...]] = get_args(Language)

    @cached_property
    def tasks(self) -> Sequence[Task]:
        """The tasks of free play, by level, quest type and number."""
        return tuple(load_tasks(self.data))

    def opponents(self, seat: str) -> tuple[Opponent, ...]:
        """Return who can sit in `seat`: built-in players, a second person, and models with a key."""
        return self._menu((GIVER,) if seat == HUMAN else (*_ROBOTS, *_OTHER_ROBOTS))

    async def draw_item(
        self, rules: Mapping[str, Any], seat: str, seats: Mapping[str, str], item: int | None, language: str
    ) -> DrawnItem:
        """See `PlaySessions.draw_item`. All texts are in `language`, except commands, which are English."""
        require_choice("language", language, self.languages)
        chosen = Choices.model_validate(rules)
        # The first read takes seconds: keep the event loop free.
        tasks = await asyncio.to_thread(lambda: self.tasks)
        task = chosen_item(tasks if item else _filter_level(tasks, chosen.level), item)
        spoken: Language = "zh" if language == "zh" else "en"
        return DrawnItem(Posed(task, spoken), {"mode": chosen.mode}, _key(task.id))

    async def replay(self, episode_id: str, seat: str) -> Result:
        """See `StudySessions.replay`."""
        replay: Replay = await super().replay(episode_id, seat)
        in_study = self._study_desk(self._reader.episode(episode_id)) is not None
        return result(replay, seat, in_study=in_study)


def _filter_level(tasks: Sequence[Task], level: int | None) -> Sequence[Task]:
    matches = [task for task in tasks if level in (None, task.level)]
    if not matches:
        known = ", ".join(map(str, LEVELS))
        raise InputError(
            f"There is no task of level {level}; levels are {known}.", code="no_level", level=level
        )
    return matches


def _key(task_id: str) -> str:
    """Return an opaque name for a task: published names contain level and goal."""
    return blake2b(task_id.encode(), digest_size=6).hexdigest()
