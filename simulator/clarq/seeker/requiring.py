"""What a skill is said to require: a thing, something to be known, or something to be done first.

“(requires entering an address)” asks for no thing that could be found anywhere.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from simulator.clarq.seeker.reading import word_set, words
from trees import Language

_KNOWN = word_set("en", "known_by_heart")
_VERBS = word_set("en", "verbs")
_KNOWING = re.compile(r"^(?:to know|knowing|knowledge of)\s+(?:the\s+)?", re.IGNORECASE)
_ACTING = re.compile(r"^(?:to|you to|the \w+ to) (?P<base>[a-z]+)\b(?P<rest>.*)", re.IGNORECASE)
# “entering the address”, “lifting heavy stones”, but “painting supplies” are things.
_GERUND = re.compile(
    r"^(?P<gerund>[a-z]{2,}ing)(?P<rest>\s+(?:(?:the|an?|one|some|your|my)\b.*|\S+\s+\S.*))", re.IGNORECASE
)
_RULES_ZH = words("zh")["requirements"]


@dataclass(frozen=True, slots=True)
class Requirement:
    """What is required.

    Attributes:
        what: the thing; what is to be known; or what is to be done, in the verb's base form.
        sort: which of these.
    """

    what: str
    sort: Literal["thing", "knowledge", "activity"] = "thing"


@lru_cache(maxsize=1024)
def read_requirement(text: str, language: Language) -> Requirement:
    """The requirement that `text` speaks of."""
    return _english(text) if language == "en" else _chinese(text)


def _english(text: str) -> Requirement:
    if match := _KNOWING.match(text):
        return Requirement(text[match.end() :], "knowledge")
    if match := _ACTING.match(text):
        return Requirement((match.group("base") + match.group("rest")).strip(), "activity")
    if (match := _GERUND.match(text)) and (base := base_of(match.group("gerund").lower())):
        return Requirement(base + match.group("rest"), "activity")
    if text.split() and text.split()[-1].lower() in _KNOWN:
        return Requirement(re.sub(r"^(?:the|a|an) ", "", text), "knowledge")
    return Requirement(text)


def base_of(gerund: str) -> str:
    """The verb of a gerund, if it is a known one."""
    stem = gerund.removesuffix("ing")
    doubled = stem[:-1] if stem[-1:] == stem[-2:-1] else stem
    return next((verb for verb in (stem, stem + "e", doubled) if verb in _VERBS), "")


def _chinese(text: str) -> Requirement:
    if match := re.match(_RULES_ZH["knowing"], text):
        return Requirement(text[match.end() :].removesuffix("后"), "knowledge")
    if re.search(_RULES_ZH["known"], text):
        return Requirement(text, "knowledge")
    if re.match(_RULES_ZH["acting"], text):
        return Requirement(text, "activity")
    return Requirement(re.sub(_RULES_ZH["using"], "", text).removesuffix("后"))
