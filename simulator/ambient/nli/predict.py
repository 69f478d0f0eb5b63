"""A trained model that says for pairs of sentences which labels hold (spec 9.1, 10, 2.2).

A folder is either what ``askback train ambient-nli`` wrote for one seed (``nli.json`` says family and
threshold), or any local folder of a transformers model for sequence classification whose configuration names
its classes: three labels, the seven sets, or one number.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from simulator.ambient.examples import Example
from simulator.ambient.labels import LABELS, Label, LabelSet
from simulator.ambient.nli.families import (
    CLASSES,
    FAMILIES,
    SET_CLASSES,
    Family,
    Output,
    Pairs,
    Scores,
    Threshold,
    label_set,
    output_of,
    tuned,
)
from simulator.errors import InputError
from simulator.models.weights import imported, quiet

Pair = tuple[str, str]
MAX_LENGTH: Final = 128
BATCH: Final = 64


def encode(tokenizer: Any, pairs: Sequence[Pair], max_length: int) -> Any:
    """Return a batch of pairs as padded tensors, cut to a length in tokens, the longer sentence first.

    A tokenizer that has no sign to stand between two sentences (those of causal models) gets them on lines.
    """
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    cut = {"truncation": True, "max_length": max_length, "padding": True, "return_tensors": "pt"}
    if tokenizer.sep_token_id is None:
        return tokenizer([f"{premise}\n{hypothesis}" for premise, hypothesis in pairs], **cut)
    premises, hypotheses = zip(*pairs, strict=True)
    return tokenizer(list(premises), list(hypotheses), **cut)


def forward(model: Any, batch: Any) -> Any:
    """Return a model's numbers for an encoded batch, a tensor of shape (pairs, classes)."""
    # Causal models would else keep what only a continuation needs.
    extra = {"use_cache": False} if hasattr(model.config, "use_cache") else {}
    return model(**batch.to(model.device), **extra).logits.float()


def read_pairs(
    torch: Any, model: Any, tokenizer: Any, pairs: Sequence[Pair], *, max_length: int, batch: int = BATCH
) -> list[Scores]:
    """Return a model's numbers for pairs, in their order.

    Args:
        torch: the library.
        model: for sequence classification, not in training.
        tokenizer: its own.
        pairs: premise and hypothesis each.
        max_length: in tokens.
        batch: pairs that are read at a time; those of about the same length together.
    """
    scores: list[Scores] = [()] * len(pairs)
    with torch.inference_mode():
        for places in batches(pairs, batch):
            encoded = encode(tokenizer, [pairs[place] for place in places], max_length)
            for place, row in zip(places, forward(model, encoded).tolist(), strict=True):
                scores[place] = tuple(row)
    return scores


def batches(pairs: Sequence[Pair], size: int) -> Iterator[list[int]]:
    """Yield the places of `pairs` in batches of about the same length, the longest first."""
    ordered = sorted(range(len(pairs)), key=lambda place: -sum(map(len, pairs[place])))
    for start in range(0, len(ordered), size):
        yield ordered[start : start + size]


SETTINGS: Final = "nli.json"


@dataclass(frozen=True, slots=True)
class Head:
    """A model with its tokenizer.

    Attributes:
        order: for each class of the family the place of the model's number for it.
    """

    model: Any
    tokenizer: Any
    order: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Predictor:
    """A model of one of the families, ready to be asked.

    Attributes:
        name: of its folder.
        family: what it gives.
        threshold: what label sets are made with; None where none is known, or needed (family set).
        heads: one model, or one a label (family binary).
        max_length: of a pair, in tokens.
        batch: pairs that are read at a time.
    """

    name: str
    family: Family
    threshold: Threshold = None
    heads: tuple[Head, ...] = field(repr=False)
    max_length: int = MAX_LENGTH
    batch: int = BATCH

    @property
    def output(self) -> Output:
        """What kind of numbers it gives."""
        return output_of(self.family)

    def scores(self, pairs: Sequence[Pair]) -> list[Scores]:
        """Its numbers for each pair, in the order of `families.CLASSES`."""
        if not pairs:
            return []
        read = [self._read(head, pairs) for head in self.heads]
        return [tuple(number for part in parts for number in part) for parts in zip(*read, strict=True)]

    def logits(self, pairs: Sequence[Pair]) -> list[dict[str, float]]:
        """Its numbers for each pair under their names: labels, sets, or ``value``."""
        return [dict(zip(CLASSES[self.output], score, strict=True)) for score in self.scores(pairs)]

    def label_sets(self, pairs: Sequence[Pair]) -> list[LabelSet]:
        """Return the predicted label set of each pair.

        Raises:
            InputError: if no threshold is known.
        """
        if self.threshold is None and self.output != "sets":
            raise InputError(
                f"{self.name}: has no threshold to make label sets with; tune it on dev examples (`tuned`), "
                f'or write one into {SETTINGS}: {{"threshold": …}}'
            )
        return [label_set(score, self.threshold) for score in self.scores(pairs)]

    def probabilities(self, pairs: Sequence[Pair]) -> list[dict[Label, float]]:
        """Return the probability of each label: each by itself (multilabel, binary), or adding up to 1.

        A classifier over sets gives a label the probability of all sets with it.

        Raises:
            InputError: if the model gives one number, which is no probability of labels.
        """
        return [self._probabilities(score) for score in self.scores(pairs)]

    def tuned(self, examples: Sequence[Example], pairs: Pairs = "all") -> Predictor:
        """Return the same with a threshold tuned on the original pairs of dev examples.

        Raises:
            InputError: if there are no examples.
        """
        scores = self.scores([(example.premise, example.hypothesis) for example in examples])
        return replace(self, threshold=tuned(scores, [example.labels for example in examples], pairs))

    def _read(self, head: Head, pairs: Sequence[Pair]) -> list[Scores]:
        found = read_pairs(
            imported("torch"),
            head.model,
            head.tokenizer,
            pairs,
            max_length=self.max_length,
            batch=self.batch,
        )
        return [tuple(row[place] for place in head.order) for row in found]

    def _probabilities(self, scores: Scores) -> dict[Label, float]:
        if self.output == "value":
            raise InputError(f"{self.name}: gives one number for a pair, not probabilities of labels")
        if self.family in ("multilabel", "binary"):
            return dict(zip(LABELS, map(sigmoid, scores), strict=True))
        shares = softmax(scores)
        if self.output == "labels":
            return dict(zip(LABELS, shares, strict=True))
        return {
            label: math.fsum(share for one, share in zip(SET_CLASSES, shares, strict=True) if label in one)
            for label in LABELS
        }


def load_predictor(
    folder: str | Path,
    *,
    family: Family | None = None,
    threshold: Threshold = None,
    device: str | None = None,
) -> Predictor:
    """Return the model in a folder.

    Args:
        folder: what training wrote for one seed, or a transformers model that names its classes.
        family: which family it is of, where the folder does not say: a model with three classes is taken
            for a ``classifier`` unless its configuration calls it multi-label.
        threshold: instead of the folder's.
        device: ``cpu``, ``cuda``; None for a GPU if there is one.

    Raises:
        Unsupported: if torch or transformers is missing.
        InputError: if there is no such model, or it does not name its classes.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder; name one with a model for sequence classification")
    told = _settings(folder / SETTINGS)
    torch, transformers = imported("torch"), imported("transformers")
    where = device or ("cuda" if torch.cuda.is_available() else "cpu")
    found = family or told.get("family")
    if found == "binary":
        loaded = [_loaded(transformers, folder / label, where) for label in LABELS]
        heads = tuple(Head(model, tokenizer, (0,)) for model, tokenizer in loaded)
    else:
        model, tokenizer = _loaded(transformers, folder, where)
        output, order = _classes(folder, model.config)
        found = found or _family(output, model.config)
        if output_of(found) != output:
            raise InputError(
                f"{folder}: its classes are {'; '.join(CLASSES[output])}, as in no model of family {found}"
            )
        heads = (Head(model, tokenizer, order),)
    return Predictor(
        name=str(folder),
        family=found,
        threshold=threshold if threshold is not None else _threshold(told.get("threshold"), folder),
        heads=heads,
        max_length=told.get("max_length", MAX_LENGTH),
    )


def sigmoid(logit: float) -> float:
    """Return the logistic function."""
    return 1 / (1 + math.exp(-logit)) if logit >= 0 else math.exp(logit) / (1 + math.exp(logit))


def softmax(logits: Sequence[float]) -> list[float]:
    """Shares of exponentials."""
    highest = max(logits)
    powers = [math.exp(logit - highest) for logit in logits]
    return [power / math.fsum(powers) for power in powers]


def _loaded(transformers: Any, folder: Path, device: str) -> tuple[Any, Any]:
    try:
        with quiet(transformers):
            here = {"local_files_only": True}
            config = transformers.AutoConfig.from_pretrained(folder, **here)
            names = config.architectures or []
            if not any(name.endswith("ForSequenceClassification") for name in names):
                raise InputError(
                    f"{folder}: holds no model for sequence classification; train one on it first"
                )
            tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **here)
            model = transformers.AutoModelForSequenceClassification.from_pretrained(
                folder, dtype=imported("torch").float32, **here
            )
    except (OSError, ValueError) as error:
        raise InputError(f"cannot load the model {folder}: {' '.join(str(error).split())}") from error
    return model.to(device).eval(), tokenizer


def _classes(folder: Path, config: Any) -> tuple[Output, tuple[int, ...]]:
    """Return what kind of classes a model has, and where in its numbers each of them is."""
    names = [str(config.id2label[place]).strip().lower() for place in range(len(config.id2label))]
    if len(names) == 1:
        return "value", (0,)
    for output, wanted in CLASSES.items():
        if sorted(wanted) == sorted(names):
            return output, tuple(names.index(name) for name in wanted)
    raise InputError(
        f"{folder / 'config.json'}: id2label names the classes {', '.join(names)}; they must be "
        f"{', '.join(LABELS)}, or the seven sets of them"
    )


def _family(output: Output, config: Any) -> Family:
    if output == "labels":
        return "multilabel" if config.problem_type == "multi_label_classification" else "classifier"
    return "set" if output == "sets" else "regression"


def _settings(path: Path) -> Mapping[str, Any]:
    if not path.is_file():
        return {}
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read: {error}") from error
    if not isinstance(told, dict) or told.get("family") not in FAMILIES:
        raise InputError(f"{path}: names no family; there are {', '.join(FAMILIES)}")
    return told


def _threshold(value: Any, folder: Path) -> Threshold:
    try:
        if isinstance(value, dict):
            return {label: (float(value[label][0]), float(value[label][1])) for label in LABELS}
        return None if value is None else float(value)
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise InputError(
            f"{folder / SETTINGS}: threshold is neither a number nor an interval for each label"
        ) from error
