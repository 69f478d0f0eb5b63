"""What the provider gives: nothing, the node that fits best, or for the multi-info provider all that fit.

The ranker says which node fits best; the **rejection** says whether even that one answers what was asked. It
is a logistic regression over what the ranker makes of the nodes and over how the utterance as a whole looks,
trained on turns that got a Response II in the published dialogues and on hand-labelled questions
(`labelled.py`). Nothing is given when that is likelier than any single node. The multi-info provider gives
every node that is likelier given than not, by a regression per node.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy

from simulator.clarq.features import ASKED, NODE, Reading
from simulator.clarq.ranker import Style
from simulator.clarq.task_index import Floats

REASONS = (
    "unlikely",  # log-odds that the ranker's walk gives nothing
    "best",  # logit of the best node
    "all_generic",  # asks only whether there is anything else, or whether all is right
    "generic_share",  # share of the question sentences that do
    "confirming",  # asks for confirmation somewhere
    "asks_nothing",  # has no question sentence
    "questions",  # log of the number of question sentences
    "unknown",  # share of the topics asked about that the task does not know
    "uncovered",  # share of the best asking's focus that the best node does not cover
    "attribute_missing",  # the best node does not settle the attribute that the best asking asks for
    "told",  # how much more alike a node given already is than the best available one
    "told_at_start",  # the same of the opening
    "passed_over",  # turns in which the best node was passed over before
    "left",  # log of the number of available nodes
    "chinese",  # terms are counted otherwise there
    "given",  # share of the tree given; only of a chatty seeker, who goes on when nothing is left to ask
)
SHARES = (
    "logit",  # the ranker's
    "behind",  # how far behind the best node's
    "share",  # largest share of any asking that is the node's
    "rejected",  # log-odds of the rejection
    "position",  # in the frontier
    "questions",  # log of the number of question sentences
)
_TINY = 1e-9


@dataclass(frozen=True)
class Judged:
    """A reading and what the ranker makes of it; some node must be available.

    Attributes:
        reading: of the utterance.
        style: what decides.
        chances: of each available node to be the one given and, last, of none, by the ranking alone.
    """

    reading: Reading
    style: Style

    @cached_property
    def logits(self) -> Floats:
        """The ranker's, per available node."""
        return self.style.ranking.logits(self.reading.features)

    @cached_property
    def chances(self) -> Floats:
        """Chance of each available node to be the one given, and last of none; sums to 1."""
        walk = self.style.ranking.chances(self.logits)
        rejected = float(scipy.special.expit(self.rejection))
        given = walk[:-1] / max(float(walk[:-1].sum()), _TINY)
        return np.append(given * (1 - rejected), rejected)

    @cached_property
    def rejection(self) -> float:
        """Log-odds that no available node answers."""
        return float(self.style.rejection.odds(self.reasons))

    @cached_property
    def best(self) -> int:
        """Position of the node to give, -1 for a Response II."""
        *nodes, none = self.chances
        best = int(np.argmax(nodes))
        return best if nodes[best] > self.style.none[self.reading.language] * none else -1

    @cached_property
    def several(self) -> tuple[int, ...]:
        """Positions of the nodes that the multi-info provider gives."""
        return tuple(np.flatnonzero(self.style.several.odds(self.shares) > 0).tolist())

    @cached_property
    def reasons(self) -> Floats:
        """The features of the rejection, in the order of `REASONS`."""
        reading = self.reading
        best = int(np.argmax(self.logits))
        asking = int(np.argmax(self._asked_logits[:, best]))
        features = reading.features.asked[asking, best]
        column, likeness = reading.index.column, reading.likeness.max(axis=0)
        mine = float(likeness[column[reading.available[best]]])
        given = max((float(likeness[column[node]]) for node in reading.given), default=0.0)
        none = float(self.style.ranking.chances(self.logits)[-1])
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
            given - mine,
            reading.opening_likeness - mine,
            reading.features.node[best, NODE.index("passed_over")],
            np.log(len(reading.available)),
            reading.language == "zh",
            0.0 if reading.brief else len(reading.given) / len(column),
        )
        return np.array(values, dtype=np.float64)

    @cached_property
    def shares(self) -> Floats:
        """The features of every node of the multi-info provider's, in the order of `SHARES`."""
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

    @property
    def _asked_logits(self) -> Floats:
        return self.style.ranking.asked_logits(self.reading.features)
