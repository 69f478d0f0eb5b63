"""`askback train ambient-nli`: train models that predict label sets, tune on dev, score on test (spec 9)."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import file_digest
from pathlib import Path
from random import Random
from typing import Annotated, Any, Final

import typer
from rich.console import Console

from simulator.ambient.data import BUILTIN, load_examples
from simulator.ambient.examples import Example
from simulator.ambient.nli.families import Family
from simulator.ambient.nli.metrics import seeds_summary
from simulator.ambient.nli.table import Model, table_5_short, table_11
from simulator.ambient.nli.training_data import EPOCHS, SEEDS, TrainConfig, TrainingPair, read_training
from simulator.ambient.records import SeedRecord
from simulator.errors import InputError
from simulator.field_options import options_of
from simulator.models import require_local, weights_of
from simulator.runner.options import LOCAL, Engine, ExecutorOption, ThreadsOption, with_options
from simulator.runner.run_summary import say, updates_bar
from simulator.seeds import derive_seed

_PREFIXES: Final = ("local/", "transformers/")
DEV_SHARE: Final = 0.2


@with_options("config", options_of(TrainConfig), TrainConfig)
def train_ambient_nli(
    train: Annotated[
        list[str], typer.Option(help="FILE or FILE=EPOCHS, JSON lines; repeat for further stages")
    ],
    base: Annotated[
        str, typer.Option(help="model to train: local/smollm2, or the folder of a transformers model")
    ] = "local/smollm2",
    epochs: Annotated[int, typer.Option(min=1, help="epochs of a FILE without =EPOCHS")] = EPOCHS,
    config: TrainConfig = TrainConfig(),  # noqa: B008
    held_out: Annotated[
        Path | None, typer.Option(help="pairs whose loss selects the best epoch of the last stage")
    ] = None,
    seeds: Annotated[str, typer.Option(help="seeds, separated by commas")] = ",".join(map(str, SEEDS)),
    data: Annotated[
        str, typer.Option(help="AmbiEnt data to tune and score on: builtin, registered data, or a path")
    ] = BUILTIN,
    dev_share: Annotated[
        float, typer.Option(min=0, max=1, help="share drawn for dev if the data have no dev and test")
    ] = DEV_SHARE,
    threads: ThreadsOption = None,
    workers: Annotated[int | None, typer.Option(min=1, help="processes, each training one seed")] = None,
    executor: ExecutorOption = LOCAL,
    gpus: Annotated[float, typer.Option(min=0, help="GPUs per seed, with --executor ray")] = 0,
    out: Annotated[Path, typer.Option(help="folder, whose name is the model's in tables")] = Path(
        "ambient-nli"
    ),
) -> None:
    """Train a multilabel NLI model with several seeds and print its row of Table 5.

    Seeds that were finished before are not trained again.
    """
    console = Console()
    numbers = _seeds(seeds)
    stages = [_stage(text, epochs) for text in train]
    training = {path: _pairs(path, config.family) for path, _ in stages}
    validation = _pairs(held_out, config.family) if held_out is not None else ()
    dev, test = dev_and_test(load_examples(data), dev_share)
    if not any(example.split for example in dev):
        say(
            console,
            f"{data} has no dev and test: thresholds are tuned on {len(dev)} random examples, scores are on "
            f"the other {len(test)}",
        )
    require_local()
    import torch

    from simulator.ambient.nli.train import Material, Stage, train_seeds

    if threads is not None:
        torch.set_num_threads(threads)
    material = Material(
        base=weights_of(base) if base.startswith(_PREFIXES) else base,
        name=base,
        stages=tuple(Stage(training[path], count) for path, count in stages),
        held_out=validation,
        dev=dev,
        test=test,
        files={
            "train": [_fingerprint(path) for path, _ in stages],
            "held_out": _fingerprint(held_out) if held_out is not None else None,
        },
    )

    def bar(seed: int, updates: int) -> Any:
        return updates_bar(console, updates, title=f"seed {seed}")

    def report_seed(record: SeedRecord, before: bool) -> None:
        scores = f"EM {100 * record.em:.1f}, F1 {100 * record.f1:.1f}, group EM {100 * record.group_em:.1f}"
        say(console, f"seed {record.seed}: {scores}{' (trained before)' if before else ''}")

    engine = Engine(executor=executor, workers=workers)
    records = train_seeds(
        material, config, numbers, out, bar=bar, finished=report_seed, engine=engine, gpus=gpus
    )
    model = Model(name=out.resolve().name, seeds=seeds_summary(records))
    for table in (table_5_short([model]), table_11([model])):
        console.print(table.to_text())
    console.print(f"[dim]folder[/dim] {out}", highlight=False)


def dev_and_test(
    examples: Sequence[Example], share: float = DEV_SHARE, seed: int = 0
) -> tuple[tuple[Example, ...], tuple[Example, ...]]:
    """Return the examples to tune on and those to score, by their split or, without splits, at random.

    Raises:
        InputError: if either would be empty.
    """
    splits = [example.split for example in examples]
    if not any(splits):
        count = round(share * len(examples))
        drawn = set(Random(derive_seed(seed, "dev")).sample(range(len(examples)), count))
        splits = ["dev" if place in drawn else "test" for place in range(len(examples))]
    dev, test = (
        tuple(example for example, split in zip(examples, splits, strict=True) if split == name)
        for name in ("dev", "test")
    )
    if not dev or not test:
        raise InputError(f"{len(dev)} dev and {len(test)} test examples: needs both, to tune and to score")
    return dev, test


def _seeds(text: str) -> tuple[int, ...]:
    try:
        seeds = tuple(int(part) for part in text.split(","))
    except ValueError:
        seeds = ()
    if not seeds or len(set(seeds)) < len(seeds) or min(seeds) < 0:
        raise InputError(f"--seeds {text!r}: must be distinct whole numbers with commas, such as 42,43,44")
    return seeds


def _stage(text: str, epochs: int) -> tuple[Path, int]:
    """Return the file and the epochs of ``FILE=EPOCHS``; the file's name may contain ``=`` itself."""
    path, sign, number = text.rpartition("=")
    if not sign or not number.isdecimal() or Path(text).is_file():
        return Path(text), epochs
    if int(number) < 1:
        raise InputError(f"--train {text}: a stage needs at least one epoch")
    return Path(path), int(number)


def _pairs(path: Path, family: Family) -> tuple[TrainingPair, ...]:
    rows, _, faults = read_training(path, family)
    if faults:
        count = f"{len(faults)} of {len(faults) + len(rows)} rows are faulty"
        raise InputError(f"{faults[0]}; {count}: fix or remove them")
    return rows


def _fingerprint(path: Path) -> Sequence[str]:
    with path.open("rb") as file:
        return [path.name, file_digest(file, "sha256").hexdigest()[:16]]
