"""What a seeker knows before it asks anything: its background, as sets of terms."""

from __future__ import annotations

import re
from functools import cached_property, lru_cache

from simulator.clarq.lexical import terms
from simulator.clarq.seeker.groups import SECTIONS, Entry, Group, entries_of, groups
from simulator.clarq.seeker.reading import Segment, words
from simulator.clarq.seeker.reading_en import read_english
from simulator.clarq.seeker.reading_zh import read_chinese
from trees import Background, Language

Terms = frozenset[str]
MOST_OPTIONS = 6  # more alike things than these are not read out one by one


class Knowledge:
    """A background and what follows from it; make it with `knowledge_of`."""

    def __init__(self, background: Background, language: Language) -> None:
        self.background = background
        self.language: Language = language

    def terms(self, text: str) -> Terms:
        """Return the terms of a text."""
        return _term_set(text, self.language)

    def read(self, line: str) -> tuple[Segment, ...]:
        """Return the segments of a provider's line."""
        return read_english(line) if self.language == "en" else read_chinese(line)

    def entries(self, section: str) -> tuple[Entry, ...]:
        """Return the entries of a section of the background."""
        return entries_of(self.background, section)

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """Entries that are alike."""
        return groups(self.background, self.language)

    @cached_property
    def vocabulary(self) -> Terms:
        """All terms of the background."""
        texts = [self.background.role, self.background.task]
        texts += [text for section in SECTIONS for text in getattr(self.background, section)]
        return frozenset(term for text in texts for term in self.terms(text))

    @cached_property
    def own_terms(self) -> tuple[Terms, ...]:
        """The terms of each item, and of each skill that takes nothing else."""
        skills = (
            entry for entry in self.entries("skills") if not self.pattern("requires").search(entry.note)
        )
        return tuple(self.terms(entry.name) for entry in (*self.entries("items"), *skills))

    @cached_property
    def place_terms(self) -> tuple[Terms, ...]:
        """The terms of each scene's name."""
        return tuple(found for entry in self.entries("scenes") if (found := self.terms(entry.name)))

    @cached_property
    def note_terms(self) -> tuple[Terms, ...]:
        """The terms of each parenthesis of the items and scenes."""
        entries = (*self.entries("items"), *self.entries("scenes"))
        return tuple(self.terms(entry.note) for entry in entries if entry.note)

    @cached_property
    def entry_terms(self) -> Terms:
        """All terms of the items' and scenes' names."""
        entries = (*self.entries("items"), *self.entries("scenes"))
        return frozenset(term for entry in entries for term in self.terms(entry.name))

    @cached_property
    def rich(self) -> bool:
        """Whether the seeker has money, so that what it lacks can be bought."""
        return any(self.is_money(entry) for entry in self.background.items)

    def is_money(self, entry: str) -> bool:
        """Return True if an entry stands for money."""
        return any(word in entry.lower() for word in words(self.language)["money"].split())

    def has(self, thing: Terms) -> bool:
        """Whether a thing is among the items, or what a skill or the like things of a section are about."""
        return any(thing <= own for own in self.own_terms) or any(
            thing <= group.words for group in self.groups
        )

    def names_place(self, text: str) -> bool:
        """Return True if `text` names one of the scenes, or most of its name."""
        found = self.terms(text)
        return any(len(own & found) > 0.6 * len(own) for own in self.place_terms)

    def hints_at_place(self, text: str) -> bool:
        """Return True if `text` shares any word with the name of a scene."""
        found = self.terms(text)
        return any(own & found for own in self.place_terms)

    def is_aside(self, line: str) -> bool:
        """Return True if a provider's line is about the talk itself, not about the task."""
        return _is_aside(self.language, line)

    def pattern(self, name: str) -> re.Pattern[str]:
        """Return a pattern of the word lists."""
        return _pattern(self.language, name)


@lru_cache(maxsize=1024)
def knowledge_of(background: Background, language: Language) -> Knowledge:
    """Return the knowledge in `background`, worked out once per task."""
    return Knowledge(background, language)


@lru_cache(maxsize=16384)
def _term_set(text: str, language: Language) -> Terms:
    return frozenset(terms(text, language))


@lru_cache(maxsize=4096)
def _is_aside(language: Language, line: str) -> bool:
    return bool(_pattern(language, "aside").search(line))


@lru_cache(maxsize=32)
def _pattern(language: Language, name: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\s*\|\s*", "|", words(language)[name].strip()), re.IGNORECASE)
