"""An example of the dataset: two sentences, the labels of their readings, a rewrite for each (spec 1.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from simulator.ambient.labels import SIDES, Category, Label, LabelSet, Side


@dataclass(frozen=True, slots=True)
class Disambiguation:
    """One reading: the pair rewritten so that it has this reading alone, and the label it then has."""

    premise: str
    hypothesis: str
    label: Label

    def sentence(self, side: Side) -> str:
        """The sentence on a side."""
        return self.premise if side == "premise" else self.hypothesis


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A pair of sentences with everything that is known of it.

    Attributes:
        id: a text, also where a file has a number.
        labels: of all readings; empty while nobody has annotated the pair.
        disambiguations: in the order of the file; empty if nothing is ambiguous. The side that is not
            ambiguous is repeated unchanged in each.
        split: ``dev`` or ``test``; empty if the data have none.
        categories: kinds of ambiguity, if somebody has annotated them.
        distractors: by side, a sentence that is near the ambiguous one and none of its readings.
        meta: what the file says beside.
    """

    id: str
    premise: str
    hypothesis: str
    premise_ambiguous: bool = False
    hypothesis_ambiguous: bool = False
    labels: LabelSet = frozenset()
    disambiguations: tuple[Disambiguation, ...] = ()
    split: str = ""
    categories: tuple[Category, ...] = ()
    distractors: Mapping[Side, str] = field(default_factory=dict)
    meta: Mapping[str, Any] | None = None

    @property
    def curated(self) -> bool:
        """Whether the authors wrote it; others were generated, then annotated (spec 1.1)."""
        return self.id.endswith("_c")

    @property
    def ambiguous(self) -> bool:
        """Whether a side is flagged."""
        return self.premise_ambiguous or self.hypothesis_ambiguous

    @property
    def xor(self) -> bool:
        """Whether exactly one side is flagged."""
        return self.premise_ambiguous != self.hypothesis_ambiguous

    @property
    def sides(self) -> tuple[Side, ...]:
        """The flagged sides."""
        return tuple(side for side in SIDES if self.flagged(side))

    def flagged(self, side: Side) -> bool:
        """Whether a side is flagged as ambiguous."""
        return self.premise_ambiguous if side == "premise" else self.hypothesis_ambiguous

    def sentence(self, side: Side) -> str:
        """The sentence on a side."""
        return self.premise if side == "premise" else self.hypothesis

    def rewrites(self, side: Side) -> tuple[str, ...]:
        """The distinct rewrites of a side, in the order of the file."""
        return tuple(dict.fromkeys(one.sentence(side) for one in self.disambiguations))
