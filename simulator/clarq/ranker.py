"""Which available node would be given, if any: small trained models over lexical features.

The provider looks at the available nodes in order and gives the first it finds appropriate; if none is, it
looks again less strictly (spec section 3, step 4). The **ranking** is that procedure with chances instead of
verdicts. A node fits an utterance if it fits one of its askings (see `features.py`): its **logit** is

    log(sum over askings of exp(w · asked features)) + v · node features + a

and it is accepted with chance s(logit) in the first pass and s(logit + b) in the second, b > 0, where s is
the logistic function. So the chance that a node is given is that of refusing all before it and accepting it,
in the first pass or, all having been refused there, in the second.

Whether any node is given at all, and which ones the multi-info provider gives, is decided by two logistic
regressions on top (`decision.py`). All of it comes in two **styles**, for a seeker who writes as the
published language models do and for one as brief as people are, and once for tasks whose nodes have
explanations and once for those without. Coefficients: `ranker.json`, made by `train_command.py`.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import cache, cached_property
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np

from simulator.clarq.features import Features
from simulator.clarq.task_index import Floats


class Example(NamedTuple):
    """One decision to learn from.

    Attributes:
        chosen: position of the node given among the available ones, -1 for a Response II.
    """

    features: Features
    chosen: int


@dataclass(frozen=True)
class Coefficients:
    """One trained model.

    Attributes:
        asked: weights w of the askings' features, by name, in the order of `features.ASKED`.
        node: weights v of the nodes' features, by name, in the order of `features.NODE`.
        strict: a.
        leniency: b; positive.
    """

    asked: dict[str, float]
    node: dict[str, float]
    strict: float
    leniency: float

    def asked_logits(self, features: Features) -> Floats:
        """Return what each asking adds to a node's logit; shape (askings, nodes)."""
        return np.asarray(features.asked @ self._asked)

    def logits(self, features: Features) -> Floats:
        """Log-odds that a node is accepted in the first pass; shape (nodes,)."""
        asked = self.asked_logits(features)
        top = asked.max(axis=0)
        together = top + np.log(np.exp(asked - top).sum(axis=0))
        return np.asarray(together + features.node @ self._node + self.strict)

    def chances(self, logits: Floats) -> Floats:
        """Return the chance that each node is given, and last that none is; shape (nodes + 1,), sums to 1."""
        refusals = np.logaddexp(0, np.concatenate([logits, logits + self.leniency]))
        before = np.exp(-np.concatenate([[0.0], np.cumsum(refusals)]))
        given = before[:-1] - before[1:]
        count = len(logits)
        return np.append(given[:count] + given[count:], before[-1])

    @cached_property
    def _asked(self) -> Floats:
        return np.array(list(self.asked.values()))

    @cached_property
    def _node(self) -> Floats:
        return np.array(list(self.node.values()))


@dataclass(frozen=True)
class Logistic:
    """A logistic regression.

    Attributes:
        weights: by feature.
        bias: log-odds where all features are 0.
    """

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
    """All that decides on utterances of one style.

    Attributes:
        ranking: how well each node fits.
        rejection: whether none answers; features `decision.REASONS`.
        several: whether the multi-info provider gives a node; features `decision.SHARES`.
        none: by language, what the chance of giving nothing is multiplied by before it is compared.
    """

    ranking: Coefficients
    rejection: Logistic
    several: Logistic
    none: dict[str, float]


@dataclass(frozen=True)
class Styles:
    """What decides on chatty utterances and what on brief ones."""

    chatty: Style
    brief: Style


@dataclass(frozen=True)
class Ranker:
    """The coefficients of `offline/experts`.

    Attributes:
        explained: for tasks whose nodes have explanations.
        bare: for tasks without.
        training: what they were trained on.
    """

    explained: Styles
    bare: Styles
    training: dict[str, Any]

    def dumps(self) -> str:
        """As JSON text."""
        return json.dumps(asdict(self), indent=1, ensure_ascii=False) + "\n"

    @classmethod
    def loads(cls, text: str) -> Ranker:
        """From JSON text made by `dumps`."""
        plain = json.loads(text)
        return cls(_styles(plain["explained"]), _styles(plain["bare"]), plain["training"])


def _styles(plain: dict[str, dict[str, Any]]) -> Styles:
    return Styles(
        **{
            name: Style(
                Coefficients(**style["ranking"]),
                Logistic(**style["rejection"]),
                Logistic(**style["several"]),
                style["none"],
            )
            for name, style in plain.items()
        }
    )


@cache
def load_ranker() -> Ranker:
    """Return the committed coefficients."""
    return Ranker.loads(files("simulator.clarq").joinpath("ranker.json").read_text(encoding="utf-8"))
