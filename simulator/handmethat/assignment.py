"""The paper's study with people: who is the robot, of which episode, under which rules.

25 episodes of each level for everybody and each mode; one thing may be taken, nothing asked, and the episode
is over once the instruction has been carried out. Places, orders and people are the shared studies' concern.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from pydantic import PositiveInt

from simulator.handmethat.data import BUILTIN, draw_tasks
from simulator.handmethat.graph import HUMAN, ROBOT
from simulator.handmethat.playing import Posed
from simulator.handmethat.rows import BENCHMARK
from simulator.handmethat.sample import Sample
from simulator.handmethat.task import Task
from simulator.handmethat.views import Mode
from simulator.studies import Cell, Place
from simulator.studies.material import ItemStudy
from simulator.studies.settings import StudySettings
from trees import Language

GIVER: Final = "offline/giver"


class Settings(StudySettings):
    """What HandMeThat reads in a study file's ``settings``.

    Attributes:
        mode: what people see.
        data: where the episodes come from.
        per_level: at most so many of each level, drawn by the study's seed.
    """

    mode: Mode = "partial"
    data: str = BUILTIN
    per_level: PositiveInt = 25


class OneTryStudy(ItemStudy[Settings]):
    """People as robots, under the paper's protocol, opposite the built-in giver."""

    benchmark = BENCHMARK
    seats = (ROBOT,)
    reads = Settings

    def all_items(self) -> Sequence[Task]:
        """Return as many episodes of each level."""
        sample = Sample(per_level=self.settings.per_level, seed=self.study.seed)
        return draw_tasks(self.settings.data, sample).tasks

    def item(self, cell: Cell, seed: int, language: Language) -> Posed:
        """Return the episode of a place, in the language of the pages."""
        return Posed(self.items[cell], language)

    def options(self, place: Place, *, begun: bool) -> Mapping[str, object]:
        """Return the rules of an episode."""
        return {"mode": self.settings.mode, "protocol": "paper"}

    @property
    def task(self) -> str:
        """The participant's seat."""
        return ROBOT

    @property
    def seating(self) -> Mapping[str, str]:
        """Return who sits where."""
        return {ROBOT: "person", HUMAN: GIVER}
