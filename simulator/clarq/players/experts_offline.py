"""The provider's experts without a model: rules, and a small ranker over lexical features.

Deterministic: the same situation and seed give the same answer on every machine. The walk is the trained
ranker (`ranker.py`); the type follows from it and from what the utterance looks like, so that a
detail that some node answers is always heard as one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from personas.templates import render
from simulator.clarq.experts import Choice, Classification, Situation, TurnType, Verdict
from simulator.clarq.features import Reading
from simulator.clarq.lexical import PATTERNS, table, terms, topic_of, topics, unite_synonyms
from simulator.clarq.ranker import Judged, Ranker, builtin_ranker
from simulator.clarq.task_index import Floats, indexed
from trees import OPENING, Node

_VARIANTS = 5  # every Response II template offers so many wordings
_REPEATS = 0.35  # similarity to a given node from which a question counts as answered already


class OfflineExperts:
    """`offline/experts`: needs no model, no download and no network."""

    name = "offline/experts"

    def __init__(self, ranker: Ranker | None = None) -> None:
        self._ranker = ranker or builtin_ranker()
        self._last: tuple[Situation, Judged] | None = None

    async def relevant(self, situation: Situation) -> Verdict:
        """Say yes if the utterance names anything of the task or asks for help with one."""
        task, utterance = situation.task, situation.utterance
        about = indexed(task).about & topics(utterance, task.language)
        if about:
            return Verdict(True, reason("speaks", words=", ".join(sorted(about)[:5])))
        if asks := PATTERNS[task.language]["asks_for_help"].search(utterance):
            return Verdict(True, reason("asks_help", words=asks.group()))
        return Verdict(False, reason("foreign"))

    async def classify(self, situation: Situation) -> Classification:
        """Return the type: answerable if some node would be given, else by the look of the utterance."""
        judged = self._judge(situation)
        for index in (single(judged), *several(judged)):
            if index is not None:
                return Classification(TurnType.ANSWERABLE, reason("heard", node=index))
        return unanswered_type(judged)

    async def walk(self, situation: Situation, *, multi: bool) -> Choice:
        """Return the likeliest outcome of the walk, or every node that is likelier than not (multi-info)."""
        judged = self._judge(situation)
        chosen = several(judged) if multi else tuple(filter(None, [single(judged)]))
        details = {"chances": _chances_by_node(judged)}
        if not chosen:
            return Choice((), reason("none"), details)
        if len(chosen) == 1:
            return Choice(chosen, reason("answers", node=chosen[0]), details)
        return Choice(chosen, reason("answer", nodes=", ".join(chosen)), details)

    async def join(self, situation: Situation, nodes: tuple[Node, ...]) -> str:
        """Return nothing: the nodes' own words are joined by rule."""
        return ""

    async def respond(self, situation: Situation, type: TurnType) -> str:
        """Return a line for the type, in one of several wordings, if possible not one said just before."""
        language = situation.task.language
        before = [line.text for line in situation.lines[-4:] if line.seat == "provider"]
        repeats, tree = type is TurnType.REPEATED, situation.frontier.tree
        repeated = tree.text(_said_already(self._judge(situation))) if repeats else ""
        name = (TurnType.UNANSWERABLE if type is TurnType.ANSWERABLE else type).name.lower()
        text = ""
        for offset in range(_VARIANTS):
            variables = {"variant": (situation.seed + offset) % _VARIANTS, "said": repeated}
            text = render(f"clarq/response2_{name}", language, variables).text
            if text not in before:
                break
        return text

    def _judge(self, situation: Situation) -> Judged:
        """Return what the ranker makes of `situation`; the last is kept for the steps of a turn."""
        last = self._last
        if last is None or last[0] != situation:
            reading = Reading(situation)
            styles = self._ranker.explained if reading.index.explained else self._ranker.bare
            style = styles.brief if reading.brief else styles.chatty
            self._last = last = (situation, Judged(reading, style))
        return last[1]


def single(judged: Judged) -> str | None:
    """Return the node that the single-info provider gives."""
    reading = judged.reading
    if not reading.available or not asks_about_task(reading) or asked_again(judged):
        return None
    if reading.pointing:
        return _pointed_at(reading, judged.chances)
    return None if judged.best < 0 else reading.available[judged.best]


def several(judged: Judged) -> tuple[str, ...]:
    """Return the nodes that the multi-info provider gives."""
    reading = judged.reading
    if reading.pointing or not reading.available or not asks_about_task(reading) or asked_again(judged):
        return tuple(filter(None, [single(judged)]))
    return tuple(reading.available[position] for position in judged.several)


def _chances_by_node(judged: Judged) -> dict[str, float]:
    """Return the chance of each available node to be the one given; ``II`` for a Response II."""
    if not judged.reading.available:
        return {"II": 1.0}
    names = (*judged.reading.available, "II")
    return {name: round(float(chance), 3) for name, chance in zip(names, judged.chances, strict=True)}


def asks_about_task(reading: Reading) -> bool:
    """Return True if the utterance asks for something of the task: what the ranker takes for granted.

    The ranker has learned from seekers who always ask; of "Thanks!" it knows only that most turns are
    answered. On the published dialogues this rule changes next to nothing.
    """
    if reading.personal or not reading.on_topic:
        return False
    # People leave question marks out.
    asks = (reading.asked, reading.matches("asks_something"), lacks(reading))
    return reading.pointing or any(map(bool, asks))


def lacks(reading: Reading) -> bool:
    """Return True if a brief utterance says that a thing of the task is lacked, unknown or out of reach.

    The thing is what follows, up to a preposition; in Chinese its name stands at the end.
    """
    lack = reading.matches("lacks") if reading.brief else None
    if not lack:
        return False
    thing = PATTERNS[reading.language]["thing_lacked"].match(reading.utterance, lack.end())
    named = terms(unite_synonyms(thing.group() if thing else ""), reading.language)
    named = named[-1:] if reading.language == "zh" else tuple(map(topic_of, named))
    return not named or any(map(reading.index.known, named))


def asked_again(judged: Judged) -> str | None:
    """Return the given node that a brief utterance asks for once more, in so many words."""
    reading = judged.reading
    if not (reading.brief and reading.given and reading.matches("asks_again")):
        return None
    best = max((*reading.given, *reading.available), key=judged.fit)
    return best if best in reading.given else None


def _pointed_at(reading: Reading, chances: Floats) -> str | None:
    """Return the likeliest available node among those that go on from what was given last."""
    last = reading.given[-1] if reading.given else None
    follow = [
        position
        for position, index in enumerate(reading.available)
        if last == (index.rpartition(".")[0] or None)
    ]
    best = max(follow, key=lambda position: float(chances[position]), default=None)
    return None if best is None else reading.available[best]


def unanswered_type(judged: Judged) -> Classification:
    """Return the type of an utterance that no available node answers."""
    reading = judged.reading
    about = reading.index.about
    if again := asked_again(judged):
        return Classification(TurnType.REPEATED, reason("answered", node=again))
    if not reading.asked and not lacks(reading):
        if reading.stated & about:
            return Classification(TurnType.WHOLE_TASK, reason("sums_up"))
        return Classification(TurnType.VAGUE, reason("empty"))
    if reading.all_generic:
        if reading.stated & about or reading.confirming:
            return Classification(TurnType.WHOLE_TASK, reason("all"))
        return Classification(TurnType.VAGUE, reason("anything_else"))
    if reading.personal or not reading.on_topic:
        if not reading.personal and reading.matches("open_ended"):
            return Classification(TurnType.VAGUE, reason("anything_else"))
        return Classification(TurnType.UNRELATED, reason("off_task"))
    repeated = _most_like_given(reading)
    if repeated and repeated[1] >= max(_REPEATS, float(reading.likeness.max())):
        return Classification(TurnType.REPEATED, reason("answered", node=repeated[0]))
    return Classification(TurnType.UNANSWERABLE, reason("not_available"))


def _most_like_given(reading: Reading) -> tuple[str, float] | None:
    """Return the given node that is most like what is asked, and how like."""
    likeness = reading.likeness.max(axis=0)
    given = [(index, float(likeness[reading.index.column[index]])) for index in reading.given]
    return max(given, key=lambda pair: pair[1], default=None)


def _said_already(judged: Judged) -> str:
    """Return the node that answers what is asked again: the likest given one, else the opening."""
    likest = _most_like_given(judged.reading)
    return asked_again(judged) or (likest[0] if likest else OPENING)


REASONS: Final[Mapping[str, str]] = table("reasons")
_PATTERNS: Final = {
    code: re.compile(re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>.+)", re.escape(sentence)))
    for code, sentence in REASONS.items()
}


def reason(code: str, **fields: str) -> str:
    """Return the sentence called `code`, its fields filled in."""
    return REASONS[code].format(**fields)


def recognise(sentence: str) -> tuple[str, dict[str, str]] | None:
    """Return code and fields of a logged sentence; None if it is not one of ours (a model's own words)."""
    for code, pattern in _PATTERNS.items():
        if match := pattern.fullmatch(sentence):
            return code, match.groupdict()
    return None
