"""Addresses of the researchers' pages: every view has one, to be linked, reloaded and gone back to."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any
from urllib.parse import parse_qsl, urlencode

RESEARCH = "/research"
REVIEW = "/research/review"
EPISODES = "/research/episodes"


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where somebody is.

    Attributes:
        path: `RESEARCH`, `REVIEW` or `EPISODES`.
        run: the run that is shown.
        tab: which part of it.
        episode: the dialogue that is shown.
        against: the run it is compared with.
        outcome: filter: ``success``, ``failure`` or ``needs_judge``.
        type: filter: number of a task type.
        language: filter: language of the dialogues.
        text: filter: words that a turn contains.
        reviewer: who reviews.
        data: the data set that is browsed.
        level: filter: hardness of an episode of HandMeThat.
        quest: filter: what kind of help it asks for.
        goal: filter: number of its goal's template.
        item: the episode of the data set that is shown.
        step: the turn after which a logged episode is shown.
        seen: ``robot`` to see of the house what the robot sees.
    """

    path: str = RESEARCH
    run: str = ""
    tab: str = ""
    episode: str = ""
    against: str = ""
    outcome: str = ""
    type: str = ""
    language: str = ""
    text: str = ""
    reviewer: str = ""
    data: str = ""
    level: str = ""
    quest: str = ""
    goal: str = ""
    item: str = ""
    step: str = ""
    seen: str = ""

    @classmethod
    def read(cls, path: str, query: str) -> Address:
        """The address in a browser's bar; what is not known there is left out."""
        known = {field.name for field in fields(cls)} - {"path"}
        given = {name: value for name, value in parse_qsl(query) if name in known}
        last = path.rstrip("/").rpartition("/")[2]
        return cls(path={"review": REVIEW, "episodes": EPISODES}.get(last, RESEARCH), **given)

    def to(self, **changes: Any) -> str:
        """The address of a neighbouring view, as a link."""
        return str(replace(self, **changes))

    @property
    def query(self) -> str:
        """The query string."""
        values = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "path"}
        return urlencode({name: value for name, value in values.items() if value})

    def __str__(self) -> str:
        return f"{self.path}?{self.query}" if self.query else self.path
