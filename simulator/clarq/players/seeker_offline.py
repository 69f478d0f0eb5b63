"""The built-in seeker: asks about what it notices, by rule, without a model.

Deterministic and stateless: everything follows from the view, so an episode can be taken up at any turn.
What it notices is found in `simulator.clarq.seeker`; its words are in ``personas/clarq/offline_seeker``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from personas.templates import render
from simulator.clarq.graph import SEEKER, TURN_LIMIT, farewell
from simulator.clarq.lexical import sentences
from simulator.clarq.seeker.noticing import Topic
from simulator.clarq.seeker.planning import MANNERS, RunSettings, plan, tries
from simulator.clarq.seeker.topics import Case, case_of, says_enough
from simulator.errors import InputError
from simulator.seats import Kind, Reply, View

HASTY_QUESTIONS: Final = 2
STARTS: Final = 3  # how often it asks for the task if nobody tells it
_TEMPLATE: Final = "clarq/offline_seeker"


class OfflineSeeker:
    """`offline/seeker`: asks one thing at a time until nothing is open.

    ``hasty`` asks about the first two things it notices and leaves; ``verbose`` says what it has understood
    and asks everything at once, again and again until it is answered, like a chatty language model.
    """

    kind: Kind = "offline"

    def __init__(self, manner: str = "careful") -> None:
        if manner not in MANNERS:
            raise InputError(f"The offline seeker's manner is one of {', '.join(MANNERS)}, not {manner!r}.")
        self._manner: RunSettings = manner
        self.name = "offline/seeker" if manner == "careful" else f"offline/seeker:{manner}"

    async def reply(self, view: View) -> Reply:
        """Ask about what is open, or thank and leave."""
        now = case_of(view)
        mine = [line.text for line in view.lines if line.seat == SEEKER]
        if reason := self._leaving(view, now, mine):
            return self._say(view, now, "goodbye", (), reason)
        *before, asking = plan(now, self._manner)
        if not asking:
            return self._say(view, now, "goodbye", (), "nothing is open any more that it notices")
        act = "start" if asking[0].kind == "start" else "ask"
        again = tries(asking[0], tuple(before)) > 0
        return self._say(view, now, act, asking, asking[0].why, again=again)

    def _leaving(self, view: View, now: Case, mine: Sequence[str]) -> str:
        """Return why to leave whatever is open; empty if there is no reason to."""
        if len(mine) + 1 >= int(view.options.get("turn_limit", TURN_LIMIT)):
            return "the last turn allowed"
        if not now.told and len(mine) >= STARTS:
            return "nobody tells it about the task"
        if says_enough(now):
            return "it was told that it knows enough"
        if self._manner == "hasty" and len(mine) > HASTY_QUESTIONS:
            return "in a hurry"
        return ""

    def _say(
        self, view: View, now: Case, act: str, about: Sequence[Topic], why: str, *, again: bool = False
    ) -> Reply:
        task = view.task.background.task
        variables: dict[str, Any] = {
            "act": act,
            "manner": self._manner,
            "variant": view.seed,
            "again": again,
            "task": "" if farewell(task) else task,
            "topics": about,
            "notes": _notes(now) if self._manner == "verbose" else [],
        }
        rendered = render(_TEMPLATE, view.language, variables)
        trace = {
            "act": act,
            "why": why,
            "topics": [
                {"kind": topic.kind, "about": topic.about, "slot": " | ".join(topic.slot), "why": topic.why}
                for topic in about
            ],
            "template": rendered.version,
        }
        return Reply(text=_tidy(rendered.text), trace=trace)


def _notes(now: Case) -> list[str]:
    """Return the first sentence of everything told, to be summed up aloud."""
    return [sentences(text, now.language)[0] for _, text in now.told if not farewell(text)]


def _tidy(text: str) -> str:
    """Without the blank lines and double blanks that a template leaves."""
    return "\n".join(" ".join(line.split()) for line in text.splitlines() if line.strip())
