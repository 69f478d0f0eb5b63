"""A published run of KnowNo as decisions: options, tokens, and which options it says are right (spec 9)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from simulator.ambik.files.logprobs import Logprobs
from simulator.ambik.items import ScenarioItem
from simulator.ambik.naming import is_filler
from simulator.ambik.pairs import Scenario
from simulator.ambik.records import Decision


def decisions_of(
    records: Sequence[Logprobs],
    run: str,
    *,
    scenarios: Mapping[str, Scenario] | None = None,
) -> tuple[Decision, ...]:
    """The records of a file as decisions.

    Args:
        records: of the file.
        run: how the file is called.
        scenarios: by id, for their texts; records of others are told by their number alone. Which options are
            right is taken from the records either way.
    """
    known = scenarios or {}
    return tuple(
        Decision(
            episode_id=f"{Path(run).stem}.{one.item}",
            run=run,
            item=ScenarioItem(scenario=known.get(one.item) or _unknown(one.item), part=one.part),
            method="knowno",
            options=one.options,
            filled=tuple(letter for letter, text in one.options.items() if is_filler(text)),
            tokens=one.tokens,
            right=one.true_options,
        )
        for one in records
    )


def _unknown(number: str) -> Scenario:
    return Scenario(id=number, objects=(), scene="", task="", intended=(), location="", type="")
