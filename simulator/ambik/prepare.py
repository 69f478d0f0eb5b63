"""Items out of pairs, scenarios and drafts: what is played in an episode (spec 5, 7.1, 9, 11)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
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
    """Return the members of pairs, pair by pair. Pairs of `without_step` are left out.

    Args:
        pairs: of which part does not matter.
        part: what the items serve.
        members: which of them.
        options: actions that are offered, by id of the item; they go before the pair's own.

    Raises:
        InputError: if no pair has a line of the plan at its index.
    """
    pairs = tuple(pairs)
    fit = [(pair, members) for pair in pairs if _has_step(pair, members)]
    return _items(pairs, fit, part, options or {})


def calibration_items(
    pairs: Iterable[Pair], *, options: Mapping[str, tuple[str, ...]] | None = None
) -> tuple[PairItem, ...]:
    """The members that the data take for calibration, one a pair (spec 7.1); without a line, it is left out.

    Raises:
        InputError: if no pair is for calibration, or none has a line of the plan at its index.
    """
    taken = tuple(pair for pair in pairs if pair.take_ambiguous is not None)
    if not taken:
        raise InputError(
            "no pair says which member to calibrate on: name data with 0 or 1 in the column take_amb"
        )
    chosen = ((pair, (pair.calibration_member,)) for pair in taken)
    fit = [(pair, members) for pair, members in chosen if _has_step(pair, members)]
    return _items(taken, fit, "calibration", options or {})


def without_step(pairs: Iterable[Pair], members: Sequence[Member] = MEMBERS) -> tuple[Pair, ...]:
    """Pairs of which a member has no line of its plan at the index: there is nothing to decide in them."""
    return tuple(pair for pair in pairs if not _has_step(pair, members))


def scenario_items(
    scenarios: Iterable[Scenario],
    *,
    calibration: int = CALIBRATION,
    split: Literal["given", "first"] = "given",
) -> tuple[ScenarioItem, ...]:
    """Scenarios with what they serve.

    Args:
        scenarios: all that belong together.
        calibration: how many are for calibration, where the first ones are.
        split: ``given``: what a scenario says of itself; where it says nothing, and with ``first``, the first
            ones by id are for calibration.
    """
    scenarios = tuple(scenarios)
    first = {one.id for one in sorted(scenarios, key=_by_id)[:calibration]}

    def part(scenario: Scenario) -> Part:
        if split == "given" and scenario.part is not None:
            return scenario.part
        return "calibration" if scenario.id in first else "test"

    return tuple(ScenarioItem(scenario=one, part=part(one)) for one in scenarios)


def draft_items(drafts: Iterable[Draft]) -> tuple[DraftItem, ...]:
    """Return all drafts, for annotators."""
    return tuple(DraftItem(draft=draft) for draft in drafts)


def _has_step(pair: Pair, members: Sequence[Member]) -> bool:
    return pair.step is not None and all(pair.step < len(pair.plan(member)) for member in members)


def _items(
    pairs: Sequence[Pair],
    fit: Sequence[tuple[Pair, Sequence[Member]]],
    part: Part,
    options: Mapping[str, tuple[str, ...]],
) -> tuple[PairItem, ...]:
    if pairs and not fit:
        raise InputError(
            f"{_ids(pairs)}: no line of the plan at the index (end_of_ambiguity), so there is nothing to "
            "decide; `askback check` on the data names them all"
        )
    items = (PairItem(pair=pair, member=member, part=part) for pair, members in fit for member in members)
    return tuple(replace(item, options=options.get(item.id, item.pair.options)) for item in items)


def _by_id(scenario: Scenario) -> tuple[int, str]:
    """Return numbers in their order, before other ids."""
    return (int(scenario.id), "") if scenario.id.isdecimal() else (1 << 62, scenario.id)


def _ids(pairs: Sequence[Pair]) -> str:
    more = f" and {len(pairs) - 5} more" if len(pairs) > 5 else ""
    return f"pair{'s' * (len(pairs) > 1)} {', '.join(pair.id for pair in pairs[:5])}{more}"
