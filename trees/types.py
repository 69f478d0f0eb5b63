"""The 31 task types (paper Table I) and which of them are test and development set."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources
from typing import Literal

import yaml

from trees.model import Language

Split = Literal["test", "development"]
LAST_TEST_TYPE = 26


@dataclass(frozen=True, slots=True)
class TaskType:
    """A kind of task.

    Attributes:
        number: 1 to 31.
        en: English name.
        zh: Chinese name.
    """

    number: int
    en: str
    zh: str

    @property
    def slug(self) -> str:
        """The English name in kebab case."""
        return self.en.lower().replace(" ", "-")

    @property
    def split(self) -> Split:
        """Test set (types 1 to 26) or development set (27 to 31)."""
        return "test" if self.number <= LAST_TEST_TYPE else "development"

    def name(self, language: Language) -> str:
        """Return the name in `language`."""
        return self.zh if language == "zh" else self.en


_NAMES = yaml.safe_load(resources.files("trees").joinpath("task_types.yaml").read_text(encoding="utf-8"))
TASK_TYPES = tuple(TaskType(number, en, zh) for number, (en, zh) in enumerate(_NAMES, start=1))
_BY_NUMBER = {task_type.number: task_type for task_type in TASK_TYPES}
_BY_SLUG = {task_type.slug: task_type for task_type in TASK_TYPES}


def task_type(which: int | str) -> TaskType:
    """Return the task type with this number, slug or English name.

    Raises:
        ValueError: if there is none.
    """
    if isinstance(which, str) and which.strip().isdecimal():
        which = int(which)
    if isinstance(which, str):
        known = _BY_SLUG.get("-".join(which.lower().replace("_", " ").replace("-", " ").split()))
    else:
        known = _BY_NUMBER.get(which)
    if known is None:
        slugs = ", ".join(_BY_SLUG)
        raise ValueError(f"{which!r} is no task type; there are 1 to {len(TASK_TYPES)}, or slugs: {slugs}")
    return known
