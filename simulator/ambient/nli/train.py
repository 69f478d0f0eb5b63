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
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import torch

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
from simulator.ambient.nli.families import CLASSES, Threshold, output_of
from simulator.ambient.nli.fitting import Curve, Stage, Tell, fit, new_model, updates_of
from simulator.ambient.nli.metrics import example_pairs, nli_records, seed_record, tuned_on, with_scores
from simulator.ambient.nli.predict import SETTINGS, Head, Predictor
from simulator.ambient.nli.training_data import TrainConfig, TrainingPair
from simulator.ambient.records import SeedRecord
from simulator.errors import InputError
from simulator.jsonlines import write_lines
from simulator.models.weights import quiet
from simulator.seeds import derive_seed

TRAINING: Final = "training.json"
CURVE: Final = "curve.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """What a model learns from and is scored on.

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
    """Train a model for each seed; those that were finished before are not trained again.

    Args:
        material: what is trained on what.
        config: how.
        seeds: of heads, order and dropout.
        out: the folder; its name is that of the model in tables.
        bar: makes a progress bar (a context manager) for a seed and its number of updates.
        told: hears of each seed when it is finished, and whether it was before.

    Returns:
        The scores of each seed.

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


def train_seed(
    material: Material, config: TrainConfig, seed: int, out: Path, *, tell: Tell = lambda done, loss: None
) -> SeedRecord:
    """Train with one seed, tune on dev, score test and write it all.

    Returns:
        The scores.
    """
    folder = out / f"seed{seed}"
    # What an interrupted training left.
    shutil.rmtree(folder, ignore_errors=True)
    parts = LABELS if config.family == "binary" else ("",)
    heads, curves = [], {}
    for number, part in enumerate(parts):
        told = _after(tell, number * updates_of(material.stages, config.batch))
        head, curves[part or config.family] = _train_head(material, config, seed, part, told)
        _save(head, folder / part)
        heads.append(head)
    predictor = Predictor(
        name=str(folder),
        family=config.family,
        heads=tuple(heads),
        max_length=config.max_length,
        batch=config.read_batch,
    )
    record = _score(predictor, material, config, seed, out)
    write_lines(
        folder / CURVE,
        [_json({name: {**asdict(one), "best_epoch": one.best_epoch} for name, one in curves.items()})],
    )
    write_lines(folder / SETTINGS, [_json(_settings(material, config, seed, record.threshold))])
    write_seed(out, record)
    return record


def _train_head(
    material: Material, config: TrainConfig, seed: int, part: str, tell: Tell
) -> tuple[Head, Curve]:
    torch.manual_seed(derive_seed(seed, "weights", part))
    import transformers

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


def _save(head: Head, folder: Path) -> None:
    import transformers

    with quiet(transformers):
        head.model.save_pretrained(folder)
        head.tokenizer.save_pretrained(folder)


def _settings(material: Material, config: TrainConfig, seed: int, threshold: Threshold) -> dict[str, Any]:
    plain = dict(threshold) if isinstance(threshold, Mapping) else threshold
    return {"base": material.name, "seed": seed, "threshold": plain, **asdict(config)}


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
    try:
        before = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read ({error}); take another folder with --out") from error
    facts = json.loads(_json(facts))
    if before != facts:
        changed = [name for name in facts if before.get(name) != facts[name]]
        raise InputError(
            f"{out} holds a training with other settings ({', '.join(changed)}); take another folder "
            "with --out, or remove it"
        )


def _digest(examples: Sequence[Example]) -> str:
    return sha256(repr([_json(asdict(pair)) for pair in _plain(examples)]).encode()).hexdigest()[:16]


def _plain(examples: Sequence[Example]) -> Sequence[Any]:
    return example_pairs(examples)


def _after(tell: Tell, before: int) -> Tell:
    return lambda done, loss: tell(before + done, loss)


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, sort_keys=True, default=sorted)
