"""The built-in seeker: a rule-based player that asks about what it notices.

Deterministic and stateless: everything follows from the view, so an episode can be resumed at any turn.
`simulator.clarq.seeker` finds the topics; the wording is in ``personas/clarq/offline_seeker``.

A topic is **open** if it has been noticed and no line of the provider has settled it. It is **asked** once
the seeker has asked about its slot, and **settled** once a line of the provider decides it. The seeker never
sees the tree: everything is derived from the background and the lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, Final, Literal, get_args

from personas.templates import render
from simulator.clarq.data import SEEKER, TURN_LIMIT, is_farewell
from simulator.clarq.lexical import sentences
from simulator.clarq.seeker.knowledge import Knowledge, knowledge_of
from simulator.clarq.seeker.noticing import (
    ORDER,
    Topic,
    alternatives,
    from_lines,
    obstacles,
    requirements,
    unmentioned,
)
from simulator.errors import InputError
from simulator.seats import Kind, Reply, View
from trees import Background, Language

HASTY_QUESTIONS: Final = 2
STARTS: Final = 3  # how often it asks for the task if it gets no answer
_TEMPLATE: Final = "clarq/offline_seeker"


class OfflineSeeker:
    """The player `offline/seeker`, which asks one thing at a time until nothing is open.

    ``hasty`` asks about the first two things it notices and leaves; ``verbose`` sums up what it knows
    and asks several questions in one turn, repeating unanswered ones, like a chatty language model.
    """

    kind: Kind = "offline"

    def __init__(self, style: str = "careful") -> None:
        if style not in STYLES:
            raise InputError(f"The offline seeker's style is one of {', '.join(STYLES)}, not {style!r}.")
        self._style: SeekerStyle = style
        self.name = "offline/seeker" if style == "careful" else f"offline/seeker:{style}"

    async def reply(self, view: View) -> Reply:
        """Ask about open topics, or thank and leave."""
        case = case_of(view)
        if reason := self._reason_to_leave(view, case):
            return self._say(view, case, "goodbye", (), reason)
        *before, asking = plan(case, self._style)
        if not asking:
            return self._say(view, case, "goodbye", (), "nothing is open any more that it notices")
        act = "start" if asking[0].kind == "start" else "ask"
        again = tries(asking[0], tuple(before)) > 0
        return self._say(view, case, act, asking, asking[0].why, again=again)

    def _reason_to_leave(self, view: View, case: Case) -> str:
        """Return the reason to leave even if topics are open; empty if there is none."""
        moves = sum(line.seat == SEEKER for line in view.lines)
        reasons = {
            "the last turn allowed": moves + 1 >= int(view.options.get("turn_limit", TURN_LIMIT)),
            "nobody tells it about the task": not case.informative and moves >= STARTS,
            "it was told that it knows enough": says_enough(case),
            "in a hurry": self._style == "hasty" and moves > HASTY_QUESTIONS,
        }
        return next((reason for reason, applies in reasons.items() if applies), "")

    def _say(
        self, view: View, case: Case, act: str, about: Sequence[Topic], why: str, *, again: bool = False
    ) -> Reply:
        task = view.task.background.task
        # The first sentence of each informative line, for a summary.
        notes = [sentences(text, case.language)[0] for _, text in case.informative if not is_farewell(text)]
        variables: dict[str, Any] = {
            "act": act,
            "manner": self._style,
            "variant": view.seed,
            "again": again,
            "task": "" if is_farewell(task) else task,
            "topics": about,
            "notes": notes if self._style == "verbose" else [],
        }
        rendered = render(_TEMPLATE, view.language, variables)
        topics = [
            {"kind": topic.kind, "about": topic.about, "slot": " | ".join(topic.slot), "why": topic.why}
            for topic in about
        ]
        # The template leaves blank lines and double blanks.
        lines = (" ".join(line.split()) for line in rendered.text.splitlines())
        trace = {"act": act, "why": why, "topics": topics, "template": rendered.version}
        return Reply(text="\n".join(filter(None, lines)), trace=trace)


SeekerStyle = Literal["careful", "hasty", "verbose"]
STYLES: Final[tuple[SeekerStyle, ...]] = get_args(SeekerStyle)
Asked = tuple[tuple[Topic, ...], ...]

_TOPICS_PER_TURN: Final = {"careful": 1, "hasty": 1, "verbose": 3}
_MAX_TRIES: Final = {"careful": 2, "hasty": 1, "verbose": 4}  # questions about a slot
_CHOICES: Final = frozenset({"choice", "alternatives", "passed"})
_FAINT: Final = frozenset({"how", "step"})
_PATIENCE: Final = 2  # refused questions of a faint kind, after which it asks no more of them
# Kinds worth a second question.
_REPHRASED: Final = frozenset({"choice", "where", "alternatives", "obstacle", "which"})
_INSISTED: Final = frozenset({"choice", "which"})  # even if the first question was refused


@lru_cache(maxsize=2048)
def plan(case: Case, style: SeekerStyle) -> Asked:
    """Return the topics asked about in each turn, last those to ask now; an empty turn is a goodbye."""
    before = plan(case.up_to(len(case.replies) - 1), style) if case.replies else ()
    return (*before, _choose_next(case, before, style))


def tries(topic: Topic, asked: Asked) -> int:
    """Return in how many turns the slot of `topic` has been asked about."""
    return sum(topic.slot in {other.slot for other in turn} for turn in asked)


def _choose_next(case: Case, asked: Asked, style: SeekerStyle) -> tuple[Topic, ...]:
    """Return the topics to ask about next, given those asked before."""
    left = [topic for topic in open_topics(case) if not _would_say_goodbye(topic)]
    if left and left[0].kind == "start":
        return tuple(left)
    fresh = [topic for topic in left if not tries(topic, asked)]
    if style == "careful":
        firm = [topic for topic in fresh if topic.kind not in _FAINT]
        faint = [topic for topic in fresh if topic.kind in _FAINT]
        again = [topic for topic in left if tries(topic, asked) and _worth_rephrasing(topic, asked, case)]
        passed = [topic for topic in _decided_in_passing(case) if not _was_read_out(topic, asked)]
        fresh = [*firm, *again, *passed, *([] if _is_fruitless(asked, case) else faint)]
    elif style == "verbose":
        fresh = [*_topics_to_repeat([topic for topic in left if tries(topic, asked)], asked, case), *fresh]
    return tuple(fresh[: _TOPICS_PER_TURN[style]])


def _was_read_out(topic: Topic, asked: Asked) -> bool:
    """Return True if an earlier question listed all options of `topic`."""
    if topic.kind not in _CHOICES or not topic.options:
        return tries(topic, asked) > 0
    read_out = (set(other.options) for turn in asked for other in turn if other.kind in _CHOICES)
    return any(map(set(topic.options).issubset, read_out))


def _decided_in_passing(case: Case) -> list[Topic]:
    """Return the choices settled by an answer to another question, which may have meant another thing."""
    return [
        replace(topic, kind="passed", why="decided while something else was asked")
        for topic in case.noticed
        if topic.kind in _CHOICES
        and topic not in case.open
        and not _would_say_goodbye(topic)
        # If the opening names several of the options, all of them are wanted.
        and (topic.group is None or len(topic.group.named(case.informative[0][1], case.language)) < 2)
    ]


def _is_fruitless(asked: Asked, case: Case) -> bool:
    """Return True if `_PATIENCE` questions of a faint kind have been refused."""
    informative = dict(case.informative)
    refused = sum(
        bool(turn) and turn[0].kind in _FAINT and line not in informative for line, turn in enumerate(asked)
    )
    return refused >= _PATIENCE


def _worth_rephrasing(topic: Topic, asked: Asked, case: Case) -> bool:
    """Return True if a second question is worthwhile, after a refusal or an answer to something else.

    A question about a time is never repeated, since it cannot be put more plainly.
    """
    if topic.kind not in _REPHRASED or topic.sort == "time" or tries(topic, asked) >= _MAX_TRIES["careful"]:
        return False
    line = _last_asked(topic, asked)
    refused = line not in dict(case.informative)
    return topic.kind in _INSISTED if refused else not may_answer(topic, line, case)


def _topics_to_repeat(asked: Sequence[Topic], before: Asked, case: Case) -> list[Topic]:
    """Return the topics that were asked together with others and that no reply has answered.

    A topic is not repeated if the last reply to it was uninformative.
    """
    informative = {line for line, _ in case.informative}
    done: set[tuple[str, ...]] = set()
    for line in sorted(informative & set(range(len(before)))):
        turn = [topic for topic in before[line] if topic.slot not in done]
        if (first := answered_first(turn, line, case)) is not None:
            done.add(first.slot)
    return [
        topic
        for topic in asked
        if topic.slot not in done
        and tries(topic, before) < _MAX_TRIES["verbose"]
        and _last_asked(topic, before) in informative
    ]


def _last_asked(topic: Topic, before: Asked) -> int:
    """Return the number of the seeker's last line that asked about `topic`, and so of the reply to it."""
    return max(line for line, turn in enumerate(before) if topic.slot in {other.slot for other in turn})


def _would_say_goodbye(topic: Topic) -> bool:
    """Return True if asking would end the dialogue, because the topic itself is about a goodbye."""
    return any(is_farewell(text) for text in (topic.about, topic.step, *topic.options))


# Share of a topic's terms that a line must contain to be about it.
_MIN_SHARE = {"where": 0.5, "which": 1.0, "obstacle": 0.4, "how": 0.6, "step": 0.34}

_DECIDABLE = frozenset({"choice", "where", "alternatives"})  # kinds that a line visibly decides


@dataclass(frozen=True)
class Case:
    """The background and the provider's replies so far, in which topics are found."""

    background: Background
    replies: tuple[str, ...]
    language: Language

    def up_to(self, count: int) -> Case:
        """Return the case after the first `count` replies."""
        return make_case(self.background, self.replies[:count], self.language)

    @cached_property
    def knowledge(self) -> Knowledge:
        """The knowledge in the background."""
        return knowledge_of(self.background, self.language)

    @cached_property
    def informative(self) -> tuple[tuple[int, str], ...]:
        """The replies that say something new about the task, with their numbers; first the opening."""
        known = self.knowledge.vocabulary
        informative: list[tuple[int, str]] = []
        for line, text in enumerate(self.replies):
            spoken = self.knowledge.terms(text)
            repeats = any(text in earlier or earlier in text for earlier in self.replies[:line])
            aside = bool(informative) and self.knowledge.is_aside(text)
            names = informative and any(segment.names for segment in self.knowledge.read(text))
            if (known & spoken or names) and not repeats and not aside:
                known = known | spoken
                informative.append((line, text))
        return tuple(informative)

    @cached_property
    def noticed(self) -> tuple[Topic, ...]:
        """All topics noticed, settled or not, each once."""
        topics: dict[tuple[str, ...], Topic] = {}
        for topic in (
            *from_lines(self.knowledge, self.informative),
            *obstacles(self.knowledge),
            *requirements(self.knowledge, self.informative),
        ):
            topics.setdefault(topic.slot, topic)
        options = {option for topic in topics.values() for option in topic.options}
        for topic in alternatives(self.knowledge):
            if options.isdisjoint(topic.options):
                options.update(topic.options)
                topics[topic.slot] = topic
        for topic in unmentioned(self.knowledge, self.informative):
            topics.setdefault(topic.slot, topic)
        return tuple(topics.values())

    @cached_property
    def open(self) -> tuple[Topic, ...]:
        """The topics noticed and not settled."""
        return tuple(topic for topic in self.noticed if not is_settled(topic, self))


make_case = lru_cache(maxsize=512)(Case)
"""Return a cached case, since later turns look back on earlier ones."""


def case_of(view: View) -> Case:
    """Return the case of a seeker's view."""
    replies = tuple(line.text for line in view.lines if line.seat == "provider")[1:]
    return make_case(view.task.background, replies, "zh" if view.language == "zh" else "en")


def open_topics(case: Case) -> tuple[Topic, ...]:
    """Return all open topics, asked or not, in the order in which they are worth asking.

    Topics raised by the latest line come first, then the others by kind (see `ORDER`), each in the order in
    which they came up.
    """
    if not case.informative:
        return (Topic(kind="start", why="nothing has been told yet"),)
    latest = case.informative[-1][0] if len(case.informative) > 1 else -1

    def rank(topic: Topic) -> tuple[bool, int]:
        return topic.line != latest or topic.kind == "alternatives", ORDER.index(topic.kind)

    return tuple(sorted(case.open, key=rank))


def is_settled(topic: Topic, case: Case) -> bool:
    """Return True if a line has settled `topic`: named one of the options, or spoken of the thing itself."""
    later = [text for line, text in case.informative if line > topic.line]
    if topic.group is not None and topic.kind != "where":
        replies = later if topic.kind == "choice" else [text for _, text in case.informative]
        return any(topic.group.named(text, case.language) for text in replies)
    if topic.kind == "where" and topic.group is not None:
        return any(_is_about(topic, text, case) and topic.group.named(text, case.language) for text in later)
    if topic.kind == "where":
        parts = (sentence for text in later for sentence in sentences(text, case.language))
        return any(_is_about(topic, part, case) and case.knowledge.hints_at_place(part) for part in parts)
    return any(_is_about(topic, text, case) for text in later)


def may_answer(topic: Topic, line: int, case: Case) -> bool:
    """Return True if reply number `line`, to a question about `topic`, may answer it.

    It does not if it is uninformative, or if it clearly settles another open topic.
    """
    text = dict(case.informative).get(line)
    if text is None:
        return False
    after = case.up_to(line + 1)
    if is_settled(topic, after):
        return True
    if topic.kind in _DECIDABLE:
        named = topic.group is not None and bool(topic.group.named(text, case.language))
        return topic.kind == "where" and (named or _is_about(topic, text, case))
    others = (other for other in case.up_to(line).open if other.kind in _DECIDABLE and other != topic)
    return not any(is_settled(other, after) for other in others)


def answered_first(asked: Sequence[Topic], line: int, case: Case) -> Topic | None:
    """Return the topic that reply number `line` answers, of those `asked` in one turn.

    It is the topic that the reply settles, or else shares most words with; None for an uninformative reply.
    """
    text = dict(case.informative).get(line)
    if text is None or not asked:
        return None
    before, after = case.up_to(line), case.up_to(line + 1)
    for topic in asked:
        if is_settled(topic, after) and not is_settled(topic, before):
            return topic
    weak = [topic for topic in asked if topic.kind not in {"choice", "where"}] or asked
    terms = case.knowledge.terms
    spoken = terms(text)
    return max(
        weak, key=lambda topic: len(spoken & terms(" ".join((topic.about, topic.step, *topic.options))))
    )


def says_enough(case: Case) -> bool:
    """Return True if the provider's last line says that there is nothing left to tell."""
    if not case.replies or not case.knowledge.pattern("enough").search(case.replies[-1]):
        return False
    return len(case.replies) - 1 not in dict(case.informative)


def _is_about(topic: Topic, text: str, case: Case) -> bool:
    terms = case.knowledge.terms(topic.about)
    share = _MIN_SHARE.get(topic.kind)
    return bool(terms) and share is not None and len(terms & case.knowledge.terms(text)) >= share * len(terms)
