"""The built-in seeker: asks about what it notices, by rule, without a model.

Deterministic and stateless: everything follows from the view, so an episode can be taken up at any turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from personas.templates import render
from simulator.clarq.graph import SEEKER, TURN_LIMIT
from simulator.clarq.topics import Topic, asked, topics
from simulator.errors import InputError
from simulator.seats import Kind, Reply, View

MANNERS: Final = ("careful", "hasty", "verbose")
HASTY_QUESTIONS: Final = 2
_TEMPLATE = "clarq/offline_seeker"
_AT_ONCE = {"careful": 1, "hasty": 1, "verbose": 4}


class OfflineSeeker:
    """`offline/seeker`: careful, hasty (leaves after two questions) or verbose (asks all it can at once)."""

    kind: Kind = "offline"

    def __init__(self, manner: str = "careful") -> None:
        if manner not in MANNERS:
            raise InputError(f"The offline seeker's manner is one of {', '.join(MANNERS)}, not {manner!r}.")
        self._manner = manner
        self.name = "offline/seeker" if manner == "careful" else f"offline/seeker:{manner}"

    async def reply(self, view: View) -> Reply:
        """Ask about the next open topic, or thank and leave."""
        mine = [line.text for line in view.lines if line.seat == SEEKER]
        limit = int(view.options.get("turn_limit", TURN_LIMIT))
        if len(mine) + 1 >= limit:
            return self._say(view, "goodbye", (), "the last turn allowed")
        open_topics = [topic for topic in topics(view) if not asked(topic, mine)]
        if self._manner == "hasty" and len(mine) > HASTY_QUESTIONS:
            open_topics = []
        if not open_topics:
            return self._say(view, "goodbye", (), "nothing open is left that it notices")
        now = open_topics[: _AT_ONCE[self._manner]]
        act = "start" if now[0].kind == "start" else "ask"
        return self._say(view, act, now, now[0].why)

    def _say(self, view: View, act: str, about: Sequence[Topic], why: str) -> Reply:
        variables: dict[str, Any] = {
            "act": act,
            "manner": self._manner,
            "variant": view.seed,
            "task": view.task.background.task,
            "topics": about,
        }
        text = render(_TEMPLATE, view.language, variables).text
        named = [{"kind": topic.kind, "about": topic.about, "options": topic.options} for topic in about]
        return Reply(text=" ".join(text.split()), trace={"act": act, "topics": named, "why": why})
