"""The built-in episodes: own ones, kept as seeds (tables/builtin.json) and made again when they are loaded.

They descend from the generator, so whoever changes what it draws writes the table anew:
``python -m simulator.handmethat.generation.builtin``.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from typing import Any, Final

from simulator.handmethat.generation.generate import Generated, Rejection, add_demo, generate, serves
from simulator.handmethat.goals.templates import template_set
from simulator.handmethat.hierarchy import TABLES
from simulator.handmethat.meanings.model import Quest
from simulator.handmethat.profiles import Profile, load_profile
from simulator.handmethat.task import LEVELS, Level, Task
from simulator.seeds import derive_seed

TABLE: Final = TABLES / "builtin.json"
# Of each level, 25 as in the paper's study: profile, quest type and how many, each of another template.
_WANTED: Final[tuple[tuple[str, Quest, int], ...]] = (
    ("v2", "bring_me", 13),
    ("v1", "move_to", 9),
    ("v1", "change_state", 3),
)
_TRIES: Final = 20_000


@cache
def builtin_tasks() -> tuple[Task, ...]:
    """Return the built-in episodes, by level, quest type and template, each with a demonstration."""
    return tuple(_make(row) for row in json.loads(TABLE.read_text(encoding="utf-8")))


def find_rows(seed: int = 0) -> list[dict[str, Any]]:
    """Return rows for the table: some episodes of every level and quest type."""
    return [
        row
        for level in LEVELS
        for profile, quest, count in _WANTED
        for row in _find(level, profile, quest, count, seed)
    ]


def _profile(name: str) -> Profile:
    # They are made whenever they are loaded, so the estimate in closed form is taken, which is fast.
    return load_profile(f"{name},ties=fewest")


def _find(level: Level, profile: str, quest: Quest, count: int, seed: int) -> list[dict[str, Any]]:
    templates = [one for one in template_set("v2" if profile == "v2" else "all") if serves(one, quest)]
    found: dict[int, dict[str, Any]] = {}
    for number in range(_TRIES):
        one = derive_seed(seed, "builtin", level, quest, number)
        template = templates[one % len(templates)]
        if template in found:
            continue
        row = {"level": level, "profile": profile, "quest": quest, "goal": template, "seed": one}
        made = generate(_profile(profile), one, quest, template)
        if isinstance(made, Generated) and made.strict and made.task.level == level:
            if isinstance(add_demo(made.task), Rejection):
                continue
            found[template] = row
        if len(found) == count:
            return [found[template] for template in sorted(found)]
    raise RuntimeError(f"no {count} episodes of level {level}, {quest}, in {_TRIES} households")


def _make(row: dict[str, Any]) -> Task:
    made = generate(_profile(row["profile"]), row["seed"], row["quest"], row["goal"])
    task = add_demo(made.task) if isinstance(made, Generated) else made
    if isinstance(task, Rejection) or task.level != row["level"]:
        raise RuntimeError(
            f"{TABLE} is out of date: {row}; run python -m simulator.handmethat.generation.builtin"
        )
    # Ids must differ where quest type, goal and level do not tell episodes apart.
    return replace(task, id=f"builtin-{row['level']}-{row['quest']}-{row['goal']}")


if __name__ == "__main__":
    rows = ",\n ".join(json.dumps(row) for row in find_rows())
    TABLE.write_text(f"[\n {rows}\n]\n", encoding="utf-8")
