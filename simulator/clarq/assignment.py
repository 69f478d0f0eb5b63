"""Studies with people: the tasks of a study file, and who sits opposite a participant (spec 6).

Each task is a cell of the study: ``judgments_per_item`` people play it, each at most once. ::

    benchmark: clarq
    seat: seeker
    settings: {opposite: offline/experts, data: builtin, split: test, items: 26}
    judgments_per_item: 3
    sets_per_participant: 10

Participants who choose Chinese play the Chinese task of the same name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from pydantic import PositiveInt

from simulator.clarq.data import BENCHMARK, PROVIDER, SEEKER, DialogueRules, load_items
from simulator.clarq.experts import models_of
from simulator.errors import InputError
from simulator.field_options import logged_values
from simulator.models import Needs
from simulator.models.preflight import REMOTE
from simulator.seeds import derive_seed, draw_balanced
from simulator.studies import Cell
from simulator.studies.material import OppositeSettings, OppositeStudy
from simulator.studies.parts import Several
from trees import Language, Task
from trees.model import Split


class Settings(OppositeSettings, DialogueRules):
    """The ``settings`` of a study file, in addition to the rules; `items` are balanced over the types."""

    data: str = "builtin"
    split: Split | None = None
    types: Several[PositiveInt] | None = None
    items: PositiveInt | None = None


class DialogueStudy(OppositeStudy[Settings]):
    """A study in which people seek or provide."""

    benchmark = BENCHMARK
    seats = (SEEKER, PROVIDER)
    reads = Settings
    usual = {SEEKER: "offline/seeker", PROVIDER: "offline/experts"}  # noqa: RUF012

    @property
    def needs(self) -> Mapping[str, Needs]:
        """Return what the remote models opposite a participant must support; experts answer in JSON."""
        players = {**self.seating, **self.study.pairing.partner}
        models = [(name, seat == PROVIDER) for seat, who in players.items() for name in models_of(who)]
        return {name: Needs(schema=schema) for name, schema in models if name.startswith(REMOTE)}

    @cached_property
    def rules(self) -> Mapping[str, Any]:
        """The rules of a dialogue."""
        values = {name: getattr(self.settings, name) for name in DialogueRules.model_fields}
        return logged_values(DialogueRules.parse(values))

    def all_items(self) -> Sequence[Task]:
        """Return the tasks in the study's language, or a sample of `Settings.items` drawn with its seed."""
        tasks, number = self._tasks(self.study.language), self.settings.items
        # Conditions choose among all tasks, so there is no sample.
        if number is None or self.study.conditions:
            return tasks
        seed = derive_seed(self.study.seed, "items")
        return draw_balanced(tasks, number, lambda task: task.type, lambda task: (), seed)

    def choose_items(self, items: Mapping[Cell, Task]) -> Mapping[Cell, Task]:
        """Return `items` after checking that each exists in every language of the pages.

        Raises:
            InputError: if a task is missing in a language.
        """
        for language in self.languages:
            if missing := [
                task.id for task in items.values() if task.id not in self._tasks_by_name[language]
            ]:
                raise InputError(f"task {missing[0]} does not exist in language {language}")
        return items

    def item(self, cell: Cell, seed: int, language: Language) -> Task:
        """Return the task of a cell, in the language of the pages."""
        return self._tasks_by_name[language][self.items[cell].id]

    @cached_property
    def _tasks_by_name(self) -> Mapping[Language, Mapping[str, Task]]:
        """The tasks by language and name."""
        return {language: {task.id: task for task in self._tasks(language)} for language in self.languages}

    def _tasks(self, language: Language) -> Sequence[Task]:
        settings = self.settings
        return load_items(settings.data, language, types=settings.types, split=settings.split)
