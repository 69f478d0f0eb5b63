"""CPU of generating HandMeThat episodes: per attempt and per episode kept.

An attempt draws a quest type and a goal and ends with an episode, its
demonstration and its file; with balanced levels most attempts are of a level that is full, and end sooner.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import numpy as np
from rows import Row, main

from simulator.handmethat.generate_command import make_plan
from simulator.handmethat.generation.attempts import Job, Plan, make_attempt
from simulator.handmethat.generation.batch import generate_folder
from simulator.handmethat.planner.aims import Aim
from simulator.runner.options import Engine

ATTEMPTS = 200
BALANCED = 400
REMEMBERED = 40


def per_attempt(plan: Plan, attempts: int) -> list[float]:
    """Milliseconds of CPU of each attempt."""
    return [1000 * make_attempt(Job(plan, number)).cpu for number in range(attempts)]


def remembering() -> tuple[float, float]:
    """Milliseconds of CPU per attempt with `paper`, where known trips are repeated and where none is."""
    plan = make_plan("paper", REMEMBERED, "free", None, None, 1, demos=True)
    make_attempt(Job(plan, 0))
    known = float(np.mean(per_attempt(plan, REMEMBERED)))
    # Where no case is like another, nothing is known.
    with patch.object(Aim, "case", lambda *_: object()):
        return known, float(np.mean(per_attempt(plan, REMEMBERED)))


def per_episode(plan: Plan, workers: int) -> float:
    """Milliseconds of CPU per episode kept."""
    with tempfile.TemporaryDirectory() as folder:
        tally = generate_folder(plan, Path(folder) / "out", engine=Engine(workers=workers))
    return 1000 * tally.cpu / len(tally.kept)


def rows() -> Iterator[Row]:
    """Yield an attempt and an episode kept."""
    known, anew = remembering()
    yield Row(
        work="HandMeThat: an attempt at an episode, profile paper",
        ours=known,
        unit="ms",
        peer="no known trip repeated",
        theirs=anew,
        remark="CPU",
    )
    workers = min(2, os.cpu_count() or 1)
    plan = make_plan("v1", BALANCED, "balanced", None, None, 1, demos=True)
    yield Row(
        work="HandMeThat: an episode kept, v1, balanced levels",
        ours=per_episode(plan, workers),
        unit="ms",
        remark="CPU",
    )


if __name__ == "__main__":
    main(rows)
