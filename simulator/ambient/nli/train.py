"""Training of models of inference over several seeds, and what is left of each in files (spec 9).

::

    out/
      training.json            what is trained, on what, how; another training does not go into this folder
      seed42.json              scores and threshold in the published format, written last
      seed42/                  the model (three, family binary), tokenizer, nli.json
        dev_logits.jsonl  test_logits.jsonl  predictions.jsonl  curve.json
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import torch
import transformers

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
from simulator.ambient.nli.families import CLASSES, output_of
from simulator.ambient.nli.fitting import Curve, Stage, Tell, fit, new_model, updates_of
from simulator.ambient.nli.metrics import example_pairs, nli_records, seed_record, tuned_on, with_scores
from simulator.ambient.nli.predict import SETTINGS, Head, Predictor
from simulator.ambient.nli.training_data import TrainConfig, TrainingPair
from simulator.ambient.records import SeedRecord
from simulator.errors import InputError
from simulator.jsonlines import write_lines
from simulator.models.weights import quiet
from simulator.seeds import derive_seed
from simulator.tables.records import read_json

TRAINING: Final = "training.json"
CURVE: Final = "curve.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """The material that a model learns from and is scored on.

    Attributes:
        base: folder or hub's id of what is trained.
        name: what the base is called in the files.
        stages: pairs to learn from.
        held_out: pairs by whose loss the best epoch is chosen.
        dev: examples that thresholds are tuned on.
        test: examples that are scored.
        files: facts that tell the files from others.
    """

    base: str
    name: str
    stages: tuple[Stage, ...]
    held_out: tuple[TrainingPair, ...]
    dev: tuple[Example, ...]
    test: tuple[Example, ...]
    files: Mapping[str, Any]


def train_seeds(
    material: Material,
    config: TrainConfig,
    seeds: Sequence[int],
    out: Path,
    *,
    bar: Callable[[int, int], Any],
    told: Callable[[SeedRecord, bool], None] = lambda record, before: None,
) -> tuple[SeedRecord, ...]:
    """Train a model for each seed and return its scores; finished seeds are not trained again.

    Args:
        material: what is trained on what.
        config: how.
        seeds: of heads, order and dropout.
        out: the folder; its name is that of the model in tables.
        bar: makes a progress bar (a context manager) for a seed and its number of updates.
        told: hears of each seed when it is finished, and whether it was before.

    Raises:
        InputError: if the folder holds another training.
    """
    _claim(out, material, config)
    records = []
    for seed in seeds:
        path = out / f"seed{seed}.json"
        before = path.is_file()
        if not before:
            heads = len(LABELS) if config.family == "binary" else 1
            with bar(seed, heads * updates_of(material.stages, config.batch)) as tell:
                train_seed(material, config, seed, out, tell=tell)
        records.append(read_seed(path, out.resolve().name))
        told(records[-1], before)
    return tuple(records)


def train_seed(material: Material, config: TrainConfig, seed: int, out: Path, *, tell: Tell) -> SeedRecord:
    """Train with one seed, tune on dev, score test, write it all and return the scores."""
    folder = out / f"seed{seed}"
    # What an interrupted training left.
    shutil.rmtree(folder, ignore_errors=True)
    heads, curves = [], {}
    updates = updates_of(material.stages, config.batch)
    for number, part in enumerate(LABELS if config.family == "binary" else ("",)):
        tell_part = partial(_tell_after, tell, number * updates)
        head, curves[part or config.family] = _train_head(material, config, seed, part, tell_part)
        with quiet(transformers):
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
    shown = {name: {**asdict(curve), "best_epoch": curve.best_epoch} for name, curve in curves.items()}
    write_lines(folder / CURVE, [_json(shown)])
    settings = {"base": material.name, "seed": seed, "threshold": record.threshold, **asdict(config)}
    write_lines(folder / SETTINGS, [_json(settings)])
    write_seed(out, record)
    return record


def _train_head(
    material: Material, config: TrainConfig, seed: int, part: str, tell: Tell
) -> tuple[Head, Curve]:
    torch.manual_seed(derive_seed(seed, "weights", part))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    classes = (part,) if part else CLASSES[output_of(config.family)]
    with quiet(transformers):
        model, tokenizer = new_model(material.base, config.family, classes, device)
        curve = fit(
            model,
            tokenizer,
            [Stage(_of_part(stage.pairs, part), stage.epochs) for stage in material.stages],
            config,
            seed,
            held_out=_of_part(material.held_out, part),
            tell=tell,
        )
    return Head(model, tokenizer, tuple(range(len(classes)))), curve


def _of_part(pairs: Sequence[TrainingPair], part: str) -> Sequence[TrainingPair]:
    """Pairs for the model of one label."""
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
        write_lines(path, [_json(facts)])
        return
    before, facts = read_json(path), json.loads(_json(facts))
    if before != facts:
        changed = [name for name in facts if before.get(name) != facts[name]]
        raise InputError(
            f"{out} holds a training with other settings ({', '.join(changed)}); take another folder "
            "with --out, or remove it"
        )


def _digest(examples: Sequence[Example]) -> str:
    return sha256(repr([_json(asdict(pair)) for pair in example_pairs(examples)]).encode()).hexdigest()[:16]


def _tell_after(tell: Tell, before: int, done: int, loss: float) -> None:
    tell(before + done, loss)


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, sort_keys=True, default=sorted)
