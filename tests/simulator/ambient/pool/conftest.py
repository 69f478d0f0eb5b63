from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from ..tiny import llama, roberta

os.environ["HF_HUB_OFFLINE"] = "1"
WORDS = ("cat", "dog", "old", "young", "sleeps", "runs", "some", "all", "cats", "dogs", "the", "never")


@pytest.fixture
def pool_file(tmp_path) -> Path:
    """Return eight pairs, of which three are seeds."""
    labels = ["neutral", "entailment"]
    rows = [
        {
            "id": number,
            "premise": f"Some of the {noun} sleep.",
            "hypothesis": f"All of the {noun} sleep.",
            "labels": labels if number < 3 else ["neutral", "neutral"],
        }
        for number, noun in enumerate(("cats", "dogs", "cows", "hens", "bees", "pigs", "mice", "rats"))
    ]
    path = tmp_path / "pool.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def encoder(tmp_path_factory) -> Path:
    """Return a RoBERTa of one layer with random weights."""
    return roberta(tmp_path_factory.mktemp("encoder"), WORDS, 1, initializer_range=0.5)


@pytest.fixture(scope="session")
def inference(tmp_path_factory) -> Path:
    """Return the same with a multi-label head for three labels."""
    names = {0: "contradiction", 1: "entailment", 2: "neutral"}
    return roberta(
        tmp_path_factory.mktemp("inference"),
        WORDS,
        2,
        "RobertaForSequenceClassification",
        id2label=names,
        label2id={name: place for place, name in names.items()},
        problem_type="multi_label_classification",
        initializer_range=0.5,
    )


@pytest.fixture(scope="session", params=["right", "left"])
def causal(request, tmp_path_factory) -> Path:
    """Return a Llama of one layer, padded on either side."""
    return llama(tmp_path_factory.mktemp("causal"), WORDS, left=request.param == "left")
