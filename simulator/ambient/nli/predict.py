"""Prediction of label sets and label probabilities by a trained NLI model (spec 9.1, 10, 2.2).

The model's folder was either written by ``askback train ambient-nli`` for one seed (``nli.json`` contains
family and threshold), or contains any transformers model for sequence classification whose configuration
names its classes: three labels, the seven sets, or one number.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel
from scipy.special import expit, softmax

from simulator.ambient.labels import LABELS, Label, LabelSet
from simulator.ambient.nli.families import (
    CLASSES,
    FAMILIES,
    SET_CLASSES,
    CheckedThreshold,
    Family,
    Output,
    Scores,
    Threshold,
    label_set,
    output_of,
)
from simulator.errors import InputError
from simulator.jsonlines import Codec
from simulator.models.weights import import_optional, load_local, quiet_transformers
from simulator.tables.records import read_json

Pair = tuple[str, str]
MAX_LENGTH: Final = 128
BATCH: Final = 64
SETTINGS: Final = "nli.json"


class Settings(BaseModel, frozen=True):
    """The part of ``nli.json`` that predictions need."""

    family: Family | None = None
    threshold: CheckedThreshold = None
    max_length: int = MAX_LENGTH


# ---- encoding of pairs


def encode(tokenizer: Any, pairs: Sequence[Pair], max_length: int) -> Any:
    """Return a batch of pairs as padded tensors, truncated to `max_length` tokens, longer sentences first.

    For a tokenizer without separator token (of causal models), the sentences are on separate lines.
    """
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    options = {"truncation": True, "max_length": max_length, "padding": True, "return_tensors": "pt"}
    if tokenizer.sep_token_id is None:
        return tokenizer([f"{premise}\n{hypothesis}" for premise, hypothesis in pairs], **options)
    premises, hypotheses = zip(*pairs, strict=True)
    return tokenizer(list(premises), list(hypotheses), **options)


def forward(model: Any, batch: Any) -> Any:
    """Return a model's logits for an encoded batch, a tensor of shape (pairs, classes)."""
    # Causal models would otherwise keep a cache for continuations.
    extra = {"use_cache": False} if hasattr(model.config, "use_cache") else {}
    return model(**batch.to(model.device), **extra).logits.float()


def batches(pairs: Sequence[Pair], size: int) -> Iterator[list[int]]:
    """Yield the indices of `pairs` in batches of similar text length, the longest first."""
    ordered = sorted(range(len(pairs)), key=lambda place: -sum(map(len, pairs[place])))
    for start in range(0, len(ordered), size):
        yield ordered[start : start + size]


def load_config(folder: Path, expected: str) -> Any:
    """Return the configuration of the model in a folder; `expected` describes the model for errors."""
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder; name a folder with {expected}")
    with quiet_transformers(f"load the model {folder}") as transformers:
        return transformers.AutoConfig.from_pretrained(folder, local_files_only=True)


# ---- predictions


@dataclass(frozen=True, slots=True)
class Head:
    """A model with its tokenizer; `order` has the index of each of the family's classes in its logits."""

    model: Any
    tokenizer: Any
    order: tuple[int, ...]

    def scores(self, pairs: Sequence[Pair], max_length: int, batch: int) -> list[Scores]:
        """Return the model's scores of pairs, computed in batches of `batch` pairs."""
        scores: list[Scores] = [()] * len(pairs)
        with import_optional("torch").inference_mode():
            for places in batches(pairs, batch):
                encoded = encode(self.tokenizer, [pairs[place] for place in places], max_length)
                for place, row in zip(places, forward(self.model, encoded).tolist(), strict=True):
                    scores[place] = tuple(row[each] for each in self.order)
        return scores


@dataclass(frozen=True, slots=True, kw_only=True)
class Predictor:
    """A loaded model of one of the families, or one model per label (family binary).

    The threshold is None if unknown or not needed (family set); `max_length` is in tokens, `batch` in pairs.
    """

    name: str
    family: Family
    threshold: Threshold = None
    heads: tuple[Head, ...] = field(repr=False)
    max_length: int = MAX_LENGTH
    batch: int = BATCH

    @property
    def output(self) -> Output:
        """The kind of the model's output."""
        return output_of(self.family)

    def scores(self, pairs: Sequence[Pair]) -> list[Scores]:
        """Return the scores of each pair, in the order of `families.CLASSES`."""
        by_head = (head.scores(pairs, self.max_length, self.batch) for head in self.heads)
        return [tuple(number for part in parts for number in part) for parts in zip(*by_head, strict=True)]

    def label_sets(self, pairs: Sequence[Pair]) -> list[LabelSet]:
        """Return the predicted label set of each pair.

        Raises:
            InputError: if no threshold is known.
        """
        if self.threshold is None and self.output != "sets":
            raise InputError(
                f"{self.name}: has no threshold for label sets; train it with `askback train ambient-nli`, "
                f'or add one to {SETTINGS}: {{"threshold": …}}'
            )
        return [label_set(score, self.threshold) for score in self.scores(pairs)]

    def probabilities(self, pairs: Sequence[Pair]) -> list[dict[Label, float]]:
        """Return the probability of each label: independent (multilabel, binary), or adding up to 1.

        For a classifier over sets, a label has the total probability of all sets that contain it.

        Raises:
            InputError: if the model outputs one number instead of label probabilities.
        """
        return [self._probabilities(score) for score in self.scores(pairs)]

    def _probabilities(self, scores: Scores) -> dict[Label, float]:
        if self.output == "value":
            raise InputError(f"{self.name}: outputs one number per pair, not label probabilities")
        if self.family in ("multilabel", "binary"):
            return dict(zip(LABELS, expit(scores).tolist(), strict=True))
        shares = softmax(scores).tolist()
        if self.output == "labels":
            return dict(zip(LABELS, shares, strict=True))
        sets = list(zip(SET_CLASSES, shares, strict=True))
        return {label: math.fsum(share for labels, share in sets if label in labels) for label in LABELS}


def load_predictor(folder: str | Path, *, device: str | None = None) -> Predictor:
    """Load the model in a folder, trained by Askback or with named classes.

    If the folder names no family, a model with three classes is a ``classifier`` unless its configuration
    says that it is multi-label. `device`: ``cpu``, ``cuda``; None for a GPU if available.

    Raises:
        Unsupported: if torch or transformers is missing.
        InputError: if there is no such model or it does not name its classes.
    """
    folder = Path(folder)
    settings = _settings(folder / SETTINGS)
    family = settings.family
    if family == "binary":
        for label in LABELS:
            _config(folder / label)
        heads = tuple(Head(*load_local(_CLASSIFIER, folder / label, device), (0,)) for label in LABELS)
    else:
        config = _config(folder)
        output, order = _classes(folder, config)
        family = family or _family(output, config)
        if output_of(family) != output:
            raise InputError(
                f"{folder}: its classes are {'; '.join(CLASSES[output])}, which do not fit family {family}"
            )
        heads = (Head(*load_local(_CLASSIFIER, folder, device), order),)
    return Predictor(
        name=str(folder),
        family=family,
        threshold=settings.threshold,
        heads=heads,
        max_length=settings.max_length,
    )


_CLASSIFIER: Final = "AutoModelForSequenceClassification"


def _config(folder: Path) -> Any:
    config = load_config(folder, "a model for sequence classification")
    if not any(name.endswith("ForSequenceClassification") for name in config.architectures or []):
        raise InputError(f"{folder}: is not a model for sequence classification; train one from it first")
    return config


def _classes(folder: Path, config: Any) -> tuple[Output, tuple[int, ...]]:
    """Return a model's kind of output, and the index of each class in its logits."""
    names = [str(config.id2label[place]).strip().lower() for place in range(len(config.id2label))]
    if len(names) == 1:
        return "value", (0,)
    for output, classes in CLASSES.items():
        if sorted(classes) == sorted(names):
            return output, tuple(names.index(name) for name in classes)
    raise InputError(
        f"{folder / 'config.json'}: id2label names the classes {', '.join(names)}; they must be "
        f"{', '.join(LABELS)}, or the seven sets of them"
    )


def _family(output: Output, config: Any) -> Family:
    if output == "labels":
        return "multilabel" if config.problem_type == "multi_label_classification" else "classifier"
    return "set" if output == "sets" else "regression"


def _settings(path: Path) -> Settings:
    if not path.is_file():
        return Settings()
    content = read_json(path)
    if not isinstance(content, dict) or content.get("family") not in FAMILIES:
        raise InputError(f"{path}: family must be one of {', '.join(FAMILIES)}")
    return Codec[Settings](Settings).read(content, str(path))
