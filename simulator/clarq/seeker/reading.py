"""How the offline seeker reads a provider's line: what it is told to do, to get, and left to guess.

A skill may be said to require a thing, something to be known, or something to be done first; “(requires
entering an address)” asks for no thing that could be found anywhere.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from simulator.clarq.words import EN, EN_PATTERNS, Vagueness, words
from trees import Language


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """A part of a line that tells one thing.

    Attributes:
        text: its words.
        step: what is to be done, as the seeker would say it of itself; empty if nothing is.
        explained: whether the step says well enough how it is done.
        achieves: whether the step is of those that say what to bring about rather than what to do.
        made: whether the step is to make what is offered.
        wanted: things to be got hold of.
        used: things that are only put to use.
        offered: things that somebody wants to be brought, or that something is made of.
        vague: nouns that leave open which one is meant, and the sort of question they call for.
        names: people and places called by a name.
        keepers: those of the names who hold something that is needed.
        rows: things named in one breath, of which each may be done in its own way.
    """

    text: str
    step: str = ""
    explained: bool = True
    achieves: bool = False
    made: bool = False
    wanted: tuple[str, ...] = ()
    used: tuple[str, ...] = ()
    offered: tuple[str, ...] = ()
    vague: tuple[tuple[Vagueness, str], ...] = ()
    names: tuple[str, ...] = ()
    keepers: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


_RULES_ZH = words("zh")["requirements"]


@dataclass(frozen=True, slots=True)
class Requirement:
    """A requirement.

    Attributes:
        what: the thing; what is to be known; or what is to be done, in the verb's base form.
        sort: which of these.
    """

    what: str
    sort: Literal["thing", "knowledge", "activity"] = "thing"


@lru_cache(maxsize=1024)
def read_requirement(text: str, language: Language) -> Requirement:
    """Return the requirement that `text` speaks of."""
    return _english(text) if language == "en" else _chinese(text)


def _english(text: str) -> Requirement:
    if match := EN_PATTERNS["knowing"].match(text):
        return Requirement(text[match.end() :], "knowledge")
    if match := EN_PATTERNS["acting"].match(text):
        return Requirement((match.group("base") + match.group("rest")).strip(), "activity")
    if (match := EN_PATTERNS["gerund"].match(text)) and (base := base_of(match.group("gerund").lower())):
        return Requirement(base + match.group("rest"), "activity")
    if text.split() and text.split()[-1].lower() in EN["known_by_heart"]:
        return Requirement(re.sub(r"^(?:the|a|an) ", "", text), "knowledge")
    return Requirement(text)


def base_of(gerund: str) -> str:
    """Return the verb of a gerund, if it is a known one."""
    stem = gerund.removesuffix("ing")
    doubled = stem[:-1] if stem[-1:] == stem[-2:-1] else stem
    return next((verb for verb in (stem, stem + "e", doubled) if verb in EN["verbs"]), "")


def _chinese(text: str) -> Requirement:
    if match := re.match(_RULES_ZH["knowing"], text):
        return Requirement(text[match.end() :].removesuffix("后"), "knowledge")
    if re.search(_RULES_ZH["known"], text):
        return Requirement(text, "knowledge")
    if re.match(_RULES_ZH["acting"], text):
        return Requirement(text, "activity")
    return Requirement(re.sub(_RULES_ZH["using"], "", text).removesuffix("后"))
