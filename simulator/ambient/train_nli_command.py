"""`askback train ambient-nli`: train models that give label sets, tune on dev, score on test (spec 9)."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.console import Console

from simulator.ambient.data import BUILTIN, load_examples
from simulator.ambient.nli.config import EPOCHS, SEEDS, TrainConfig
from simulator.ambient.nli.families import Family
from simulator.ambient.nli.metrics import seeds_summary
from simulator.ambient.nli.reading import BATCH, MAX_LENGTH
from simulator.ambient.nli.table import Model, table_5_short, table_11
from simulator.ambient.nli.thresholds import Pairs
from simulator.ambient.nli.training_data import TrainingPair, read_training
from simulator.ambient.records import SeedRecord
from simulator.errors import InputError
from simulator.models import require_local, weights_of
from simulator.runner.progress import updates_bar

_PREFIXES: Final = ("local/", "transformers/")
_USUAL: Final = TrainConfig()


def train_ambient_nli(
    train: Annotated[
        list[str],
        typer.Option(help="FILE or FILE=EPOCHS, JSON lines; again for a stage after that"),
    ],
    base: Annotated[
        str, typer.Option(help="what is trained: local/smollm2, or a folder of transformers")
    ] = "local/smollm2",
    family: Annotated[Family, typer.Option(help="what is learnt")] = "multilabel",
    epochs: Annotated[int, typer.Option(min=1, help="of a FILE that says nothing else")] = EPOCHS,
    rate: Annotated[float, typer.Option(min=0, help="highest learning rate")] = _USUAL.rate,
    batch: Annotated[int, typer.Option(min=1, help="pairs per update")] = _USUAL.batch,
    warmup: Annotated[float, typer.Option(min=0, max=1, help="share of updates")] = _USUAL.warmup,
    weight_decay: Annotated[float, typer.Option(min=0, help="of matrices")] = _USUAL.weight_decay,
    max_length: Annotated[int, typer.Option(min=8, help="of a pair, in tokens")] = MAX_LENGTH,
    clip: Annotated[float, typer.Option(min=0, help="largest norm of a gradient")] = _USUAL.clip,
    held_out: Annotated[
        Path | None, typer.Option(help="pairs by whose loss the best epoch of the last stage is chosen")
    ] = None,
    pairs: Annotated[
        Pairs, typer.Option(help="regression: which intervals are tried: all, or as the reference does")
    ] = "all",
    seeds: Annotated[str, typer.Option(help="separated by commas")] = ",".join(map(str, SEEDS)),
    data: Annotated[
        str, typer.Option(help="AmbiEnt data with dev and test: builtin, added data, or a path")
    ] = BUILTIN,
    read_batch: Annotated[int, typer.Option(min=1, help="pairs read at a time for predictions")] = BATCH,
    threads: Annotated[int | None, typer.Option(min=1, help="threads that torch may use")] = None,
    out: Annotated[Path, typer.Option(help="folder; its name is the model's in tables")] = Path(
        "ambient-nli"
    ),
) -> None:
    """Train multilabel inference over several seeds and print the row of Table 5.

    A seed that was finished before is not trained again.
    """
    console = Console()
    config = TrainConfig(
        family=family,
        rate=rate,
        batch=batch,
        warmup=warmup,
        weight_decay=weight_decay,
        max_length=max_length,
        clip=clip,
        pairs=pairs,
        read_batch=read_batch,
    )
    wanted = _seeds(seeds)
    stages = [_stage(one, epochs) for one in train]
    found = {str(path): _pairs(path, family) for path, _ in stages}
    held = _pairs(held_out, family) if held_out is not None else ()
    dev, test = load_examples(data, split="dev"), load_examples(data, split="test")
    require_local()
    import torch

    from simulator.ambient.nli.fitting import Stage
    from simulator.ambient.nli.train import Material, train_seeds

    if threads is not None:
        torch.set_num_threads(threads)
    material = Material(
        base=weights_of(base) if base.startswith(_PREFIXES) else base,
        name=base,
        stages=tuple(Stage(found[str(path)], count) for path, count in stages),
        held_out=held,
        dev=dev,
        test=test,
        files={
            "train": [_fingerprint(path) for path, _ in stages],
            "held_out": _fingerprint(held_out) if held_out is not None else None,
        },
    )

    def bar(seed: int, updates: int) -> Any:
        return updates_bar(console, updates, title=f"seed {seed}")

    def told(record: SeedRecord, before: bool) -> None:
        note = " (trained before)" if before else ""
        console.print(
            f"seed {record.seed}: EM {100 * record.em:.1f}, F1 {100 * record.f1:.1f}, "
            f"group EM {100 * record.group_em:.1f}{note}",
            highlight=False,
        )

    records = train_seeds(material, config, wanted, out, bar=bar, told=told)
    model = Model(name=out.resolve().name, seeds=seeds_summary(records))
    for table in (table_5_short([model]), table_11([model])):
        console.print(table.to_text())
    console.print(f"[dim]folder[/dim] {out}", highlight=False)


def _seeds(text: str) -> tuple[int, ...]:
    try:
        found = tuple(int(part) for part in text.split(","))
    except ValueError:
        found = ()
    if not found or len(set(found)) < len(found) or min(found) < 0:
        raise InputError(f"--seeds {text!r}: write different whole numbers with commas, such as 42,43,44")
    return found


def _stage(text: str, epochs: int) -> tuple[Path, int]:
    """The file and the epochs of ``FILE=EPOCHS``; a file's name may hold a ``=`` itself."""
    path, sign, number = text.rpartition("=")
    if not sign or not number.isdecimal() or Path(text).is_file():
        return Path(text), epochs
    if int(number) < 1:
        raise InputError(f"--train {text}: a stage has one epoch at least")
    return Path(path), int(number)


def _pairs(path: Path, family: Family) -> tuple[TrainingPair, ...]:
    read = read_training(path, family)
    if read.faults:
        more = f" (and {len(read.faults) - 1} more)" if len(read.faults) > 1 else ""
        raise InputError(f"{read.faults[0]}{more}")
    return read.rows


def _fingerprint(path: Path) -> Sequence[str]:
    with path.open("rb") as file:
        return [path.name, sha256(file.read()).hexdigest()[:16]]
