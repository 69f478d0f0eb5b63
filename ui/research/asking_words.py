"""What robots and kinds of tasks are called where asking is compared, in the page's language."""

from __future__ import annotations

from typing import Final

from simulator.commands.asking_measures import Row
from trees.model import TASK_TYPES
from ui.i18n import DECLARED, Strings

_SAID: Final = "research.asking"


def robot_name(t: Strings, row: Row) -> str:
    """Return who could ask, with how they played in brackets; names of methods and models stay."""
    if not row.manner:
        return row.seat
    manner = ", ".join(t.get(f"{_SAID}.manner.{name}", name) for name in row.manner)
    return f"{row.seat} ({manner})"


def kind_name(t: Strings, row: Row) -> str:
    """Return the kind of tasks that a row is of: of all of them together, if it names none."""
    if not row.kind:
        return t(f"{_SAID}.kind_all")
    if row.benchmark == "clarq":
        names = {
            task_type.en: task_type.name("zh" if t.language == "zh" else "en") for task_type in TASK_TYPES
        }
        return names.get(row.kind, row.kind)
    own = t.get(f"{DECLARED}.{row.benchmark}.research.field.type.{row.kind}", row.kind)
    return t.get(f"{_SAID}.kinds.{row.kind}", own)
