"""Reading a provider's line in Chinese, by word lists; see `simulator.clarq.seeker.reading`."""

from __future__ import annotations

import re
from functools import lru_cache

from simulator.clarq.lexical import sentences
from simulator.clarq.seeker.reading import Segment
from simulator.clarq.words import ZH, ZH_PATTERNS, Vagueness, vague_words, words

_VERBS = tuple(sorted(ZH["verbs"], key=len, reverse=True))
_VAGUE = vague_words("zh")
_FITTING = words("zh")["fitting"]
_ACQUIRE = re.compile(rf"(?:{words('zh')['acquire']})(?!的)(?P<what>[^到来去]{{1,20}})")
_NEED = re.compile(rf"(?:{words('zh')['need']})：?(?P<what>.{{1,30}})")
_SOME = r"(?:一[个件种份块些样点]|新|某种|某个|什么|些)[^，。]{0,8}"
# A tool that does something: “用陶哨吹出三个音”.
_TOOL = re.compile(rf"用(?P<what>[^，。用来把将]{{2,6}}?)(?=(?:{'|'.join(_VERBS)})[出响开进到走去])")
# “趁天黑前运回村里” tells to do something all the same.
_WHILE = re.compile(r"^趁[^，]{1,6}?(?:时候?|以?前|之?后)(?=.{3})")
# An appointment (“约好的交易时间”, “考试时间”) or a proper moment, of which it is left open when that is.
_TIMED = re.compile(
    rf"(?:在|约好的|约定的|预定的|规定的)(?P<time>[^，。在的]{{2}}时间)(?!内|里)|[按准]时(?=参加|到|去|赶|出)|(?:{_FITTING})的时候"
)
_TITLE = words("zh")["people"]
_TITLED = re.compile(rf"[\u4e00-\u9fff]{{1,4}}?(?:{_TITLE.replace(' ', '|')})")
_ACTS = re.compile(words("zh")["acts"])


@lru_cache(maxsize=4096)
def read_chinese(line: str) -> tuple[Segment, ...]:
    """Return the segments of a line."""
    return tuple(
        _segment(piece.strip())
        for sentence in sentences(line, "zh")
        for piece in ZH_PATTERNS["break"].split(sentence)
        if piece and piece.strip()
    )


def _segment(text: str) -> Segment:
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
        explained=not step
        or bool(ZH_PATTERNS["plain"].search(step))
        or bool(ZH_PATTERNS["means"].search(step)),
        wanted=_wanted(text),
        used=tuple(
            noun for match in ZH_PATTERNS["used"].finditer(text) for noun in _nouns(match.group("what"))
        ),
        vague=_vague(text),
        names=_names(text),
    )


def _wanted(text: str) -> tuple[str, ...]:
    things: list[str] = []
    for wants in (_ACQUIRE, _NEED, _TOOL):
        for match in wants.finditer(text):
            things += _nouns(match.group("what"))
    return tuple(dict.fromkeys(things))


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


def _vague(text: str) -> tuple[tuple[Vagueness, str], ...]:
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
