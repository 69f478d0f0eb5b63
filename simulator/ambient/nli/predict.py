"""A trained model that says for pairs of sentences which labels hold (spec 9.1, 10, 2.2).

A folder is either what ``askback train ambient-nli`` wrote for one seed (``nli.json`` says family and
threshold), or any local folder of a transformers model for sequence classification whose configuration names
its classes: three labels, the seven sets, or one number.
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
from simulator.models.weights import imported, load_local, loading
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


# ---- reading pairs


def encode(tokenizer: Any, pairs: Sequence[Pair], max_length: int) -> Any:
    """Return a batch of pairs as padded tensors, cut to a length in tokens, the longer sentence first.

    A tokenizer that has no sign to stand between two sentences (those of causal models) gets them on lines.
    """
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    options = {"truncation": True, "max_length": max_length, "padding": True, "return_tensors": "pt"}
    if tokenizer.sep_token_id is None:
        return tokenizer([f"{premise}\n{hypothesis}" for premise, hypothesis in pairs], **options)
    premises, hypotheses = zip(*pairs, strict=True)
    return tokenizer(list(premises), list(hypotheses), **options)


def forward(model: Any, batch: Any) -> Any:
    """Return a model's numbers for an encoded batch, a tensor of shape (pairs, classes)."""
    # Causal models would else keep what only a continuation needs.
    extra = {"use_cache": False} if hasattr(model.config, "use_cache") else {}
    return model(**batch.to(model.device), **extra).logits.float()


def batches(pairs: Sequence[Pair], size: int) -> Iterator[list[int]]:
    """Yield the places of `pairs` in batches of about the same length, the longest first."""
    ordered = sorted(range(len(pairs)), key=lambda place: -sum(map(len, pairs[place])))
    for start in range(0, len(ordered), size):
        yield ordered[start : start + size]


def load_config(folder: Path, wanted: str) -> Any:
    """Return the configuration of the model in a folder; `wanted` is what there should be in it."""
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder; name one with {wanted}")
    with loading(f"load the model {folder}") as transformers:
        return transformers.AutoConfig.from_pretrained(folder, local_files_only=True)


# ---- predictions


@dataclass(frozen=True, slots=True)
class Head:
    """A model with its tokenizer; `order` is for each class of the family the place of the model's number."""

    model: Any
    tokenizer: Any
    order: tuple[int, ...]

    def scores(self, pairs: Sequence[Pair], max_length: int, batch: int) -> list[Scores]:
        """Return the model's numbers for pairs, in their order; `batch` of them are read at a time."""
        scores: list[Scores] = [()] * len(pairs)
        with imported("torch").inference_mode():
            for places in batches(pairs, batch):
                encoded = encode(self.tokenizer, [pairs[place] for place in places], max_length)
                for place, row in zip(places, forward(self.model, encoded).tolist(), strict=True):
                    scores[place] = tuple(row[each] for each in self.order)
        return scores


@dataclass(frozen=True, slots=True, kw_only=True)
class Predictor:
    """A model of one of the families, or one a label (family binary), ready to be asked.

    Its threshold is None where none is known, or needed (family set); `max_length` is in tokens, `batch` in
    pairs.
    """

    name: str
    family: Family
    threshold: Threshold = None
    heads: tuple[Head, ...] = field(repr=False)
    max_length: int = MAX_LENGTH
    batch: int = BATCH

    @property
    def output(self) -> Output:
        """Return what kind of numbers it gives."""
        return output_of(self.family)

    def scores(self, pairs: Sequence[Pair]) -> list[Scores]:
        """Return its numbers for each pair, in the order of `families.CLASSES`."""
        by_head = (head.scores(pairs, self.max_length, self.batch) for head in self.heads)
        return [tuple(number for part in parts for number in part) for parts in zip(*by_head, strict=True)]

    def label_sets(self, pairs: Sequence[Pair]) -> list[LabelSet]:
        """Return the predicted label set of each pair.

        Raises:
            InputError: if no threshold is known.
        """
        if self.threshold is None and self.output != "sets":
            raise InputError(
                f"{self.name}: has no threshold to make label sets with; train it with `askback train "
                f'ambient-nli`, or write one into {SETTINGS}: {{"threshold": …}}'
            )
        return [label_set(score, self.threshold) for score in self.scores(pairs)]

    def probabilities(self, pairs: Sequence[Pair]) -> list[dict[Label, float]]:
        """Return the probability of each label: each by itself (multilabel, binary), or adding up to 1.

        A classifier over sets gives a label the probability of all sets with it.

        Raises:
            InputError: if the model gives one number, which is no probability of labels.
        """
        return [self._probabilities(score) for score in self.scores(pairs)]

    def _probabilities(self, scores: Scores) -> dict[Label, float]:
        if self.output == "value":
            raise InputError(f"{self.name}: gives one number for a pair, not probabilities of labels")
        if self.family in ("multilabel", "binary"):
            return dict(zip(LABELS, expit(scores).tolist(), strict=True))
        shares = softmax(scores).tolist()
        if self.output == "labels":
            return dict(zip(LABELS, shares, strict=True))
        sets = list(zip(SET_CLASSES, shares, strict=True))
        return {label: math.fsum(share for labels, share in sets if label in labels) for label in LABELS}


def load_predictor(folder: str | Path, *, device: str | None = None) -> Predictor:
    """Return the model in a folder: what training wrote for one seed, or one that names its classes.

    Where the folder names no family, a model with three classes is taken for a ``classifier`` unless its
    configuration calls it multi-label. `device`: ``cpu``, ``cuda``; None for a GPU if there is one.

    Raises:
        Unsupported: if torch or transformers is missing.
        InputError: if there is no such model, or it does not name its classes.
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
                f"{folder}: its classes are {'; '.join(CLASSES[output])}, as in no model of family {family}"
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
        raise InputError(f"{folder}: holds no model for sequence classification; train one on it first")
    return config


def _classes(folder: Path, config: Any) -> tuple[Output, tuple[int, ...]]:
    """Return what kind of classes a model has, and where in its numbers each of them is."""
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
        raise InputError(f"{path}: names no family; there are {', '.join(FAMILIES)}")
    return Codec[Settings](Settings).read(content, str(path))
