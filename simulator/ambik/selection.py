"""Which items AmbiK's runs play: for tests, for calibration, or drafts for annotators."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, Literal, TypeVar

from pydantic import Field

from simulator.ambik.data import load_drafts, load_pairs, load_scenarios, read_pairs
from simulator.ambik.files.pairs import kind_of_pair
from simulator.ambik.items import (
    Dataset,
    DecideItem,
    Draft,
    DraftItem,
    Item,
    Pair,
    PairItem,
    Scenario,
    ScenarioItem,
    Task,
)
from simulator.ambik.terms import AMBIGUITIES, MEMBERS, METHODS, Member, Method, Part
from simulator.errors import InputError
from simulator.orders import Limit, Selection, names_all, read_words
from simulator.seeds import balanced

CALIBRATION: Final = 100
"""Scenarios that KnowNo's authors calibrate on: the first ones."""


def pair_items(pairs: Iterable[Pair], *, members: Sequence[Member] = MEMBERS) -> tuple[PairItem, ...]:
    """Return the members of pairs, pair by pair. Pairs are left out of which one has no step to decide on.

    Raises:
        InputError: if no pair has a line of the plan at its index.
    """
    return _items([(pair, members) for pair in pairs], "test")


def calibration_items(pairs: Iterable[Pair]) -> tuple[PairItem, ...]:
    """Return the members that the data take for calibration, one a pair with a line at its index (spec 7.1).

    Raises:
        InputError: if no pair is for calibration, or none has a line of the plan at its index.
    """
    taken = [(pair, (pair.calibration_member,)) for pair in pairs if pair.take_ambiguous is not None]
    if not taken:
        raise InputError(
            "no pair says which member to calibrate on: name data with 0 or 1 in the column take_amb"
        )
    return _items(taken, "calibration")


def scenario_items(
    scenarios: Iterable[Scenario],
    *,
    calibration: int = CALIBRATION,
    split: Literal["given", "first"] = "given",
) -> tuple[ScenarioItem, ...]:
    """Return scenarios with what they serve.

    `split`: ``given``: what a scenario says of itself; where it says nothing, and with ``first``, the first
    ones by id are for calibration.
    """
    scenarios = tuple(scenarios)
    first = {scenario.id for scenario in sorted(scenarios, key=_by_id)[:calibration]}
    parts: dict[bool, Part] = {True: "calibration", False: "test"}
    return tuple(
        ScenarioItem(
            scenario=scenario, part=(split == "given" and scenario.part) or parts[scenario.id in first]
        )
        for scenario in scenarios
    )


def draft_items(drafts: Iterable[Draft]) -> tuple[DraftItem, ...]:
    """Return all drafts, for annotators."""
    return tuple(DraftItem(draft=draft) for draft in drafts)


def _has_step(pair: Pair, members: Sequence[Member]) -> bool:
    return pair.step is not None and all(pair.step < len(pair.plan(member)) for member in members)


def _items(chosen: Sequence[tuple[Pair, Sequence[Member]]], part: Part) -> tuple[PairItem, ...]:
    fit = [(pair, members) for pair, members in chosen if _has_step(pair, members)]
    if chosen and not fit:
        more = f" and {len(chosen) - 5} more" if len(chosen) > 5 else ""
        ids = ", ".join(pair.id for pair, _ in chosen[:5])
        raise InputError(
            f"pair{'s' * (len(chosen) > 1)} {ids}{more}: no line of the plan at the index "
            "(end_of_ambiguity), so there is nothing to decide; `askback check` on the data names them all"
        )
    return tuple(
        PairItem(pair=pair, member=member, part=part, options=pair.options)
        for pair, members in fit
        for member in members
    )


def _by_id(scenario: Scenario) -> tuple[int, str]:
    """Return numbers in their order, before other ids."""
    return (int(scenario.id), "") if scenario.id.isdecimal() else (1 << 62, scenario.id)


T = TypeVar("T")


class KitchenSelection(Selection):
    """The methods that are played, and the items.

    A limit of pairs keeps both members together, of drafts and for calibration it is spread evenly; where all
    scenarios are of one part, ``calibration_limit`` takes the first ones.
    """

    task: Task = Field(
        default="decide", description="decide: robots act or ask; annotate: models make pairs of drafts"
    )
    method: str = Field(
        default="all",
        description="what models play: knowno, lap, lofreecp, binary, nohelp (comma list), or all that they "
        "can",
    )
    dataset: Dataset = Field(default="ambik", description="pairs of AmbiK, or scenarios of KnowNo")
    member: Literal["both", "ambiguous", "clear"] = Field(default="both", description="of the pairs")
    part: Literal["all", "released", "added"] = Field(
        default="all",
        description="of the pairs for tests: of the paper's kind, or as added in 2025; all: both",
    )
    types: str | None = Field(default=None, description="of the pairs or scenarios, such as preferences")
    limit: Limit = Field(default=None, description="items, equally many of each type")
    calibration: tuple[str, ...] = Field(
        default=(),
        description="a run that was played already (one per method: give it again); default: play one",
    )
    calibration_limit: Limit = Field(default=None, description="items to calibrate on, spread over the data")

    @property
    def named(self) -> bool:
        """Return True if methods were named one by one: it is a failure then if one cannot be played."""
        return not names_all(self.method)

    @property
    def methods(self) -> tuple[Method, ...]:
        """The methods, each once.

        Raises:
            InputError: if one is named that there is not.
        """
        return read_words("--method", self.method, METHODS)

    @property
    def members(self) -> tuple[Member, ...]:
        """The members of a pair that are played."""
        return MEMBERS if self.member == "both" else (self.member,)

    @property
    def named_types(self) -> tuple[str, ...]:
        """The types, each once; none for all.

        Raises:
            InputError: if one is named that AmbiK has not, or none is named.
        """
        if self.types is None:
            return ()
        words = [word.strip().replace("-", "_") for word in self.types.split(",")]
        types, known = tuple(dict.fromkeys(filter(None, words))), ", ".join(AMBIGUITIES)
        if not types:
            listed = f"; known are {known}" if self.dataset == "ambik" else ""
            raise InputError(f"--types {self.types!r} names no type{listed}.")
        if self.dataset == "ambik" and (strange := [word for word in types if word not in AMBIGUITIES]):
            raise InputError(f"--types {strange[0]!r}: known are {known}.")
        return types

    @property
    def version(self) -> str:
        """The published version of the pairs, as the load report says it; of others nothing is known."""
        if self.dataset == "knowno" or self.task == "annotate":
            return ""
        return ", ".join(dict.fromkeys(file.version for file in read_pairs(self.data).report.files))

    def items(self, seed: int = 0) -> tuple[Item, ...]:
        """Return what is played: the items of the test part, or drafts."""
        if self.task == "annotate":
            return draft_items(spread(load_drafts(self.data), self.limit))
        return self.tests(seed)

    def tests(self, seed: int = 0) -> tuple[DecideItem, ...]:
        """Return the items of the test part."""
        if self.dataset == "knowno":
            scenarios = self._scenarios("test", self.named_types)
            if self.limit is None:
                return scenarios
            return balanced(scenarios, self.limit, lambda item: item.type, lambda item: (), seed)
        types = self.named_types or AMBIGUITIES
        pairs = [
            pair
            for pair in load_pairs(self.data, "test")
            if pair.type in types and self.part in ("all", kind_of_pair(pair))
        ]
        if not pairs:
            kind = "" if self.part == "all" else f"{self.part} "
            raise InputError(
                f"data {self.data!r} have no {kind}pairs of the types {', '.join(types)} for tests."
            )
        if self.limit is None:
            return pair_items(pairs, members=self.members)
        fit = [pair for pair in pairs if _has_step(pair, self.members)] or pairs
        # SSC and AmbDif compare the members of a pair: whole pairs are drawn, and at most one is parted.
        count = -(-self.limit // len(self.members))
        drawn = balanced(fit, count, lambda pair: pair.type, lambda pair: (), seed)
        return pair_items(drawn, members=self.members)[: self.limit]

    def calibrating(self) -> tuple[DecideItem, ...]:
        """Return the items of the calibration part, of all types: a threshold is of all of them together."""
        if self.dataset == "knowno":
            return spread(self._scenarios("calibration", ()), self.calibration_limit)
        return calibration_items(spread(load_pairs(self.data, "calibration"), self.calibration_limit))

    def _scenarios(self, part: Part, types: tuple[str, ...]) -> tuple[ScenarioItem, ...]:
        scenarios = load_scenarios(self.data)
        items = scenario_items(scenarios)
        if self.calibration_limit and len({item.part for item in items}) == 1:
            items = scenario_items(scenarios, calibration=self.calibration_limit, split="first")
        chosen = tuple(item for item in items if item.part == part and (not types or item.type in types))
        if chosen:
            return chosen
        if all(item.part == "calibration" for item in items):
            raise InputError(
                f"data {self.data!r} have scenarios for calibration alone. With --calibration-limit N the "
                f"first N are calibrated on, and the rest is tested (N below {len(items)})."
            )
        kinds = f" of the types {', '.join(types)}" if types else ""
        raise InputError(f"data {self.data!r} have no scenarios for {part}{kinds}.")


def spread(items: Sequence[T], limit: int | None) -> tuple[T, ...]:
    """Return at most so many of some items, evenly."""
    if limit is None or limit >= len(items):
        return tuple(items)
    return tuple(items[place * len(items) // limit] for place in range(limit))
