"""Checks of a single task, one small rule for each kind of fault.

``error``: the task cannot be played, or not fairly. ``warning``: worth a look.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Final, Generic, NamedTuple, TypeVar

import yaml

from trees.faults import Severity
from trees.model import OPENING, TASK_TYPES, Draft, Language, Node, chinese_share, index_key

SubjectT = TypeVar("SubjectT")
UNCERTAINTIES = range(2, 7)
DEPTH = range(1, 5)
_SPEAKER = re.compile(r"\s*(Jax|You|Seeker|Provider|你|提供者|寻求者)\s*[:：]", re.IGNORECASE)
# A note reveals a response if it and earlier texts have this share of its words, and the note alone this.
_KNOWN_WITH_NOTE = 0.9
_KNOWN_FROM_NOTE = 0.5


class Finding(NamedTuple):
    """A fault found by a rule: field (see `Draft.lines`), message, and the draft if there are several."""

    place: str
    message: str
    draft: Draft | None = None


@dataclass(frozen=True, slots=True)
class Rule(Generic[SubjectT]):
    """A rule for one task or for a set of tasks."""

    code: str
    severity: Severity
    find: Callable[[SubjectT], Iterator[Finding]]


RULES: Final[list[Rule[Draft]]] = []
LISTS: Final = ("items", "skills", "scenes")
_BACKGROUND: Final = ("role", "task", *LISTS)
_SPOKEN: Final = ("opening", "text")


def rule_decorator(
    rules: list[Rule[SubjectT]], severity: Severity
) -> Callable[[Callable[[SubjectT], Iterator[Finding]]], Callable[[SubjectT], Iterator[Finding]]]:
    """Return a decorator that adds a function to `rules`; the function's name becomes the rule's code."""

    def add(find: Callable[[SubjectT], Iterator[Finding]]) -> Callable[[SubjectT], Iterator[Finding]]:
        rules.append(Rule(find.__name__.replace("_", "-"), severity, find))
        return find

    return add


_error, _warning = rule_decorator(RULES, "error"), rule_decorator(RULES, "warning")


@_error
def unknown_type(draft: Draft) -> Iterator[Finding]:
    """The type is not one of the 31."""
    if not 1 <= draft.type <= len(TASK_TYPES):
        yield Finding("type", f"type {draft.type} does not exist; there are 1 to {len(TASK_TYPES)}")


@_error
def duplicate_index(draft: Draft) -> Iterator[Finding]:
    """Two responses share an index, or a response has the opening's."""
    owners: dict[tuple[int, ...], str] = {(0,): "the opening"}
    for number, node in enumerate(draft.nodes):
        key = index_key(node.index)
        if key in owners:
            yield Finding(f"nodes.{number}.index", f"index {node.index} is taken by {owners[key]}")
        owners.setdefault(key, "another response")


@_error
def orphan_index(draft: Draft) -> Iterator[Finding]:
    """A response's parent does not exist, so it can never be given."""
    known = {node.index for node in draft.nodes}
    for number, node in enumerate(draft.nodes):
        if node.parent is not None and node.parent not in known:
            yield Finding(f"nodes.{number}.index", f"response {node.index} has no parent {node.parent}")


@_warning
def index_gap(draft: Draft) -> Iterator[Finding]:
    """The indices of a level are not consecutive from 1; perhaps a response was lost."""
    known = {index_key(node.index) for node in draft.nodes}
    for number, node in enumerate(draft.nodes):
        *head, last = index_key(node.index)
        if last == 0 and node.index != OPENING:
            yield Finding(f"nodes.{number}.index", f"index {node.index}: indices start at 1 on each level")
        elif last > 1 and (*head, last - 1) not in known:
            before = ".".join(str(part) for part in (*head, last - 1))
            yield Finding(f"nodes.{number}.index", f"index {node.index} without {before} before it")


@_error
def empty_text(draft: Draft) -> Iterator[Finding]:
    """A required text is empty."""
    for place, text in _texts(draft, *_BACKGROUND, *_SPOKEN):
        if not text.strip():
            yield Finding(place, f"{place} is empty")
    if not draft.nodes:
        yield Finding("nodes", "there is no response after the opening, so there is nothing to find out")


@_error
def missing_explanation(draft: Draft) -> Iterator[Finding]:
    """A response has no explanation (the published development set has no explanations at all)."""
    if draft.kind == "published" and not any(node.explanation for node in draft.nodes):
        return
    for number, node in enumerate(draft.nodes):
        if not (node.explanation or "").strip():
            yield Finding(f"nodes.{number}", f"response {node.index} has no explanation")


@_error
def speaker_prefix(draft: Draft) -> Iterator[Finding]:
    """A text begins with the name of its speaker."""
    for place, text in _texts(draft, *_SPOKEN):
        if match := _SPEAKER.match(text):
            yield Finding(place, f"begins with the speaker ({match[0].strip()})")


@_error
def repeated_text(draft: Draft) -> Iterator[Finding]:
    """A response contains the opening or another response, or the reverse: giving one would give both."""
    spoken = [(place, alphanumerics(text)) for place, text in _texts(draft, *_SPOKEN)]
    names = ["the opening", *(f"response {node.index}" for node in draft.nodes)]
    for later, (place, text) in enumerate(spoken):
        for earlier, (_, other) in enumerate(spoken[:later]):
            if text and other and (text in other or other in text):
                how = "repeats" if text == other else "is part of" if text in other else "contains"
                yield Finding(place, f"{names[later]} {how} {names[earlier]}")


@_error
def text_in_background(draft: Draft) -> Iterator[Finding]:
    """The background contains a response word for word."""
    for number, node in enumerate(draft.nodes):
        text = alphanumerics(node.text)
        for place, entry in _texts(draft, *_BACKGROUND):
            if text and text in alphanumerics(entry):
                yield Finding(f"nodes.{number}.text", f"{place} says response {node.index}: {entry!r}")


@_warning
def answer_in_opening(draft: Draft) -> Iterator[Finding]:
    """A response says nothing beyond the opening and its ancestors."""
    for number, node in enumerate(draft.nodes):
        if says_nothing_new(node.text, _earlier_text(draft, node), draft.language):
            yield Finding(f"nodes.{number}.text", f"response {node.index} says nothing new after the opening")


@_warning
def answer_in_background(draft: Draft) -> Iterator[Finding]:
    """The note after an item, skill or scene already says what a response should reveal."""
    for number, node in enumerate(draft.nodes):
        earlier = _earlier_text(draft, node)
        entries = [
            entry
            for _, entry in _texts(draft, *LISTS)
            if _note_reveals(entry, node.text, earlier, draft.language)
        ]
        # Several such notes are options to choose between.
        if len(entries) == 1:
            yield Finding(f"nodes.{number}.text", f"response {node.index} follows from {entries[0]!r}")


@_warning
def repeated_entry(draft: Draft) -> Iterator[Finding]:
    """An item, skill or scene is listed twice."""
    keys: set[str] = set()
    for place, entry in _texts(draft, *LISTS):
        key = f"{place.split('.')[0]} {alphanumerics(entry)}"
        if key in keys:
            yield Finding(place, f"{entry!r} is listed twice")
        keys.add(key)


@_error
def wrong_language(draft: Draft) -> Iterator[Finding]:
    """An English task contains Chinese, or a text of a Chinese task has no Chinese character."""
    for place, text in _texts(draft, *_BACKGROUND, *_SPOKEN, "explanation"):
        share = chinese_share(text)
        if draft.language == "en" and share > 0:
            yield Finding(place, f"{place} contains Chinese characters in an English task")
        # Names of items may be in Latin letters (USB, NLP); complete sentences may not.
        elif (
            draft.language == "zh"
            and share == 0
            and text.strip()
            and place.split(".")[0] not in (*LISTS, "role")
        ):
            yield Finding(place, f"{place} contains no Chinese character in a Chinese task")


@_warning
def tree_size(draft: Draft) -> Iterator[Finding]:
    """The task has more or fewer uncertainties or levels than any published task."""
    depth = max((node.depth for node in draft.nodes), default=1)
    for unit, value, usual in (
        ("uncertainties", len(draft.nodes), UNCERTAINTIES),
        ("levels", depth, DEPTH),
    ):
        if value not in usual:
            yield Finding("nodes", f"{value} {unit}; published tasks have {usual[0]} to {usual[-1]}")


def _texts(draft: Draft, *fields: str) -> list[tuple[str, str]]:
    """Return the texts of fields with their places, such as ``items.2`` or ``nodes.0.text``."""
    background, texts = draft.background, list[tuple[str, str]]()
    for field in fields:
        if field in ("text", "explanation"):
            values = ((number, getattr(node, field)) for number, node in enumerate(draft.nodes))
            texts += [(f"nodes.{number}.{field}", text) for number, text in values if text is not None]
        elif field in LISTS:
            texts += [(f"{field}.{n}", entry) for n, entry in enumerate(getattr(background, field))]
        else:
            texts.append((field, draft.opening if field == "opening" else getattr(background, field)))
    return texts


def _earlier_text(draft: Draft, node: Node) -> str:
    """Return the opening and the texts of the response's ancestors."""
    ancestors = (other.text for other in draft.nodes if node.index.startswith(f"{other.index}."))
    return "\n".join([draft.opening, *ancestors])


def _note_reveals(entry: str, text: str, earlier: str, language: Language) -> bool:
    name, note = split_note(entry)
    rest = content_words(text, language) - content_words(name, language)
    if not note or not rest:
        return False
    from_note = rest & content_words(note, language)
    known = from_note | (rest & content_words(earlier, language))
    return len(from_note) >= _KNOWN_FROM_NOTE * len(rest) and len(known) >= _KNOWN_WITH_NOTE * len(rest)


_WORD = re.compile(r"[a-z0-9]+")
_CHINESE_RUN = re.compile(r"[\u3400-\u9fff]+")
_NOTE = re.compile(r"[（(]")
_ENDINGS = ("ing", "ed", "es", "s")
_SHORTEST_STEM = 3


_COMMON = yaml.safe_load(resources.files("trees").joinpath("common_words.yaml").read_text(encoding="utf-8"))
_ENGLISH_COMMON, _CHINESE_COMMON = frozenset(_COMMON["en"].split()), frozenset(_COMMON["zh"].split())
_COMMON_CHARACTERS = frozenset(_COMMON["characters"])


@lru_cache(maxsize=8192)
def content_words(text: str, language: Language) -> frozenset[str]:
    """Return the stems of the content words of `text`; in Chinese, pairs of characters."""
    lower = text.lower()
    words = {_stem(word) for word in _WORD.findall(lower) if word not in _ENGLISH_COMMON}
    if language == "zh":
        words |= {pair for run in _CHINESE_RUN.findall(lower) for pair in _pairs(run)} - _CHINESE_COMMON
    return frozenset(words)


def says_nothing_new(text: str, earlier: str, language: Language) -> bool:
    """Return True if `earlier` contains every content word of `text`, in Chinese every content character.

    Not every pair of characters, because pairs straddle words: two known words that meet form a new pair.
    """
    if language == "zh":
        words, known = _characters(text), _characters(earlier)
    else:
        words, known = content_words(text, language), content_words(earlier, language)
    return bool(words) and words <= known


def split_note(entry: str) -> tuple[str, str]:
    """Return the name of a list entry and the note in parentheses after it (may be empty)."""
    match = _NOTE.search(entry)
    return (entry[: match.start()].strip(), entry[match.start() :]) if match else (entry.strip(), "")


def alphanumerics(text: str) -> str:
    """Return the letters and digits of `text`, in lower case."""
    return re.sub(r"[\W_]+", "", text.lower())


def _characters(text: str) -> frozenset[str]:
    return frozenset(alphanumerics(text)) - _COMMON_CHARACTERS


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_STEM:
            return word.removesuffix(ending)
    return word


def _pairs(run: str) -> list[str]:
    return [run[start : start + 2] for start in range(len(run) - 1)] or [run]
