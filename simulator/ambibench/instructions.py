"""What the instruction says (spec section 3; tables/instructions.yaml)."""

from __future__ import annotations

from functools import cache
from typing import Literal, get_args

from simulator.ambibench.features import FEATURES, Hypothesis, Kind, table, value_code
from simulator.errors import InputError

LocationWord = Literal["setting", "location"]


def instruction(kind: Kind, hypothesis: Hypothesis, location_word: LocationWord = "setting") -> str:
    """Return the instruction of a task.

    Args:
        kind: how much it tells.
        hypothesis: what the task is about; matters for an informative instruction only.
        location_word: ``setting`` as sent to models, or ``location`` as App. G.2 prints.
    """
    phrases = table("instructions")
    if kind == "informative":
        clause = phrases["informative"][hypothesis.feature][hypothesis.value]
        clause = clause.format(location_word=location_word)
    else:
        clause = phrases[kind]
    return str(phrases["frame"].format(clause=clause))


def read_instruction(text: str) -> tuple[Kind, Hypothesis | None]:
    """Return what kind of instruction `text` is, and what an informative one says the task is about.

    Raises:
        InputError: if it is none that AmbiBench gives.
    """
    if text not in _known():
        raise InputError(f"{text!r} is no instruction of AmbiBench.")
    return _known()[text]


@cache
def _known() -> dict[str, tuple[Kind, Hypothesis | None]]:
    kinds: dict[str, tuple[Kind, Hypothesis | None]] = {}
    for feature in FEATURES:
        for value in table("instructions")["informative"][feature]:
            meant = Hypothesis(feature, value_code(feature, value))
            for word in get_args(LocationWord):
                kinds[instruction("informative", meant, word)] = ("informative", meant)
    kinds[instruction("uninformative", meant)] = ("uninformative", None)
    kinds[instruction("wug", meant)] = ("wug", None)
    return kinds
