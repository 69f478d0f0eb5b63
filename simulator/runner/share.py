"""Which processes share a run."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from simulator.errors import InputError
from simulator.models import Budget
from simulator.runner.batch import Executor
from simulator.runner.build import NamedSeatFactory
from simulator.runner.executors import Workers

# So many dialogues are worth the two seconds that a process takes to start.
_WORTH_A_WORKER: Final = 200


def workers_for(asked: int | None, seats: Mapping[str, str], episodes: int, budget: Budget | None) -> int:
    """Return how many processes play: as many as asked for; else one, but more for a long run without models.

    Raises:
        InputError: if several processes would have to share a budget.
    """
    if asked is None:
        offline = all(name.startswith(("offline/", "script:")) for name in seats.values())
        return max(1, min(_cores(), episodes // _WORTH_A_WORKER)) if offline else 1
    if asked > 1 and budget is not None:
        raise InputError("--budget is kept within one process: leave --workers out, or run without a budget.")
    return asked


def executor_for(factory: NamedSeatFactory, log: Path, workers: int, concurrency: int) -> Executor | None:
    """Return who plays a run: `workers` processes sharing `concurrency` places; None: this process alone."""
    if workers == 1:
        return None
    return Workers(
        benchmark=factory.benchmark, factory=factory, path=log, workers=workers, concurrency=concurrency
    )


def _cores() -> int:
    """Return processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
