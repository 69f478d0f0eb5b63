"""An index of a task's texts as weighted topics, built once per task."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.clarq.focus import asked_kinds, focus_of_text, settled_attributes, several_of
from simulator.clarq.lexical import PATTERNS, Speller, similar_topics, topics, words_of
from trees import Task
from trees.rules import LISTS, split_note

Floats = NDArray[np.float64]
Topics = frozenset[str]

# Relative weight of a topic that no node has: it only shows that the asking is also about something else.
UNKNOWN = 0.25
# Added to denominators, so that shares of tiny totals stay small.
FLOOR = 0.5
# Weight of a topic that is only probably meant.
NEAR = 0.6
NAMED = 0.2  # minimum share of an option's marks by which it is named
MAX_DISTANCE = 2  # maximum distance of neighbours in a list
CACHED_TASKS = 512


class Rows(NamedTuple):
    """Weighted topics, one row each.

    Attributes:
        known: weights of the topics in the task's vocabulary; shape (rows, topics).
        unknown: sum of the weights of all other topics; shape (rows,).
        unknown_squares: sum of their squares; shape (rows,).
    """

    known: Floats
    unknown: Floats
    unknown_squares: Floats


class Weights(NamedTuple):
    """The weights of topics, their squares, and the squared norms of the nodes' texts and foci."""

    topics: Floats
    squares: Floats
    norms: Floats
    foci: Floats


class Option(NamedTuple):
    """An entry of the seeker's lists: its list, its topics without remarks, and those of no other entry."""

    kind: str
    topics: Topics
    own: Topics


class TaskIndex:
    """The index of a task for the ranker; matrices have a row per topic and a column per node or option.

    An asking is compared with a node's text and explanation, with its explanation alone, with the foci of
    the explanation, and with its kinds (see `asked_kinds`).

    Attributes:
        speller: the spelling corrector for the task's words.
        about: all topics of the task: nodes, opening and background.
        asked_kinds: the kinds that a node settles: what its options share with their siblings, what its
            explanation says there are several of, and what the explanation's ``which`` asks for.
        several: whether the explanation says that there are several of something; shape (nodes,).
        names: the options that a node names; shape (nodes, options).
        siblings: the siblings of those options; shape (nodes, options).
        neighbours: options next to those in their list, unless named by a node or a sibling.
        has_siblings: whether a node's options have siblings; shape (nodes,).
        places: whether the node names a place; shape (nodes,).
        skills: the topics of each of the seeker's skills.
    """

    def __init__(self, task: Task) -> None:
        language, nodes = task.language, task.tree.nodes
        explanations = [node.explanation or "" for node in nodes]
        texts = [topics(node.text, language) for node in nodes]
        explained = [topics(text, language) for text in explanations]
        both = [text | explanation for text, explanation in zip(texts, explained, strict=True)]
        options = _options(task)
        names = [_named_options(options, text) for text in texts]
        entries = [entry for _, entry in _entries(task)]
        settled = [
            settled_attributes(node, task.background, [entries[i] for i in named], language)
            for node, named in zip(nodes, names, strict=True)
        ]
        siblings = [_siblings(options, named) for named in names]
        kinds = [
            several_of(text, language).union(
                *(options[i].topics & options[j].topics for i in named for j in others)
            )
            for text, named, others in zip(explanations, names, siblings, strict=True)
        ]
        asked = [kind | asked_kinds(text, language) for kind, text in zip(kinds, explanations, strict=True)]
        seen = (task.tree.opening, task.background.role, task.background.task, *entries)
        self.speller = Speller((*seen, *explanations, *(node.text for node in nodes)), language)
        self.column = {node.index: position for position, node in enumerate(nodes)}
        self.explained = any(explanations)
        self.about = frozenset[str]().union(
            *both,
            topics(task.tree.opening, language),
            topics(task.background.task, language),
            *(option.topics for option in options),
        )
        light = " ".join(words_of("light", language))
        self._light = topics(light, language) if language == "en" else frozenset(light)
        self._characters = frozenset(filter("\u4e00".__le__, "".join(self.about)))
        self._marks = _marks(task)
        self._claims = _claims(options, self._marks, list(zip(texts, explained, strict=True)))
        vocabulary = sorted(self.about.union(*both, *asked))
        self._row = {topic: row for row, topic in enumerate(vocabulary)}
        # Misspelt words are most often things or places.
        self._listed = frozenset[str]().union(*(option.topics for option in options))
        self._nearest: dict[str, tuple[str, ...]] = {}
        combined, explanations_only = self._columns(both), self._columns(explained)
        foci = self._columns([focus_of_text(text, language) for text in explanations])
        self._width = len(nodes)
        self._nodes_and_explanations = np.hstack([combined, explanations_only])
        self._nodes_kinds_foci = np.hstack([combined, self._columns(kinds), foci])
        self._unknown = UNKNOWN * float(np.log(1 + (len(nodes) + 0.5) / 0.5))
        self._weights: dict[tuple[str, ...], Weights] = {}
        self.several = np.array([bool(several_of(text, language)) for text in explanations])
        self.kinds, self.asked_kinds = frozenset[str]().union(*asked), self._columns(asked)
        self.skills = tuple(option.topics for option in options if option.kind == "skills")
        self._own = self._columns([option.own for option in options])
        self._own_sizes = self._own.sum(axis=0)
        self.names, self.siblings, self.neighbours = (
            _indicators(positions, len(options))
            for positions in (names, siblings, _neighbours(options, names, siblings))
        )
        self.has_siblings = np.array([bool(sibling) for sibling in siblings])
        self._settled = settled
        self.places = np.array(
            [any(options[i].kind == "scenes" for i in named) for named in names], dtype=float
        )

    def rows(self, weighted: Sequence[Mapping[str, float]]) -> Rows:
        """Return weighted topics as rows."""
        known = np.zeros((len(weighted), len(self._row)))
        unknown, squares = np.zeros(len(weighted)), np.zeros(len(weighted))
        for row, weights in enumerate(weighted):
            # Collected in a dictionary, because writing single array cells would dominate the time.
            cells: dict[int, float] = {}
            for topic, weight in weights.items():
                column = self._row.get(topic)
                if column is not None:
                    cells[column] = max(weight, cells.get(column, 0.0))
                    others = self._pairs_with(topic) if len(topic) == 1 else ()
                elif not (others := self._similar_topics(topic)):
                    unknown[row] += weight
                    squares[row] += weight * weight
                for other in others:
                    column = self._row[other]
                    cells[column] = max(NEAR * weight, cells.get(column, 0.0))
            known[row, list(cells)] = list(cells.values())
        return Rows(known, unknown, squares)

    def claiming(self, spoken: Topics) -> frozenset[str]:
        """Return the nodes that settle whether to take the options that `spoken` names most fully."""
        characters = (self._pairs_with(topic) for topic in spoken - self._light if len(topic) == 1)
        for said in (spoken, spoken.union(*characters)):
            shares = [_share_named(said, marks) for marks in self._marks]
            if most := max(shares, default=0.0):
                break
        claims = (claim for claim, share in zip(self._claims, shares, strict=True) if share >= most > 0)
        nodes = tuple(self.column)
        return frozenset(nodes[position] for claim in claims for position in claim)

    def settles(self, attribute: str) -> Floats:
        """Return 1 where a node settles `attribute`; shape (nodes,)."""
        return np.array([attribute in attributes for attributes in self._settled], dtype=float)

    def known(self, topic: str) -> float:
        """Return 1 if the task has `topic`, `NEAR` if it has a topic that is probably meant, else 0."""
        if topic in self.about:
            return 1.0
        return NEAR if self._similar_topics(topic) else 0.0

    def matters(self, topic: str) -> bool:
        """Return False for a foreign topic that is light, or a Chinese pair that crosses two words."""
        light = topic in self._light or self._light & set(topic) or self._characters.issuperset(topic)
        return topic in self.about or not light

    def _similar_topics(self, topic: str) -> tuple[str, ...]:
        """Return the topics that an unknown topic probably means, as a slip or a part of a word."""
        if topic not in self._nearest:
            near = similar_topics(topic, self._listed)
            # Pairs of Chinese characters, of verbs above all, resemble too many others; single ones do not.
            if not near and (topic[0] < "\u4e00" or len(topic) == 1):
                near = similar_topics(topic, self._row)
            self._nearest[topic] = near
        return self._nearest[topic]

    def _pairs_with(self, character: str) -> tuple[str, ...]:
        """Return the task's pairs that contain a Chinese character."""
        if character not in self._nearest:
            self._nearest[character] = similar_topics(character, self._row) if character > "\u4e00" else ()
        return self._nearest[character]

    def likeness(self, rows: Rows, given: tuple[str, ...]) -> tuple[Floats, Floats]:
        """Return weighted cosines of rows with nodes and with explanations; shape (rows, nodes) each."""
        weights = self._weights_without(given)
        shared = (rows.known * weights.squares) @ self._nodes_and_explanations
        left = rows.known**2 @ weights.squares + rows.unknown_squares * self._unknown**2
        cosines = shared / np.sqrt(left[:, None] * weights.norms + 1e-9)
        return np.asarray(cosines[:, : self._width]), np.asarray(cosines[:, self._width :])

    def focus_likeness(self, rows: Rows, given: tuple[str, ...]) -> tuple[Floats, Floats, Floats]:
        """Compare each row, a focus, with each node.

        Returns:
            The weighted share of the focus that the node covers; the share that its kinds cover; and the
            similarity of the focus to the foci of the explanation. Shape (rows, nodes) each.
        """
        weights = self._weights_without(given)
        shared = (rows.known * weights.topics) @ self._nodes_kinds_foci
        total = rows.known @ weights.topics + rows.unknown * self._unknown + FLOOR
        norms = rows.known**2 @ weights.topics + rows.unknown_squares * self._unknown
        node, kind, focus = np.split(shared, 3, axis=1)
        focus = focus / (np.sqrt(norms[:, None] * weights.foci) + FLOOR)
        return node / total[:, None], kind / total[:, None], focus

    def named(self, rows: Rows) -> Floats:
        """Return 1 where a row has all own topics of an option, else 0; shape (rows, options)."""
        present = (rows.known >= NEAR).astype(float) @ self._own
        return np.asarray((present >= self._own_sizes) & (self._own_sizes > 0), dtype=float)

    def hinted(self, rows: Rows) -> Floats:
        """Return the share of an option's own topics that a row has; shape (rows, options)."""
        present = (rows.known >= NEAR).astype(float) @ self._own
        return np.asarray(present / np.maximum(self._own_sizes, 1.0))

    def _weights_without(self, given: tuple[str, ...]) -> Weights:
        """Return topic weights by inverse document frequency over the nodes not in `given`."""
        if given not in self._weights:
            texts, foci = (np.split(self._nodes_kinds_foci, 3, axis=1)[part] for part in (0, 2))
            left = np.array([node not in given for node in self.column], dtype=float)
            # A topic that only given nodes have counts as occurring once.
            frequency = np.maximum(texts @ left, 1.0)
            rarity = np.log(1 + (self._width - frequency + 0.5) / (frequency + 0.5))
            topics = np.where(texts.any(axis=1), rarity, self._unknown)
            squares = topics**2
            norms = squares @ self._nodes_and_explanations, topics @ foci**2
            self._weights[given] = Weights(topics, squares, *norms)
        return self._weights[given]

    def _columns(self, documents: Sequence[Iterable[str] | Mapping[str, float]]) -> Floats:
        matrix = np.zeros((len(self._row), len(documents)))
        for column, document in enumerate(documents):
            weights = document if isinstance(document, Mapping) else dict.fromkeys(document, 1.0)
            for topic, weight in weights.items():
                matrix[self._row[topic], column] = weight
        return matrix


indexed = lru_cache(maxsize=CACHED_TASKS)(TaskIndex)
"""Return the cached index of a task."""


def _entries(task: Task) -> list[tuple[str, str]]:
    return [(kind, entry) for kind in LISTS for entry in getattr(task.background, kind)]


def _options(task: Task) -> tuple[Option, ...]:
    entries = [(kind, topics(split_note(entry)[0], task.language)) for kind, entry in _entries(task)]
    counts = Counter(topic for _, entry_topics in entries for topic in entry_topics)
    return tuple(
        Option(kind, entry_topics, frozenset(topic for topic in entry_topics if counts[topic] == 1))
        for kind, entry_topics in entries
    )


def _marks(task: Task) -> list[dict[str, float]]:
    """Return for each option the weighted topics by which people name it, without "a pot of".

    What several options have counts less, and the last character in Chinese, which tells the kind, nothing.
    """
    bare = [PATTERNS[task.language]["container"].sub("", split_note(entry)[0]) for _, entry in _entries(task)]
    counts = Counter(topic for name in bare for topic in topics(name, task.language))
    return [
        dict.fromkeys(name[-1:] if task.language == "zh" else (), 0.0)
        | {topic: counts[topic] ** -2.0 for topic in topics(name, task.language)}
        for name in bare
    ]


def _share_named(spoken: Topics, marks: Mapping[str, float]) -> float:
    return sum(marks[topic] for topic in marks if topic in spoken) / max(sum(marks.values()), FLOOR)


def _claims(
    options: Sequence[Option], marks: Sequence[Mapping[str, float]], texts: Sequence[tuple[Topics, Topics]]
) -> list[set[int]]:
    """Return for each option the positions of the nodes that settle whether to take it.

    A node claims the options that its text or explanation names, those akin to the ones in the text, and if
    there are none, the free ones next to them: the more it names, the nearer.
    """
    positions, kinds = range(len(marks)), [option.kind for option in options]
    words = [option.topics.union(mark) for option, mark in zip(options, marks, strict=True)]
    akin = [{j for j in positions if kinds[i] == kinds[j] and words[i] & words[j]} for i in positions]
    named = [
        [{i for i in positions if _share_named(said, marks[i]) >= NAMED} for said in both] for both in texts
    ]
    claimed = [given.union(explained, *(akin[i] for i in given)) for given, explained in named]
    free = set(positions).difference(*claimed)
    for (given, explained), claim in zip(named, claimed, strict=True):
        counts = Counter(kinds[i] for i in given | explained)
        reach = {i: MAX_DISTANCE + 1 - counts[kinds[i]] for i in given if len(akin[i]) == 1}
        claim.update(
            j
            for i in reach
            for j in range(i - reach[i], i + reach[i] + 1)
            if free >= {*range(i, j), j, *range(j, i)} - {i} and kinds[i] == kinds[j]
        )
    shared = [
        [len(words[i] & text.union(more)) if i in claim else -1 for i in positions]
        for claim, (text, more) in zip(claimed, texts, strict=True)
    ]
    most = [max(column) for column in zip(*shared, strict=True)]
    return [{node for node, row in enumerate(shared) if row[i] == most[i] >= 0} for i in positions]


def _named_options(options: Sequence[Option], text: Topics) -> list[int]:
    return [position for position, option in enumerate(options) if option.own and option.own <= text]


def _siblings(options: Sequence[Option], named: Sequence[int]) -> list[int]:
    """Return the unnamed options that share a list and a topic with a named one."""
    return [
        position
        for position, option in enumerate(options)
        if position not in named
        and any(options[i].kind == option.kind and options[i].topics & option.topics for i in named)
    ]


def _neighbours(
    options: Sequence[Option], names: Sequence[Sequence[int]], siblings: Sequence[Sequence[int]]
) -> list[list[int]]:
    """Return for each node the free options adjacent to one it names: similar in use, if not in name."""
    taken = {position for by_node in (*names, *siblings) for position in by_node}
    free = [position not in taken for position in range(len(options))]
    by_node = []
    for named in names:
        near: list[int] = []
        for start in named:
            for step in (1, -1):
                position = start + step
                while (
                    0 <= position < len(options)
                    and free[position]
                    and options[position].kind == options[start].kind
                    and abs(position - start) <= MAX_DISTANCE
                ):
                    near.append(position)
                    position += step
        by_node.append(near)
    return by_node


def _indicators(positions: Sequence[Sequence[int]], width: int) -> Floats:
    matrix = np.zeros((len(positions), width))
    for row, columns in enumerate(positions):
        matrix[row, list(columns)] = 1.0
    return matrix
