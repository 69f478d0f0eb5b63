"""The provider's experts without a language model: rules, and a small ranker over lexical features.

Deterministic: the same situation and seed give the same answer on every machine. The walk is the trained
ranker (`ranker.py`); the type follows from the ranker and the form of the utterance, so that a question
that some node answers is always classified as answerable.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from personas.templates import render
from simulator.clarq.experts import Choice, Classification, Situation, TurnType, Verdict
from simulator.clarq.features import Reading
from simulator.clarq.focus import WHY
from simulator.clarq.lexical import PATTERNS, load_table, terms, topic_of, topics, unite_synonyms
from simulator.clarq.ranker import Assessment, Ranker, builtin_ranker
from simulator.clarq.task_index import Floats, indexed
from trees import OPENING, Node

_VARIANTS = 5  # wordings in every Response II template
_TOO_SOON = 1.0  # log-odds by which a node that is not available yet fits better than the best
_REPEATS = 0.35  # similarity to a given node above which a question counts as already answered


class OfflineExperts:
    """The experts `offline/experts`, which need no language model, download or network."""

    name = "offline/experts"

    def __init__(self, ranker: Ranker | None = None) -> None:
        self._ranker = ranker or builtin_ranker()
        self._last: tuple[Situation, Assessment] | None = None

    async def relevant(self, situation: Situation) -> Verdict:
        """Return True if the utterance mentions anything in the task or asks for help with a task."""
        task, utterance = situation.task, situation.utterance
        shared = indexed(task).about & topics(utterance, task.language)
        if shared:
            return Verdict(True, reason("speaks", words=", ".join(sorted(shared)[:5])))
        if asks := PATTERNS[task.language]["asks_for_help"].search(utterance):
            return Verdict(True, reason("asks_help", words=asks.group()))
        return Verdict(False, reason("foreign"))

    async def classify(self, situation: Situation) -> Classification:
        """Return the type: answerable if a node would be given, else according to the utterance's form."""
        assessment = self._assess(situation)
        for index in (single_node(assessment), *several_nodes(assessment)):
            if index is not None:
                return Classification(TurnType.ANSWERABLE, reason("heard", node=index))
        return unanswered_type(assessment)

    async def walk(self, situation: Situation, *, multi: bool) -> Choice:
        """Return the most likely node if any, or (multi-info) every node that is more likely than not."""
        assessment = self._assess(situation)
        chosen = several_nodes(assessment) if multi else tuple(filter(None, [single_node(assessment)]))
        details = {"chances": _chances_by_node(assessment)}
        if not chosen:
            return Choice((), reason("none"), details)
        if len(chosen) == 1:
            return Choice(chosen, reason("answers", node=chosen[0]), details)
        return Choice(chosen, reason("answer", nodes=", ".join(chosen)), details)

    async def join(self, situation: Situation, nodes: tuple[Node, ...]) -> str:
        """Return an empty text, so that the nodes are joined by rule."""
        return ""

    async def respond(self, situation: Situation, type: TurnType) -> str:
        """Return one of several wordings for the type, avoiding those just used where possible."""
        language = situation.task.language
        recent = [line.text for line in situation.lines[-4:] if line.seat == "provider"]
        repeats, tree = type is TurnType.REPEATED, situation.frontier.tree
        repeated = tree.text(_earlier_answer(self._assess(situation))) if repeats else ""
        name = (TurnType.UNANSWERABLE if type is TurnType.ANSWERABLE else type).name.lower()
        text = ""
        for offset in range(_VARIANTS):
            variables = {"variant": (situation.seed + offset) % _VARIANTS, "said": repeated}
            text = render(f"clarq/response2_{name}", language, variables).text
            if text not in recent:
                break
        return text

    def _assess(self, situation: Situation) -> Assessment:
        """Return the ranker's assessment of `situation`; the last is cached for the steps of a turn."""
        last = self._last
        if last is None or last[0] != situation:
            reading = Reading(situation)
            styles = self._ranker.explained if reading.index.explained else self._ranker.bare
            style = styles.brief if reading.brief else styles.chatty
            self._last = last = (situation, Assessment(reading, style))
        return last[1]


def single_node(assessment: Assessment) -> str | None:
    """Return the node that the single-info provider gives."""
    reading = assessment.reading
    if not reading.available or not asks_about_task(reading) or repeated_node(assessment):
        return None
    if reading.settled_option:
        return reading.settled_option
    if reading.pointing or assessment.best < 0:
        points = reading.pointing or reading.asks_more
        node = _node_pointed_at(reading, assessment.chances) if points else None
        # What is pointed at is the answer, unless a reason is asked for.
        answers = reading.pointing and WHY not in reading.attributes
        return node if node is not None and (answers or reading.settled_by(node)) else None
    node = reading.available[assessment.best]
    return node if _answers(assessment, node) else None


def several_nodes(assessment: Assessment) -> tuple[str, ...]:
    """Return the nodes that the multi-info provider gives."""
    reading = assessment.reading
    walks = reading.available and not reading.pointing and asks_about_task(reading)
    if not walks or reading.settled_option or repeated_node(assessment):
        return tuple(filter(None, [single_node(assessment)]))
    nodes = (reading.available[position] for position in assessment.several)
    return tuple(node for node in nodes if _answers(assessment, node))


def _answers(assessment: Assessment, node: str) -> bool:
    """Return False if a brief question asks for what `node` does not tell, or what a later one tells."""
    reading = assessment.reading
    hasty = reading.brief and not reading.offers
    later = set(reading.index.column).difference(reading.available, reading.given) if hasty else ()
    too_soon = any(assessment.fit(other) > assessment.fit(node) + _TOO_SOON for other in later)
    return not (too_soon or reading.denies(node))


def _chances_by_node(assessment: Assessment) -> dict[str, float]:
    """Return the chance of each available node to be the one given; ``II`` for a Response II."""
    if not assessment.reading.available:
        return {"II": 1.0}
    names = (*assessment.reading.available, "II")
    return {name: round(float(chance), 3) for name, chance in zip(names, assessment.chances, strict=True)}


def asks_about_task(reading: Reading) -> bool:
    """Return True if the utterance asks for something in the task, which the ranker presupposes.

    The ranker has learned from seekers who always ask; it would answer "Thanks!" because most turns are
    answered. On the published dialogues this rule changes next to nothing.
    """
    if reading.personal or not reading.on_topic or reading.asks_for_all:
        return False
    # People omit question marks.
    asks = (
        reading.asked,
        reading.matches("asks_something"),
        states_lack(reading),
        reading.intends and reading.settled_option,
        reading.bare,
    )
    return reading.pointing or any(map(bool, asks))


def states_lack(reading: Reading) -> bool:
    """Return True if a brief utterance says that the seeker lacks, cannot reach or does not know something.

    It must occur in the task. It is named after the verb, up to a preposition; in Chinese, at the end.
    """
    lack = reading.matches("lacks") if reading.brief else None
    if not lack:
        return False
    thing = PATTERNS[reading.language]["thing_lacked"].match(reading.utterance, lack.end())
    named = terms(unite_synonyms(thing.group() if thing else ""), reading.language)
    named = named[-1:] if reading.language == "zh" else tuple(map(topic_of, named))
    return not named or any(map(reading.index.known, named))


def repeated_node(assessment: Assessment) -> str | None:
    """Return the given node that a brief utterance explicitly asks to hear again."""
    reading = assessment.reading
    if not (reading.brief and reading.given and reading.matches("asks_again")):
        return None
    best = max((*reading.given, *reading.available), key=assessment.fit)
    return best if best in reading.given else None


def _node_pointed_at(reading: Reading, chances: Floats) -> str | None:
    """Return the most likely available child of the node given last."""
    last = reading.given[-1] if reading.given else None
    children = [
        position
        for position, index in enumerate(reading.available)
        if last == (index.rpartition(".")[0] or None)
    ]
    best = max(children, key=lambda position: float(chances[position]), default=None)
    return None if best is None else reading.available[best]


def unanswered_type(assessment: Assessment) -> Classification:
    """Return the type of an utterance that no available node answers."""
    reading = assessment.reading
    about = reading.index.about
    if reading.personal:
        return Classification(TurnType.UNRELATED, reason("off_task"))
    if again := repeated_node(assessment):
        return Classification(TurnType.REPEATED, reason("answered", node=again))
    if not reading.asked and not states_lack(reading):
        if reading.stated & about:
            return Classification(TurnType.WHOLE_TASK, reason("sums_up"))
        return Classification(TurnType.VAGUE, reason("empty"))
    if reading.all_generic or reading.asks_for_all:
        if reading.stated & about or reading.confirming:
            return Classification(TurnType.WHOLE_TASK, reason("all"))
        return Classification(TurnType.VAGUE, reason("anything_else"))
    if not reading.on_topic:
        if reading.matches("open_ended"):
            return Classification(TurnType.VAGUE, reason("anything_else"))
        return Classification(TurnType.UNRELATED, reason("off_task"))
    answered, repeated = _fits_given(assessment), _most_similar_given(reading)
    if not answered and repeated and repeated[1] >= max(_REPEATS, float(reading.likeness.max())):
        answered = repeated[0]
    if answered:
        return Classification(TurnType.REPEATED, reason("answered", node=answered))
    return Classification(TurnType.UNANSWERABLE, reason("not_available"))


def _fits_given(assessment: Assessment) -> str | None:
    """Return the given node that would answer a brief question if it were still available.

    None once all nodes are given: then the provider says so.
    """
    reading = assessment.reading
    if not (reading.brief and reading.given and reading.available):
        return None
    best = max(reading.given, key=assessment.fit)
    return best if assessment.fit(best) + assessment.style.ranking.strict > 0 else None


def _most_similar_given(reading: Reading) -> tuple[str, float] | None:
    """Return the given node most similar to the question, with its similarity."""
    likeness = reading.likeness.max(axis=0)
    candidates = [(index, float(likeness[reading.index.column[index]])) for index in reading.given]
    return max(candidates, key=lambda pair: pair[1], default=None)


def _earlier_answer(assessment: Assessment) -> str:
    """Return the given node that answers a repeated question: the most similar one, or the opening."""
    similar = _most_similar_given(assessment.reading)
    return repeated_node(assessment) or _fits_given(assessment) or (similar[0] if similar else OPENING)


REASONS: Final[Mapping[str, str]] = load_table("reasons")
_PATTERNS: Final = {
    code: re.compile(re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>.+)", re.escape(sentence)))
    for code, sentence in REASONS.items()
}


def reason(code: str, **fields: str) -> str:
    """Return the reason with this code, its fields filled in."""
    return REASONS[code].format(**fields)


def parse_reason(sentence: str) -> tuple[str, dict[str, str]] | None:
    """Return code and fields of a logged reason; None for any other sentence (a model's own words)."""
    for code, pattern in _PATTERNS.items():
        if match := pattern.fullmatch(sentence):
            return code, match.groupdict()
    return None
