"""What a seeker may notice in a dialogue, by rule: choices left open, obstacles, steps without a how."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from simulator.clarq.lexical import sentences, terms
from simulator.seats import View
from trees import Background, Language

Kind = Literal["start", "choice", "obstacle", "step"]
SECTIONS = ("items", "skills", "scenes")
_PARENTHESIS = re.compile(r"^(.*?)\s*[(（](.*?)[)）]")
_ARTICLE = re.compile(r"^(?:an?|the|some)\s+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Topic:
    """Something open that a seeker may ask about.

    Attributes:
        kind: what sort of question it calls for.
        about: the thing in question; a step's own words.
        options: the entries of the background among which a choice is to be made.
        why: how it was noticed; for the log.
    """

    kind: Kind
    about: str
    options: tuple[str, ...] = ()
    why: str = ""

    @property
    def marks(self) -> tuple[str, ...]:
        """What every wording of its question contains; a line that does has asked it."""
        return self.options or (self.about,)


def topics(view: View) -> tuple[Topic, ...]:
    """Everything noticed so far, settled topics left out and asked ones kept, in the order of asking."""
    said = tuple(line.text for line in view.lines if line.seat == "provider")[1:]
    if not said:
        return (Topic("start", "", why="nothing is known yet"),)
    background: Background = view.task.background
    language: Language = "zh" if view.language == "zh" else "en"
    found = (*_choices(background, said, language), *_obstacles(background, said, language))
    return (*found, *_steps(background, said, language))


def asked(topic: Topic, lines: Iterable[str]) -> bool:
    """Whether one of the seeker's `lines` has asked about `topic`."""
    return any(all(mark in line for mark in topic.marks) for line in lines)


@lru_cache(maxsize=4096)
def bare(entry: str) -> str:
    """An entry without its article and its parenthesis."""
    match = _PARENTHESIS.match(entry)
    return _ARTICLE.sub("", match.group(1) if match else entry).strip()


def _choices(background: Background, said: tuple[str, ...], language: Language) -> list[Topic]:
    spoken = frozenset(term for text in said for term in terms(text, language))
    found: dict[tuple[str, ...], Topic] = {}
    for section in SECTIONS:
        entries = [(entry, frozenset(terms(bare(entry), language))) for entry in getattr(background, section)]
        counts = Counter(term for _, own in entries for term in own)
        shared = {term for term, count in counts.items() if count > 1}
        for term in sorted(shared & spoken):
            group = [(entry, own) for entry, own in entries if term in own]
            own_terms = [own - shared for _, own in group]
            if any(own and own <= spoken for own in own_terms):
                continue
            options = tuple(bare(entry) for entry, _ in group)
            found.setdefault(options, Topic("choice", "", options, f"several entries with {term!r}"))
    return list(found.values())


def _obstacles(background: Background, said: tuple[str, ...], language: Language) -> list[Topic]:
    words = ("lock", "block", "guard", "require", "cannot", "won't", "need") if language == "en" else (
        "锁", "挡", "守", "需要", "不能", "不让")  # fmt: skip
    found = []
    for entry in (*background.items, *background.scenes):
        match = _PARENTHESIS.match(entry)
        if match and any(word in match.group(2) for word in words):
            found.append(Topic("obstacle", bare(entry), why=f"an obstacle: {match.group(2)}"))
    return found


def _steps(background: Background, said: tuple[str, ...], language: Language) -> list[Topic]:
    splitter = re.compile(r",\s+|\s+and\s+|[.;!?]\s*" if language == "en" else r"[，。；！？]")
    found = []
    for sentence in sentences(said[0], language):
        for clause in splitter.split(sentence):
            clause = clause.strip()
            if len(terms(clause, language)) >= 2:
                found.append(Topic("step", clause[0].lower() + clause[1:], why="a step without a how"))
    return found
