"""What the ranker knows of a decision: how each thing the seeker asks compares with each node.

The seeker's last utterance is cut into **askings**: its question sentences and their clauses (the whole
utterance if it asks nothing). Every asking is compared with every node of the tree, given ones too: what
counts is often not how similar they are but whether this node is the one most similar (a **share**: the
node's value over the largest of all nodes).

An **option** is an entry of the seeker's lists; its **siblings** are the entries of the same list that share
a topic with it (two mines, three woods). A node that names an option with siblings settles which one to
take, so it fits a seeker who has noticed that there are several.

All similarities weigh a topic by how few of the task's nodes use it (those that are still to be given, where
a brief line asks); no corpus is needed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np

from simulator.clarq.compose import contains
from simulator.clarq.experts import Situation
from simulator.clarq.focus import HOW, asked_attribute, asked_kinds, foci
from simulator.clarq.lexical import PATTERNS, clauses, corrected, is_question, sentences, table, topics
from simulator.clarq.task_index import Floats, indexed
from trees import OPENING, Frontier, Language, Tree

# Least share of the utterance's topics that the task must know. Of the published utterances one in two
# hundred stays below; of the same utterances said in a task of another type nineteen in twenty do.
ON_TOPIC = 0.2
# Characters up to which an utterance is brief, as a person's are. Those of the published seekers are longer.
BRIEF = {"en": 110, "zh": 40}
TERSE = 3  # topics up to which an utterance is terse
MEMORY = 14  # provider turns looked back on, so that a turn costs the same however long the dialogue is

# Names of the features; what each says stands beside it in the table.
ASKED: Final = tuple(table("features")["asked"])
NODE: Final = tuple(table("features")["node"])

_ALTERNATIVES = {"en": " or ", "zh": "还是"}


class Past(NamedTuple):
    """An earlier provider turn after the opening: what could be given and what was, as indices."""

    available: tuple[str, ...]
    given: tuple[str, ...]

    def passed_over(self, node: str) -> bool:
        """Return True if `node` was available and nothing, or a later node, was given."""
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
        language: of the task.
        available: indices of the nodes that may be given, in order.
        given: indices of the nodes given, in order.
        asked: the sentences that ask something.
        stated: the topics of those that do not.
        all_generic: whether all that is asked is "anything else?" and "is that right?".
        generic_share: the share of the sentences that ask for no more than that.
        personal: whether it asks something of the provider as a person.
        brief: whether the utterance is as short as a person's.
        terse: whether it is of a few words.
        unknown: share of its topics that the task does not know.
        attributes: which attribute each asking asks for, if any.
        confirming: whether the utterance asks for confirmation anywhere.
        on_topic: whether the utterance is about the task at all.
        pointing: whether it only points back at what was said before ("Which one?", "How?").
        likeness: how alike each asking and each node of the tree are; shape (askings, nodes of the tree).
    """

    def __init__(self, situation: Situation) -> None:
        language = situation.task.language
        self.index = indexed(situation.task)
        utterance = corrected(situation.utterance, language)
        self.brief = len(utterance) <= BRIEF[language]
        if self.brief:
            utterance = self.index.speller.meant(utterance)
        self.available = tuple(node.index for node in situation.frontier.available)
        self.given = situation.frontier.given
        # Of much that a longer line says, what was given already is a part.
        self._passed = self.given if self.brief else ()
        self.utterance, self.language = utterance, language
        parts = sentences(utterance, language)
        self.asked = tuple(sentence for sentence in parts if is_question(sentence, language))
        stated = (topics(sentence, language) for sentence in parts if sentence not in self.asked)
        self.stated = frozenset[str]().union(*stated)
        self.confirming = bool(self.matches("confirming"))
        generic = [
            any(PATTERNS[language][name].search(sentence) for name in ("generic", "confirming"))
            for sentence in self.asked
        ]
        self.all_generic = bool(generic) and all(generic)
        self.generic_share = sum(generic) / len(generic) if generic else 0.0
        self._situation = situation
        self.askings = _askings(self.asked or (utterance,), language)
        self._topics = [topics(asking, language) for asking in self.askings]
        spoken = self.stated.union(*self._topics)
        # Pronouns and question words alone point at what was said before; a greeting does not.
        self.pointing = not (spoken or self.all_generic) and bool(self.matches("pointing"))
        if self.pointing:
            given_last = (OPENING, *self.given)[-1]
            self._topics = [topics(situation.task.tree.text(given_last), language)]
        known = sum(map(self.index.known, spoken))
        self.on_topic = self.pointing or known >= ON_TOPIC * max(1, len(spoken))
        self.personal = bool(self.matches("personal"))
        self.unknown = 1 - known / len(spoken) if spoken else 0.0
        self.attributes = [asked_attribute(asking, language) for asking in self.askings]
        self.terse = len(spoken) <= TERSE
        whole = dict.fromkeys(spoken.union(*self._topics), 1.0)
        # One row per asking, and a last one for the whole utterance.
        self._rows = self.index.rows([*(dict.fromkeys(topic, 1.0) for topic in self._topics), whole])
        self._likeness, self._explanation_likeness = self.index.likeness(self._rows, self._passed)
        self.likeness = self._likeness[:-1]

    def matches(self, name: str) -> re.Match[str] | None:
        """Return where one of the patterns finds something in the utterance."""
        return PATTERNS[self.language][name].search(self.utterance)

    @cached_property
    def opening_likeness(self) -> float:
        """Return how alike the asking that is most like it and the opening are."""
        opening = topics(self._situation.task.tree.opening, self.language)
        shares = (len(asked & opening) / len(asked) for asked in self._topics if asked)
        return max(shares, default=0.0)

    @cached_property
    def features(self) -> Features:
        """The features of the available nodes."""
        columns = [self.index.column[node] for node in self.available]
        return Features(self.asked_features[:, columns], self._node_features(columns))

    @cached_property
    def asked_features(self) -> Floats:
        """Return the features of every asking and node of the tree, in the order of `ASKED`."""
        index, language = self.index, self._situation.task.language
        focused = [() if self.pointing else foci(asking, language) for asking in self.askings]
        weighted = [
            [focus.weights for focus in focuses] or [dict.fromkeys(asked, 1.0)]
            for focuses, asked in zip(focused, self._topics, strict=True)
        ]
        rows = index.rows([weights for group in weighted for weights in group])
        starts = np.cumsum([0] + [len(group) for group in weighted[:-1]])
        node, kind, focus = (
            np.maximum.reduceat(values, starts, axis=0) for values in index.focus_likeness(rows, self._passed)
        )
        flags = np.array(
            [
                (
                    self.pointing or bool(focuses),
                    any(focus.how for focus in focuses),
                    bool(PATTERNS[language]["confirming"].search(asking)),
                    _ALTERNATIVES[language] in asking,
                )
                for asking, focuses in zip(self.askings, focused, strict=True)
            ],
            dtype=np.float64,
        )
        worded, how, confirming, alternatives = (flags[:, [column]] for column in range(flags.shape[1]))
        kind = kind * worded
        named = index.named(self._rows)[:-1]
        siblings = np.minimum(named @ index.siblings.T, 2)
        kinds = index.rows(
            [dict.fromkeys(asked_kinds(asking, language, index.kinds), 1.0) for asking in self.askings]
        )
        settled = kinds.known @ index.asked_kinds > 0
        columns = (
            self._explanation_likeness[:-1],
            siblings,
            _share(node),
            _share(focus),
            _share(kind),
            settled.any(axis=1, keepdims=True) & ~settled,
            (named @ index.names.T > 0) & (siblings == 0),
            confirming,
            np.eye(len(flags), 1),
            1 - worded,
            how * index.places,
            alternatives * (siblings > 0),
            *self._attributes(kind.shape),
            self._asks_own_skill(),
            node,
            (1 - worded) * self.terse,
            alternatives
            * (siblings == 0)
            * np.minimum(
                index.hinted(self._rows)[:-1] @ (index.siblings + index.names + index.neighbours).T, 2
            ),
            np.minimum(named @ index.neighbours.T, 1) * (siblings == 0),
            index.several & (kind == 0) & (siblings == 0),
        )
        features = np.empty((*kind.shape, len(ASKED)))
        for position, values in enumerate(columns):
            features[:, :, position] = values
        return features

    def _attributes(self, shape: tuple[int, ...]) -> Floats:
        """Return whether each node settles the attribute, alone, or not; shape (3, askings, nodes)."""
        settled = np.zeros((3, *shape))
        for row, attribute in enumerate(self.attributes):
            if attribute is not None:
                settles = self.index.settles(attribute)
                settled[:, row] = settles, settles * (settles.sum() == 1), (1 - settles) * (attribute != HOW)
        return settled

    def _asks_own_skill(self) -> Floats:
        """Return where it is asked how to do what the seeker can do; shape (askings, 1)."""
        return np.array(
            [
                [float(attribute == HOW and any(skill and skill <= asked for skill in self.index.skills))]
                for attribute, asked in zip(self.attributes, self._topics, strict=True)
            ]
        )

    def _node_features(self, columns: Sequence[int]) -> Floats:
        """Return the features of every available node, in the order of `NODE`."""
        # A person asks for one thing after the other: what has not been given was not asked for.
        past = () if self.brief else past_turns(self._situation)
        passed_over = [min(3, sum(turn.passed_over(node) for turn in past)) for node in self.available]
        return np.column_stack(
            [
                np.arange(len(columns)),
                passed_over,
                self.index.has_siblings[columns],
                self._likeness[-1][columns],
                [bool(self.given) and node.rpartition(".")[0] == self.given[-1] for node in self.available],
            ]
        ).astype(np.float64)


def past_turns(situation: Situation) -> tuple[Past, ...]:
    """Return the last `MEMORY` provider turns after the opening, read off the dialogue and the nodes given.

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
    for start in range(len(given) + 1):
        turns, left = _attribute(tree, language, replies, given[:start], given[start:])
        if not left:
            break
    return turns


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
    """Return sentences and their clauses, each once; one without a topic only if nothing else is there."""
    parts = (part for sentence in asked for part in (sentence, *clauses(sentence, language)))
    return tuple(dict.fromkeys(part for part in parts if topics(part, language))) or (asked[0],)


def _share(values: Floats) -> Floats:
    """Return each value over the largest of its row; 0 in a row of zeros."""
    largest = values.max(axis=1, keepdims=True)
    return np.asarray(values / np.where(largest > 0, largest, 1.0))
