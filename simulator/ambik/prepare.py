"""Items out of pairs, scenarios and drafts: what is played in an episode (spec 5, 7.1, 9, 11)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, Literal

from simulator.ambik.items import DraftItem, PairItem, ScenarioItem
from simulator.ambik.pairs import Draft, Pair, Scenario
from simulator.ambik.terms import MEMBERS, Member, Part
from simulator.errors import InputError

CALIBRATION: Final = 100
"""Scenarios that KnowNo's authors calibrate on: the first ones."""


def pair_items(
    pairs: Iterable[Pair], *, part: Part = "test", members: Sequence[Member] = MEMBERS
) -> tuple[PairItem, ...]:
    """Return the members of pairs, pair by pair. Pairs of `without_step` are left out.

    Raises:
        InputError: if no pair has a line of the plan at its index.
    """
    return _items([(pair, members) for pair in pairs], part)


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


def without_step(pairs: Iterable[Pair], members: Sequence[Member] = MEMBERS) -> tuple[Pair, ...]:
    """Return pairs of which a member has no line at the plan's index: there is nothing to decide in them."""
    return tuple(pair for pair in pairs if not _has_step(pair, members))


def scenario_items(
    scenarios: Iterable[Scenario],
    *,
    calibration: int = CALIBRATION,
    split: Literal["given", "first"] = "given",
) -> tuple[ScenarioItem, ...]:
    """Return scenarios with what they serve.

    Args:
        scenarios: all that belong together.
        calibration: how many are for calibration, where the first ones are.
        split: ``given``: what a scenario says of itself; where it says nothing, and with ``first``, the first
            ones by id are for calibration.
    """
    scenarios = tuple(scenarios)
    first = {scenario.id for scenario in sorted(scenarios, key=_by_id)[:calibration]}
    parts: dict[bool, Part] = {True: "calibration", False: "test"}
    return tuple(
        ScenarioItem(
            scenario=scenario,
            part=(split == "given" and scenario.part) or parts[scenario.id in first],
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
