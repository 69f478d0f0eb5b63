"""The offline seeker's knowledge before it asks anything: its background as sets of terms."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache

from simulator.clarq.lexical import PATTERNS, WORDS, ZH, stem, terms
from simulator.clarq.seeker.reading import Segment, read_chinese, read_english
from trees import Background, Language
from trees.rules import LISTS

Terms = frozenset[str]
MAX_OPTIONS = 6  # larger groups are not listed in a question


class Knowledge:
    """A background and its groups and terms; make it with `knowledge_of`."""

    def __init__(self, background: Background, language: Language) -> None:
        self.background = background
        self.language: Language = language

    def terms(self, text: str) -> Terms:
        """Return the terms of a text."""
        return _term_set(text, self.language)

    def read(self, line: str) -> tuple[Segment, ...]:
        """Return the segments of a provider's line."""
        return read_english(line) if self.language == "en" else read_chinese(line)

    def entries(self, *sections: str) -> tuple[Entry, ...]:
        """Return the entries of sections of the background."""
        return tuple(entry for section in sections for entry in entries_of(self.background, section))

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """Groups of similar entries; groups with the same options are merged."""
        find = _english_groups if self.language == "en" else _chinese_groups
        by_options: dict[tuple[str, ...], Group] = {}
        for section in LISTS:
            for label, mentions, members in find(self.entries(section), section):
                group = _group(section, label, mentions, members, self.language)
                if earlier := by_options.get(group.options):
                    group = _group(section, earlier.label, earlier.words | mentions, members, self.language)
                by_options[group.options] = group
        return tuple(by_options.values())

    @cached_property
    def vocabulary(self) -> Terms:
        """All terms of the background."""
        texts = [self.background.role, self.background.task]
        texts += [text for section in LISTS for text in getattr(self.background, section)]
        return frozenset(term for text in texts for term in self.terms(text))

    @cached_property
    def owned_terms(self) -> tuple[Terms, ...]:
        """The terms of each item, and of each skill without requirements."""
        requires = self.pattern("requires")
        skills = (entry for entry in self.entries("skills") if not requires.search(entry.note))
        return tuple(self.terms(entry.name) for entry in (*self.entries("items"), *skills))

    @cached_property
    def place_terms(self) -> tuple[Terms, ...]:
        """The terms of each scene's name."""
        return tuple(place for entry in self.entries("scenes") if (place := self.terms(entry.name)))

    @cached_property
    def note_terms(self) -> tuple[Terms, ...]:
        """The terms of each note on an item or scene."""
        return tuple(self.terms(entry.note) for entry in self.entries("items", "scenes") if entry.note)

    @cached_property
    def entry_terms(self) -> Terms:
        """All terms in the names of items and scenes."""
        return frozenset(term for entry in self.entries("items", "scenes") for term in self.terms(entry.name))

    @cached_property
    def rich(self) -> bool:
        """True if the seeker has money, so that it can buy what it lacks."""
        money = WORDS[self.language]["money"].split()
        return any(word in entry.lower() for entry in self.background.items for word in money)

    def has(self, thing: Terms) -> bool:
        """Return True if a thing is among the items or skills, or a group of entries is named so."""
        return any(thing <= owned for owned in self.owned_terms) or any(
            thing <= group.words for group in self.groups
        )

    def names_place(self, text: str) -> bool:
        """Return True if `text` contains most of the name of a scene."""
        spoken = self.terms(text)
        return any(len(place & spoken) > 0.6 * len(place) for place in self.place_terms)

    def hints_at_place(self, text: str) -> bool:
        """Return True if `text` shares a word with the name of a scene."""
        spoken = self.terms(text)
        return any(place & spoken for place in self.place_terms)

    def is_aside(self, line: str) -> bool:
        """Return True if a provider's line is about the conversation itself, not about the task."""
        return bool(self.pattern("aside").search(line))

    def pattern(self, name: str) -> re.Pattern[str]:
        """Return the pattern `name` for the seeker's language."""
        return PATTERNS[self.language][name]


knowledge_of = lru_cache(maxsize=1024)(Knowledge)
"""Return the cached knowledge in a background."""


@lru_cache(maxsize=16384)
def _term_set(text: str, language: Language) -> Terms:
    return frozenset(terms(text, language))


_PARENTHESIS = re.compile(r"^(.*?)\s*[(（](.*)[)）]\s*(.*)$")
_ARTICLE = re.compile(r"^(?:an?|the|some)\s+", re.IGNORECASE)
_MEASURE = re.compile(
    r"^(?:一些|一(?:小|大|整)?[个罐只把袋根盏瓶口张件副颗块条支团盒卷台套锅枚份片篮捆串顶双艘辆匹轮面盘株床架幅本对])"
)
_SHORT_NOTE = 6  # words; longer notes describe methods and rules
_NO_LABEL = re.compile(r"^[的号之色形]|^[带上下用做放到里打会能子品物头器]$")
# Verbs of one character that make skills similar: 骑鹈鹕 and 骑信天翁.
_SINGLE_VERBS = frozenset(verb for verb in ZH["verbs"] if len(verb) == 1) - frozenset("做用使打放让把将")
_WORD = re.compile(r"[a-z][\w'’-]*")
_NUMBERING = re.compile(
    r"(?:\s+(?:no\.?\s*)?\d+)+$|\s+(?:[A-Z\d]|one|two|three|four|five|six)$", re.IGNORECASE
)
_JOINT = re.compile(r"\s+(?:of|on|with|for|to|in|at|from|under)\s+")


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of the background: complete; without article, measure word and note; and its note."""

    text: str
    name: str
    note: str


@lru_cache(maxsize=4096)
def _stems(text: str) -> tuple[tuple[str, str], ...]:
    """Return the distinct words of an English text with their stems."""
    return tuple((word, stem(word)) for word in dict.fromkeys(_WORD.findall(text.lower())))


@lru_cache(maxsize=65536)
def _is_form_of_any(word: str, others: frozenset[str]) -> bool:
    """Return True if a stem, or a longer or shorter form of it (coastline, smithy), is among `others`."""
    return word in others or (
        len(word) >= 5
        and any(len(other) >= 5 and (word.startswith(other) or other.startswith(word)) for other in others)
    )


@dataclass(frozen=True, slots=True)
class Group:
    """Similar entries of one section.

    Attributes:
        label: the name of what they have in common.
        words: terms (English) or strings (Chinese) that refer to them without saying which.
        own: for each option, the terms that no other option has.
    """

    section: str
    label: str
    words: frozenset[str]
    options: tuple[str, ...]
    own: tuple[frozenset[str], ...]

    def named(self, text: str, language: Language) -> frozenset[int]:
        """Return the positions of the options that `text` identifies by their own terms."""
        spoken = _term_set(text, language)
        return frozenset(
            position
            for position, own in enumerate(self.own)
            if own & spoken or (language == "zh" and any(self._identifies(term, text) for term in own))
        )

    def _identifies(self, term: str, text: str) -> bool:
        """Return True if a single character identifies an option: 铜 in 铜剪刀 or 铜的, but not anywhere."""
        return len(term) == 1 and any(term + after in text for after in (self.label[:1], "的", "色", "之"))

    def mention(self, text: str, language: Language) -> str:
        """Return the word in `text` that refers to the group as a whole; empty if there is none."""
        if language == "zh":
            # The last of the longest, since in Chinese the thing follows its verb.
            return max(
                (word for word in self.words if word in text),
                key=lambda word: (len(word), text.rfind(word), word),
                default="",
            )
        return next((word for word, root in _stems(text) if _is_form_of_any(root, self.words)), "")


def split_entry(text: str) -> Entry:
    """Return an entry of the background split into name and note."""
    match = _PARENTHESIS.match(text)
    name, note = (f"{match.group(1)} {match.group(3)}".strip(), match.group(2)) if match else (text, "")
    return Entry(text, _MEASURE.sub("", _ARTICLE.sub("", name)).strip(" ."), note.strip())


@lru_cache(maxsize=1024)
def entries_of(background: Background, section: str) -> tuple[Entry, ...]:
    """Return the entries of a section, spelled as within a sentence."""
    entries = []
    for text in getattr(background, section):
        name = text[:1].lower() + text[1:]
        common = text[1:2].islower() and (
            section == "skills" or (section == "items" and name == name.lower())
        )
        entries.append(split_entry(name if common else text))
    return tuple(entries)


Candidates = Iterable[tuple[str, frozenset[str], list[Entry]]]
"""Possible groups: label, words and entries."""


def _group(
    section: str, label: str, mentions: frozenset[str], members: list[Entry], language: Language
) -> Group:
    names = [entry.name for entry in members]
    options = [entry.text if names.count(entry.name) > 1 else entry.name for entry in members]
    # In Chinese the pair of characters where label and rest meet must not count.
    cut = label if language == "zh" else ""
    rests = [text.removesuffix(cut).removeprefix(cut) for text in options]
    sets = [_term_set(rest, language) for rest in rests]
    others = (frozenset[str]().union(*sets[:place], *sets[place + 1 :]) for place in range(len(sets)))
    own = tuple(each - other - mentions for each, other in zip(sets, others, strict=True))
    return Group(section, label, mentions, tuple(options), own)


def _english_groups(entries: tuple[Entry, ...], section: str) -> Candidates:
    heads = _by_head(entries, section)
    for name, kinds in _FAMILIES:
        of_kind = [entry for key in kinds & heads.keys() for entry in heads[key][1]]
        members = [entry for entry in entries if entry in of_kind]
        if len(of_kind) > 1 and len(members) > 1:  # an entry listed twice is not a choice
            yield name, kinds, members
    first = {key: members for key, (_, members) in _by_head(entries, section, all_heads=False).items()}
    for key, (word, members) in heads.items():
        if len(members) > 1 and not (section == "scenes" and _surrounds(members, first, key)):
            yield word, frozenset({key}), members


_FAMILIES = [(kind[0], frozenset(map(stem, kind))) for kind in map(str.split, WORDS["en"]["families"])]
"""English families of things: the label, and the stems of all words in the family."""


def _by_head(
    entries: tuple[Entry, ...], section: str, *, all_heads: bool = True
) -> dict[str, tuple[str, list[Entry]]]:
    """Return the entries by the stem of their head words, with a spelling; longer compounds are included."""
    by_head: dict[str, tuple[str, list[Entry]]] = {}
    for entry in entries:
        heads = _heads(entry.name, section)
        heads = [*heads, *_note_head(entry.note)] if all_heads else heads[:1]
        for word in heads:
            members = by_head.setdefault(stem(word.lower()), (word.lower(), []))[1]
            if entry not in members:
                members.append(entry)
    for key, (_, members) in by_head.items():
        longer = [other for other in by_head if len(key) >= 5 and other != key and other.endswith(key)]
        members += [entry for other in longer for entry in by_head[other][1] if entry not in members]
    return by_head


def _note_head(note: str) -> list[str]:
    """Return the head of a short note: its last word (“full of tall bean poles”)."""
    words = re.findall(r"[\w'-]+", note)
    return words[-1:] if 1 < len(words) <= _SHORT_NOTE and terms(words[-1], "en") else []


def _surrounds(members: list[Entry], first: dict[str, list[Entry]], key: str) -> bool:
    """Return True if a scene's head only locates a smaller group: two gates of the garden are not gardens."""
    return any(
        other != key and 1 < len(inner) < len(members) and all(entry in members for entry in inner)
        for other, inner in first.items()
    )


def _heads(name: str, section: str) -> list[str]:
    """Return the head words of an entry: the last word of all, and the last before “of” and the like."""
    pieces = [re.findall(r"[\w'-]+", piece) for piece in _JOINT.split(_NUMBERING.sub("", name))]
    heads = [piece[-1].removesuffix("'s") for piece in pieces if piece]
    if section == "skills":
        heads = [word for piece in pieces for word in piece]
    return [word for word in dict.fromkeys(heads) if terms(word, "en")]


def _chinese_groups(entries: tuple[Entry, ...], section: str) -> Candidates:
    for family in WORDS["zh"]["families"]:
        kinds = family.split()
        members = [entry for entry in entries if entry.name.endswith(tuple(kinds))]
        if len(members) > 1:
            ends = frozenset(entry.name[-2:] for entry in members if len(entry.name) > 2)
            yield kinds[0], ends.union(kind for kind in kinds if len(kind) > 1), members
    seen: set[str] = set()
    for entry in entries:
        for length in range(min(8, len(entry.name)), 0, -1):
            suffix = entry.name[-length:]
            members = [other for other in entries if other.name.endswith(suffix)]
            if len(members) > 1 and suffix not in seen and not _NO_LABEL.search(suffix):
                seen.add(suffix)
                yield suffix, frozenset({suffix, suffix[-2:]}), members
        if section == "skills":
            for length in (3, 2, 1):
                prefix = entry.name[:length]
                if length == 1 and prefix not in _SINGLE_VERBS:
                    continue
                members = [other for other in entries if other.name.startswith(prefix)]
                if len(members) > 1 and prefix not in seen and prefix not in {"使用", "发动"}:
                    seen.add(prefix)
                    yield prefix, frozenset({prefix}), members
