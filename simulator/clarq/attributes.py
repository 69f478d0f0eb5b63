"""Which attribute of a thing is asked for, and which attributes a node settles.

"Where is the willow?" asks for a place and "How long is the film?" for a length: a node that speaks of willow
or of the film without one answers neither. "Where can I get willow?" asks for a **source**, which is a place
or somebody who has, lends, makes or sells it. Questions that ask for none of these (which one? what about
it?) leave the match to the topics.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache
from importlib.resources import files
from typing import Final, NamedTuple

import yaml

from trees import Background, Language, Node

WHERE: Final = "where"
SOURCE: Final = "source"
HOW: Final = "how"


class Attribute(NamedTuple):
    """How an attribute is asked for, and by what it is settled: a node's words, those of its explanation."""

    asked: re.Pattern[str]
    told: re.Pattern[str]
    explained: re.Pattern[str]


def _load() -> dict[str, dict[str, Attribute]]:
    table = files("simulator.clarq").joinpath("tables", "attributes.yaml").read_text(encoding="utf-8")
    return {
        language: {
            row["name"]: Attribute(
                *(re.compile(row[part], re.IGNORECASE) for part in ("asked", "told", "explained"))
            )
            for row in rows
        }
        for language, rows in yaml.safe_load(table).items()
    }


_ATTRIBUTES: Final = _load()


@lru_cache(maxsize=4096)
def asked_attribute(asking: str, language: Language) -> str | None:
    """Return the attribute that an asking calls for; None for a choice or anything else."""
    matching = (name for name, attribute in _ATTRIBUTES[language].items() if attribute.asked.search(asking))
    return next(matching, None)


def settled_attributes(
    node: Node, background: Background, named: Collection[str], language: Language
) -> frozenset[str]:
    """Return the attributes that `node` settles.

    Args:
        node: with or without an explanation.
        background: of the task.
        named: the entries of the background that the node names.
        language: of the task.
    """
    explanation = node.explanation or ""
    found = {
        name
        for name, attribute in _ATTRIBUTES[language].items()
        if attribute.told.search(node.text) or attribute.explained.search(explanation)
    }
    if any(entry in background.scenes for entry in named):
        found.add(WHERE)
    if WHERE in found:
        found.add(SOURCE)
    if any(entry in background.skills for entry in named):
        found.add(HOW)
    return frozenset(found)
