"""Finding open topics in the provider's lines and in the background."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import dropwhile
from typing import Any, Final, Literal, get_args

from simulator.clarq.lexical import EN
from simulator.clarq.seeker.knowledge import MAX_OPTIONS, Group, Knowledge, Terms, knowledge_of
from simulator.clarq.seeker.reading import Requirement, Segment, read_requirement
from trees import Background, Language

Kind = Literal[
    "start", "choice", "where", "obstacle", "about", "which", "alternatives", "passed", "how", "step"
]
_ARTICLE = re.compile(r"^(?:an?|the|some) ", re.IGNORECASE)
_PURPOSE = re.compile(r"\bfor\b.*")  # a place named after "for" is not where to look
ORDER: Final[tuple[Kind, ...]] = tuple(kind for kind in get_args(Kind) if kind != "passed")
"""The kinds in the order in which they are worth asking."""

_REQUIRED: Final[Mapping[str, tuple[Kind, str, str]]] = {
    "activity": ("how", "", ""),
    "knowledge": ("which", "known", ""),
    "thing": ("where", "", "thing"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """An open question that a seeker may ask about.

    Attributes:
        kind: ``start``: how to do the task at all; ``choice``: which of several similar entries is meant;
            ``where``: where to find something that is not in the background; ``obstacle``: how to overcome
            an obstacle in an entry's note; ``about``: a thing mentioned together with others that have been
            explained; ``which``: what a vague noun means; ``alternatives``: which of several similar entries
            to use, though no line has mentioned them; ``passed``: which of similar entries was meant by a
            line that answered another question; ``how``: how to do a step; ``step``: more about a step.
        about: the thing in question, as it was named.
        options: the entries of the background among which it must be.
        sort: for ``which``, the sort of noun; for skills to choose from, ``deeds`` or empty.
        section: the section of the options; for ``where``, ``person`` or ``thing``.
        line: number of the provider's line that raised it, not counting the greeting.
        step: the step it is needed for, if known.
        group: the group of a choice, or of the places to look in.
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
        """The information asked for: topics with the same slot ask for the same thing."""
        if self.kind in {"choice", "alternatives", "passed"} and self.options:
            return self.options
        return (self.kind, self.about)


@dataclass(frozen=True, slots=True)
class _Line:
    """A provider's line, with the terms of all earlier lines."""

    knowledge: Knowledge
    number: int
    text: str
    earlier: Terms
    opening: bool

    def topic(self, kind: Kind, about: str, why: str, **more: Any) -> Topic:
        """Return a topic that this line raises."""
        return Topic(kind=kind, about=about, line=self.number, why=why, **more)


def from_lines(knowledge: Knowledge, informative: tuple[tuple[int, str], ...]) -> Iterator[Topic]:
    """Yield the topics that the provider's lines leave open; the first line is the opening response."""
    texts = tuple(text for _, text in informative)
    for count, (line, _) in enumerate(informative, start=1):
        yield from _from_line(knowledge.background, knowledge.language, line, texts[:count])


@lru_cache(maxsize=2048)
def _from_line(
    background: Background, language: Language, number: int, texts: tuple[str, ...]
) -> tuple[Topic, ...]:
    """Return the topics that the last of `texts` leaves open."""
    knowledge = knowledge_of(background, language)
    earlier = frozenset[str]().union(*map(knowledge.terms, texts[:-1]))
    line = _Line(knowledge, number, texts[-1], earlier, len(texts) == 1)
    return tuple(topic for segment in knowledge.read(texts[-1]) for topic in _from_segment(segment, line))


def _from_segment(segment: Segment, line: _Line) -> list[Topic]:
    mentioned = open_groups(line.knowledge, segment.text, segment.text if line.opening else line.text)
    places = next((group for group, _ in mentioned if group.section == "scenes"), None)
    things = list(_new_things(segment, line))
    topics = list(_stocked_things(segment, line))
    if segment.made:
        topics.append(line.topic("how", segment.step, f"to be made: {segment.text}"))
        things = [thing for thing in things if thing not in segment.offered]
    for thing in things:
        section = "person" if thing in segment.names else "thing"
        where = {"options": _few_options(places), "section": section, "step": segment.step, "group": places}
        topics.append(line.topic("where", thing, f"not in the background: {thing}", **where))
    for group, word in mentioned:
        if not (things and group is places):
            topics.append(_choice(group, word, segment, line))
    topics.extend(_vague_topics(segment, line))
    if not topics and segment.step:
        terms = line.knowledge.terms(segment.step)
        if _needs_how(segment, line):
            topics.append(line.topic("how", segment.step, "a step without a how"))
        elif len(terms) > 1 and line.opening and not terms & line.knowledge.entry_terms:
            topics.append(line.topic("step", segment.step, "a step not spoken of"))
    return topics


def open_groups(knowledge: Knowledge, segment: str, line: str) -> list[tuple[Group, str]]:
    """Return the groups that `segment` mentions and `line` leaves undecided, each with the word for it.

    Of overlapping groups, one is kept: in Chinese the one mentioned by the longest word, in English the
    largest that can be listed; for skills, which often share just a verb, the smallest.
    """
    mentioned = [
        (group, word) for group in knowledge.groups if (word := group.mention(segment, knowledge.language))
    ]
    mentioned.sort(
        key=lambda pair: (
            len(pair[0].options) > MAX_OPTIONS,
            -len(pair[1]) if knowledge.language == "zh" else 0,
            len(pair[0].options) * (1 if pair[0].section == "skills" else -1),
        )
    )
    undecided: list[tuple[Group, str]] = []
    covered: set[str] = set()
    for group, word in mentioned:
        if covered.isdisjoint(group.options):
            covered.update(group.options)
            if not group.named(line, knowledge.language):
                undecided.append((group, word))
    return undecided


def _few_options(group: Group | None) -> tuple[str, ...]:
    return group.options if group is not None and len(group.options) <= MAX_OPTIONS else ()


def _group_fields(group: Group, knowledge: Knowledge) -> dict[str, Any]:
    """Return the fields of a topic that asks which option of a group is meant.

    Its sort is ``deeds`` if the skills are actions (“cast a spell”), not their names (“backstroke”).
    """
    acts = knowledge.language == "zh" or all(
        option.split()[0].lower() in EN["verbs"] for option in group.options
    )
    sort = "deeds" if group.section == "skills" and acts else ""
    return {"options": _few_options(group), "sort": sort, "section": group.section, "group": group}


def _choice(group: Group, word: str, segment: Segment, line: _Line) -> Topic:
    about = group.label if len(word) == 1 and group.label.endswith(word) else word
    fields = _group_fields(group, line.knowledge)
    return line.topic("choice", about, f"several are called {word!r}", step=segment.step, **fields)


def _new_things(segment: Segment, line: _Line) -> Iterator[str]:
    """Yield the things that a segment wants or names, and that neither background nor earlier lines have."""
    knowledge = line.knowledge
    used = segment.used if knowledge.rich else ()
    offered = () if line.opening else segment.offered
    things = dict.fromkeys((*segment.names, *segment.wanted, *used, *offered))
    if knowledge.names_place(_PURPOSE.sub("", segment.text)):
        things = dict.fromkeys(segment.keepers)  # the place may be what their key is for
    for thing in things:
        terms = knowledge.terms(thing)
        known = terms <= knowledge.vocabulary if thing in segment.names else knowledge.has(terms)
        if terms and not terms <= line.earlier and not known:
            yield thing


def _stocked_things(segment: Segment, line: _Line) -> Iterator[Topic]:
    """Yield wanted things that a place has in several sorts: “engines with two and four cylinders”."""
    knowledge = line.knowledge
    several = [
        knowledge.terms(entry.note)
        for entry in knowledge.entries("scenes")
        if knowledge.pattern("stocked").search(entry.note)
    ]
    for thing in segment.wanted:
        terms = knowledge.terms(thing)
        if terms and not terms <= line.earlier and any(terms <= note for note in several):
            noun = _ARTICLE.sub("", thing)
            yield line.topic("which", noun, f"several sorts of {noun}", sort="thing")


def _vague_topics(segment: Segment, line: _Line) -> Iterator[Topic]:
    knowledge = line.knowledge
    for sort, noun in segment.vague:
        if not line.opening and sort not in {"thing", "value", "person"}:
            continue
        terms = knowledge.terms(noun)
        if terms and terms <= line.earlier:
            continue
        if len(terms) > 1 and any(terms <= note for note in knowledge.note_terms):
            continue
        if not any(group.mention(noun, knowledge.language) for group in knowledge.groups):
            yield line.topic("which", noun, f"left open: {segment.text}", sort=sort, step=segment.step)


def _needs_how(segment: Segment, line: _Line) -> bool:
    """Return True if it is worth asking how to do a step; after the opening, only for a largely new step."""
    if not segment.step:
        return False
    knowledge = line.knowledge
    if line.opening:
        if any(not knowledge.has(knowledge.terms(thing)) for thing in segment.used):
            return True
        placed = knowledge.names_place(segment.step) and not segment.achieves
        return not segment.explained and not placed
    terms = knowledge.terms(segment.step)
    new = len(terms - line.earlier - knowledge.vocabulary)
    return segment.achieves and not segment.explained and new * 2 >= max(len(terms), 2)


def unmentioned(knowledge: Knowledge, informative: tuple[tuple[int, str], ...]) -> Iterator[Topic]:
    """Yield things that only the opening mentions, in an enumeration of which others are explained later."""
    if len(informative) < 2:
        return
    line, opening = informative[0]
    later = frozenset[str]().union(*(knowledge.terms(text) for _, text in informative[1:]))
    for row in dict.fromkeys(row for segment in knowledge.read(opening) for row in segment.rows):
        terms_of = {thing: knowledge.terms(thing) for thing in row}
        done = [thing for thing, terms in terms_of.items() if terms <= later]
        spoken = later.difference(*(terms_of[thing] for thing in done))
        for thing, terms in terms_of.items():
            if done and terms and thing not in done and terms.isdisjoint(spoken):
                about = f"the {_ARTICLE.sub('', thing)}"
                yield Topic(kind="about", about=about, line=line, why=f"only {', '.join(done)} spoken of")


@lru_cache(maxsize=1024)
def obstacles(knowledge: Knowledge) -> tuple[Topic, ...]:
    """Return the obstacles named in the notes of items and scenes, each once."""
    pattern, harmless = knowledge.pattern("obstacle"), knowledge.pattern("no_obstacle")
    topics: dict[str, Topic] = {}
    for entry in knowledge.entries("items", "scenes"):
        for note in _notes(entry.note, pattern):
            if pattern.search(note) and not harmless.search(note):
                why = f"in the way at {entry.name}"
                topics.setdefault(note, Topic(kind="obstacle", about=note, options=(entry.name,), why=why))
    return tuple(topics.values())


def _notes(note: str, pattern: re.Pattern[str]) -> list[str]:
    """Return the parts of a note, each from the first clause that matches the pattern."""
    notes = []
    for part in re.split(r"[;；]\s*", note):
        clauses = list(dropwhile(lambda clause: not pattern.search(clause), part.split("，")))
        notes.append("，".join(clauses) or part)
    return notes


def requirements(knowledge: Knowledge, informative: tuple[tuple[int, str], ...]) -> Iterator[Topic]:
    """Yield the unmet requirements of skills that a line has mentioned."""
    spoken = frozenset[str]().union(*(knowledge.terms(text) for _, text in informative))
    for name, requirement in _unmet_requirements(knowledge):
        if knowledge.terms(name) & spoken:
            # Ask where to find a thing, and how to do an activity.
            kind, sort, section = _REQUIRED[requirement.sort]
            about, line, why = requirement.what, informative[0][0], f"needed to {name}"
            yield Topic(kind=kind, about=about, sort=sort, section=section, line=line, why=why)


@lru_cache(maxsize=1024)
def _unmet_requirements(knowledge: Knowledge) -> tuple[tuple[str, Requirement], ...]:
    """Return names of skills with a requirement that the seeker does not meet."""
    unmet = []
    for entry in knowledge.entries("skills"):
        match = knowledge.pattern("requires").search(entry.note)
        thing = (match.group("what") or match.group("that") or "") if match else ""
        requirement = read_requirement(thing.strip(), knowledge.language)
        terms = knowledge.terms(requirement.what)
        if terms and not knowledge.has(terms) and not knowledge.names_place(requirement.what):
            unmet.append((entry.name, requirement))
    return tuple(unmet)


def alternatives(knowledge: Knowledge) -> Iterator[Topic]:
    """Yield groups of similar entries small enough to list; a task usually needs one entry of each."""
    for group in knowledge.groups:
        if _few_options(group):
            why = f"nobody has said which {group.label}"
            yield Topic(kind="alternatives", about=group.label, why=why, **_group_fields(group, knowledge))
