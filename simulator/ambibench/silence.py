"""What a participant who broke off is taken to have answered: nothing, wherever an answer was still due.

An episode that was aborted because its seat failed counts as unsuccessful (`simulator.runner.logged`): the
labels that it never gave are wrong, like any other answer that is no label.
"""

from __future__ import annotations

from collections.abc import Sequence

from logs.rows import Turn
from simulator.ambibench.playing import PARTICIPANT, plan
from simulator.ambibench.trials import Item


def with_silence(item: Item, episode_id: str, turns: Sequence[Turn]) -> tuple[Turn, ...]:
    """Return the turns of an aborted episode of a model's, and an empty answer for each that is missing."""
    given = {turn.payload.get("k", 1) for turn in turns if turn.payload.get("kind") in ("answer", "text")}
    missing = [step for step in plan(item) if step.trial.k not in given]
    return (
        *turns,
        *(
            Turn(
                episode_id=episode_id,
                number=number,
                seat=PARTICIPANT,
                text="",
                payload={"kind": step.kind, "k": step.trial.k, "silent": True},
            )
            for number, step in enumerate(missing, start=len(turns))
        ),
    )
