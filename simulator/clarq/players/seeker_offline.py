"""The built-in seeker: asks about what it notices, by rule, without a model.

Deterministic and stateless: everything follows from the view, so an episode can be taken up at any turn.
What it notices is found in `simulator.clarq.seeker`; its words are in ``personas/clarq/offline_seeker``.

A topic is **open** if it is noticed, and settled by no line of the provider's. It is **asked** once a line of
the seeker's holds its marks, and **settled** once a line of the provider's decides it. Nothing here knows the
tree: all follows from the background and the lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, Final, Literal, get_args

from personas.templates import render
from simulator.clarq.data import SEEKER, TURN_LIMIT, farewell
from simulator.clarq.lexical import sentences
from simulator.clarq.seeker.knowledge import Knowledge, knowledge_of
from simulator.clarq.seeker.noticing import (
    ORDER,
    Topic,
    alternatives,
    from_lines,
    left_over,
    obstacles,
    requirements,
)
from simulator.errors import InputError
from simulator.seats import Kind, Reply, View
from trees import Background, Language

HASTY_QUESTIONS: Final = 2
STARTS: Final = 3  # how often it asks for the task if nobody tells it
_TEMPLATE: Final = "clarq/offline_seeker"


class OfflineSeeker:
    """`offline/seeker`: asks one thing at a time until nothing is open.

    ``hasty`` asks about the first two things it notices and leaves; ``verbose`` says what it has understood
    and asks everything at once, again and again until it is answered, like a chatty language model.
    """

    kind: Kind = "offline"

    def __init__(self, style: str = "careful") -> None:
        if style not in STYLES:
            raise InputError(f"The offline seeker's style is one of {', '.join(STYLES)}, not {style!r}.")
        self._style: SeekerStyle = style
        self.name = "offline/seeker" if style == "careful" else f"offline/seeker:{style}"

    async def reply(self, view: View) -> Reply:
        """Ask about what is open, or thank and leave."""
        now = case_of(view)
        if reason := self._leaving(view, now):
            return self._say(view, now, "goodbye", (), reason)
        *before, asking = plan(now, self._style)
        if not asking:
            return self._say(view, now, "goodbye", (), "nothing is open any more that it notices")
        act = "start" if asking[0].kind == "start" else "ask"
        again = tries(asking[0], tuple(before)) > 0
        return self._say(view, now, act, asking, asking[0].why, again=again)

    def _leaving(self, view: View, now: Case) -> str:
        """Return why to leave whatever is open; empty if there is no reason to."""
        moves = sum(line.seat == SEEKER for line in view.lines)
        reasons = {
            "the last turn allowed": moves + 1 >= int(view.options.get("turn_limit", TURN_LIMIT)),
            "nobody tells it about the task": not now.told and moves >= STARTS,
            "it was told that it knows enough": says_enough(now),
            "in a hurry": self._style == "hasty" and moves > HASTY_QUESTIONS,
        }
        return next((reason for reason, holds in reasons.items() if holds), "")

    def _say(
        self, view: View, now: Case, act: str, about: Sequence[Topic], why: str, *, again: bool = False
    ) -> Reply:
        task = view.task.background.task
        # The first sentence of everything told, to be summed up aloud.
        notes = [sentences(text, now.language)[0] for _, text in now.told if not farewell(text)]
        variables: dict[str, Any] = {
            "act": act,
            "manner": self._style,
            "variant": view.seed,
            "again": again,
            "task": "" if farewell(task) else task,
            "topics": about,
            "notes": notes if self._style == "verbose" else [],
        }
        rendered = render(_TEMPLATE, view.language, variables)
        topics = [
            {"kind": topic.kind, "about": topic.about, "slot": " | ".join(topic.slot), "why": topic.why}
            for topic in about
        ]
        # A template leaves blank lines and double blanks.
        lines = (" ".join(line.split()) for line in rendered.text.splitlines())
        trace = {"act": act, "why": why, "topics": topics, "template": rendered.version}
        return Reply(text="\n".join(filter(None, lines)), trace=trace)


SeekerStyle = Literal["careful", "hasty", "verbose"]
STYLES: Final[tuple[SeekerStyle, ...]] = get_args(SeekerStyle)
Asked = tuple[tuple[Topic, ...], ...]

_AT_ONCE: Final = {"careful": 1, "hasty": 1, "verbose": 3}
_TRIES: Final = {"careful": 2, "hasty": 1, "verbose": 4}  # askings of a slot
_CHOICES: Final = frozenset({"choice", "alternatives", "passed"})
_FAINT: Final = frozenset({"how", "step"})
_PATIENCE: Final = 2  # refusals of such a question, then no more of them
# Kinds worth a second question.
_REPHRASED: Final = frozenset({"choice", "where", "alternatives", "obstacle", "which"})
_INSISTED: Final = frozenset({"choice", "which"})  # even if the first one was refused


@lru_cache(maxsize=2048)
def plan(now: Case, style: SeekerStyle) -> Asked:
    """Return the topics asked about turn by turn, last of all what to ask now; no topics are a goodbye."""
    before = plan(case(now.background, now.said[:-1], now.language), style) if now.said else ()
    return (*before, _choose_next(now, before, style))


def tries(topic: Topic, asked: Asked) -> int:
    """Return how often the slot of `topic` has been asked about."""
    return sum(topic.slot in {other.slot for other in together} for together in asked)


def _choose_next(now: Case, asked: Asked, style: SeekerStyle) -> tuple[Topic, ...]:
    """Return what to ask about next, given what has been asked before."""
    left = [topic for topic in open_topics(now) if not _would_say_goodbye(topic)]
    if left and left[0].kind == "start":
        return tuple(left)
    fresh = [topic for topic in left if not tries(topic, asked)]
    if style == "careful":
        firm = [topic for topic in fresh if topic.kind not in _FAINT]
        faint = [topic for topic in fresh if topic.kind in _FAINT]
        again = [topic for topic in left if tries(topic, asked) and _worth_rephrasing(topic, asked, now)]
        passed = [topic for topic in _decided_by_the_way(now) if not _was_read_out(topic, asked)]
        fresh = [*firm, *again, *passed, *([] if _is_fruitless(asked, now) else faint)]
    elif style == "verbose":
        fresh = [*_topics_to_repeat([topic for topic in left if tries(topic, asked)], asked, now), *fresh]
    return tuple(fresh[: _AT_ONCE[style]])


def _was_read_out(topic: Topic, asked: Asked) -> bool:
    """Return True if all among which to choose has been read out before, with others perhaps."""
    if topic.kind not in _CHOICES or not topic.options:
        return tries(topic, asked) > 0
    read_out = (set(other.options) for together in asked for other in together if other.kind in _CHOICES)
    return any(map(set(topic.options).issubset, read_out))


def _decided_by_the_way(now: Case) -> list[Topic]:
    """Return choices decided by a line that answered something else, and may have meant another."""
    return [
        replace(topic, kind="passed", why="decided while something else was asked")
        for topic in now.noticed
        if topic.kind in _CHOICES
        and topic not in now.open
        and not _would_say_goodbye(topic)
        # The opening names several of its options: it wants them all.
        and (topic.group is None or len(topic.group.named(now.told[0][1], now.language)) < 2)
    ]


def _is_fruitless(asked: Asked, now: Case) -> bool:
    """Return True if as many questions of a faint kind have been refused as anybody puts up with."""
    informative = dict(now.told)
    refused = sum(
        bool(together) and together[0].kind in _FAINT and line not in informative
        for line, together in enumerate(asked)
    )
    return refused >= _PATIENCE


def _worth_rephrasing(topic: Topic, asked: Asked, now: Case) -> bool:
    """Return True if to ask again: what was refused in other words, the rest if something else was told.

    When something happens cannot be asked more plainly than it was.
    """
    if topic.kind not in _REPHRASED or topic.sort == "time" or tries(topic, asked) >= _TRIES["careful"]:
        return False
    line = _last_asked(topic, asked)
    refused = line not in dict(now.told)
    return topic.kind in _INSISTED if refused else not answered(topic, line, now)


def _topics_to_repeat(asked: Sequence[Topic], before: Asked, now: Case) -> list[Topic]:
    """Return which of the topics asked together with others to repeat: no reply has answered them yet.

    None is repeated after a reply that told nothing.
    """
    informative = {line for line, _ in now.told}
    done: set[tuple[str, ...]] = set()
    for line in sorted(informative & set(range(len(before)))):
        together = [topic for topic in before[line] if topic.slot not in done]
        if (first := answered_first(together, line, now)) is not None:
            done.add(first.slot)
    return [
        topic
        for topic in asked
        if topic.slot not in done
        and tries(topic, before) < _TRIES["verbose"]
        and _last_asked(topic, before) in informative
    ]


def _last_asked(topic: Topic, before: Asked) -> int:
    """Return the number of the seeker's line, and so of the reply to it, that asked about `topic` last."""
    return max(
        line for line, together in enumerate(before) if topic.slot in {other.slot for other in together}
    )


def _would_say_goodbye(topic: Topic) -> bool:
    """Return True if asking would end the dialogue, because the topic itself is about a goodbye."""
    return any(farewell(text) for text in (topic.about, topic.step, *topic.options))


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


case = lru_cache(maxsize=512)(Case)
"""A case, worked out once: the next turn looks back on this one."""


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
    terms = now.knowledge.terms
    return max(
        weak, key=lambda topic: len(spoken & terms(" ".join((topic.about, topic.step, *topic.options))))
    )


def says_enough(now: Case) -> bool:
    """Return True if the provider's last line says that there is nothing left to tell."""
    if not now.said or not now.knowledge.pattern("enough").search(now.said[-1]):
        return False
    return len(now.said) - 1 not in dict(now.told)


def _speaks_of(topic: Topic, text: str, now: Case) -> bool:
    own = now.knowledge.terms(topic.about)
    least = _SPEAKS_OF.get(topic.kind)
    return bool(own) and least is not None and len(own & now.knowledge.terms(text)) >= least * len(own)
