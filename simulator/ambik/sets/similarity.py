"""How much alike two answers are (spec 8.3): pluggable, and named in the log.

The default needs no model: TF-IDF over character 3- to 5-grams, fitted on all task texts, compared by cosine.
Instead, a folder with a transformers encoder may say it, by the mean of its last layer over the tokens.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Final, Protocol

from simulator.ambik.naming import folded
from simulator.ambik.pairs import Pair, Scenario
from simulator.ambik.sets.scoring_rules import most_frequent
from simulator.errors import InputError
from simulator.models.weights import imported, quiet

TFIDF: Final = "offline/tfidf"
GRAMS: Final = (3, 5)
"""Shortest and longest run of characters."""


class Similarity(Protocol):
    """Says how much alike texts are: 1 for the same, 0 for nothing in common."""

    @property
    def name(self) -> str:
        """For the log."""

    def __call__(self, to: str, texts: Sequence[str]) -> Mapping[str, float]:
        """Return the similarity of each of `texts` to `to`, by text."""


def similarities(samples: Mapping[str, int], similar: Similarity) -> dict[str, float]:
    """Return every answer's similarity to the most frequent one; 0 for that and those tied with it."""
    top = most_frequent(samples)
    others = [answer for answer in samples if answer not in top]
    near = similar(top[0], others) if others else {}
    return dict.fromkeys(samples, 0.0) | dict(near)


def task_texts(items: Iterable[Pair | Scenario]) -> tuple[str, ...]:
    """Return the texts that the default is fitted on: of a pair both tasks."""
    texts = ((item.clear, item.ambiguous) if isinstance(item, Pair) else (item.task,) for item in items)
    return tuple(chain.from_iterable(texts))


def similarity(name: str, texts: Sequence[str]) -> Similarity:
    """Return the similarity of a name.

    Raises:
        InputError: if there are no texts to fit on, or no encoder in the folder.
        Unsupported: if torch or transformers is missing for an encoder.
    """
    return TfIdf.fit(texts) if name in ("", TFIDF) else Encoder.load(Path(name))


@dataclass(frozen=True, slots=True)
class TfIdf:
    """TF-IDF over runs of characters, compared by cosine.

    A run counts as often as it occurs, weighted by ln((1 + n) / (1 + df)) + 1, where df of n texts have it;
    runs that no text has do not count.
    """

    weights: Mapping[str, float]
    name: str = TFIDF

    @classmethod
    def fit(cls, texts: Sequence[str]) -> TfIdf:
        """Weigh the runs of `texts`.

        Raises:
            InputError: if there are none.
        """
        frequencies = Counter(run for text in texts for run in dict.fromkeys(_runs(text)))
        if not frequencies:
            raise InputError("similarity needs the texts of the tasks to be fitted on; there are none")
        n = len(texts)
        return cls({run: math.log((1 + n) / (1 + df)) + 1 for run, df in frequencies.items()})

    def __call__(self, to: str, texts: Sequence[str]) -> dict[str, float]:
        """Return the cosine of each of `texts` with `to`; 0 where one of them has no known run."""
        goal = self._vector(to)
        return {text: _cosine(self._vector(text), goal) for text in texts}

    def _vector(self, text: str) -> dict[str, float]:
        counts = Counter(run for run in _runs(text) if run in self.weights)
        return {run: count * self.weights[run] for run, count in counts.items()}


@dataclass(frozen=True, slots=True)
class Encoder:
    """The mean of an encoder's last layer over the tokens, compared by cosine; a model of transformers."""

    model: Any
    tokenizer: Any
    name: str

    @classmethod
    def load(cls, folder: Path, device: str = "cpu") -> Encoder:
        """Load an encoder.

        Raises:
            InputError: if the folder holds none.
            Unsupported: if torch or transformers is missing.
        """
        if not folder.is_dir():
            raise InputError(f"{folder}: no such folder; name {TFIDF} or a folder with an encoder")
        transformers = imported("transformers")
        try:
            with quiet(transformers):
                tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
                model = transformers.AutoModel.from_pretrained(folder, local_files_only=True)
        except (OSError, ValueError) as error:
            reason = " ".join(str(error).split())
            raise InputError(f"cannot load the encoder {folder}: {reason}") from error
        return cls(model.to(device).eval(), tokenizer, str(folder))

    def __call__(self, to: str, texts: Sequence[str]) -> dict[str, float]:
        """Return the cosine of each of `texts` with `to`."""
        torch = imported("torch")
        batch = [*texts, to]
        encoded = self.tokenizer(batch, padding=True, truncation=True, return_tensors="pt")
        encoded = encoded.to(self.model.device)
        with torch.inference_mode():
            states = self.model(**encoded).last_hidden_state.float()
        mask = encoded["attention_mask"].unsqueeze(-1)
        means = (states * mask).sum(1) / mask.sum(1).clamp(min=1)
        units = torch.nn.functional.normalize(means, dim=1)
        nearness = (units[:-1] @ units[-1]).tolist()
        return dict(zip(texts, nearness, strict=True))


def _runs(text: str) -> Iterable[str]:
    letters = folded(text)
    for length in range(GRAMS[0], GRAMS[1] + 1):
        for start in range(len(letters) - length + 1):
            yield letters[start : start + length]


def _cosine(vector: Mapping[str, float], other: Mapping[str, float]) -> float:
    product = sum(value * other[run] for run, value in vector.items() if run in other)
    lengths = _length(vector) * _length(other)
    return product / lengths if lengths else 0.0


def _length(vector: Mapping[str, float]) -> float:
    return math.sqrt(sum(value * value for value in vector.values()))
