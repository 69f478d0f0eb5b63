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
    """All that the paper prints."""
    text = (Path(__file__).parent / "paper.yaml").read_text(encoding="utf-8")
    found: dict[str, Any] = yaml.safe_load(text)
    return found


def is_published(results: Iterable[Result]) -> bool:
    """Whether some results are on data that the paper's are on; of scenarios, on others than the built-in."""
    return any(
        _foreign(one) if one.group.dataset == "knowno" else one.group.version == PUBLISHED for one in results
    )


def _foreign(result: Result) -> bool:
    tasks = {one.task for one in load_scenarios()}
    items = (one.item for one in result.group.decisions)
    return not any(isinstance(one, ScenarioItem) and one.scenario.task in tasks for one in items)
