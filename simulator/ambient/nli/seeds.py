"""Trainings over several seeds: one after the other, side by side in processes, or on a cluster (spec 9)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, NamedTuple

import torch

from simulator.ambient.examples import Example
from simulator.ambient.files.nli import read_seed
from simulator.ambient.labels import LABELS
from simulator.ambient.nli.metrics import example_pairs
from simulator.ambient.nli.train import Material, as_json, train_seed, updates_of
from simulator.ambient.nli.training_data import TrainConfig
from simulator.ambient.records import SeedRecord
from simulator.errors import InputError
from simulator.jsonlines import write_lines
from simulator.runner.engine import HERE, Engine, processors
from simulator.runner.spreading import in_order
from simulator.tables.records import read_json

TRAINING: Final = "training.json"


def train_seeds(
    material: Material,
    config: TrainConfig,
    seeds: Sequence[int],
    out: Path,
    *,
    bar: Callable[[int, int], Any],
    finished: Callable[[SeedRecord, bool], None] = lambda record, before: None,
    engine: Engine = HERE,
    gpus: float = 0,
) -> tuple[SeedRecord, ...]:
    """Train a model for each seed and return its scores; finished seeds are not trained again.

    Args:
        material: what is trained on what.
        config: how.
        seeds: of heads, order and dropout.
        out: the folder; its name is that of the model in tables.
        bar: makes a progress bar (a context manager) for a seed and its number of updates.
        finished: hears of each seed when it is finished, and whether it was before.
        engine: who trains; where that is not this process, seeds are trained side by side, without bars.
        gpus: of a node of a cluster, for each seed.

    Raises:
        InputError: if the folder holds another training, or the node that trained a seed wrote to another.
    """
    _claim(out, material, config)
    paths = {seed: out / f"seed{seed}.json" for seed in seeds}
    due = [seed for seed, path in paths.items() if not path.is_file()]
    trained: Iterator[None]
    if engine.is_here:
        trained = map(partial(_train_with, bar, material, config, out), due)
    else:
        share = max(1, processors() // (engine.workers or 1))
        threads = None if engine.is_ray else min(share, torch.get_num_threads())
        jobs = (_Job(material, config, seed, out.resolve(), threads) for seed in due)
        trained = in_order(_train_job, jobs, engine, {"num_cpus": 1, "num_gpus": gpus})
    records = []
    for seed, path in paths.items():
        if seed in due:
            next(trained)
            if not path.is_file():
                raise InputError(
                    f"seed {seed} was trained on another machine, whose {out} is not that of this one; name "
                    "a folder that all machines share with --out"
                )
        records.append(read_seed(path, out.resolve().name))
        finished(records[-1], seed not in due)
    return tuple(records)


class _Job(NamedTuple):
    """A seed to be trained in another process; `threads` None: as many as the cluster gives it."""

    material: Material
    config: TrainConfig
    seed: int
    out: Path
    threads: int | None


def _train_job(job: _Job) -> None:
    if job.threads is not None:
        torch.set_num_threads(job.threads)
    train_seed(job.material, job.config, job.seed, job.out, tell=lambda done, loss: None)


def _train_with(
    bar: Callable[[int, int], Any], material: Material, config: TrainConfig, out: Path, seed: int
) -> None:
    heads = len(LABELS) if config.family == "binary" else 1
    with bar(seed, heads * updates_of(material.stages, config.batch)) as tell:
        train_seed(material, config, seed, out, tell=tell)


def _claim(out: Path, material: Material, config: TrainConfig) -> None:
    """Write down what is trained into the folder, or make sure that it is what was."""
    facts = {
        "base": material.name,
        "config": asdict(config),
        "epochs": [stage.epochs for stage in material.stages],
        "files": dict(material.files),
        "dev": _digest(material.dev),
        "test": _digest(material.test),
    }
    path = out / TRAINING
    if not path.is_file():
        write_lines(path, [as_json(facts)])
        return
    before, facts = read_json(path), json.loads(as_json(facts))
    if before != facts:
        changed = [name for name in facts if before.get(name) != facts[name]]
        raise InputError(
            f"{out} holds a training with other settings ({', '.join(changed)}); take another folder "
            "with --out, or remove it"
        )


def _digest(examples: Sequence[Example]) -> str:
    return sha256(repr([as_json(asdict(pair)) for pair in example_pairs(examples)]).encode()).hexdigest()[:16]
