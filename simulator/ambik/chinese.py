"""Chinese questions to the built-in user as English ones, to which the same rules apply (`questions`).

The words are in ``tables/questions.yaml``; of several for a Chinese word, the task tells which one is meant.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from simulator.ambik.naming import stems
from simulator.ambik.topics import Topic, content_of, kitchen_words, word_table

_CHINESE: Final = re.compile(r"[\u4e00-\u9fff]+")
_ZH_DIGITS: Final = "零一二三四五六七八九"
_ZH_UNITS: Final = "分秒块片份个勺杯档度厘公克颗根次"
_MARKS: Final = str.maketrans({"？": "? ", "。": ". ", "、": ", ", "，": ", ", "！": "! "})
# “行不行” is no negation; measure words add nothing; a question ends in a particle where it has no mark.
_ZH_FORMS: Final = (
    (re.compile(r"(?!是不是|要不要)(.)不\1"), r"\1"),
    (re.compile("(?<=[哪这那几])(一?[口条根袋盒罐双张包枚颗支件套位层])"), ""),
    (re.compile(r"(吗|吧|呢|(?<![什怎这那多])么)\s*(?=$|[，。！])"), r"\1？"),
    # “在哪个碗” asks which bowl, not where.
    (re.compile(r"[在放去搁](?=哪一?[个种款只口把块类样些头面])"), ""),
    # In “用什么把汤盛出来” the noun belongs to the verb after it.
    (re.compile(r"(什么[^，。？把给]{0,4}|哪[^，。？把给]{1,4})(?<!一)[把给](?=.)"), r"\1来"),
    # “用那个碗” is a slip: “哪个” sounds the same.
    (re.compile(r"^(?!.*[吗吧了。哪什几怎谁])(|.*[用要拿选是在放加])那(?=[个种款里儿边把只口])"), r"\1哪"),
    (re.compile(rf"(?<![哪这那])([{_ZH_DIGITS}十两]+)(?=[{_ZH_UNITS}])"), lambda hit: f"{_number(hit[1])} "),
)


def _number(numeral: str) -> int:
    """Return the number that a Chinese numeral below a hundred writes."""
    tens, has_ten, ones = numeral.replace("两", "二").rpartition("十")
    ten = 10 * _ZH_DIGITS.find(tens or "一") if has_ten else 0
    return ten + max(0, _ZH_DIGITS.find(ones))


def in_english(question: str, topic: Topic | None = None) -> str:
    """Return a question with its Chinese words replaced by English ones.

    Of several English words, the first that occurs in `topic` is meant, if possible as what is open.
    """
    if not _CHINESE.search(question):
        return question
    # “杯子用哪一个？” asks which cup.
    question = _named_before_which().sub(r"哪个\1", question)
    for pattern, replacement in _ZH_FORMS:
        question = pattern.sub(replacement, question)
    for word, english in word_table().zh.items():
        if word in question:
            question = question.replace(word, f" {_word_meant(english, topic)} ")
    question = re.sub(f"[“”「」《》{word_table().particles}]", " ", question)
    # Chinese question words may follow anything, English ones "so". Unknown signs become unknown words.
    question = re.sub(r"\b(what|which)\b", r"so \1", " ".join(question.split()))
    return _CHINESE.sub(lambda hit: f" han{ord(hit[0][0]):x} ", question).translate(_MARKS)


def _word_meant(english: str, topic: Topic | None) -> str:
    """Return the one of the words between slashes that a topic makes likely."""
    every = english.split("/")
    places = () if topic is None else (topic.open_words, topic.keys, topic.known)
    fitting = (word for place in places for word in every if content_of(word) <= place)
    return every[0] if len(every) == 1 else next(fitting, every[0])


@cache
def _named_before_which() -> re.Pattern[str]:
    things = [word for word, english in word_table().zh.items() if kitchen_words(stems(english))]
    return re.compile(
        rf"({'|'.join(things)})子?(?:应该|需要|想要|[该要用选拿是])*哪一?[个种款样](?![\u4e00-\u9fff])"
    )
