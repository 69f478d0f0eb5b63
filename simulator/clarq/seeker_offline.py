"""The built-in seeker: asks about what it notices, by rule, without a model.

Deterministic and stateless: everything follows from the view, so an episode can be taken up at any turn.
What it notices is found in `simulator.clarq.seeker`; its words are in ``personas/clarq/offline_seeker``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from personas.templates import render
from simulator.clarq.graph import SEEKER, TURN_LIMIT, farewell
from simulator.clarq.seeker.noticing import Topic
from simulator.clarq.seeker.topics import Case, answered, attempts, case_of, says_enough, topics
from simulator.errors import InputError
from simulator.seats import Kind, Reply, View

MANNERS: Final = ("careful", "hasty", "verbose")
HASTY_QUESTIONS: Final = 2
STARTS: Final = 3  # how often it asks for the task if nobody tells it
_AT_ONCE: Final = {"careful": 1, "hasty": 1, "verbose": 4}
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
        self._manner = manner
        self.name = "offline/seeker" if manner == "careful" else f"offline/seeker:{manner}"

    async def reply(self, view: View) -> Reply:
        """Ask about what is open, or thank and leave."""
        now = case_of(view)
        mine = [line.text for line in view.lines if line.seat == SEEKER]
        if reason := self._leaving(view, now, mine):
            return self._say(view, now, "goodbye", (), reason)
        left = self._to_ask(view, now, mine)
        if not left:
            return self._say(view, now, "goodbye", (), "nothing is open any more that it notices")
        asking = left[: _AT_ONCE[self._manner]]
        act = "start" if asking[0].kind == "start" else "ask"
        return self._say(view, now, act, asking, asking[0].why)

    def _leaving(self, view: View, now: Case, mine: Sequence[str]) -> str:
        """Why to leave whatever is open; empty if there is no reason to."""
        if len(mine) + 1 >= int(view.options.get("turn_limit", TURN_LIMIT)):
            return "the last turn allowed"
        if not now.told and len(mine) >= STARTS:
            return "nobody tells it about the task"
        if says_enough(now):
            return "it was told that it knows enough"
        if self._manner == "hasty" and len(mine) > HASTY_QUESTIONS:
            return "in a hurry"
        return ""

    def _to_ask(self, view: View, now: Case, mine: Sequence[str]) -> list[Topic]:
        """The topics to ask, what has not been asked yet first."""
        tried = {topic: attempts(topic, mine) for topic in topics(view) if not _unsayable(topic)}
        again = self._again_verbose if self._manner == "verbose" else self._again
        fresh = [topic for topic, tries in tried.items() if not tries]
        if self._manner == "hasty":
            return fresh
        return fresh + [topic for topic, tries in tried.items() if tries and again(topic, tries, now)]

    def _again(self, topic: Topic, tries: tuple[int, ...], now: Case) -> bool:
        """Whether to come back to a topic: once, if the reply told something, but something else."""
        told = {line for line, _ in now.told}
        return (
            topic.kind != "spare"
            and len(tries) == 1
            and tries[0] in told
            and not answered(topic, tries[0], now)
        )

    def _again_verbose(self, topic: Topic, tries: tuple[int, ...], now: Case) -> bool:
        """Whether to repeat a question of several: as long as each reply has answered another of them."""
        told = {line for line, _ in now.told}
        return tries[-1] in told and not any(answered(topic, line, now) for line in tries)

    def _say(self, view: View, now: Case, act: str, about: Sequence[Topic], why: str) -> Reply:
        task = view.task.background.task
        variables: dict[str, Any] = {
            "act": act,
            "manner": self._manner,
            "variant": view.seed,
            "task": "" if farewell(task) else task,
            "topics": about,
            "notes": [text for _, text in now.told if not farewell(text)],
        }
        rendered = render(_TEMPLATE, view.language, variables)
        trace = {
            "act": act,
            "why": why,
            "topics": [{"kind": topic.kind, "about": topic.about, "why": topic.why} for topic in about],
            "template": rendered.version,
        }
        return Reply(text=_one_line(rendered.text), trace=trace)


def _unsayable(topic: Topic) -> bool:
    """Whether asking would end the dialogue, because the topic itself is about a goodbye."""
    return any(farewell(text) for text in (topic.about, topic.step, *topic.options))


def _one_line(text: str) -> str:
    return " ".join(text.split())
