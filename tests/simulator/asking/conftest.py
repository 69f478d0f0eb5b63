"""Short runs of every benchmark in which somebody asks back, played by built-in players."""

from __future__ import annotations

import pytest
from rich.console import Console

from logs import LogReader
from simulator.ambik.data import load_pairs
from simulator.ambik.machine import MACHINE as AMBIK
from simulator.ambik.selection import pair_items
from simulator.clarq.data import load_items
from simulator.clarq.machine import MACHINE as CLARQ
from simulator.handmethat.data import load_tasks
from simulator.handmethat.machine import MACHINE as HANDMETHAT
from simulator.handmethat.playing import Posed
from simulator.runner.command import RunRequest, RunSettings, play
from simulator.runner.options import HERE, ModelFlags


@pytest.fixture(scope="package")
def log(tmp_path_factory):
    """Short runs of all benchmarks, with built-in players."""
    path = tmp_path_factory.mktemp("asking") / "log.sqlite"
    clarq = load_items("builtin", "en")[:2]
    tasks = [task for level in (1, 4) for task in load_tasks(levels=[level])[:2]]
    posed = tuple(Posed(task, "en") for task in tasks)
    pairs = tuple(pair_items(load_pairs("builtin", "all")[:10]))
    played = [
        ("c", CLARQ, {"seeker": "offline/seeker", "provider": "offline/experts"}, tuple(clarq), {}),
        ("h", HANDMETHAT, {"robot": "offline/asker", "human": "offline/giver"}, posed, {"mode": "partial"}),
        (
            "h0",
            HANDMETHAT,
            {"robot": "offline/asker", "human": "offline/giver"},
            posed,
            {"mode": "full", "max_questions": 0},
        ),
        ("k", AMBIK, {"robot": "offline/kitchen", "user": "offline/item"}, pairs, {"questions": 1}),
        ("k0", AMBIK, {"robot": "offline/kitchen", "user": "offline/item"}, pairs, {"questions": 0}),
        ("n", AMBIK, {"robot": "offline/never-asks", "user": "offline/item"}, pairs, {"questions": 1}),
    ]
    for name, machine, seats, items, options in played:
        request = RunRequest(
            machine=machine,
            seats=seats,
            items=items,
            settings=RunSettings(log=path, models=ModelFlags().options(path), name=name, engine=HERE),
            options=options,
        )
        play(request, Console(quiet=True))
    return path


@pytest.fixture
def reader(log):
    with LogReader(log) as reader:
        yield reader
