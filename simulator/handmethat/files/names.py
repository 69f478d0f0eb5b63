"""Names of episode files: those of the first and of the second version (spec 10.3)."""

from __future__ import annotations

import re
from typing import Final, Literal, NamedTuple

from simulator.handmethat.meanings.model import QUESTS, Quest
from simulator.handmethat.sample import Stratum

Style = Literal["v1", "v2"]
_QUESTS: Final = "|".join(QUESTS)
_PATTERNS: Final[dict[Style, re.Pattern[str]]] = {
    "v1": re.compile(rf"level(?P<level>[0-4])_task(?P<number>\d+)_(?P<quest>{_QUESTS})_goal(?P<goal>\d+)"),
    "v2": re.compile(rf"task-(?P<quest>{_QUESTS})-(?P<goal>\d+)-(?P<number>\d+)-(?P<level>[0-4])"),
}


class Name(NamedTuple):
    """The parts of a file's name.

    Attributes:
        level: 1 to 4; 0 in files of the first generator that fit no level.
        goal: number of the goal's template.
        number: in v1 of the level's files, in v2 of those of the goal and quest type.
    """

    style: Style
    level: int
    quest: Quest
    goal: int
    number: int

    @property
    def stratum(self) -> Stratum:
        """Its place in a sample; what fits no level is filed under 4."""
        return Stratum(self.level or 4, self.quest, self.goal)

    def __str__(self) -> str:
        if self.style == "v1":
            return f"level{self.level}_task{self.number}_{self.quest}_goal{self.goal}"
        return f"task-{self.quest}-{self.goal}-{self.number}-{self.level}"


def parse_name(name: str) -> Name | None:
    """Return what the name of a file says, with or without ``.json``; None if it is not a published name."""
    stem = name.removesuffix(".json")
    for style, pattern in _PATTERNS.items():
        if match := pattern.fullmatch(stem):
            quest = next(quest for quest in QUESTS if quest == match["quest"])
            return Name(style, int(match["level"]), quest, int(match["goal"]), int(match["number"]))
    return None
