from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from shared_data import shared_path

from ..tiny import llama, roberta


@pytest.fixture(scope="session")
def published() -> Path:
    """Return the folder of published results of multilabel NLI."""
    folder = shared_path("ambient", "results", "multilabel")
    return folder


os.environ["HF_HUB_OFFLINE"] = "1"
LABELS = ("entailment", "neutral", "contradiction")
NOUNS = ("dog", "cat", "bird", "fish", "horse", "cow", "duck", "goat")
WORDS = ("the", "sleeps", "rests", ".", "certainly", "perhaps", "never", *NOUNS)


def sentence_pair(number: int) -> tuple[str, str, str]:
    """Return a pair whose label depends on one word, so that a tiny model can learn it."""
    label = LABELS[number % 3]
    noun = NOUNS[number % len(NOUNS)]
    adverb = {"entailment": "certainly", "neutral": "perhaps", "contradiction": "never"}[label]
    return f"the {noun} sleeps .", f"the {noun} {adverb} rests .", label


@pytest.fixture
def one_thread():
    torch = pytest.importorskip("torch", reason="training needs torch: pip install 'askback[local]'")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def encoder(tmp_path_factory) -> Path:
    """Return a folder with a RoBERTa of one layer and random weights."""
    folder = tmp_path_factory.mktemp("encoder")
    return roberta(folder, WORDS, 3, hidden_dropout_prob=0.05, initializer_range=0.3)


@pytest.fixture(scope="session")
def causal(tmp_path_factory) -> Path:
    """Return a folder with a Llama of one layer, which has no separator and no padding token."""
    return llama(tmp_path_factory.mktemp("causal"), WORDS)


@pytest.fixture(scope="session")
def ambient(tmp_path_factory) -> Path:
    """Return a folder with dev and test examples in the published format, some of them ambiguous."""
    folder = tmp_path_factory.mktemp("data")
    for split, numbers in (("dev", range(12)), ("test", range(12, 30))):
        rows = [json.dumps(_example(number)) for number in numbers]
        (folder / f"{split}.jsonl").write_text("\n".join(rows) + "\n", encoding="utf-8")
    return folder


def _example(number: int) -> dict[str, Any]:
    premise, hypothesis, label = sentence_pair(number)
    row = {"id": number, "premise": premise, "hypothesis": hypothesis, "premise_ambiguous": False}
    if number % 6 != 5:
        return {**row, "hypothesis_ambiguous": False, "labels": label, "disambiguations": []}
    readings = [
        {"premise": premise, "hypothesis": hypothesis.replace("never", word), "label": meant}
        for word, meant in (("certainly", "entailment"), ("perhaps", "neutral"))
    ]
    return {**row, "hypothesis_ambiguous": True, "labels": "neutral, entailment", "disambiguations": readings}


@pytest.fixture(scope="session")
def training(tmp_path_factory) -> Path:
    """Return a file of pairs with one label each."""
    path = tmp_path_factory.mktemp("training") / "train.jsonl"
    rows = []
    for number in range(48):
        premise, hypothesis, label = sentence_pair(number)
        rows.append(json.dumps({"premise": premise, "hypothesis": hypothesis, "label": label}))
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path
