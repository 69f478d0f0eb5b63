"""The share of a bank of questions that HandMeThat's built-in human answers rightly, revealing nothing else.

Intervals come from resampling whole episodes, as questions about one are not independent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from rows import Row, main

from simulator.handmethat.data import load_tasks
from simulator.handmethat.env.asking import read_mentions
from simulator.handmethat.env.questions import Answer, answer
from simulator.handmethat.hierarchy import STATES
from simulator.handmethat.items import Task
from simulator.stats import Interval, cluster_bootstrap

BANK = Path(__file__).parents[1] / "simulator" / "handmethat" / "giver_bank.yaml"
FLOOR = 0.9  # of either half in either language
FACTS = {"kind": "type", "object": "type", **dict.fromkeys(STATES, "state")}


class Asked(NamedTuple):
    """A question of the bank, with the expected and the actual answer."""

    episode: str
    half: str
    language: str
    style: str
    kind: str
    facts: frozenset[str]
    text: str
    answer: Answer
    revealed: frozenset[str]

    @property
    def right(self) -> bool:
        """Return True if the answer is of the expected kind and says exactly what was asked."""
        return self.answer.kind == self.kind and self.revealed == self.facts


def ask_all(bank: Mapping[str, Sequence[Sequence[Any]]]) -> list[Asked]:
    """Ask every question of `bank`."""
    tasks = {task.id: task for task in load_tasks()}
    rows = []
    for episode, questions in bank.items():
        for half, language, style, kind, facts, text in questions:
            reply = answer(tasks[episode], text, language)
            revealed = facts_of(tasks[episode], reply)
            rows.append(Asked(episode, half, language, style, kind, frozenset(facts), text, reply, revealed))
    return rows


def facts_of(task: Task, reply: Answer) -> frozenset[str]:
    """Return what an answer reveals: ``type``, ``place``, ``color`` and so on."""
    keys = {FACTS.get(mention.key, mention.key) for mention in read_mentions(task.world, reply.text)}
    if reply.key.split("+") == ["destination"] * (reply.key.count("+") + 1):
        keys = {"destination" if key == "place" else key for key in keys}
    return frozenset(keys)


def share(rows: Sequence[Asked]) -> Interval:
    """Return the share of right answers with an interval."""
    return cluster_bootstrap([float(row.right) for row in rows], [row.episode for row in rows])


def rows() -> Iterator[Row]:
    """Yield the share of questions answered rightly in each half and language."""
    asked = ask_all(yaml.safe_load(BANK.read_text(encoding="utf-8")))
    for half in ("dev", "held"):
        for language in ("en", "zh"):
            interval = share([row for row in asked if (row.half, row.language) == (half, language)])
            yield Row(
                work=f"HandMeThat: questions that the human answers rightly, {half}, {language}",
                ours=interval.value,
                unit="",
                goal=FLOOR,
                more=True,
                remark=f"{interval.low:.3f} to {interval.high:.3f} of {interval.n}",
            )


if __name__ == "__main__":
    main(rows)
