"""Which topics are open in a dialogue: noticed, and settled by no line of the provider's.

A topic is **asked** once a line of the seeker's holds its marks, and **settled** once a line of the
provider's decides it. Nothing here knows the tree: all follows from the background and the lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from simulator.clarq.lexical import sentences
from simulator.clarq.seeker.knowledge import Knowledge, Terms, knowledge_of
from simulator.clarq.seeker.noticing import (
    ORDER,
    Topic,
    alternatives,
    from_lines,
    left_over,
    obstacles,
    requirements,
)
from simulator.seats import View
from trees import Background, Language

# Share of a topic's terms that a line must have to speak of it.
_SPEAKS_OF = {"where": 0.5, "which": 1.0, "obstacle": 0.4, "how": 0.6, "step": 0.34}

_DECIDED = frozenset({"choice", "where", "alternatives"})  # kinds of which a line tells that it decides them


@dataclass(frozen=True)
class Case:
    """All that topics are found in.

    Attributes:
        background: what the seeker was told beforehand.
    """

    background: Background
    said: tuple[str, ...]
    language: Language

    @cached_property
    def knowledge(self) -> Knowledge:
        """The background, read."""
        return knowledge_of(self.background, self.language)

    @cached_property
    def told(self) -> tuple[tuple[int, str], ...]:
        """The lines that tell something new of the task, with their numbers; first the opening response."""
        known = self.knowledge.vocabulary
        telling: list[tuple[int, str]] = []
        for line, text in enumerate(self.said):
            own = self.knowledge.terms(text)
            repeats = any(text in earlier or earlier in text for earlier in self.said[:line])
            aside = bool(telling) and self.knowledge.is_aside(text)
            names = telling and any(segment.names for segment in self.knowledge.read(text))
            tells = known & own or names
            if tells and not repeats and not aside:
                known = known | own
                telling.append((line, text))
        return tuple(telling)

    @cached_property
    def noticed(self) -> tuple[Topic, ...]:
        """Everything noticed, settled or not, each topic once."""
        topics: dict[tuple[str, ...], Topic] = {}
        for topic in (
            *from_lines(self.knowledge, self.told),
            *obstacles(self.knowledge),
            *requirements(self.knowledge, self.told),
        ):
            topics.setdefault(topic.slot, topic)
        spoken = {option for topic in topics.values() for option in topic.options}
        for topic in alternatives(self.knowledge):
            if spoken.isdisjoint(topic.options):
                spoken.update(topic.options)
                topics[topic.slot] = topic
        for topic in left_over(self.knowledge, self.told):
            topics.setdefault(topic.slot, topic)
        return tuple(topics.values())

    @cached_property
    def open(self) -> tuple[Topic, ...]:
        """Return what is noticed and not settled."""
        return tuple(topic for topic in self.noticed if not settled(topic, self))


@lru_cache(maxsize=512)
def case(background: Background, said: tuple[str, ...], language: Language) -> Case:
    """Return a case, worked out once: the next turn looks back on this one."""
    return Case(background, said, language)


def case_of(view: View) -> Case:
    """Return what a seeker's view holds to find topics in."""
    replies = tuple(line.text for line in view.lines if line.seat == "provider")[1:]
    return case(view.task.background, replies, "zh" if view.language == "zh" else "en")


def open_topics(now: Case) -> tuple[Topic, ...]:
    """Return everything that is open, asked or not, in the order in which it is worth asking.

    What the latest line has raised comes first, then choices, sources, obstacles, vague words, steps and
    alternatives of which nobody has spoken, each in the order in which they came up.
    """
    if not now.told:
        return (Topic(kind="start", why="nothing has been told yet"),)
    latest = now.told[-1][0] if len(now.told) > 1 else -1
    return tuple(
        sorted(
            now.open,
            key=lambda topic: (
                topic.line != latest or topic.kind == "alternatives",
                ORDER.index(topic.kind),
            ),
        )
    )


def settled(topic: Topic, now: Case) -> bool:
    """Return True if a line has decided `topic`: named one of the options, or spoken of the thing itself."""
    later = [text for line, text in now.told if line > topic.line]
    if topic.group is not None and topic.kind != "where":
        replies = later if topic.kind == "choice" else [text for _, text in now.told]
        return any(topic.group.named(text, now.language) for text in replies)
    if topic.kind == "where" and topic.group is not None:
        return any(_speaks_of(topic, text, now) and topic.group.named(text, now.language) for text in later)
    if topic.kind == "where":
        parts = (sentence for text in later for sentence in sentences(text, now.language))
        return any(_speaks_of(topic, part, now) and now.knowledge.hints_at_place(part) for part in parts)
    return any(_speaks_of(topic, text, now) for text in later)


def answered(topic: Topic, line: int, now: Case) -> bool:
    """Return True if the provider's line number `line`, the reply to a question about `topic`, may answer it.

    It does not if it tells nothing new, or if it plainly settles something else that was open.
    """
    text = dict(now.told).get(line)
    if text is None:
        return False
    after = case(now.background, now.said[: line + 1], now.language)
    if settled(topic, after):
        return True
    if topic.kind in _DECIDED:
        named = topic.group is not None and bool(topic.group.named(text, now.language))
        return topic.kind == "where" and (named or _speaks_of(topic, text, now))
    before = case(now.background, now.said[:line], now.language)
    others = (other for other in before.open if other.kind in _DECIDED and other != topic)
    return not any(settled(other, after) for other in others)


def answered_first(asked: Sequence[Topic], line: int, now: Case) -> Topic | None:
    """Return which of the topics `asked` at once the provider's line number `line` answers.

    The one it settles, else the one that it has most words in common with; None if it tells nothing.
    """
    text = dict(now.told).get(line)
    if text is None or not asked:
        return None
    before = case(now.background, now.said[:line], now.language)
    after = case(now.background, now.said[: line + 1], now.language)
    for topic in asked:
        if settled(topic, after) and not settled(topic, before):
            return topic
    weak = [topic for topic in asked if topic.kind not in {"choice", "where"}] or asked
    spoken = now.knowledge.terms(text)
    return max(weak, key=lambda topic: len(spoken & _all_terms(topic, now)))


def _all_terms(topic: Topic, now: Case) -> Terms:
    return now.knowledge.terms(" ".join((topic.about, topic.step, *topic.options)))


def says_enough(now: Case) -> bool:
    """Return True if the provider's last line says that there is nothing left to tell."""
    if not now.said or not now.knowledge.pattern("enough").search(now.said[-1]):
        return False
    return len(now.said) - 1 not in dict(now.told)


def _speaks_of(topic: Topic, text: str, now: Case) -> bool:
    own = now.knowledge.terms(topic.about)
    least = _SPEAKS_OF.get(topic.kind)
    return bool(own) and least is not None and len(own & now.knowledge.terms(text)) >= least * len(own)
