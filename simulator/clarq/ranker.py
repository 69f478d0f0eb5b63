"""Which available node would be given: a small trained model over lexical features.

The provider looks at the available nodes in order and gives the first it finds appropriate; if none is, it
looks again less strictly (spec section 3, step 4). The model is that procedure with chances instead of
verdicts. A node fits an utterance if it fits one of its askings (see `features.py`): its **logit** is

    log(sum over askings of exp(w · asked features)) + v · node features + a

and it is accepted with chance s(logit) in the first pass and s(logit + b) in the second, b > 0, where s is
the logistic function. So the chance that a node is given is that of refusing all before it and accepting it,
in the first pass or, all having been refused there, in the second; what is left over is the chance of a
Response II. The multi-info provider gives every node whose logit + c is positive.

There are two sets of coefficients: for tasks whose nodes have explanations, and for those without.
Coefficients: `ranker.json`, made by `train_command.py`.
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
        multi: c.
        none: what the chance of a Response II is multiplied by before the likeliest outcome is taken.
    """

    asked: dict[str, float]
    node: dict[str, float]
    strict: float
    leniency: float
    multi: float = 0.0
    none: float = 1.0

    def logits(self, features: Features) -> Floats:
        """Log-odds that a node is accepted in the first pass; shape (nodes,)."""
        asked = features.asked @ self._asked
        top = asked.max(axis=0)
        together = top + np.log(np.exp(asked - top).sum(axis=0))
        return np.asarray(together + features.node @ self._node + self.strict)

    def chances(self, logits: Floats) -> Floats:
        """The chance that each node is given, and last that none is; shape (nodes + 1,), sums to 1."""
        refusals = np.logaddexp(0, np.concatenate([logits, logits + self.leniency]))
        before = np.exp(-np.concatenate([[0.0], np.cumsum(refusals)]))
        given = before[:-1] - before[1:]
        count = len(logits)
        return np.append(given[:count] + given[count:], before[-1])

    def likeliest(self, chances: Floats) -> int:
        """Position of the node to give, -1 for a Response II."""
        best = int(np.argmax(chances[:-1]))
        return best if chances[best] > self.none * chances[-1] else -1

    @cached_property
    def _asked(self) -> Floats:
        return np.array(list(self.asked.values()))

    @cached_property
    def _node(self) -> Floats:
        return np.array(list(self.node.values()))


@dataclass(frozen=True)
class Ranker:
    """The coefficients of `offline/experts`.

    Attributes:
        explained: for tasks whose nodes have explanations.
        bare: for tasks without.
        training: what they were trained on.
    """

    explained: Coefficients
    bare: Coefficients
    training: dict[str, Any]

    def dumps(self) -> str:
        """As JSON text."""
        return json.dumps(asdict(self), indent=1, ensure_ascii=False) + "\n"

    @classmethod
    def loads(cls, text: str) -> Ranker:
        """From JSON text made by `dumps`."""
        plain = json.loads(text)
        return cls(Coefficients(**plain["explained"]), Coefficients(**plain["bare"]), plain["training"])


@cache
def load_ranker() -> Ranker:
    """The committed coefficients."""
    return Ranker.loads(files("simulator.clarq").joinpath("ranker.json").read_text(encoding="utf-8"))
