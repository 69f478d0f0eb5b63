"""What the ranker knows of a decision: how each thing the seeker asks compares with each node.

The seeker's last utterance is cut into **askings**: its question sentences and their clauses (the whole
utterance if it asks nothing). Every asking is compared with every node of the tree, given ones too: what
counts is often not how similar they are but whether this node is the one most similar (a **share**: the
node's value over the largest of all nodes).

An **option** is an entry of the seeker's lists; its **siblings** are the entries of the same list that share
a topic with it (two mines, three woods). A node that names an option with siblings settles which one to
take, so it fits a seeker who has noticed that there are several.

All similarities weigh a topic by how few of the task's own nodes use it; no corpus is needed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from simulator.clarq.compose import contains
from simulator.clarq.experts import Situation
from simulator.clarq.focus import asked_kinds, foci
from simulator.clarq.lexical import clauses, is_question, sentences, topics
from simulator.clarq.task_index import Floats, indexed
from trees import Frontier, Language, Tree

MEMORY = 14  # provider turns looked back on, so that a turn costs the same however long the dialogue is

ASKED = (
    "similar_to_explanation",  # cosine
    "siblings_named",  # how many siblings of the node's options the asking names, up to 2
    "topic_share",  # share of the asking's focus that the node covers
    "focus_share",  # share of likeness to the focus of the explanation
    "kind_share",  # share of likeness to the kind of thing the node settles
    "other_kind",  # asks for a kind of thing, and another node settles that kind
    "only_own_option",  # names what the node will say and none of its siblings
    "confirming",  # asks whether something is right
    "first",  # is the first asking
    "no_question_word",
    "how_of_a_place",  # asks how, while the node names a place
    "alternatives",  # offers alternatives (A or B?), siblings of the node's option among them
    "kind_not_named",  # the node settles a kind of which there are several, and the asking names none of it
)
NODE = (
    "position",  # in the frontier
    "passed_over",  # turns in which it was available and nothing or a later node was given, up to 3
    "has_siblings",  # names an option that has siblings
    "similar",  # cosine with the whole utterance
)

_GENERIC = {
    "en": re.compile(
        r"anything else|any(?:thing)? (?:other|additional|specific|further|particular)"
        r"|additional (?:steps|tips|information|advice)|other (?:steps|information|tips|details)"
        r"|need to know|should (?:know|be aware)|aware of|precaution|\btips\b",
        re.IGNORECASE,
    ),
    "zh": re.compile(r"其他|注意事项|需要注意|特别注意|任何|更多|补充|遗漏|还有(?:什么|别的)"),
}
_CONFIRMING = {
    "en": re.compile(
        r"is (?:that|this|it) (?:correct|right|accurate)|correct\?|right\?|in summary"
        r"|to (?:confirm|clarify|make sure|ensure|recap|summarize)|did i\b|have i\b",
        re.IGNORECASE,
    ),
    "zh": re.compile(r"确认|总结|对吗|对吧|是吗|正确吗|是这样吗|是否正确"),
}
_ALTERNATIVES = {"en": " or ", "zh": "还是"}


class Past(NamedTuple):
    """An earlier provider turn after the opening: what could be given and what was, as indices."""

    available: tuple[str, ...]
    given: tuple[str, ...]

    def passed_over(self, node: str) -> bool:
        """Whether `node` was available and nothing, or a later node, was given."""
        if node not in self.available:
            return False
        order = self.available.index
        return all(given in self.available and order(given) > order(node) for given in self.given)


@dataclass(frozen=True)
class Features:
    """Of one decision.

    Attributes:
        asked: of every asking and available node; shape (askings, nodes, len(ASKED)).
        node: of every available node; shape (nodes, len(NODE)).
    """

    asked: Floats
    node: Floats


class Reading:
    """The seeker's last utterance, cut up and compared with every node of the tree.

    Attributes:
        index: the task's.
        utterance: what was said.
        available: indices of the nodes that may be given, in order.
        asked: the sentences that ask something.
        stated: the topics of those that do not.
        all_generic: whether all that is asked is "anything else?" and "is that right?".
        confirming: whether the utterance asks for confirmation anywhere.
        likeness: how alike each asking and each node of the tree are; shape (askings, nodes of the tree).
    """

    def __init__(self, situation: Situation) -> None:
        language, utterance = situation.task.language, situation.utterance
        self.index = indexed(situation.task)
        self.available = tuple(node.index for node in situation.frontier.available)
        found = sentences(utterance, language)
        self.asked = tuple(sentence for sentence in found if is_question(sentence, language))
        self.stated = _topics_of([sentence for sentence in found if sentence not in self.asked], language)
        self.confirming = bool(_CONFIRMING[language].search(utterance))
        self.all_generic = bool(self.asked) and all(
            _GENERIC[language].search(sentence) or _CONFIRMING[language].search(sentence)
            for sentence in self.asked
        )
        self.utterance = utterance
        self._situation = situation
        self._askings = _askings(self.asked or (utterance,), language)
        self._topics = [topics(asking, language) for asking in self._askings]
        self._rows = self.index.rows([dict.fromkeys(one, 1.0) for one in self._topics])
        self.likeness = self.index.cosines(self._rows, self.index.both)

    def features(self) -> Features:
        """The features of the available nodes."""
        columns = [self.index.column[node] for node in self.available]
        return Features(self._asked_features()[:, columns], self._node_features(columns))

    def _asked_features(self) -> Floats:
        """Of every asking and node of the tree, in the order of `ASKED`."""
        index, language = self.index, self._situation.task.language
        focused = [foci(asking, language) for asking in self._askings]
        weighted = [
            [focus.weights for focus in found] or [dict.fromkeys(said, 1.0)]
            for found, said in zip(focused, self._topics, strict=True)
        ]
        rows = index.rows([weights for group in weighted for weights in group])
        starts = np.cumsum([0] + [len(group) for group in weighted[:-1]])
        worded = _column(bool(found) for found in focused)
        kind = np.maximum.reduceat(index.coverage(rows, index.kinds), starts, axis=0) * worded
        named = index.named(self._rows)
        siblings = np.minimum(named @ index.siblings.T, 2)
        kinds = index.rows([dict.fromkeys(asked_kinds(asking, language), 1.0) for asking in self._askings])
        settled = kinds.known @ index.asked_kinds > 0
        columns = (
            index.cosines(self._rows, index.explanations),
            siblings,
            _share(np.maximum.reduceat(index.coverage(rows, index.both), starts, axis=0)),
            _share(np.maximum.reduceat(index.focus_likeness(rows), starts, axis=0)),
            _share(kind),
            settled.any(axis=1, keepdims=True) & ~settled,
            (named @ index.names.T > 0) & (siblings == 0),
            _column(bool(_CONFIRMING[language].search(asking)) for asking in self._askings),
            _column(position == 0 for position in range(len(self._askings))),
            1 - worded,
            _column(any(focus.how for focus in found) for found in focused) * index.places,
            _column(_ALTERNATIVES[language] in asking for asking in self._askings) * (siblings > 0),
            index.several & (kind == 0) & (siblings == 0),
        )
        features = np.empty((*kind.shape, len(ASKED)))
        for position, column in enumerate(columns):
            features[:, :, position] = column
        return features

    def _node_features(self, columns: Sequence[int]) -> Floats:
        """Of every available node, in the order of `NODE`."""
        past = past_turns(self._situation)
        said = self.stated.union(*self._topics)
        similar = self.index.cosines(self.index.rows([dict.fromkeys(said, 1.0)]), self.index.both)[0]
        has_siblings = self.index.siblings.sum(axis=1) > 0
        rows = [
            (
                position,
                min(3, sum(turn.passed_over(node) for turn in past)),
                has_siblings[column],
                similar[column],
            )
            for position, (node, column) in enumerate(zip(self.available, columns, strict=True))
        ]
        return np.array(rows, dtype=np.float64).reshape(len(rows), len(NODE))


def past_turns(situation: Situation) -> tuple[Past, ...]:
    """The last `MEMORY` provider turns after the opening, read off the dialogue and the nodes given.

    Nodes are looked for in the order in which they were given, so a line that quotes an earlier node
    again does not count as giving it.
    """
    tree, language = situation.task.tree, situation.task.language
    lines = situation.lines[-2 * MEMORY - 1 : -1]
    replies = [
        line.text for before, line in pairwise(lines) if before.seat == "seeker" and line.seat == "provider"
    ]
    if len(situation.lines) <= 2 * MEMORY + 1:
        opens = (contains(reply, tree.opening, language) for reply in replies)
        opened = next((number for number, does in enumerate(opens) if does), 0)
        replies = replies[opened + 1 :]
    given = situation.frontier.given
    for start in range(len(given)):
        turns, left = _attribute(tree, language, replies, given[:start], given[start:])
        if not left:
            return turns
    return _attribute(tree, language, replies, given, ())[0]


def _attribute(
    tree: Tree, language: Language, replies: Sequence[str], given: tuple[str, ...], left: tuple[str, ...]
) -> tuple[tuple[Past, ...], tuple[str, ...]]:
    """Give `left`, in order, to the replies that contain them; also what could not be placed."""
    turns = []
    for reply in replies:
        here = 0
        while here < len(left) and contains(reply, tree.by_index[left[here]].text, language):
            here += 1
        available = tuple(node.index for node in Frontier(tree, True, given).available)
        turns.append(Past(available, left[:here]))
        given, left = given + left[:here], left[here:]
    return tuple(turns), left


def _askings(asked: Sequence[str], language: Language) -> tuple[str, ...]:
    """The sentences and their clauses, each once; one without a topic only if there is nothing else."""
    parts = (part for sentence in asked for part in (sentence, *clauses(sentence, language)))
    return tuple(dict.fromkeys(part for part in parts if topics(part, language))) or (asked[0],)


def _topics_of(texts: Sequence[str], language: Language) -> frozenset[str]:
    return frozenset[str]().union(*(topics(text, language) for text in texts))


def _share(values: Floats) -> Floats:
    """Each value over the largest of its row; 0 in a row of zeros."""
    largest = values.max(axis=1, keepdims=True)
    return np.asarray(values / np.where(largest > 0, largest, 1.0))


def _column(values: Iterable[bool]) -> Floats:
    """A column of 0 and 1."""
    return np.array([float(value) for value in values])[:, None]
