"""Reading a provider's line in Chinese, by word lists; see `simulator.clarq.seeker.reading`."""

from __future__ import annotations

import re
from functools import lru_cache

from simulator.clarq.lexical import sentences
from simulator.clarq.seeker.reading import Segment, Vagueness, vague_words, word_set, words

_VERBS = tuple(sorted(word_set("zh", "verbs"), key=len, reverse=True))
_VAGUE = vague_words("zh")
_FITTING = words("zh")["fitting"]
_ACQUIRE = re.compile(rf"(?:{words('zh')['acquire']})(?!的)(?P<what>[^到来去]{{1,20}})")
_NEED = re.compile(rf"(?:{words('zh')['need']})：?(?P<what>.{{1,30}})")
_BREAK = re.compile(r"[，,；;。！？!?：]|(?:然后|接着|之后|最后)(?=.{3})|(?<=.{4})并(?=[^非且]{2})")
_LEAD = re.compile(
    r"^(?:首先|其次|然后|接着|接下来|最后|之后|随后|此外|另外|同时|因此|所以|但是|不过|如果你?|一旦|而且|并且|并|再|先|就|便"
    r"|也|还|你们?|我|只要|只需要?|需要|应该|必须|务必|直接|可以|记得|别忘了|请|要|得|把它们?带到|这时候?|目前|现在|于是|也要)+"
)
_CONDITION = re.compile(
    r"(?:的时候|时|以后|之后|之前|以前|的话|后)$|^(?:等|趁|当|要是|如果|一旦|只有|因为|由于)|^连.*都|一[响亮停到]$"
)
_MEANS = re.compile(r"^用[^，]{1,8}(?:把|将|给|来)?|使用.{2}")
_STATEMENT = re.compile(r"^[^让使把将请给]{1,6}会|[有是]了$")
_PLAIN = re.compile(
    r"^(?:去|到|在|前往|走|离开|回|带|送|拿|选|挑|等|从|端|举|说|看|进|下|提|开上|穿过|放|夹|挂|装|安|请|问|交|卖|按"
    r"|给(?!.{1,4}(?:做|缝|粘|涂|刷|换|上油|治)))"
)
_SOME = r"(?:一[个件种份块些样点]|新|某种|某个|什么|些)[^，。]{0,8}"
# A tool that does something: “用陶哨吹出三个音”.
_TOOL = re.compile(rf"用(?P<what>[^，。用来把将]{{2,6}}?)(?=(?:{'|'.join(_VERBS)})[出响开进到走去])")
# “趁天黑前运回村里” tells to do something all the same.
_WHILE = re.compile(r"^趁[^，]{1,6}?(?:时候?|以?前|之?后)(?=.{3})")
_PRONOUN_ONLY = re.compile(r"^把它们?.{1,3}$")
_USED = re.compile(r"(?:将|把)(?P<what>[^，。]{2,40}?)(?:一同|一起)?(?:放入|放进|放到|加入|倒进|撒入|放在)")
_NOUN_END = re.compile(
    r"来(?!自)|用来|用于|用以|以便|并|给|让|作为|进行|然后|就|即可|才|到|去|后|放|煮|的时候|加|做|制|以|从|在|之|时|便|帮|完成|建造|是|也|吧|了|都|打|后|起身|开门|放行"
)
_AMOUNT = re.compile(
    r"^(?:一些|一点|某种|某个|[一二三四五六七八九十两几\d.]+\s*(?:个|把|根|只|条|张|块|片|件|套|支|瓶|袋|盏|颗|克|毫升|升|公斤|份|台|种|双|位|枚|束)?(?:的)?)"
)
# An appointment (“约好的交易时间”, “考试时间”) or a proper moment, of which it is left open when that is.
_TIMED = re.compile(
    rf"(?:在|约好的|约定的|预定的|规定的)(?P<time>[^，。在的]{{2}}时间)(?!内|里)|[按准]时(?=参加|到|去|赶|出)|(?:{_FITTING})的时候"
)
_TITLE = words("zh")["people"]
_TITLED = re.compile(rf"[\u4e00-\u9fff]{{1,4}}?(?:{_TITLE.replace(' ', '|')})")
_SOUGHT = re.compile(
    r"(?:去|先|来|直接|可以|需要|，|^|到|里|店|馆|市|去)?找(?:到|来)?(?![到来])(?P<who>[\u4e00-\u9fff]{2,6}?)(?=，|。|；|$|帮|借|要|购买|买|获取|获得|拿|学|取|交|打听|问|进行|交易|报名|学|帮忙|询问|领|索|的)"
)
_FROM = re.compile(
    r"(?:从|向|跟)(?P<who>[\u4e00-\u9fff]{2,4}?)(?:手上|手里|那里|那儿|处|购买|买|学|借|打听|请教)"
)
_NOUN_TAIL = re.compile(r"(?:一同|一起|一份|带过|带|要|为)$")
_ACTS = re.compile(words("zh")["acts"])
_NOT_NAMES = re.compile(r"[它他她这那你我们的地方东西办法机会原因自己大家店场工具]|材料|方法")


@lru_cache(maxsize=4096)
def read_chinese(line: str) -> tuple[Segment, ...]:
    """Return the segments of a line."""
    return tuple(
        _segment(piece.strip())
        for sentence in sentences(line, "zh")
        for piece in _BREAK.split(sentence)
        if piece and piece.strip()
    )


def _segment(text: str) -> Segment:
    bare = _LEAD.sub("", _WHILE.sub("", text))
    tells = _PRONOUN_ONLY.search(bare) or _CONDITION.search(_WHILE.sub("", text)) or _STATEMENT.search(bare)
    acts = bare.startswith(_VERBS) and not tells and len(bare) >= 4 and not bare.startswith("做的是")
    step = bare.replace("你", "我") if acts else ""
    return Segment(
        text=text,
        step=step,
        explained=not step or bool(_PLAIN.search(step)) or bool(_MEANS.search(step)),
        wanted=_wanted(text),
        used=tuple(noun for match in _USED.finditer(text) for noun in _nouns(match.group("what"))),
        vague=_vague(text),
        names=_names(text),
    )


def _wanted(text: str) -> tuple[str, ...]:
    found: list[str] = []
    for pattern in (_ACQUIRE, _NEED, _TOOL):
        for match in pattern.finditer(text):
            found += _nouns(match.group("what"))
    return tuple(dict.fromkeys(found))


_NO_NOUN = re.compile(r"^[先再还不将把自己要只已被从向为能会有这那]|^(?:其|它)")


def _nouns(row: str) -> list[str]:
    """Return the nouns that an enumeration names, amounts and “suitable” left out."""
    found = []
    for part in re.split(r"[、，和与及]|以及", row):
        noun = _AMOUNT.sub("", part.strip("“”的"))
        noun = _NOUN_END.split(noun)[0]
        noun = re.sub(rf"^(?:{_FITTING}|缺少)的?", "", noun).strip("“”")
        noun = _NOUN_TAIL.sub("", noun)
        if (
            1 < len(noun) <= 8
            and noun not in _VAGUE
            and (noun.endswith("机") or not noun.startswith(_VERBS))
            and not _NO_NOUN.search(noun)
            and not _ACTS.search(noun)
        ):
            found.append(noun)
    return found


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
    found = [match.group() for match in _TITLED.finditer(text)]
    for pattern in (_SOUGHT, _FROM):
        found += [match.group("who") for match in pattern.finditer(text)]
    clean = (
        re.sub(
            r"^.*(?:只有|请|和|跟|找|向|从|给|把|而|但|为|由|需要|记得|目前|可以|去|对|在|是|的|替|叫|问|与|代表|抵达|见不到|到|有|按|你|给)",
            "",
            name,
        )
        for name in found
    )
    return tuple(
        dict.fromkeys(
            name for name in clean if len(name) > 1 and not _NOT_NAMES.search(name) and not _ACTS.search(name)
        )
    )
