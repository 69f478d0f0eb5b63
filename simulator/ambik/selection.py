"""The items of AmbiK's runs: for tests, for calibration, or drafts for annotators."""

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
from simulator.seeds import draw_balanced

CALIBRATION: Final = 100
"""The number of scenarios that KnowNo's authors calibrate on: the first ones."""


def pair_items(pairs: Iterable[Pair], *, members: Sequence[Member] = MEMBERS) -> tuple[PairItem, ...]:
    """Return the members of pairs, pair by pair, without pairs in which one has no step to decide on.

    Raises:
        InputError: if no pair has a plan line at its index.
    """
    return _items([(pair, members) for pair in pairs], "test")


def calibration_items(pairs: Iterable[Pair]) -> tuple[PairItem, ...]:
    """Return the member of each pair that the data use for calibration, if it has a step (spec 7.1).

    Raises:
        InputError: if no pair is for calibration, or none has a plan line at its index.
    """
    taken = [(pair, (pair.calibration_member,)) for pair in pairs if pair.take_ambiguous is not None]
    if not taken:
        raise InputError(
            "no pair says which member to calibrate on: use data with 0 or 1 in the column take_amb"
        )
    return _items(taken, "calibration")


def scenario_items(
    scenarios: Iterable[Scenario],
    *,
    calibration: int = CALIBRATION,
    split: Literal["given", "first"] = "given",
) -> tuple[ScenarioItem, ...]:
    """Return scenarios divided into calibration and test.

    `split`: ``given``: by the scenario's own part; scenarios without one, and all with ``first``, are for
    calibration if they are among the first by id.
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
            f"pair{'s' * (len(chosen) > 1)} {ids}{more}: no plan line at the index (end_of_ambiguity), so "
            "there is nothing to decide; `askback check` on the data names them all"
        )
    return tuple(
        PairItem(pair=pair, member=member, part=part, options=pair.options)
        for pair, members in fit
        for member in members
    )


def _by_id(scenario: Scenario) -> tuple[int, str]:
    """Return a sort key: numeric ids by value, before all others."""
    return (int(scenario.id), "") if scenario.id.isdecimal() else (1 << 62, scenario.id)


T = TypeVar("T")


class KitchenSelection(Selection):
    """The methods and items of a run.

    A limit keeps both members of a pair together; for drafts and calibration items it is spread evenly. If
    all scenarios are of one part, ``calibration_limit`` takes the first ones for calibration.
    """

    task: Task = Field(
        default="decide", description="decide: robots act or ask; annotate: models make pairs from drafts"
    )
    method: str = Field(
        default="all",
        description="methods of models: knowno, lap, lofreecp, binary, nohelp (comma list), or all that they "
        "can play",
    )
    dataset: Dataset = Field(default="ambik", description="AmbiK's pairs or KnowNo's scenarios")
    member: Literal["both", "ambiguous", "clear"] = Field(default="both", description="members of the pairs")
    part: Literal["all", "released", "added"] = Field(
        default="all",
        description="test pairs: released with the paper, added in 2025, or all",
    )
    types: str | None = Field(default=None, description="types of pairs or scenarios, such as preferences")
    limit: Limit = Field(default=None, description="number of items, balanced over types")
    calibration: tuple[str, ...] = Field(
        default=(),
        description="a finished calibration run (repeat the option for several methods); default: play one",
    )
    calibration_limit: Limit = Field(
        default=None, description="number of calibration items, spread over the data"
    )

    @property
    def named(self) -> bool:
        """True if methods were named: it is then a failure if one cannot be played."""
        return not names_all(self.method)

    @property
    def methods(self) -> tuple[Method, ...]:
        """The methods, without duplicates.

        Raises:
            InputError: if a method is unknown.
        """
        return read_words("--method", self.method, METHODS)

    @property
    def members(self) -> tuple[Member, ...]:
        """The members of a pair that are played."""
        return MEMBERS if self.member == "both" else (self.member,)

    @property
    def named_types(self) -> tuple[str, ...]:
        """The types, without duplicates; empty for all.

        Raises:
            InputError: if AmbiK has no such type, or no type is named.
        """
        if self.types is None:
            return ()
        words = [word.strip().replace("-", "_") for word in self.types.split(",")]
        types, known = tuple(dict.fromkeys(filter(None, words))), ", ".join(AMBIGUITIES)
        if not types:
            listed = f"; the types are {known}" if self.dataset == "ambik" else ""
            raise InputError(f"--types {self.types!r} names no type{listed}.")
        if self.dataset == "ambik" and (unknown := [word for word in types if word not in AMBIGUITIES]):
            raise InputError(f"--types {unknown[0]!r}: the types are {known}.")
        return types

    @property
    def version(self) -> str:
        """The published version of the pairs, according to the load report; empty for other items."""
        if self.dataset == "knowno" or self.task == "annotate":
            return ""
        return ", ".join(dict.fromkeys(file.version for file in read_pairs(self.data).report.files))

    def items(self, seed: int = 0) -> tuple[Item, ...]:
        """Return the items to play: those of the test part, or drafts."""
        if self.task == "annotate":
            return draft_items(spread_evenly(load_drafts(self.data), self.limit))
        return self.tests(seed)

    def tests(self, seed: int = 0) -> tuple[DecideItem, ...]:
        """Return the items of the test part."""
        if self.dataset == "knowno":
            scenarios = self._scenarios("test", self.named_types)
            if self.limit is None:
                return scenarios
            return draw_balanced(scenarios, self.limit, lambda item: item.type, lambda item: (), seed)
        types = self.named_types or AMBIGUITIES
        pairs = [
            pair
            for pair in load_pairs(self.data, "test")
            if pair.type in types and self.part in ("all", kind_of_pair(pair))
        ]
        if not pairs:
            kind = "" if self.part == "all" else f"{self.part} "
            raise InputError(f"data {self.data!r} have no {kind}test pairs of the types {', '.join(types)}.")
        if self.limit is None:
            return pair_items(pairs, members=self.members)
        fit = [pair for pair in pairs if _has_step(pair, self.members)] or pairs
        # AmbDif compares the members of a pair, so pairs are drawn, and at most one of them is split.
        count = -(-self.limit // len(self.members))
        drawn = draw_balanced(fit, count, lambda pair: pair.type, lambda pair: (), seed)
        return pair_items(drawn, members=self.members)[: self.limit]

    def calibrating(self) -> tuple[DecideItem, ...]:
        """Return the items of the calibration part, of all types, since they share one threshold."""
        if self.dataset == "knowno":
            return spread_evenly(self._scenarios("calibration", ()), self.calibration_limit)
        return calibration_items(spread_evenly(load_pairs(self.data, "calibration"), self.calibration_limit))

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
                f"data {self.data!r} have only calibration scenarios. With --calibration-limit N the first N "
                f"are used for calibration and the rest for tests (N below {len(items)})."
            )
        kinds = f" of the types {', '.join(types)}" if types else ""
        raise InputError(f"data {self.data!r} have no {part} scenarios{kinds}.")


def spread_evenly(items: Sequence[T], limit: int | None) -> tuple[T, ...]:
    """Return at most `limit` items, spread evenly over all."""
    if limit is None or limit >= len(items):
        return tuple(items)
    return tuple(items[index * len(items) // limit] for index in range(limit))
