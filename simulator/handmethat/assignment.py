"""Studies in which people are the robot or the human.

Each episode is a condition, played by a fixed number of people and at most once by each. Under the protocol
``paper`` the robot may take one thing and ask nothing, and the episode ends once the instruction has been
carried out. Under ``free`` it may ask, at a price. ::

    benchmark: handmethat
    seat: robot
    settings: {protocol: free, mode: partial, opposite: offline/giver, per_level: 3}
    judgments_per_item: 5
    sets_per_participant: 12
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import PositiveInt

from simulator.errors import InputError
from simulator.handmethat.data import BUILTIN, draw_tasks
from simulator.handmethat.items import BENCHMARK, Sample, Task
from simulator.handmethat.playing import GIVER, HUMAN, PARTNER, ROBOT, EpisodeRules, Posed, Protocol
from simulator.studies import Cell
from simulator.studies.material import OppositeSettings, OppositeStudy
from trees import Language


class Settings(OppositeSettings, EpisodeRules):
    """HandMeThat's keys of a study file's ``settings``; episodes are drawn with the study's seed."""

    protocol: Protocol = "paper"
    data: str = BUILTIN
    per_level: PositiveInt = 25


class HouseholdStudy(OppositeStudy[Settings]):
    """People as robots, or as the humans whom robots ask."""

    benchmark = BENCHMARK
    seats = (ROBOT, HUMAN)
    reads = Settings
    usual = {ROBOT: PARTNER, HUMAN: GIVER}  # noqa: RUF012

    def read_settings(self) -> Settings:
        """Read the settings.

        Raises:
            InputError: if a setting is wrong, or seat, setup, protocol and opposite are incompatible.
        """
        settings: Settings = super().read_settings()
        if HUMAN in self.study.people and settings.protocol == "paper":
            raise InputError(
                f"study {self.study.id!r}: the protocol paper allows no questions, so people cannot take "
                "part as the human; choose the protocol free"
            )
        return settings

    @property
    def rules(self) -> Mapping[str, Any]:
        """The settings that are rules of an episode, as JSON."""
        return self.settings.model_dump(mode="json", include=set(EpisodeRules.model_fields))

    def all_items(self) -> Sequence[Task]:
        """Return up to `per_level` episodes of each level."""
        sample = Sample(per_level=self.settings.per_level, seed=self.study.seed)
        return draw_tasks(self.settings.data, sample).tasks

    def item(self, cell: Cell, seed: int, language: Language) -> Posed:
        """Return the episode of a cell, in the language of the pages."""
        return Posed(self.items[cell], language)

    @property
    def task(self) -> str:
        """``paper`` (one try, no questions), or as `OppositeStudy.task`."""
        return "paper" if self.settings.protocol == "paper" else super().task
