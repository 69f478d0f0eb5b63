"""How the offline seeker reads a provider's line: what it is told to do, to get, and left to guess.

A skill may be said to require a thing, something to be known, or something to be done first; “(requires
entering an address)” asks for no thing that could be found anywhere.
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
    """A part of a line that tells one thing.

    Attributes:
        step: what is to be done, as the seeker would say it of itself; empty if nothing is.
        explained: whether the step says well enough how it is done.
        achieves: whether the step is of those that say what to bring about rather than what to do.
        made: whether the step is to make what is offered.
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


_LISTS = WORDS["zh"]
_RULES_ZH = _LISTS["requirements"]


@dataclass(frozen=True, slots=True)
class Requirement:
    """A requirement.

    Attributes:
        what: the thing; what is to be known; or what is to be done, in the verb's base form.
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
    """Yield “book a room” and “book a table” apart: each thing to be had, with the verb before it."""
    start = 0
    if piece[0].lower() in EN["acquire"]:
        for position, token in enumerate(piece):
            rest = _skip(piece, position + 1, EN["joiners"])
            if token == "," and rest < len(piece) and piece[rest].lower() in EN["articles"]:
                yield piece[:1] * (start > 0) + piece[start:position]
                start = rest
    yield piece[:1] * (start > 0) + piece[start:]


def _skip(tokens: Sequence[str], position: int, words: frozenset[str]) -> int:
    """Return the place of the first token from `position` on that is none of some words."""
    return next((n for n in range(position, len(tokens)) if tokens[n].lower() not in words), len(tokens))


def _pieces(tokens: Sequence[str]) -> Iterator[list[str]]:
    """Yield a sentence's tokens, cut where the next thing to do begins and around subordinate clauses."""
    piece: list[str] = []
    for position, token in enumerate(tokens):
        breaks = token in {",", ";", ":", "–", "—"} or token in EN["joiners"]
        if piece and breaks and _begins(tokens, position, piece):
            yield piece
            piece = []
        if piece or token.isalnum() or token[0].isalnum():
            piece.append(token)
    if piece:
        yield piece


def _begins(tokens: Sequence[str], position: int, piece: Sequence[str]) -> bool:
    """Return True if a new segment begins behind the comma or conjunction at `position`."""
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
    """Return True if a verb stands at `position`; `sure` if a main clause must begin there."""
    word = tokens[position].lower()
    if word not in EN["verbs"] or sure:
        return word in EN["verbs"]
    following = tokens[position + 1].lower() if position + 1 < len(tokens) else ""
    if word in EN["ambiguous"]:
        return following in EN["determiners"] | EN["pronouns"] | EN["particles"]
    return following not in {"of", "is", "are"}


def _english_segment(tokens: list[str], *, first: bool, sure: bool) -> Segment:
    passing = EN["joiners"] | EN["adverbs"]
    tokens = list(dropwhile(lambda token: token.lower() in passing or not token[0].isalnum(), tokens))
    if not tokens:
        return Segment(text="")
    text = english.spell(tokens)
    phrases = english.phrases_of(tokens)
    doing = _action_tokens(text, sure=sure)
    if doing and (kept := EN_PATTERNS["forgetting"].sub("", english.spell(doing))) != english.spell(doing):
        doing = english.TOKEN.findall(kept)
    verb = doing[0].lower() if doing else ""
    step = english.spell(doing)
    for ends in ("tails", "dangling"):
        step = EN_PATTERNS[ends].sub("", step)
    step = _of_oneself(step.strip(" ,.;:!")) if doing else ""
    gets = verb in EN["acquire"] | EN["consume"] and not english.causes(doing)
    objects = english.objects_of(doing[1:]) if gets else []
    wanted = [*(objects if verb in EN["acquire"] else []), *english.needed(tokens)]
    names, keepers = english.names_of(tokens, first=first), english.keepers_of(text)
    used = [*(objects if verb in EN["consume"] else []), *english.put_to_use(doing, text)]
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
        made=verb in EN["making"] and bool(english.offered(text)),
        vague=english.vague_of(phrases, text, verb),
        offered=english.nouns_of(english.offered(text)),
        names=(*names, *keepers),
        keepers=(*keepers, *(name for name in names if english.holds(name, text))),
        rows=english.rows_of(tokens),
    )


def _action_tokens(text: str, *, sure: bool) -> list[str]:
    """Return the tokens of what is to be done in a segment; empty if nothing is."""
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


def _of_oneself(step: str) -> str:
    """Return the provider's “you” as the seeker's “I”."""

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
# A tool that does something: “用陶哨吹出三个音”.
_TOOL = re.compile(rf"用(?P<what>[^，。用来把将]{{2,6}}?)(?=(?:{'|'.join(_VERBS)})[出响开进到走去])")
# “趁天黑前运回村里” tells to do something all the same.
_WHILE = re.compile(r"^趁[^，]{1,6}?(?:时候?|以?前|之?后)(?=.{3})")
# An appointment (“约好的交易时间”, “考试时间”) or a proper moment, of which it is left open when that is.
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
    bare = ZH_PATTERNS["lead"].sub("", _WHILE.sub("", text))
    tells = (
        ZH_PATTERNS["pronoun_only"].search(bare)
        or ZH_PATTERNS["condition"].search(_WHILE.sub("", text))
        or ZH_PATTERNS["statement"].search(bare)
    )
    acts = bare.startswith(_VERBS) and not tells and len(bare) >= 4 and not bare.startswith("做的是")
    step = bare.replace("你", "我") if acts else ""
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
    """Return the nouns that an enumeration names, amounts and “suitable” left out."""
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
