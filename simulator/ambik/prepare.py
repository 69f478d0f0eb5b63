"""Items out of pairs, scenarios and drafts: what is played in an episode (spec 5, 7.1, 9, 11)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal

from simulator.ambik.items import DraftItem, PairItem, ScenarioItem
from simulator.ambik.pairs import Draft, Pair, Scenario
from simulator.ambik.terms import MEMBERS, Member, Part
from simulator.errors import InputError

CALIBRATION: Final = 100
"""Scenarios that KnowNo's authors calibrate on: the first ones."""


def pair_items(
    pairs: Iterable[Pair],
    *,
    part: Part = "test",
    members: Sequence[Member] = MEMBERS,
    options: Mapping[str, tuple[str, ...]] | None = None,
) -> tuple[PairItem, ...]:
    """The members of pairs, pair by pair. Pairs of `without_step` are left out.

    Args:
        pairs: of which part does not matter.
        part: what the items serve.
        members: which of them.
        options: actions that are offered, by id of the item; they go before the pair's own.

    Raises:
        InputError: if no pair has a line of the plan at its index.
    """
    pairs = tuple(pairs)
    left_out = {pair.id for pair in without_step(pairs, members)}
    fit = [pair for pair in pairs if pair.id not in left_out]
    if pairs and not fit:
        raise InputError(
            f"{_ids(pairs)}: no line of the plan at the index (end_of_ambiguity), so there is nothing to "
            "decide; `askback check` on the data names them all"
        )
    given = options or {}
    items = (PairItem(pair=pair, member=member, part=part) for pair in fit for member in members)
    return tuple(_offering(item, given.get(item.id, item.pair.options)) for item in items)


def calibration_items(pairs: Iterable[Pair]) -> tuple[PairItem, ...]:
    """One item a pair: the member that the data take for calibration (spec 7.1). Likewise left out are some.

    Raises:
        InputError: if no pair has a line of the plan at its index, or none is for calibration.
    """
    taken = [pair for pair in pairs if pair.take_ambiguous is not None]
    if not taken:
        raise InputError(
            "no pair says which member to calibrate on: give rows 0 or 1 in the column take_amb, or data with "
            "such rows"
        )
    items = {item.id: item for item in pair_items(taken, part="calibration")}
    ids = (f"{pair.id}.{pair.calibration_member}" for pair in taken)
    return tuple(items[id] for id in ids if id in items)


def without_step(pairs: Iterable[Pair], members: Sequence[Member] = MEMBERS) -> tuple[Pair, ...]:
    """Pairs of which a member has no line of its plan at the index: there is nothing to decide in them."""
    return tuple(
        pair
        for pair in pairs
        if pair.step is None or any(pair.step >= len(pair.plan(member)) for member in members)
    )


def scenario_items(
    scenarios: Iterable[Scenario],
    *,
    calibration: int = CALIBRATION,
    split: Literal["given", "first"] = "given",
) -> tuple[ScenarioItem, ...]:
    """Scenarios with what they serve.

    Args:
        scenarios: all of them; for the first ones to be those of KnowNo's authors.
        calibration: how many are for calibration.
        split: ``given``: what a scenario says of itself; where it says nothing, and with ``first``, the first
            ones by id are for calibration.
    """
    scenarios = tuple(scenarios)
    first = {one.id for one in sorted(scenarios, key=_by_id)[:calibration]}

    def part(one: Scenario) -> Part:
        if split == "given" and one.part is not None:
            return one.part
        return "calibration" if one.id in first else "test"

    return tuple(ScenarioItem(scenario=one, part=part(one)) for one in scenarios)


def draft_items(drafts: Iterable[Draft]) -> tuple[DraftItem, ...]:
    """All drafts, for annotators."""
    return tuple(DraftItem(draft=draft) for draft in drafts)


def _offering(item: PairItem, options: tuple[str, ...]) -> PairItem:
    return PairItem(pair=item.pair, member=item.member, part=item.part, options=options)


def _by_id(one: Scenario) -> tuple[int, str]:
    """Numbers in their order, before other ids."""
    return (int(one.id), "") if one.id.isdecimal() else (1 << 62, one.id)


def _ids(pairs: Sequence[Pair]) -> str:
    more = f" and {len(pairs) - 5} more" if len(pairs) > 5 else ""
    return f"pair{'s' * (len(pairs) > 1)} {', '.join(pair.id for pair in pairs[:5])}{more}"
