"""From a study file to its tasks, and who sits opposite a participant (spec 6).

Each task is a condition of its own, which so many people play (``judgments_per_item``), and nobody twice. ::

    benchmark: clarq
    seat: seeker
    settings: {opposite: offline/experts, data: builtin, split: test, items: 26}
    judgments_per_item: 3
    sets_per_participant: 10

Whoever speaks Chinese plays the Chinese task of the same name.
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
from simulator.seeds import balanced, derive_seed
from simulator.studies import Cell
from simulator.studies.material import OppositeSettings, OppositeStudy
from simulator.studies.parts import Several
from trees import Language, Task
from trees.model import Split


class Settings(OppositeSettings, DialogueRules):
    """Settings that ClarQ-LLM reads in a study file's ``settings``, beside the rules of a dialogue.

    Attributes:
        data: where the tasks come from: ``builtin``, the name of registered data, or a path.
        split: of the tasks; None: both.
        types: of the tasks, by number; None: all.
        items: so many of them, equally many of each type, drawn by the study's seed; None: all.
    """

    data: str = "builtin"
    split: Split | None = None
    types: Several[PositiveInt] | None = None
    items: PositiveInt | None = None


class DialogueStudy(OppositeStudy[Settings]):
    """People who seek or provide."""

    benchmark = BENCHMARK
    seats = (SEEKER, PROVIDER)
    reads = Settings
    usual = {SEEKER: "offline/seeker", PROVIDER: "offline/experts"}  # noqa: RUF012

    @property
    def needs(self) -> Mapping[str, Needs]:
        """Return what is asked of the servers' models opposite; experts fill in forms."""
        sits = {**self.seating, **self.study.pairing.partner}
        asked = [(name, seat == PROVIDER) for seat, who in sits.items() for name in models_of(who)]
        return {name: Needs(schema=fills) for name, fills in asked if name.startswith(REMOTE)}

    @cached_property
    def rules(self) -> Mapping[str, Any]:
        """The rules of a dialogue."""
        chosen = {name: getattr(self.settings, name) for name in DialogueRules.model_fields}
        return logged_values(DialogueRules.parse(chosen))

    def all_items(self) -> Sequence[Task]:
        """Return the tasks in the study's language; so many as the settings say, drawn by its seed."""
        tasks, number = self._tasks(self.study.language), self.settings.items
        # Conditions choose among all tasks, so nothing is drawn then.
        if number is None or self.study.conditions:
            return tasks
        seed = derive_seed(self.study.seed, "items")
        return balanced(tasks, number, lambda task: task.type, lambda task: (), seed)

    def taken(self, items: Mapping[Cell, Task]) -> Mapping[Cell, Task]:
        """Return the tasks; each is there in every language of the pages.

        Raises:
            InputError: if one is missing in a language.
        """
        for language in self.languages:
            if missing := [
                task.id for task in items.values() if task.id not in self._tasks_by_name[language]
            ]:
                raise InputError(f"the task {missing[0]} is not there in the language {language}")
        return items

    def item(self, cell: Cell, seed: int, language: Language) -> Task:
        """Return the task of a place, in the language of the pages."""
        return self._tasks_by_name[language][self.items[cell].id]

    @cached_property
    def _tasks_by_name(self) -> Mapping[Language, Mapping[str, Task]]:
        """The tasks by language and name."""
        return {language: {task.id: task for task in self._tasks(language)} for language in self.languages}

    def _tasks(self, language: Language) -> Sequence[Task]:
        settings = self.settings
        return load_items(settings.data, language, types=settings.types, split=settings.split)
