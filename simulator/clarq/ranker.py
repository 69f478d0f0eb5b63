"""Small trained models over lexical features that predict which available node is given, if any.

The provider considers the available nodes in order and gives the first that it finds appropriate; if none
is, it tries again less strictly (spec section 3, step 4). The **ranking** models that as probabilities.
A node fits an utterance if it fits one of its askings (see `features.py`): its **logit** is

    log(sum over askings of exp(w · asked features)) + v · node features + a

and it is accepted with probability s(logit) in the first pass and s(logit + b) in the second, b > 0, where s
is the logistic function. A node is given if all nodes before it are refused and it is accepted, in the first
pass or, if that refuses all nodes, in the second. A brief seeker asks for one thing, which one node answers
best: there the nodes compete in a softmax, in which "none" has a logit of 0, and there is no b.

Two logistic regressions on top (`Assessment`) decide whether any node is given at all, and which nodes the
multi-info provider gives. There are coefficients for two **styles**, seekers that write like the published
language models and seekers as brief as people, each for tasks whose nodes have explanations and for tasks
without. They are in `ranker.json`, written by `training.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, ClassVar, Final

import numpy as np
import scipy
from pydantic import ConfigDict, TypeAdapter

from simulator.clarq.features import ASKED, NODE, Features, Reading
from simulator.clarq.lexical import load_table
from simulator.clarq.task_index import Floats


@dataclass(frozen=True)
class Coefficients:
    """The coefficients of one ranking.

    Attributes:
        asked: weights w of the askings' features, by name, in the order of `features.ASKED`.
        node: weights v of the nodes' features, by name, in the order of `features.NODE`.
        strict: the intercept a.
        leniency: b, positive; None if nodes compete instead of being walked.
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    asked: dict[str, float]
    node: dict[str, float]
    strict: float
    leniency: float | None

    def asked_logits(self, asked: Floats) -> Floats:
        """Return each asking's contribution to each node's logit; shape (askings, nodes)."""
        return np.asarray(asked @ self._asked_weights)

    def logits(self, features: Features) -> Floats:
        """Return the log-odds that each node is accepted in the first pass; shape (nodes,)."""
        asked = self.asked_logits(features.asked)
        top = asked.max(axis=0)
        together = top + np.log(np.exp(asked - top).sum(axis=0))
        return np.asarray(together + features.node @ self._node + self.strict)

    def chances(self, logits: Floats) -> Floats:
        """Return the probability of each node, and last of none; shape (nodes + 1,), sums to 1."""
        if self.leniency is None:
            return np.asarray(scipy.special.softmax(np.append(logits, 0.0)))
        refusals = np.logaddexp(0, np.concatenate([logits, logits + self.leniency]))
        before = np.exp(-np.concatenate([[0.0], np.cumsum(refusals)]))
        differences = before[:-1] - before[1:]
        count = len(logits)
        return np.append(differences[:count] + differences[count:], before[-1])

    @cached_property
    def _asked_weights(self) -> Floats:
        return np.array(list(self.asked.values()))

    @cached_property
    def _node(self) -> Floats:
        return np.array(list(self.node.values()))


@dataclass(frozen=True)
class Logistic:
    """A logistic regression."""

    weights: dict[str, float]
    bias: float

    def odds(self, features: Floats) -> Floats:
        """Return the log-odds of each row of `features`."""
        return np.asarray(features @ self._weights + self.bias)

    @cached_property
    def _weights(self) -> Floats:
        return np.array(list(self.weights.values()))


@dataclass(frozen=True)
class Style:
    """The models for utterances of one style.

    Attributes:
        ranking: predicts how well each node fits.
        rejection: predicts that no node answers; features `REASONS`.
        several: predicts whether the multi-info provider gives a node; features `SHARES`.
        none: by language, the factor on the probability of giving nothing in the decision.
    """

    ranking: Coefficients
    rejection: Logistic
    several: Logistic
    none: dict[str, float]


@dataclass(frozen=True)
class Styles:
    """The models for chatty and for brief utterances."""

    chatty: Style
    brief: Style


@dataclass(frozen=True)
class Ranker:
    """The coefficients of `offline/experts`, for tasks whose nodes have explanations, and for others."""

    explained: Styles
    bare: Styles
    training: dict[str, Any]


COEFFICIENTS: Final = Path(__file__).with_name("ranker.json")


@cache
def builtin_ranker() -> Ranker:
    """Return the committed coefficients."""
    return load_ranker(COEFFICIENTS)


def load_ranker(path: Path) -> Ranker:
    """Read coefficients from a file.

    Raises:
        pydantic.ValidationError: if a field is missing or unknown.
    """
    return TypeAdapter(Ranker).validate_json(path.read_bytes())


REASONS: Final = tuple(load_table("features")["rejection"])
SHARES: Final = tuple(load_table("features")["several"])
TIE: Final = 0.6  # log-odds by which competing nodes may differ and count as tied; the first is given
_TINY = 1e-9


@dataclass(frozen=True)
class Assessment:
    """The ranker's assessment of an utterance; at least one node must be available."""

    reading: Reading
    style: Style

    @cached_property
    def logits(self) -> Floats:
        """The ranking's logit of each available node."""
        return self.style.ranking.logits(self.reading.features)

    @cached_property
    def chances(self) -> Floats:
        """Probability of each available node to be given, and last of none; sums to 1."""
        rejected = float(scipy.special.expit(self.rejection))
        shares = self._walk[:-1] / max(float(self._walk[:-1].sum()), _TINY)
        return np.append(shares * (1 - rejected), rejected)

    @cached_property
    def rejection(self) -> float:
        """Log-odds that no available node answers."""
        return float(self.style.rejection.odds(self.reasons))

    @cached_property
    def best(self) -> int:
        """Position of the node to give, -1 for a Response II."""
        nodes, none = self.chances[:-1], self.chances[-1]
        best = int(np.argmax(nodes))
        if nodes[best] <= self.style.none[self.reading.language] * none:
            return -1
        if self.style.ranking.leniency is not None:
            return best
        return min((int(np.argmax(self.logits >= self.logits.max() - TIE)), *self._best_per_question))

    @cached_property
    def several(self) -> tuple[int, ...]:
        """Positions of the nodes that the multi-info provider gives."""
        return tuple(np.flatnonzero(self.style.several.odds(self.shares) > 0).tolist())

    @cached_property
    def _best_per_question(self) -> tuple[int, ...]:
        """Positions of the best node for each question sentence, if it is better than none."""
        asked = self._asked_logits[[asking in self.reading.asked for asking in self.reading.askings]]
        logits = asked + self.logits - np.logaddexp.reduce(self._asked_logits, axis=0)
        return tuple(int(np.argmax(row)) for row in logits if row.max() > 0)

    def fit(self, node: str) -> float:
        """Return how well a node, available or given, fits the askings, in log-odds."""
        return float(self._fit_weights[self.reading.index.column[node]])

    @cached_property
    def reasons(self) -> Floats:
        """The features of the rejection, in the order of `REASONS`."""
        reading = self.reading
        best = int(np.argmax(self.logits))
        asking = int(np.argmax(self._asked_logits[:, best]))
        features = reading.features.asked[asking, best]
        column, likeness = reading.index.column, reading.likeness.max(axis=0)
        best_likeness = float(likeness[column[reading.available[best]]])
        given_likeness = max((float(likeness[column[node]]) for node in reading.given), default=0.0)
        none = float(self._walk[-1])
        values = (
            np.log(none + _TINY) - np.log1p(_TINY - none),
            self.logits[best],
            reading.all_generic,
            reading.generic_share,
            reading.confirming,
            not reading.asked,
            np.log1p(len(reading.asked)),
            reading.unknown,
            1 - features[ASKED.index("topic_cover")],
            features[ASKED.index("attribute_missing")],
            given_likeness - best_likeness,
            reading.opening_likeness - best_likeness,
            reading.features.node[best, NODE.index("passed_over")],
            np.log(len(reading.available)),
            reading.language == "zh",
            0.0 if reading.brief else len(reading.given) / len(column),
        )
        return np.array(values, dtype=np.float64)

    @cached_property
    def shares(self) -> Floats:
        """The features of every node for the multi-info provider, in the order of `SHARES`."""
        logits = self._asked_logits
        share = np.exp(logits - logits.max(axis=1, keepdims=True))
        share /= share.sum(axis=1, keepdims=True)
        count = len(self.logits)
        return np.column_stack(
            [
                self.logits,
                self.logits.max() - self.logits,
                share.max(axis=0),
                np.full(count, self.rejection),
                np.arange(count),
                np.full(count, np.log1p(len(self.reading.asked))),
            ]
        )

    @cached_property
    def _walk(self) -> Floats:
        """Probabilities from the ranking alone."""
        return self.style.ranking.chances(self.logits)

    @cached_property
    def _fit_weights(self) -> Floats:
        """The fit of every node of the tree."""
        asked = self.style.ranking.asked_logits(self.reading.asked_features)
        return np.asarray(np.logaddexp.reduce(asked, axis=0))

    @cached_property
    def _asked_logits(self) -> Floats:
        return self.style.ranking.asked_logits(self.reading.features.asked)
