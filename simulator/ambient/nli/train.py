"""Training of NLI models with one or several seeds, and the files written for each (spec 9).

Seeds are trained one after the other, in parallel processes, or on a cluster. ::

    out/
      training.json            base model, data and settings; another training must use another folder
      seed42.json              scores and threshold in the published format, written last
      seed42/                  the model (three for family binary), tokenizer, nli.json
        dev_logits.jsonl  test_logits.jsonl  predictions.jsonl  curve.json
"""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple

import torch
import transformers
from torch.nn import functional

from simulator.ambient.examples import Example
from simulator.ambient.files.nli import (
    LOGITS,
    NLI_LOGITS,
    NLI_PREDICTIONS,
    PREDICTIONS,
    read_seed,
    write_seed,
)
from simulator.ambient.labels import LABELS
from simulator.ambient.nli.families import CLASSES, Family, output_of
from simulator.ambient.nli.metrics import example_pairs, nli_records, seed_record, tuned_on, with_scores
from simulator.ambient.nli.predict import SETTINGS, Head, Predictor, encode, forward
from simulator.ambient.nli.training_data import TrainConfig, TrainingPair
from simulator.ambient.records import SeedRecord
from simulator.errors import InputError
from simulator.jsonlines import write_lines
from simulator.models.weights import quiet_transformers, silence
from simulator.runner.options import HERE, Engine, processor_count
from simulator.runner.spreading import in_order
from simulator.seeds import derive_seed
from simulator.tables.records import read_json

# ---- optimization

Progress = Callable[[int, float], None]
"""Called with the number of updates done and the latest loss."""
CURVE: Final = "curve.json"
_PROBLEMS: Final[dict[Family, str]] = {
    "regression": "regression",
    "multilabel": "multi_label_classification",
    "binary": "multi_label_classification",
}


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage of training: pairs, and the number of epochs over them."""

    pairs: Sequence[TrainingPair]
    epochs: int


@dataclass(slots=True)
class Curve:
    """The loss of each update, and the held-out loss after each epoch of the last stage."""

    loss: list[float] = field(default_factory=list)
    held_out: list[float] = field(default_factory=list)

    @property
    def best_epoch(self) -> int | None:
        """The best epoch of the last stage, from 1; None without held-out pairs."""
        return 1 + self.held_out.index(min(self.held_out)) if self.held_out else None


def new_model(base: str, family: Family, classes: Sequence[str], device: str) -> tuple[Any, Any]:
    """Return a model with a new head for `classes`, and its tokenizer.

    `base`: a folder or a transformers model id, whose own head is discarded.

    Raises:
        InputError: if there is no such model or it does not support classification.
    """
    source = {"local_files_only": Path(base).is_dir()}
    with quiet_transformers(f"train on {base}"):
        tokenizer = transformers.AutoTokenizer.from_pretrained(base, **source)
        model = transformers.AutoModelForSequenceClassification.from_pretrained(
            base,
            num_labels=len(classes),
            id2label=dict(enumerate(classes)),
            label2id={name: place for place, name in enumerate(classes)},
            problem_type=_PROBLEMS.get(family, "single_label_classification"),
            ignore_mismatched_sizes=True,
            dtype=torch.float32,
            **source,
        )
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    model.config.pad_token_id = tokenizer.pad_token_id
    _renew_head(model)
    return model.to(device), tokenizer


def updates_of(stages: Sequence[Stage], batch: int) -> int:
    """Return the number of updates in stages."""
    return sum(stage.epochs * math.ceil(len(stage.pairs) / batch) for stage in stages)


def fit(
    model: Any,
    tokenizer: Any,
    stages: Sequence[Stage],
    config: TrainConfig,
    seed: int,
    *,
    held_out: Sequence[TrainingPair] = (),
    report: Progress = lambda done, loss: None,
) -> Curve:
    """Train a model from `new_model` in place, put it into evaluation mode, and return its losses.

    `seed` determines the order of pairs; other randomness is torch's. With `held_out` pairs, the weights of
    the best epoch of the last stage are kept.
    """
    curve = Curve()
    best: dict[str, Any] | None = None
    for number, stage in enumerate(stages):
        weights, optimizer, schedule = _optimizer(model, config, updates_of([stage], config.batch))
        for epoch in range(stage.epochs):
            order = list(stage.pairs)
            Random(derive_seed(seed, "order", number, epoch)).shuffle(order)
            model.train()
            for start in range(0, len(order), config.batch):
                loss = _loss(model, tokenizer, order[start : start + config.batch], config)
                loss.backward()
                torch.nn.utils.clip_grad_norm_(weights, config.clip)
                optimizer.step()
                schedule.step()
                optimizer.zero_grad()
                curve.loss.append(float(loss.item()))
                report(len(curve.loss), curve.loss[-1])
            if held_out and stage is stages[-1]:
                model.eval()
                curve.held_out.append(mean_loss(model, tokenizer, held_out, config))
                if curve.best_epoch == len(curve.held_out):
                    best = {name: value.clone() for name, value in model.state_dict().items()}
    if best is not None:
        model.load_state_dict(best)
    model.eval()
    return curve


def loss_of(logits: Any, target: Any, family: Family) -> Any:
    """Return the loss of a batch: squared error, cross-entropy, or binary cross-entropy per label."""
    if family == "regression":
        return functional.mse_loss(logits, target)
    if family in ("multilabel", "binary"):
        return functional.binary_cross_entropy_with_logits(logits, target)
    return functional.cross_entropy(logits, target)


def mean_loss(model: Any, tokenizer: Any, pairs: Sequence[TrainingPair], config: TrainConfig) -> float:
    """Return the mean loss over pairs, without gradients."""
    total = 0.0
    with torch.inference_mode():
        for start in range(0, len(pairs), config.read_batch):
            batch = pairs[start : start + config.read_batch]
            total += len(batch) * _loss(model, tokenizer, batch, config).item()
    return total / len(pairs)


def _optimizer(model: Any, config: TrainConfig, updates: int) -> tuple[list[Any], Any, Any]:
    """Return the trainable weights, their optimizer and its schedule for one stage."""
    weights = [weight for weight in model.parameters() if weight.requires_grad]
    groups = [
        {"params": [weight for weight in weights if weight.ndim >= 2], "weight_decay": config.weight_decay},
        {"params": [weight for weight in weights if weight.ndim < 2], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=config.rate)
    warm = math.ceil(config.warmup * updates)
    return weights, optimizer, transformers.get_linear_schedule_with_warmup(optimizer, warm, updates)


def _loss(model: Any, tokenizer: Any, pairs: Sequence[TrainingPair], config: TrainConfig) -> Any:
    encoded = encode(tokenizer, [(pair.premise, pair.hypothesis) for pair in pairs], config.max_length)
    target = torch.tensor([pair.target for pair in pairs], device=model.device)
    return loss_of(forward(model, encoded), target, config.family)


def _renew_head(model: Any) -> None:
    """Reinitialize the head, since the base's own may have other classes or another order."""
    deviation = getattr(model.config, "initializer_range", 0.02)
    for name, module in model.named_modules():
        inner = name == model.base_model_prefix or name.startswith(f"{model.base_model_prefix}.")
        if isinstance(module, torch.nn.Linear) and not inner:
            torch.nn.init.normal_(module.weight, std=deviation)
            if module.bias is not None:
                torch.nn.init.zeros_(module.bias)


# ---- a training with one seed


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """The base model (a folder or hub id, and its `name` in files) and the data of a training.

    The loss of `held_out` pairs selects the best epoch; `files` has names and hashes of the training files.
    """

    base: str
    name: str
    stages: tuple[Stage, ...]
    held_out: tuple[TrainingPair, ...]
    dev: tuple[Example, ...]
    test: tuple[Example, ...]
    files: Mapping[str, Any]


def train_seed(
    material: Material, config: TrainConfig, seed: int, out: Path, *, report: Progress
) -> SeedRecord:
    """Train with one seed, tune on dev, score test, write all files and return the scores."""
    folder = out / f"seed{seed}"
    shutil.rmtree(folder, ignore_errors=True)  # of an interrupted training
    heads, curves = [], {}
    updates = updates_of(material.stages, config.batch)
    for number, part in enumerate(LABELS if config.family == "binary" else ("",)):

        def report_part(done: int, loss: float, before: int = number * updates) -> None:
            report(before + done, loss)

        head, curves[part or config.family] = _train_head(material, config, seed, part, report_part)
        with silence(transformers):
            head.model.save_pretrained(folder / part)
            head.tokenizer.save_pretrained(folder / part)
        heads.append(head)
    predictor = Predictor(
        name=str(folder),
        family=config.family,
        heads=tuple(heads),
        max_length=config.max_length,
        batch=config.read_batch,
    )
    record = _score(predictor, material, config, seed, out)
    losses = {name: {**asdict(curve), "best_epoch": curve.best_epoch} for name, curve in curves.items()}
    write_lines(folder / CURVE, [as_json(losses)])
    settings = {"base": material.name, "seed": seed, "threshold": record.threshold, **asdict(config)}
    write_lines(folder / SETTINGS, [as_json(settings)])
    write_seed(out, record)
    return record


def _train_head(
    material: Material, config: TrainConfig, seed: int, part: str, report: Progress
) -> tuple[Head, Curve]:
    torch.manual_seed(derive_seed(seed, "weights", part))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    classes = (part,) if part else CLASSES[output_of(config.family)]
    with silence(transformers):
        model, tokenizer = new_model(material.base, config.family, classes, device)
        curve = fit(
            model,
            tokenizer,
            [Stage(_pairs_for(part, stage.pairs), stage.epochs) for stage in material.stages],
            config,
            seed,
            held_out=_pairs_for(part, material.held_out),
            report=report,
        )
    return Head(model, tokenizer, tuple(range(len(classes)))), curve


def _pairs_for(part: str, pairs: Sequence[TrainingPair]) -> Sequence[TrainingPair]:
    """Return the training pairs for the model of one label, or all of the target if `part` is empty."""
    if not part:
        return pairs
    place = [*LABELS].index(part)  # type: ignore[arg-type]
    return [TrainingPair(pair.premise, pair.hypothesis, (pair.target[place],)) for pair in pairs]


def _score(predictor: Predictor, material: Material, config: TrainConfig, seed: int, out: Path) -> SeedRecord:
    folder = out / f"seed{seed}"
    rows = {}
    for split, examples in (("dev", material.dev), ("test", material.test)):
        pairs = example_pairs(examples)
        scores = predictor.scores([(pair.premise, pair.hypothesis) for pair in pairs])
        rows[split] = with_scores(pairs, scores)
        NLI_LOGITS.write(folder / LOGITS[split], rows[split])
    threshold = tuned_on(rows["dev"], config.pairs)
    records = nli_records(rows["test"], threshold)
    NLI_PREDICTIONS.write(folder / PREDICTIONS, records)
    return seed_record(out.resolve().name, seed, records, threshold)


def as_json(value: Any) -> str:
    """Return a value as stable, indented JSON for the files of a training."""
    return json.dumps(value, indent=2, sort_keys=True, default=sorted)


# ---- several seeds

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

    `seeds`: seeds for head initialization, order of pairs and dropout.
    `out`: the folder, whose name is the model's in tables.
    `bar`: returns a progress bar (a context manager) for a seed and its number of updates.
    `finished`: called with each seed's scores, and whether it was finished before.
    `engine`: where to train; outside this process, seeds are trained in parallel and without bars.
    `gpus`: GPUs of a cluster node per seed.

    Raises:
        InputError: if the folder contains another training, or a node wrote to a folder not shared with this
            machine.
    """
    _claim(out, material, config)
    paths = {seed: out / f"seed{seed}.json" for seed in seeds}
    missing = [seed for seed, path in paths.items() if not path.is_file()]
    trained: Iterator[None]
    if engine.is_here:
        trained = map(partial(_train_with, bar, material, config, out), missing)
    else:
        share = max(1, processor_count() // (engine.workers or 1))
        threads = None if engine.is_ray else min(share, torch.get_num_threads())
        jobs = (_Job(material, config, seed, out.resolve(), threads) for seed in missing)
        trained = in_order(_train_job, jobs, engine, {"num_cpus": 1, "num_gpus": gpus})
    records = []
    for seed, path in paths.items():
        if seed in missing:
            next(trained)
            if not path.is_file():
                raise InputError(
                    f"seed {seed} was trained on another machine, which does not share {out} with this one; "
                    "name a folder that all machines share with --out"
                )
        records.append(read_seed(path, out.resolve().name))
        finished(records[-1], seed not in missing)
    return tuple(records)


class _Job(NamedTuple):
    """A seed to train in another process; `threads`: None for as many as the cluster assigns."""

    material: Material
    config: TrainConfig
    seed: int
    out: Path
    threads: int | None


def _train_job(job: _Job) -> None:
    if job.threads is not None:
        torch.set_num_threads(job.threads)
    train_seed(job.material, job.config, job.seed, job.out, report=lambda done, loss: None)


def _train_with(
    bar: Callable[[int, int], Any], material: Material, config: TrainConfig, out: Path, seed: int
) -> None:
    heads = len(LABELS) if config.family == "binary" else 1
    with bar(seed, heads * updates_of(material.stages, config.batch)) as report:
        train_seed(material, config, seed, out, report=report)


def _claim(out: Path, material: Material, config: TrainConfig) -> None:
    """Record the training in its folder, or check that it equals the recorded one."""
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
    recorded, facts = read_json(path), json.loads(as_json(facts))
    if recorded != facts:
        changed = [name for name in facts if recorded.get(name) != facts[name]]
        raise InputError(
            f"{out} contains a training with other settings ({', '.join(changed)}); name another folder with "
            "--out, or remove this one"
        )


def _digest(examples: Sequence[Example]) -> str:
    return sha256(repr([as_json(asdict(pair)) for pair in example_pairs(examples)]).encode()).hexdigest()[:16]
