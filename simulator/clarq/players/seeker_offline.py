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
from simulator.clarq.seeker.topics import (
    Case,
    answered,
    answered_first,
    attempts,
    case_of,
    says_enough,
    topics,
)
from simulator.errors import InputError
from simulator.seats import Kind, Reply, View

MANNERS: Final = ("careful", "hasty", "verbose")
HASTY_QUESTIONS: Final = 2
STARTS: Final = 3  # how often it asks for the task if nobody tells it
_AT_ONCE: Final = {"careful": 1, "hasty": 1, "verbose": 3}
_PATIENCE: Final = 4  # how often the verbose one repeats a question
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
        fresh = [topic for topic, tries in tried.items() if not tries]
        if self._manner == "hasty":
            return fresh
        if self._manner == "verbose":
            return _unanswered([topic for topic, tries in tried.items() if tries], mine, now) + fresh
        return fresh + [topic for topic, tries in tried.items() if _worth_a_second_try(topic, tries, now)]

    def _say(self, view: View, now: Case, act: str, about: Sequence[Topic], why: str) -> Reply:
        task = view.task.background.task
        variables: dict[str, Any] = {
            "act": act,
            "manner": self._manner,
            "variant": view.seed,
            "task": "" if farewell(task) else task,
            "topics": about,
            "notes": _notes(now) if self._manner == "verbose" else [],
        }
        rendered = render(_TEMPLATE, view.language, variables)
        trace = {
            "act": act,
            "why": why,
            "topics": [{"kind": topic.kind, "about": topic.about, "why": topic.why} for topic in about],
            "template": rendered.version,
        }
        return Reply(text=_tidy(rendered.text), trace=trace)


def _notes(now: Case) -> list[str]:
    """The first sentence of everything told, to be summed up aloud."""
    return [sentences(text, now.language)[0] for _, text in now.told if not farewell(text)]


def _worth_a_second_try(topic: Topic, tries: tuple[int, ...], now: Case) -> bool:
    """Whether to come back to a topic: it was asked once, and the reply told something else."""
    told = {line for line, _ in now.told}
    once = len(tries) == 1 and topic.kind != "spare"
    return once and tries[0] in told and not answered(topic, tries[0], now)


def _unanswered(asked: Sequence[Topic], mine: Sequence[str], now: Case) -> list[Topic]:
    """Of the topics asked together with others, those to repeat: no reply has answered them yet.

    A question is repeated `_PATIENCE` times at most, and not after a reply that told nothing.
    """
    told = {line for line, _ in now.told}
    tried = {topic: attempts(topic, mine) for topic in (*now.noticed, *asked)}
    done: set[Topic] = set()
    for line in sorted(told):
        together = [topic for topic, tries in tried.items() if line in tries and topic not in done]
        if (first := answered_first(together, line, now)) is not None:
            done.add(first)
    return [
        topic
        for topic in asked
        if topic not in done and len(tried[topic]) < _PATIENCE and tried[topic][-1] in told
    ]


def _unsayable(topic: Topic) -> bool:
    """Whether asking would end the dialogue, because the topic itself is about a goodbye."""
    return any(farewell(text) for text in (topic.about, topic.step, *topic.options))


def _tidy(text: str) -> str:
    """Without the blank lines and double blanks that a template leaves."""
    return "\n".join(" ".join(line.split()) for line in text.splitlines() if line.strip())
