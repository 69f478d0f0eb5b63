"""Reading of a provider's lines: steps to do, things to get, and what is left vague.

The requirement of a skill may be a thing, knowledge, or an activity: “(requires entering an address)” does
not name a thing that could be found anywhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import dropwhile
from typing import Literal

from simulator.clarq.lexical import EN, EN_PATTERNS, VAGUE, WORDS, ZH, ZH_PATTERNS, Vagueness, sentences
from simulator.clarq.seeker import phrases_en as english
from trees import Language


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """A part of a line that makes one statement.

    Attributes:
        step: the step to do, in the seeker's first person; empty if there is none.
        explained: whether the step says well enough how to do it.
        achieves: whether the step names a result rather than an action.
        made: whether the step is to make the things `offered`.
        wanted: things to acquire.
        used: things that the step uses.
        offered: things that a person wants to have, or that something is made from.
        vague: nouns that leave open what is meant, each with the sort of question that it requires.
        names: named people and places, and keepers without a name.
        keepers: those of the names who hold something needed.
        rows: enumerations of things, each of which may need its own treatment.
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


_LISTS = WORDS["zh"]
_RULES_ZH = _LISTS["requirements"]


@dataclass(frozen=True, slots=True)
class Requirement:
    """A requirement of a skill.

    Attributes:
        what: the thing, the knowledge, or the activity with its verb in base form.
    """

    what: str
    sort: Literal["thing", "knowledge", "activity"] = "thing"


@lru_cache(maxsize=1024)
def read_requirement(text: str, language: Language) -> Requirement:
    """Return the requirement that `text` states."""
    return _english_requirement(text) if language == "en" else _chinese_requirement(text)


def _english_requirement(text: str) -> Requirement:
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
    """Return the base form of a gerund; empty if the verb is unknown."""
    stem = gerund.removesuffix("ing")
    doubled = stem[:-1] if stem[-1:] == stem[-2:-1] else stem
    return next((verb for verb in (stem, stem + "e", doubled) if verb in EN["verbs"]), "")


def _chinese_requirement(text: str) -> Requirement:
    if match := re.match(_RULES_ZH["knowing"], text):
        return Requirement(text[match.end() :].removesuffix("后"), "knowledge")
    if re.search(_RULES_ZH["known"], text):
        return Requirement(text, "knowledge")
    if re.match(_RULES_ZH["acting"], text):
        return Requirement(text, "activity")
    return Requirement(re.sub(_RULES_ZH["using"], "", text).removesuffix("后"))


_MINE = {"your": "my", "yours": "mine", "yourself": "myself"}


@lru_cache(maxsize=4096)
def read_english(line: str) -> tuple[Segment, ...]:
    """Return the segments of a line."""
    return tuple(
        _english_segment(part, first=position == 0, sure=position > 0)
        for sentence in sentences(line, "en")
        for position, piece in enumerate(_pieces(english.TOKEN.findall(sentence)))
        for part in _split_enumeration(piece)
    )


def _split_enumeration(piece: list[str]) -> Iterator[list[str]]:
    """Yield a part per thing to acquire, each with the verb: “book a room”, “book a table”."""
    start = 0
    if piece[0].lower() in EN["acquire"]:
        for position, token in enumerate(piece):
            rest = _skip(piece, position + 1, EN["joiners"])
            if token == "," and rest < len(piece) and piece[rest].lower() in EN["articles"]:
                yield piece[:1] * (start > 0) + piece[start:position]
                start = rest
    yield piece[:1] * (start > 0) + piece[start:]


def _skip(tokens: Sequence[str], position: int, words: frozenset[str]) -> int:
    """Return the position of the first token from `position` on that is not in `words`."""
    return next((n for n in range(position, len(tokens)) if tokens[n].lower() not in words), len(tokens))


def _pieces(tokens: Sequence[str]) -> Iterator[list[str]]:
    """Yield a sentence's tokens, split before each new step and around subordinate clauses."""
    piece: list[str] = []
    for position, token in enumerate(tokens):
        breaks = token in {",", ";", ":", "–", "—"} or token in EN["joiners"]
        if piece and breaks and _begins_segment(tokens, position, piece):
            yield piece
            piece = []
        if piece or token.isalnum() or token[0].isalnum():
            piece.append(token)
    if piece:
        yield piece


def _begins_segment(tokens: Sequence[str], position: int, piece: Sequence[str]) -> bool:
    """Return True if a new segment begins after the comma or conjunction at `position`."""
    token = tokens[position]
    rest = _skip(tokens, position + 1, EN["joiners"] | EN["adverbs"] | {","})
    if rest >= len(tokens):
        return False
    following = tokens[rest].lower()
    if token in {";", "–", "—"}:
        return True
    if token == "," and (piece[0].lower() in EN["subordinators"] or following in EN["relatives"]):
        return True
    if following in {"you", "they", "he", "she", "it", "there", "we", "i"}:
        return token == "," or token in EN["joiners"]
    main_clause = token == "," and piece[0].lower() in EN["subordinators"]
    return _is_verb(tokens, rest, sure=main_clause or tokens[rest - 1].lower() == "then")


def _is_verb(tokens: Sequence[str], position: int, *, sure: bool = False) -> bool:
    """Return True if the token at `position` is a verb; `sure`: a main clause must begin there."""
    word = tokens[position].lower()
    if word not in EN["verbs"] or sure:
        return word in EN["verbs"]
    following = tokens[position + 1].lower() if position + 1 < len(tokens) else ""
    if word in EN["ambiguous"]:
        return following in EN["determiners"] | EN["pronouns"] | EN["particles"]
    return following not in {"of", "is", "are"}


def _english_segment(tokens: list[str], *, first: bool, sure: bool) -> Segment:
    leading = EN["joiners"] | EN["adverbs"]
    tokens = list(dropwhile(lambda token: token.lower() in leading or not token[0].isalnum(), tokens))
    if not tokens:
        return Segment(text="")
    text = english.join_tokens(tokens)
    phrases = english.phrases_of(tokens)
    action = _action_tokens(text, sure=sure)
    action_text = english.join_tokens(action)
    if action and (rest := EN_PATTERNS["forgetting"].sub("", action_text)) != action_text:
        action = english.TOKEN.findall(rest)
    verb = action[0].lower() if action else ""
    step = english.join_tokens(action)
    for ends in ("tails", "dangling"):
        step = EN_PATTERNS[ends].sub("", step)
    step = _first_person(step.strip(" ,.;:!")) if action else ""
    has_objects = verb in EN["acquire"] | EN["consume"] and not english.acquires_nothing(action)
    objects = english.objects_of(action[1:]) if has_objects else []
    wanted = [*(objects if verb in EN["acquire"] else []), *english.needed_things(tokens)]
    names, keepers = english.names_of(tokens, first=first), english.nameless_keepers(text)
    used = [*(objects if verb in EN["consume"] else []), *english.used_things(action, text)]
    offered = english.offered_things(text)
    return Segment(
        text=text,
        step=step,
        explained=not step
        or (
            not EN_PATTERNS["condition"].search(text)
            and " what " not in step
            and (verb in EN["plain"] or bool(EN_PATTERNS["means"].search(step)))
        ),
        wanted=english.nouns_of(wanted),
        used=english.nouns_of(used),
        achieves=verb in EN["achieve"],
        made=verb in EN["making"] and bool(offered),
        vague=english.vague_nouns(phrases, text, verb),
        offered=english.nouns_of(offered),
        names=(*names, *keepers),
        keepers=(*keepers, *(name for name in names if english.is_keeper(name, text))),
        rows=english.enumerations(tokens),
    )


def _action_tokens(text: str, *, sure: bool) -> list[str]:
    """Return the tokens of the action in a segment, beginning with its verb; empty if there is none."""
    if gerund := EN_PATTERNS["start_by"].search(text):
        tokens = english.TOKEN.findall(text[gerund.start(1) :])
        verb = base_of(tokens[0].lower())
        return [verb, *tokens[1:]] if verb else []
    tokens = _without_adverbs(text)
    if tokens and _is_verb(tokens, 0, sure=sure):
        return tokens
    match = EN_PATTERNS["modals"].search(text)
    tokens = _without_adverbs(text[match.end() :]) if match else []
    return tokens if tokens and tokens[0].lower() in EN["verbs"] else []


def _without_adverbs(text: str) -> list[str]:
    return list(dropwhile(lambda token: token.lower() in EN["adverbs"], english.TOKEN.findall(text)))


def _first_person(step: str) -> str:
    """Return a step with the provider's “you” changed to the seeker's “I”."""

    def turn(match: re.Match[str]) -> str:
        word, following = match.group(1).lower(), match.group(2).lower()
        if word in _MINE:
            return _MINE[word]
        before = (step[: match.start()].lower().split() or [""])[-1]
        acts = following in EN["auxiliaries"] or before in EN["subordinators"] | EN["relatives"] | {"that"}
        acts = acts or (following in EN["verbs"] and before not in EN["helping"])
        return "I" if acts else "me"

    step = EN_PATTERNS["you"].sub(turn, step)
    return step[:1].lower() + step[1:] if step[1:2].islower() or len(step) == 1 else step


_VERBS = tuple(sorted(ZH["verbs"], key=len, reverse=True))
_VAGUE = VAGUE["zh"]
_FITTING = _LISTS["fitting"]
_ACQUIRE = re.compile(rf"(?:{_LISTS['acquire']})(?!的)(?P<what>[^到来去]{{1,20}})")
_NEED = re.compile(rf"(?:{_LISTS['need']})：?(?P<what>.{{1,30}})")
_SOME = r"(?:一[个件种份块些样点]|新|某种|某个|什么|些)[^，。]{0,8}"
# A tool used for something: “用陶哨吹出三个音”.
_TOOL = re.compile(rf"用(?P<what>[^，。用来把将]{{2,6}}?)(?=(?:{'|'.join(_VERBS)})[出响开进到走去])")
# “趁天黑前运回村里” states a step in spite of its condition.
_WHILE = re.compile(r"^趁[^，]{1,6}?(?:时候?|以?前|之?后)(?=.{3})")
# An appointment (“约好的交易时间”, “考试时间”) or a right moment whose time is left open.
_TIMED = re.compile(
    rf"(?:在|约好的|约定的|预定的|规定的)(?P<time>[^，。在的]{{2}}时间)(?!内|里)|[按准]时(?=参加|到|去|赶|出)|(?:{_FITTING})的时候"
)
_TITLE = _LISTS["people"]
_TITLED = re.compile(rf"[\u4e00-\u9fff]{{1,4}}?(?:{_TITLE.replace(' ', '|')})")
_ACTS = re.compile(_LISTS["acts"])


@lru_cache(maxsize=4096)
def read_chinese(line: str) -> tuple[Segment, ...]:
    """Return the segments of a line."""
    return tuple(
        _chinese_segment(piece.strip())
        for sentence in sentences(line, "zh")
        for piece in ZH_PATTERNS["break"].split(sentence)
        if piece and piece.strip()
    )


def _chinese_segment(text: str) -> Segment:
    clause = ZH_PATTERNS["lead"].sub("", _WHILE.sub("", text))
    states = (
        ZH_PATTERNS["pronoun_only"].search(clause)
        or ZH_PATTERNS["condition"].search(_WHILE.sub("", text))
        or ZH_PATTERNS["statement"].search(clause)
    )
    acts = clause.startswith(_VERBS) and not states and len(clause) >= 4 and not clause.startswith("做的是")
    step = clause.replace("你", "我") if acts else ""
    return Segment(
        text=text,
        step=step,
        explained=not step or any(ZH_PATTERNS[name].search(step) for name in ("plain", "means")),
        wanted=_wanted_things(text),
        used=tuple(
            noun for match in ZH_PATTERNS["used"].finditer(text) for noun in _nouns(match.group("what"))
        ),
        vague=_vague_nouns(text),
        names=_names(text),
    )


def _wanted_things(text: str) -> tuple[str, ...]:
    wants = (match.group("what") for pattern in (_ACQUIRE, _NEED, _TOOL) for match in pattern.finditer(text))
    return tuple(dict.fromkeys(noun for row in wants for noun in _nouns(row)))


def _nouns(row: str) -> list[str]:
    """Return the nouns in an enumeration, without amounts and “suitable”."""
    nouns = []
    for part in re.split(r"[、，和与及]|以及", row):
        noun = ZH_PATTERNS["amount"].sub("", part.strip("“”的"))
        noun = ZH_PATTERNS["noun_end"].split(noun)[0]
        noun = re.sub(rf"^(?:{_FITTING}|缺少)的?", "", noun).strip("“”")
        noun = ZH_PATTERNS["noun_tail"].sub("", noun)
        if (
            1 < len(noun) <= 8
            and noun not in _VAGUE
            and (noun.endswith("机") or not noun.startswith(_VERBS))
            and not ZH_PATTERNS["no_noun"].search(noun)
            and not _ACTS.search(noun)
        ):
            nouns.append(noun)
    return nouns


def _vague_nouns(text: str) -> tuple[tuple[Vagueness, str], ...]:
    open_nouns: dict[str, Vagueness] = {}
    for word, sort in _VAGUE.items():
        if word not in text or (
            sort == "some" and not re.search(f"{_SOME}{word}|(?:{_FITTING})的?{word}", text)
        ):
            continue
        if sort in {"way", "time"} and not re.search(f"(?:某种|一种|{_FITTING}|一个|的){word}", text):
            continue
        open_nouns[word] = "thing" if sort == "some" else sort
    if timed := _TIMED.search(text):
        open_nouns.pop("时间", None)
        open_nouns[timed.group("time") or "时间"] = "time"
    return tuple((sort, noun) for noun, sort in open_nouns.items())


def _names(text: str) -> tuple[str, ...]:
    names = [match.group() for match in _TITLED.finditer(text)]
    for calls in (ZH_PATTERNS["sought"], ZH_PATTERNS["from"]):
        names += [match.group("who") for match in calls.finditer(text)]
    clean = (
        re.sub(
            r"^.*(?:只有|请|和|跟|找|向|从|给|把|而|但|为|由|需要|记得|目前|可以|去|对|在|是|的|替|叫|问|与|代表|抵达|见不到|到|有|按|你|给)",
            "",
            name,
        )
        for name in names
    )
    return tuple(
        dict.fromkeys(
            name
            for name in clean
            if len(name) > 1 and not ZH_PATTERNS["not_names"].search(name) and not _ACTS.search(name)
        )
    )
