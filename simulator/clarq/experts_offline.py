"""The provider's experts without a model: rules, and a small ranker over lexical features.

Deterministic: the same situation and seed give the same answer on every machine. The walk is the trained
ranker (`ranker.py`); the type follows from it and from what the utterance looks like, so that a
detail that some node answers is always heard as one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

from personas.templates import render
from simulator.clarq.experts import Choice, Heard, Situation, TurnType, Verdict, Wording
from simulator.clarq.features import Reading, indexed
from simulator.clarq.lexical import terms
from simulator.clarq.ranker import Ranker, load_ranker
from trees import Node

_TEMPLATES = {
    TurnType.WHOLE_TASK: "clarq/response2_whole_task",
    TurnType.ANSWERABLE: "clarq/response2_unanswerable",
    TurnType.UNANSWERABLE: "clarq/response2_unanswerable",
    TurnType.REPEATED: "clarq/response2_repeated",
    TurnType.UNRELATED: "clarq/response2_unrelated",
    TurnType.VAGUE: "clarq/response2_vague",
}
_VARIANTS = 5  # every Response II template offers so many wordings
_ASKS_FOR_HELP = {
    "en": re.compile(
        r"\b(?:task|quest|mission|help|assist|guid(?:e|ance)|advi[cs]e|instruct\w*|steps?|begin|start"
        r"|how (?:do|can|should|could|to)|what (?:do|should|can|must|am) i|where (?:do|should|can) i"
        r"|need to|have to|trying to|supposed to)\b",
        re.IGNORECASE,
    ),
    "zh": re.compile(
        r"任务|帮|协助|指导|指引|指点|建议|完成|步骤|开始|怎么(?:做|办|样才|才)|如何|我(?:应|该|需|要|得)"
    ),
}
# What asks for something, beside what `Reading.asked` finds: people leave question marks out.
_ASKS = {
    "en": re.compile(
        r"\b(?:what|which|where|when|who|whom|whose|how|why|tell|explain|describe)\b"
        r"|(?:^|[.!?,;]\s*)(?:do|does|did|is|are|can|could|should|shall|may|must|will|would)\b",
        re.IGNORECASE,
    ),
    "zh": re.compile(r"告诉|说说|讲讲|说明|解释|介绍|谁|几"),
}
# A question for a detail that may name nothing, since the line before says what is meant ("Which one?").
_POINTS_BACK = {
    "en": re.compile(r"\b(?:which|where|when|who|whom|whose|why|how(?! are you))\b", re.IGNORECASE),
    "zh": re.compile(r"哪|谁|怎|如何|何时|多少|几"),
}
_REPEATS = 0.35  # similarity to a given node from which a question counts as answered already


class OfflineExperts:
    """`offline/experts`: needs no model, no download and no network."""

    def __init__(self, ranker: Ranker | None = None, name: str = "offline/experts") -> None:
        self.name = name
        self._ranker = ranker or load_ranker()

    async def relevant(self, situation: Situation) -> Verdict:
        """Yes if the utterance names anything of the task or asks for help with one."""
        task, said = situation.task, situation.utterance
        about = indexed(task).about & set(terms(said, task.language))
        if about:
            return Verdict(True, f"speaks of: {', '.join(sorted(about)[:5])}")
        if asks := _ASKS_FOR_HELP[task.language].search(said):
            return Verdict(True, f"asks for help: {asks.group()}")
        return Verdict(False, "neither names anything of the task nor asks for help with it")

    async def hear(self, situation: Situation) -> Heard:
        """The type: answerable if the ranker would give a node, else by the look of the utterance."""
        reading = Reading(situation)
        winner = self._winner(reading)
        if winner is not None:
            return Heard(TurnType.ANSWERABLE, f"node {winner} answers it")
        return unanswered_type(situation, reading)

    async def walk(self, situation: Situation, *, multi: bool) -> Choice:
        """The node most likely to be the first suitable one, unless Response II is likelier still."""
        reading = Reading(situation)
        chances, alone = self._chances(reading)
        noted = {
            "chances": {
                i: round(float(c), 3) for i, c in zip([*reading.available, "II"], chances, strict=True)
            },
            "suitable": {i: round(float(c), 3) for i, c in zip(reading.available, alone, strict=True)},
        }
        winner = self._winner(reading)
        if winner is None:
            return Choice((), "no available node answers what was asked", noted)
        if not multi:
            return Choice((winner,), f"node {winner} answers what was asked", noted)
        threshold = self._ranker.multi_threshold
        chosen = tuple(
            index
            for index, chance in zip(reading.available, alone, strict=True)
            if index == winner or chance >= threshold
        )
        return Choice(chosen, f"nodes {', '.join(chosen)} answer what was asked", noted)

    async def compose(self, situation: Situation, nodes: tuple[Node, ...]) -> Wording:
        """Nothing around the nodes' own words."""
        return Wording()

    async def respond(self, situation: Situation, type: TurnType) -> str:
        """A line for the type, in one of several wordings; not the one said last if that can be helped."""
        language = situation.task.language
        before = {line.text for line in situation.lines[-4:] if line.seat == "provider"}
        variables = _quoted(situation) if type is TurnType.REPEATED else {}
        text = ""
        for offset in range(_VARIANTS):
            variant = (situation.seed + offset) % _VARIANTS
            text = render(_TEMPLATES[type], language, {"variant": variant, **variables}).text
            if text not in before:
                break
        return text

    def _chances(self, reading: Reading) -> tuple[np.ndarray, np.ndarray]:
        features = reading.features()
        return self._ranker.chances(features), self._ranker.suitable(features)

    def _winner(self, reading: Reading) -> str | None:
        if not reading.available or not asks_about_task(reading):
            return None
        best = int(np.argmax(self._ranker.chances(reading.features())))
        return reading.available[best] if best < len(reading.available) else None


def asks_about_task(reading: Reading) -> bool:
    """Whether the utterance asks for something of the task: what the ranker takes for granted.

    The ranker has learned from seekers who always ask; of "Thanks!" it knows only that most turns are
    answered. On the published dialogues this rule changes nothing.
    """
    said, language = set(terms(reading.utterance, reading.language)), reading.language
    if said & reading.index.about:
        return bool(reading.asked) or bool(_ASKS[language].search(reading.utterance))
    # A single character is a Chinese verb at most ("do", "go").
    return max(map(len, said), default=0) <= 1 and bool(_POINTS_BACK[language].search(reading.utterance))


def unanswered_type(situation: Situation, reading: Reading) -> Heard:
    """The type of an utterance that no available node answers."""
    said = set(terms(reading.utterance, reading.language))
    if not reading.asked:
        if said & reading.index.about:
            return Heard(TurnType.WHOLE_TASK, "sums up and asks nothing")
        return Heard(TurnType.VAGUE, "asks nothing and names nothing of the task")
    if reading.all_generic:
        if reading.statements & reading.index.about or reading.confirming:
            return Heard(TurnType.WHOLE_TASK, "sums up and asks whether that is all")
        return Heard(TurnType.VAGUE, "asks whether there is anything else")
    if not said & reading.index.about:
        return Heard(TurnType.UNRELATED, "names nothing of the task")
    repeated = _most_similar_given(situation, reading)
    if repeated is not None:
        return Heard(TurnType.REPEATED, f"node {repeated} has answered it")
    return Heard(TurnType.UNANSWERABLE, "asks for a detail that no available node gives")


def _most_similar_given(situation: Situation, reading: Reading) -> str | None:
    """The given node that the utterance asks about again, if there is one."""
    given = situation.frontier.given
    best = max(given, key=lambda index: reading.best[index], default=None)
    if best is None or reading.best[best] < _REPEATS:
        return None
    return best if reading.best[best] >= max(reading.best.values()) else None


def _quoted(situation: Situation) -> Mapping[str, str]:
    """The text that answers the question already: the closest given node's, else the opening's."""
    reading, tree = Reading(situation), situation.frontier.tree
    best = max(situation.frontier.given, key=lambda index: reading.best[index], default=None)
    return {"said": tree.by_index[best].text if best else tree.opening}
