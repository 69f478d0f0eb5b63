"""What the ranker knows of a decision: lexical features of every available node (see `NAMES`).

All similarities weigh a term by how few of the task's own nodes use it, so a task needs no corpus. An
**option** is an entry of the seeker's lists; its **siblings** are the entries of the same list that share
a term with it (two mines, three woods): a node that names one of several siblings resolves which.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np

from simulator.clarq.compose import contains
from simulator.clarq.experts import Situation
from simulator.clarq.lexical import clauses, is_question, sentences, terms
from simulator.clarq.ranker import Floats
from trees import Frontier, Language, Task, Tree

MEMORY = 14  # provider turns looked back on, so that a turn costs the same however long the dialogue is

NAMES = (
    "position", "first", "alone", "similar", "similar_text", "similar_explanation", "covered",
    "overlap", "similar_clause", "margin_available", "margin_given", "margin_hidden", "best_margin",
    "best_share", "similar_statements", "names_option", "has_siblings", "asks_kind", "siblings_asked",
    "option_asked", "option_only_asked", "option_stated", "depth", "child_of_last", "questions", "length",
    "generic", "confirming", "farewell", "no_question", "all_generic", "turn", "refused_similar",
    "refused", "waiting", "asked_before", "after_none",
)  # fmt: skip

_GENERIC = {
    "en": re.compile(
        r"anything else|any(?:thing)? (?:other|additional|specific|further|particular)"
        r"|additional (?:steps|tips|information|advice)|other (?:steps|information|tips)|need to know"
        r"|should (?:know|be aware)|aware of|precaution",
        re.IGNORECASE,
    ),
    "zh": re.compile(r"其他|注意事项|需要注意|特别注意|任何|更多|补充|遗漏"),
}
_CONFIRMING = {
    "en": re.compile(
        r"is (?:that|this) (?:correct|right|accurate)|correct\?|right\?|in summary"
        r"|to (?:confirm|clarify|make sure|ensure|recap|summarize)",
        re.IGNORECASE,
    ),
    "zh": re.compile(r"确认|总结|对吗|是吗|正确吗|是这样吗|是否正确"),
}
_FAREWELL = re.compile(r"bye|再见", re.IGNORECASE)

Terms = frozenset[str]


@dataclass(frozen=True)
class Past:
    """An earlier provider turn after the opening: what was asked, what could be given, what was."""

    utterance: str
    available: tuple[str, ...]
    given: tuple[str, ...]


@dataclass(frozen=True)
class _Option:
    kind: str
    terms: Terms
    own: Terms  # terms that no other option has


class TaskIndex:
    """A task's texts as weighted terms; built once per task."""

    def __init__(self, task: Task) -> None:
        language = task.language
        self.texts = {node.index: frozenset(terms(node.text, language)) for node in task.tree.nodes}
        self.explanations = {
            node.index: frozenset(terms(node.explanation or "", language)) for node in task.tree.nodes
        }
        self.both = {index: self.texts[index] | self.explanations[index] for index in self.texts}
        self._frequency = Counter(term for document in self.both.values() for term in document)
        self._nodes = len(self.both)
        self.options = _options(task, language)
        background = task.background
        self.about = frozenset[str]().union(
            *self.texts.values(),
            terms(task.tree.opening, language),
            terms(background.task, language),
            *(option.terms for option in self.options),
        )
        self.named = {index: self._named(text) for index, text in self.texts.items()}

    def weight(self, term: str) -> float:
        """Inverse document frequency over the task's nodes."""
        frequency = self._frequency.get(term, 0)
        return math.log(1 + (self._nodes - frequency + 0.5) / (frequency + 0.5))

    def mass(self, document: Iterable[str]) -> float:
        """Sum of the terms' weights."""
        return sum(map(self.weight, document))

    def cosine(self, one: Terms, other: Terms) -> float:
        """Cosine of two weighted term sets, 0 to 1."""
        shared = sum(self.weight(term) ** 2 for term in one & other)
        if not shared:
            return 0.0
        squares = [sum(self.weight(term) ** 2 for term in document) for document in (one, other)]
        return shared / math.sqrt(squares[0] * squares[1] + 1e-9)

    def cover(self, question: Terms, document: Terms) -> float:
        """Weighted share of the question's terms that the document has."""
        return self.mass(question & document) / (self.mass(question) + 1.0)

    def siblings(self, option: int) -> list[int]:
        """Options of the same list that share a term with `option`."""
        mine = self.options[option]
        return [
            position
            for position, other in enumerate(self.options)
            if position != option and other.kind == mine.kind and other.terms & mine.terms
        ]

    def _named(self, text: Terms) -> list[int]:
        return [i for i, option in enumerate(self.options) if option.own and option.own <= text]


def _options(task: Task, language: Language) -> tuple[_Option, ...]:
    entries = [
        (kind, frozenset(terms(re.split(r"[(（]", entry)[0], language)))
        for kind in ("items", "skills", "scenes")
        for entry in getattr(task.background, kind)
    ]
    counts = Counter(term for _, found in entries for term in found)
    return tuple(
        _Option(kind, found, frozenset(term for term in found if counts[term] == 1))
        for kind, found in entries
    )


@lru_cache(maxsize=512)
def indexed(task: Task) -> TaskIndex:
    """The task's index, made once for the tasks in play."""
    return TaskIndex(task)


def past_turns(situation: Situation) -> tuple[Past, ...]:
    """The last `MEMORY` provider turns after the opening, read off the dialogue and the nodes given.

    Nodes are looked for in the order in which they were given, so a line that quotes an earlier node
    again does not count as giving it.
    """
    tree, language = situation.task.tree, situation.task.language
    lines = situation.lines[-2 * MEMORY - 1 : -1]
    exchanges = [
        (before.text, line.text)
        for before, line in pairwise(lines)
        if before.seat == "seeker" and line.seat == "provider"
    ]
    if len(situation.lines) <= 2 * MEMORY + 1:
        opened = next(
            (i for i, (_, said) in enumerate(exchanges) if contains(said, tree.opening, language)), 0
        )
        exchanges = exchanges[opened + 1 :]
    given = situation.frontier.given
    for start in range(len(given) + 1):
        turns, left = _attribute(tree, language, exchanges, given[:start], given[start:])
        if not left:
            return turns
    raise AssertionError("an empty rest is always found")


def _attribute(
    tree: Tree,
    language: Language,
    exchanges: Sequence[tuple[str, str]],
    given: tuple[str, ...],
    left: tuple[str, ...],
) -> tuple[tuple[Past, ...], tuple[str, ...]]:
    """Give `left` in order to the provider lines that contain them; also what could not be placed."""
    turns = []
    for utterance, said in exchanges:
        here = 0
        while here < len(left) and contains(said, tree.by_index[left[here]].text, language):
            here += 1
        available = tuple(node.index for node in Frontier(tree, True, given).available)
        turns.append(Past(utterance, available, left[:here]))
        given, left = given + left[:here], left[here:]
    return tuple(turns), left


def featurize(situation: Situation) -> Floats:
    """Features of the available nodes; shape (available nodes, len(NAMES))."""
    return Reading(situation).features()


class Reading:
    """The seeker's last utterance, cut up and compared with every node of the tree."""

    def __init__(self, situation: Situation) -> None:
        language = situation.task.language
        self.index = indexed(situation.task)
        self.available = [node.index for node in situation.frontier.available]
        self.given = situation.frontier.given
        self.past = past_turns(situation)
        self.language: Language = language
        self.utterance = situation.utterance
        found = sentences(self.utterance, language)
        self.asked = [sentence for sentence in found if is_question(sentence, language)]
        stated = [sentence for sentence in found if not is_question(sentence, language)]
        self.questions = [_set(sentence, language) for sentence in self.asked]
        self.clauses = [_set(c, language) for sentence in self.asked for c in clauses(sentence, language)]
        self.statements = frozenset[str]().union(*(_set(sentence, language) for sentence in stated))
        self.all_asked = frozenset[str]().union(*self.questions)
        self.similarity = [
            {node: self.index.cosine(question, document) for node, document in self.index.both.items()}
            for question in self.questions
        ]
        self.best = {
            node: max((similarity[node] for similarity in self.similarity), default=0.0)
            for node in self.index.both
        }
        self.generic = bool(_GENERIC[language].search(self.utterance))
        self.confirming = bool(_CONFIRMING[language].search(self.utterance))
        self.all_generic = bool(self.asked) and all(
            _GENERIC[language].search(question) or _CONFIRMING[language].search(question)
            for question in self.asked
        )
        self.flags = self._flags()

    def features(self) -> Floats:
        """Features of the available nodes; shape (available nodes, len(NAMES))."""
        rows = [self.row(position, node) for position, node in enumerate(self.available)]
        return np.array(rows, dtype=np.float64).reshape(len(rows), len(NAMES))

    def _flags(self) -> list[float]:
        return [
            min(len(self.asked), 4),
            math.log1p(len(terms(self.utterance, self.language))),
            self.generic,
            self.confirming,
            bool(_FAREWELL.search(self.utterance)),
            not self.asked,
            self.all_generic,
            len(self.past),
        ]

    def row(self, position: int, node: str) -> list[float]:
        """The features of one available node, in the order of `NAMES`."""
        return [
            float(value)
            for value in (
                position,
                position == 0,
                len(self.available) == 1,
                *self._similarities(node),
                *self._options(node),
                node.count("."),
                bool(self.given) and node.rpartition(".")[0] == self.given[-1],
                *self.flags,
                *self._memory(node),
            )
        ]

    def _similarities(self, node: str) -> list[float]:
        index, best = self.index, self.best
        hidden = [other for other in best if other not in self.available and other not in self.given]
        margins = [
            best[node] - max((best[other] for other in others if other != node), default=0.0)
            for others in (self.available, self.given, hidden)
        ]
        winning = sharing = 0.0
        for similarity in self.similarity:
            if similarity[node] > 0:
                rival = max((value for other, value in similarity.items() if other != node), default=0.0)
                winning = max(winning, similarity[node] - rival)
                sharing = max(sharing, similarity[node] / max(similarity[node], rival))
        return [
            best[node],
            _most(index.cosine(question, index.texts[node]) for question in self.questions),
            _most(index.cosine(question, index.explanations[node]) for question in self.questions),
            _most(index.cover(clause, index.both[node]) for clause in self.clauses),
            index.mass(self.all_asked & index.both[node]),
            _most(index.cosine(clause, index.both[node]) for clause in self.clauses),
            *margins,
            winning,
            sharing,
            index.cosine(self.statements, index.both[node]),
        ]

    def _options(self, node: str) -> list[float]:
        options, named = self.index.options, self.index.named[node]
        siblings = {other for option in named for other in self.index.siblings(option)} - set(named)
        kinds = {term for option in named for term in options[option].terms - options[option].own}
        asked = max((self._mentions(siblings, question) for question in self.questions), default=0)
        own = any(self._mentions(named, question) for question in self.questions)
        return [
            bool(named),
            bool(siblings),
            bool(kinds & self.all_asked),
            min(asked, 2),
            own,
            own and not asked,
            bool(self._mentions(named, self.statements)),
        ]

    def _mentions(self, options: Iterable[int], said: Terms) -> int:
        own = (self.index.options[option].own for option in options)
        return sum(bool(wanted) and wanted <= said for wanted in own)

    def _memory(self, node: str) -> list[float]:
        closest = max(
            self.questions,
            key=lambda question: self.index.cosine(question, self.index.both[node]),
            default=None,
        )
        refused = [turn for turn in self.past if _refused(turn, node)]
        return [
            self._closeness(closest, refused),
            len(refused),
            sum(node in turn.available for turn in self.past),
            self._closeness(closest, self.past[-1:]),
            bool(self.past) and not self.past[-1].given,
        ]

    def _closeness(self, question: Terms | None, turns: Sequence[Past]) -> float:
        if question is None:
            return 0.0
        said = (sentence for turn in turns for sentence in sentences(turn.utterance, self.language))
        return _most(self.index.cosine(question, _set(sentence, self.language)) for sentence in said)


def _refused(turn: Past, node: str) -> bool:
    """Whether `turn` passed over `node`: it was available and nothing, or a later node, was given."""
    if node not in turn.available:
        return False
    order = turn.available.index
    return all(given in turn.available and order(given) > order(node) for given in turn.given)


def _set(text: str, language: Language) -> Terms:
    return frozenset(terms(text, language))


def _most(values: Iterable[float]) -> float:
    return max(values, default=0.0)
