"""Finding what is left open: in the lines of a provider, and in the background itself."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import dropwhile
from typing import Any, Final, Literal, get_args

from simulator.clarq.lexical import EN
from simulator.clarq.seeker.knowledge import MOST_OPTIONS, Group, Knowledge, Terms, knowledge_of
from simulator.clarq.seeker.reading import Requirement, Segment, read_requirement
from trees import Background, Language

Kind = Literal[
    "start", "choice", "where", "obstacle", "about", "which", "alternatives", "passed", "how", "step"
]
_ARTICLE = re.compile(r"^(?:an?|the|some) ", re.IGNORECASE)
_PURPOSE = re.compile(r"\bfor\b.*")  # a place named there is not where to look
ORDER: Final[tuple[Kind, ...]] = tuple(kind for kind in get_args(Kind) if kind != "passed")
"""The kinds in the order in which they are worth asking."""


_REQUIRED: Final[Mapping[str, tuple[Kind, str, str]]] = {
    "activity": ("how", "", ""),
    "knowledge": ("which", "known", ""),
    "thing": ("where", "", "thing"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """Something open that a seeker may ask about.

    Attributes:
        kind: ``start`` how the task is done at all; ``choice`` which of several alike entries is meant;
            ``where`` to find what the background has not; ``obstacle`` how to get past what an entry's
            parenthesis says; ``about`` a thing named in one breath with others that have been spoken of;
            ``which`` thing, person, place, … a vague noun stands for; ``alternatives`` which of several
            alike entries that no line has spoken of; ``passed`` which of alike entries a line meant that
            answered something else; ``how`` to do a step; ``step`` whether there is more to a step.
        about: the thing in question, as it is said.
        options: the entries of the background among which it must be.
        sort: of ``which``, what the noun stands for; of skills to choose from, whether they are deeds.
        section: where the options stand; of ``where``, ``person`` or ``thing``.
        line: the provider's line that it arises from, counted without the greeting.
        step: what is to be done with it, if that has been said.
        group: the group of a choice, or of the places where to look.
        why: how it was noticed; for the log.
    """

    kind: Kind
    about: str = ""
    options: tuple[str, ...] = ()
    sort: str = ""
    section: str = ""
    line: int = 0
    step: str = ""
    group: Group | None = field(default=None, repr=False)
    why: str = ""

    @property
    def slot(self) -> tuple[str, ...]:
        """Return what is to be known: topics with the same slot ask for the same thing."""
        if self.kind in {"choice", "alternatives", "passed"} and self.options:
            return self.options
        return (self.kind, self.about)


@dataclass(frozen=True, slots=True)
class _Spot:
    """The place of a segment: in which line, and what has been heard before."""

    knowledge: Knowledge
    line: int
    text: str
    heard: Terms
    opening: bool

    def topic(self, kind: Kind, about: str, why: str, **more: Any) -> Topic:
        """Return a topic that arises here."""
        return Topic(kind=kind, about=about, line=self.line, why=why, **more)


def from_lines(knowledge: Knowledge, told: tuple[tuple[int, str], ...]) -> Iterator[Topic]:
    """Yield what the provider's lines leave open; the first of them is the opening response."""
    texts = tuple(text for _, text in told)
    for count, (line, _) in enumerate(told, start=1):
        yield from _from_line(knowledge.background, knowledge.language, line, texts[:count])


@lru_cache(maxsize=2048)
def _from_line(
    background: Background, language: Language, line: int, texts: tuple[str, ...]
) -> tuple[Topic, ...]:
    """Return what the last of `texts` leaves open."""
    knowledge = knowledge_of(background, language)
    heard = frozenset[str]().union(*map(knowledge.terms, texts[:-1]))
    spot = _Spot(knowledge, line, texts[-1], heard, len(texts) == 1)
    return tuple(topic for segment in knowledge.read(texts[-1]) for topic in _from_segment(segment, spot))


def _from_segment(segment: Segment, spot: _Spot) -> list[Topic]:
    mentioned = open_groups(spot.knowledge, segment.text, segment.text if spot.opening else spot.text)
    places = next((group for group, _ in mentioned if group.section == "scenes"), None)
    things = list(_new_things(segment, spot))
    topics = list(_stocked(segment, spot))
    if segment.made:
        topics.append(spot.topic("how", segment.step, f"to be made: {segment.text}"))
        things = [thing for thing in things if thing not in segment.offered]
    for thing in things:
        section = "person" if thing in segment.names else "thing"
        where = {"options": _few_options(places), "section": section, "step": segment.step, "group": places}
        topics.append(spot.topic("where", thing, f"not in the background: {thing}", **where))
    for group, word in mentioned:
        if not (things and group is places):
            topics.append(_choice(group, word, segment, spot))
    topics.extend(_vague_topics(segment, spot))
    if not topics and segment.step:
        own = spot.knowledge.terms(segment.step)
        if _wants_a_how(segment, spot):
            topics.append(spot.topic("how", segment.step, "a step without a how"))
        elif len(own) > 1 and spot.opening and not own & spot.knowledge.entry_terms:
            topics.append(spot.topic("step", segment.step, "a step not spoken of"))
    return topics


def open_groups(knowledge: Knowledge, segment: str, line: str) -> list[tuple[Group, str]]:
    """Return the groups that `segment` mentions and `line` does not decide, with the word that mentions them.

    Of groups that overlap, one is taken: in Chinese the one mentioned by the longest word, else the
    largest that can still be read out; of skills, which mostly share a verb, the smallest.
    """
    mentioned = [
        (group, word) for group in knowledge.groups if (word := group.mention(segment, knowledge.language))
    ]
    mentioned.sort(
        key=lambda found: (
            len(found[0].options) > MOST_OPTIONS,
            -len(found[1]) if knowledge.language == "zh" else 0,
            len(found[0].options) * (1 if found[0].section == "skills" else -1),
        )
    )
    kept: list[tuple[Group, str]] = []
    taken: set[str] = set()
    for group, word in mentioned:
        if taken.isdisjoint(group.options):
            taken.update(group.options)
            if not group.named(line, knowledge.language):
                kept.append((group, word))
    return kept


def _few_options(group: Group | None) -> tuple[str, ...]:
    return group.options if group is not None and len(group.options) <= MOST_OPTIONS else ()


def _options_of(group: Group, knowledge: Knowledge) -> dict[str, Any]:
    """Return the fields of a topic that asks which of a group is meant.

    Its sort is ``deeds`` if skills are deeds (“cast a spell”), not names of them (“backstroke”).
    """
    acts = knowledge.language == "zh" or all(
        option.split()[0].lower() in EN["verbs"] for option in group.options
    )
    sort = "deeds" if group.section == "skills" and acts else ""
    return {"options": _few_options(group), "sort": sort, "section": group.section, "group": group}


def _choice(group: Group, word: str, segment: Segment, spot: _Spot) -> Topic:
    about = group.label if len(word) == 1 and group.label.endswith(word) else word
    more = _options_of(group, spot.knowledge)
    return spot.topic("choice", about, f"several are called {word!r}", step=segment.step, **more)


def _new_things(segment: Segment, spot: _Spot) -> Iterator[str]:
    """Yield what a segment wants or names that the background has not and no line has spoken of."""
    knowledge = spot.knowledge
    used = segment.used if knowledge.rich else ()
    offered = () if spot.opening else segment.offered
    things = dict.fromkeys((*segment.names, *segment.wanted, *used, *offered))
    if knowledge.names_place(_PURPOSE.sub("", segment.text)):
        things = dict.fromkeys(segment.keepers)  # the place may be what their key is for
    for thing in things:
        own = knowledge.terms(thing)
        known = own <= knowledge.vocabulary if thing in segment.names else knowledge.has(own)
        if own and not own <= spot.heard and not known:
            yield thing


def _stocked(segment: Segment, spot: _Spot) -> Iterator[Topic]:
    """Return what a segment wants of which a place has several: “engines with two and four cylinders”."""
    knowledge = spot.knowledge
    several = [
        knowledge.terms(entry.note)
        for entry in knowledge.entries("scenes")
        if knowledge.pattern("stocked").search(entry.note)
    ]
    for thing in segment.wanted:
        own = knowledge.terms(thing)
        if own and not own <= spot.heard and any(own <= note for note in several):
            noun = _ARTICLE.sub("", thing)
            yield spot.topic("which", noun, f"several sorts of {noun}", sort="thing")


def _vague_topics(segment: Segment, spot: _Spot) -> Iterator[Topic]:
    knowledge = spot.knowledge
    for sort, noun in segment.vague:
        if not spot.opening and sort not in {"thing", "value", "person"}:
            continue
        own = knowledge.terms(noun)
        if own and own <= spot.heard:
            continue
        if len(own) > 1 and any(own <= note for note in knowledge.note_terms):
            continue
        if not any(group.mention(noun, knowledge.language) for group in knowledge.groups):
            yield spot.topic("which", noun, f"left open: {segment.text}", sort=sort, step=segment.step)


def _wants_a_how(segment: Segment, spot: _Spot) -> bool:
    """Return True if a step is worth a “how”: later lines say how themselves, and must bring news."""
    if not segment.step:
        return False
    knowledge = spot.knowledge
    if spot.opening:
        if any(not knowledge.has(knowledge.terms(thing)) for thing in segment.used):
            return True
        placed = knowledge.names_place(segment.step) and not segment.achieves
        return not segment.explained and not placed
    own = knowledge.terms(segment.step)
    news = len(own - spot.heard - knowledge.vocabulary)
    return segment.achieves and not segment.explained and news * 2 >= max(len(own), 2)


def left_over(knowledge: Knowledge, told: tuple[tuple[int, str], ...]) -> Iterator[Topic]:
    """Yield things that the opening names in one breath with others of which a later line has spoken."""
    if len(told) < 2:
        return
    line, opening = told[0]
    later = frozenset[str]().union(*(knowledge.terms(text) for _, text in told[1:]))
    for row in dict.fromkeys(row for segment in knowledge.read(opening) for row in segment.rows):
        owns = {thing: knowledge.terms(thing) for thing in row}
        done = [thing for thing, own in owns.items() if own <= later]
        spoken = later.difference(*(owns[thing] for thing in done))
        for thing, own in owns.items():
            if done and own and thing not in done and own.isdisjoint(spoken):
                about = f"the {_ARTICLE.sub('', thing)}"
                yield Topic(kind="about", about=about, line=line, why=f"only {', '.join(done)} spoken of")


@lru_cache(maxsize=1024)
def obstacles(knowledge: Knowledge) -> tuple[Topic, ...]:
    """Return what stands in the way according to the parentheses of items and scenes, each once."""
    pattern, harmless = knowledge.pattern("obstacle"), knowledge.pattern("no_obstacle")
    topics: dict[str, Topic] = {}
    for entry in knowledge.entries("items", "scenes"):
        for note in _notes(entry.note, pattern):
            if pattern.search(note) and not harmless.search(note):
                why = f"in the way at {entry.name}"
                topics.setdefault(note, Topic(kind="obstacle", about=note, options=(entry.name,), why=why))
    return tuple(topics.values())


def _notes(note: str, pattern: re.Pattern[str]) -> list[str]:
    """Return the parts of a note; what stands before the part that matters is left out."""
    notes = []
    for part in re.split(r"[;；]\s*", note):
        clauses = list(dropwhile(lambda clause: not pattern.search(clause), part.split("，")))
        notes.append("，".join(clauses) or part)
    return notes


def requirements(knowledge: Knowledge, told: tuple[tuple[int, str], ...]) -> Iterator[Topic]:
    """Yield what a skill takes that the seeker has not, once somebody has spoken of doing it."""
    spoken = frozenset[str]().union(*(knowledge.terms(text) for _, text in told))
    for name, requirement in _lacking_skills(knowledge):
        if knowledge.terms(name) & spoken:
            # A thing comes from somewhere, an activity is done somehow.
            kind, sort, section = _REQUIRED[requirement.sort]
            about, line, why = requirement.what, told[0][0], f"needed to {name}"
            yield Topic(kind=kind, about=about, sort=sort, section=section, line=line, why=why)


@lru_cache(maxsize=1024)
def _lacking_skills(knowledge: Knowledge) -> tuple[tuple[str, Requirement], ...]:
    """Return names of skills with what they take and the seeker has not."""
    lacking = []
    for entry in knowledge.entries("skills"):
        match = knowledge.pattern("requires").search(entry.note)
        thing = (match.group("what") or match.group("that") or "") if match else ""
        requirement = read_requirement(thing.strip(), knowledge.language)
        own = knowledge.terms(requirement.what)
        if own and not knowledge.has(own) and not knowledge.names_place(requirement.what):
            lacking.append((entry.name, requirement))
    return tuple(lacking)


def alternatives(knowledge: Knowledge) -> Iterator[Topic]:
    """Yield groups of alike entries that can be read out; a background mostly wants one of them."""
    for group in knowledge.groups:
        if _few_options(group):
            why = f"nobody has said which {group.label}"
            yield Topic(kind="alternatives", about=group.label, why=why, **_options_of(group, knowledge))
