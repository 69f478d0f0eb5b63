"""What the paper prints (`paper.yaml`), for data that are the published ones."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml

from simulator.ambik.data import load_scenarios
from simulator.ambik.items import ScenarioItem
from simulator.ambik.reporting.groups import Result

PUBLISHED: Final = "paper"
"""The version of the data on which the paper's figures are."""


@cache
def paper() -> dict[str, Any]:
    """Return all that the paper prints."""
    text = (Path(__file__).parent / "paper.yaml").read_text(encoding="utf-8")
    found: dict[str, Any] = yaml.safe_load(text)
    return found


def is_published(results: Iterable[Result]) -> bool:
    """Whether some results are on data that the paper's are on; of scenarios, on others than the built-in."""
    return any(
        _foreign(result) if result.group.dataset == "knowno" else result.group.version == PUBLISHED
        for result in results
    )


def _foreign(result: Result) -> bool:
    tasks = {scenario.task for scenario in load_scenarios()}
    items = (decision.item for decision in result.group.decisions)
    return not any(isinstance(item, ScenarioItem) and item.scenario.task in tasks for item in items)
