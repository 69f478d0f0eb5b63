"""Features of the ranker: comparisons of everything the seeker asks with every node.

The seeker's last utterance is split into **askings**: its question sentences and their clauses (the whole
utterance if it asks nothing). Every asking is compared with every node of the tree, including given ones:
often the similarity matters less than whether this node is the most similar one (a **share**: the
node's value divided by the largest value of all nodes).

An **option** is an entry of the seeker's lists; its **siblings** are the entries of the same list that share
a topic with it (two mines, three woods). A node that names an option with siblings settles which one to
take, so it fits a seeker who has noticed that there are several.

All similarities weigh topics by inverse document frequency over the task's nodes (for a brief utterance,
over the nodes not given yet); no corpus is needed.
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
from simulator.clarq.focus import HOW, asked_attribute, asked_kinds, foci, measured, resolve_pronouns
from simulator.clarq.lexical import PATTERNS, clauses, correct, is_question, load_table, sentences, topics
from simulator.clarq.task_index import Floats, indexed
from trees import OPENING, Frontier, Language, Tree

# Minimum share of the utterance's topics that the task contains. One in two hundred of the published
# utterances is below it, but nineteen in twenty of them are when paired with a task of another type.
ON_TOPIC = 0.2
# Maximum characters of a brief utterance, as people write. Published seekers' utterances are longer.
BRIEF = {"en": 110, "zh": 40}
# Maximum share of unknown topics in a question about an option; a pair of characters may cross two words.
UNKNOWN_SHARE = {"en": 0.0, "zh": 0.5}
INTENDED_SHARE = 0.67  # the same in a remark about what the seeker is going to do
BARE = 3  # maximum terms of an utterance that only names a thing, as in "paint type"
TERSE = 3  # maximum topics of a terse utterance
MEMORY = 14  # provider turns looked back on, so that a turn costs the same in a dialogue of any length

# Names of the features; tables/features.yaml describes each.
ASKED: Final = tuple(load_table("features")["asked"])
NODE: Final = tuple(load_table("features")["node"])

_MEASURE = {"en": r"how \g<measure> is \g<thing>?", "zh": r"多\g<measure>"}
_ALTERNATIVES = {"en": " or ", "zh": "还是"}


class Past(NamedTuple):
    """An earlier provider turn after the opening: indices of the nodes available and given."""

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
    """The features of one decision.

    Attributes:
        asked: features of every asking and available node; shape (askings, nodes, len(ASKED)).
        node: features of every available node; shape (nodes, len(NODE)).
    """

    asked: Floats
    node: Floats


class Reading:
    """The seeker's last utterance, split into askings and compared with every node of the tree.

    Attributes:
        utterance: the utterance, with slips corrected.
        stated: the topics of the other sentences.
        all_generic: whether it only asks generic questions ("anything else?", "is that right?").
        generic_share: share of generic questions among the question sentences.
        sums_up: whether it briefly asks whether several steps, or all there is to know, are right.
        bare: whether it only names a thing ("paint type").
        offers: whether it offers alternatives ("A or B?").
        intends: whether it briefly says what the seeker is going to do.
        personal: whether it asks about the provider as a person.
        brief: whether the utterance is as short as people's are.
        terse: whether it has only a few topics.
        unknown: share of its topics that do not occur in the task.
        attributes: for each asking, the attribute it asks for, if any.
        confirming: whether any part of the utterance asks for confirmation.
        on_topic: whether the utterance is about the task at all.
        pointing: whether it only refers back to an earlier line ("Which one?", "How?").
        asks_more: whether it is brief and has no topic but those of the node given last.
        likeness: similarity of each asking to each node; shape (askings, nodes of the tree).
    """

    def __init__(self, situation: Situation) -> None:
        language = situation.task.language
        self.index = indexed(situation.task)
        utterance = correct(situation.utterance, language)
        self.brief = len(utterance) <= BRIEF[language]
        if self.brief:
            utterance = PATTERNS[language]["fillers"].sub("", self.index.speller.correct(utterance))
            utterance = PATTERNS[language]["measured"].sub(_MEASURE[language], utterance)
            utterance = resolve_pronouns(utterance, language, self.index.about)
        self.available = tuple(node.index for node in situation.frontier.available)
        self.given = situation.frontier.given
        # Longer lines often repeat what was given, so there the given nodes keep their weight.
        self._excluded = self.given if self.brief else ()
        self.utterance, self.language = utterance, language
        parts = sentences(utterance, language)
        self.asked = tuple(sentence for sentence in parts if is_question(sentence, language))
        stated = (self._heard(sentence) for sentence in parts if sentence not in self.asked)
        self.stated = frozenset[str]().union(*stated)
        self.sums_up = self.brief and bool(self.matches("sums_up"))
        self.confirming = self.sums_up or bool(self.matches("confirming"))
        generic = [
            any(PATTERNS[language][name].search(sentence) for name in ("generic", "confirming"))
            for sentence in self.asked
        ]
        self.all_generic = bool(generic) and all(generic)
        self.generic_share = sum(generic) / len(generic) if generic else 0.0
        self._situation = situation
        self.askings = _askings(self.asked or (utterance,), language)
        self._topics = [self._heard(asking) for asking in self.askings]
        self._spoken = spoken = self.stated.union(*self._topics)
        # A question without topics refers to the previous response; a greeting does not.
        self.pointing = not (spoken or self.all_generic) and bool(self.matches("pointing"))
        if self.pointing:
            last_given = (OPENING, *self.given)[-1]
            self._topics = [topics(situation.task.tree.text(last_given), language)]
        last = topics(situation.task.tree.text(self.given[-1]), language) if self.given else frozenset()
        self.asks_more = self.brief and bool(spoken) and spoken <= last
        known = sum(map(self.index.known, spoken))
        self.on_topic = self.pointing or known >= ON_TOPIC * max(1, len(spoken))
        self.personal = bool(self.matches("personal"))
        self.unknown = 1 - known / len(spoken) if spoken else 0.0
        words = utterance.split() if language == "en" else utterance[1:]
        named = [topic for topic in topics(utterance, language) if len(topic) > 1]
        self.bare = not self.unknown and len(named) == len(words) <= BARE
        self.offers = _ALTERNATIVES[language] in utterance
        self.intends = self.brief and not self.asked and bool(self.matches("intends"))
        self.attributes = [asked_attribute(asking, language) for asking in self.askings]
        self.terse = len(spoken) <= TERSE
        # One row per asking, and a last row for the utterance.
        rows = (*self._topics, spoken.union(*self._topics))
        self._rows = self.index.rows([dict.fromkeys(row, 1.0) for row in rows])
        self._likeness, self._explanation_likeness = self.index.likeness(self._rows, self._excluded)
        self.likeness = self._likeness[:-1]

    def _heard(self, text: str) -> frozenset[str]:
        """Return the topics of a part of the utterance; in brief English, without light words."""
        heard = topics(text, self.language)
        return frozenset(filter(self.index.matters, heard)) if self.brief and self.language == "en" else heard

    def matches(self, name: str) -> re.Match[str] | None:
        """Return the first match of the pattern `name` in the utterance."""
        return PATTERNS[self.language][name].search(self.utterance)

    @cached_property
    def asks_for_all(self) -> bool:
        """True for a brief summary of the task, or a question for anything else there may be."""
        vague = self.brief and self.all_generic and not any(self.attributes)
        open_ended = self.matches("open_ended") or not self._question_word
        return self.sums_up or bool(vague and open_ended and not self.index.claiming(self._spoken))

    @property
    def _question_word(self) -> re.Match[str] | None:
        return PATTERNS[self.language]["question_word"].search(self.utterance.lower())

    def denies(self, node: str) -> bool:
        """Return True if `node` does not tell the measure, property or number asked for in brief."""
        language, answer = self.language, self._situation.task.tree.by_index[node]
        if not self.brief:
            return False
        has = topics(answer.text, language) | topics(answer.explanation or "", language)
        things = measured(self.askings[0], language) & self.index.about if len(self.askings) == 1 else None
        if things and things.isdisjoint(has):
            return True
        if match := self.matches("property"):
            named = topics(match["thing"], language)
            return bool(named) and not any(map(self.index.known, named))
        if match := self.matches("counted"):
            background = self._situation.task.background
            text = ". ".join((answer.text, *background.items, *background.skills))
            counted = (number["thing"] for number in PATTERNS[language]["number"].finditer(text))
            return match["thing"].lower() not in " ".join(counted).lower()
        return False

    @cached_property
    def settled_option(self) -> str | None:
        """The only available node about the options named in a brief choice, as in "Pearl ones?"."""
        foreign = [each for each in self._spoken if self.index.matters(each) and not self.index.known(each)]
        most = INTENDED_SHARE if self.intends else UNKNOWN_SHARE[self.language]
        other = self._question_word or any(self.attributes) or self.matches("open_ended")
        if not self.brief or other or len(foreign) > most * len(self._spoken):
            return None
        nodes = self.index.claiming(self._spoken).intersection(self.available)
        return min(nodes) if len(nodes) == 1 else None

    def settled_by(self, node: str) -> bool:
        """Return True if a node settles every attribute that is asked for."""
        column = self.index.column[node]
        return all(self.index.settles(attribute)[column] for attribute in self.attributes if attribute)

    @cached_property
    def opening_likeness(self) -> float:
        """The share of an asking's topics that the opening has, for the asking with the largest share."""
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
        """The features of every asking and node of the tree, in the order of `ASKED`."""
        index, language = self.index, self._situation.task.language
        focused = [() if self.pointing else foci(asking, language) for asking in self.askings]
        weighted = [
            [focus.weights for focus in focuses] or [dict.fromkeys(asked, 1.0)]
            for focuses, asked in zip(focused, self._topics, strict=True)
        ]
        rows = index.rows([weights for group in weighted for weights in group])
        starts = np.cumsum([0] + [len(group) for group in weighted[:-1]])
        node, kind, focus = (
            np.maximum.reduceat(values, starts, axis=0)
            for values in index.focus_likeness(rows, self._excluded)
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
        """Return indicators: the node settles the attribute, alone does, does not; (3, askings, nodes)."""
        settled = np.zeros((3, *shape))
        for row, attribute in enumerate(self.attributes):
            if attribute is not None:
                settles = self.index.settles(attribute)
                settled[:, row] = settles, settles * (settles.sum() == 1), (1 - settles) * (attribute != HOW)
        return settled

    def _asks_own_skill(self) -> Floats:
        """Return 1 for askings that ask how to do one of the seeker's own skills; shape (askings, 1)."""
        return np.array(
            [
                [float(attribute == HOW and any(skill and skill <= asked for skill in self.index.skills))]
                for attribute, asked in zip(self.attributes, self._topics, strict=True)
            ]
        )

    def _node_features(self, columns: Sequence[int]) -> Floats:
        """Return the features of every available node, in the order of `NODE`."""
        # People ask for one thing at a time: nodes not given have not been asked for.
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
    """Return the last `MEMORY` provider turns after the opening, from the dialogue and the nodes given.

    Nodes are assigned to lines in the order in which they were given, so a line that repeats an earlier
    node does not count as giving it.
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
        turns, unassigned = _assign(tree, language, replies, given[:start], given[start:])
        if not unassigned:
            break
    return turns


def _assign(
    tree: Tree, language: Language, replies: Sequence[str], given: tuple[str, ...], later: tuple[str, ...]
) -> tuple[tuple[Past, ...], tuple[str, ...]]:
    """Assign the nodes `later`, in order, to the replies that contain them; return the rest as well."""
    turns = []
    for reply in replies:
        count = 0
        while count < len(later) and contains(reply, tree.by_index[later[count]].text, language):
            count += 1
        available = tuple(node.index for node in Frontier(tree, True, given).available)
        turns.append(Past(available, later[:count]))
        given, later = given + later[:count], later[count:]
    return tuple(turns), later


def _askings(asked: Sequence[str], language: Language) -> tuple[str, ...]:
    """Return the sentences and clauses that have a topic, each once; the first sentence if none has."""
    parts = (part for sentence in asked for part in (sentence, *clauses(sentence, language)))
    return tuple(dict.fromkeys(part for part in parts if topics(part, language))) or (asked[0],)


def _share(values: Floats) -> Floats:
    """Return each value divided by the largest of its row; 0 in a row of zeros."""
    largest = values.max(axis=1, keepdims=True)
    return np.asarray(values / np.where(largest > 0, largest, 1.0))
