"""The 31 task types (paper Table I) and which of them are test and development set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

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


_NAMES = (
    ("Gather Resources", "收集资源"),
    ("Escort Mission", "护送任务"),
    ("Stealth Mission", "潜行任务"),
    ("Survival Challenge", "生存挑战"),
    ("Construction Task", "建造任务"),
    ("Defense Mission", "防御任务"),
    ("Competition", "竞赛"),
    ("Weapon Manufacturing", "武器制造"),
    ("Hunting Expedition", "狩猎远征"),
    ("Rescue Mission", "营救任务"),
    ("Arena Battle", "竞技场战斗"),
    ("Scientific Experiment", "科学实验"),
    ("Photography Mission", "摄影任务"),
    ("Trade Task", "交易任务"),
    ("Exploration Journey", "探索之旅"),
    ("Electrical Engineering", "电气工程"),
    ("Automobile Manufacturing", "汽车制造"),
    ("Painting Task", "绘画任务"),
    ("Repair Mission", "维修任务"),
    ("Training Session", "训练课程"),
    ("Digging Mission", "挖掘任务"),
    ("Electronic Engineering", "电子工程"),
    ("Planting Task", "种植任务"),
    ("Alliance Building", "结盟任务"),
    ("Cooking Delicacies", "烹饪美食"),
    ("Video Production", "视频制作"),
    ("Animal Care", "动物照料"),
    ("Archaeological Excavation", "考古发掘"),
    ("Escape Mission", "逃脱任务"),
    ("Planning Tourism", "旅行规划"),
    ("Magic Task", "魔法任务"),
)

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
    known = _BY_NUMBER.get(which) if isinstance(which, int) else _BY_SLUG.get(_slug(which))
    if known is None:
        raise ValueError(f"{which!r} is no task type; there are 1 to {len(TASK_TYPES)}, or slugs: {_slugs()}")
    return known


def _slug(name: str) -> str:
    return "-".join(name.lower().replace("_", " ").replace("-", " ").split())


def _slugs() -> str:
    return ", ".join(_BY_SLUG)
