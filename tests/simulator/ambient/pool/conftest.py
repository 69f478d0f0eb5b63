from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from simulator.ambient.data import PoolPair

os.environ["HF_HUB_OFFLINE"] = "1"
WORDS = ("cat", "dog", "old", "young", "sleeps", "runs", "some", "all", "cats", "dogs", "the", "never")
SPECIAL = {"bos_token": "<s>", "pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}


def pool_pair(
    number: int, premise: str = "", hypothesis: str = "", labels: tuple[str, str] = ("neutral", "neutral")
) -> Any:
    """A pair of a pool, whose sentences name it unless they are given."""
    return PoolPair(f"p{number}", premise or f"Premise {number}.", hypothesis or f"Claim {number}.", labels)


@pytest.fixture
def pool_file(tmp_path) -> Path:
    """Eight pairs, of which three are seeds."""
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


def tokenizer(transformers: Any, special: dict[str, str], *, left: bool = False) -> Any:
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    words = [*special.values(), ".", *WORDS]
    places = {word: place for place, word in enumerate(dict.fromkeys(words))}
    made = Tokenizer(models.WordLevel(places, unk_token=special["unk_token"]))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    if "sep_token" in special:
        made.post_processor = processors.RobertaProcessing(
            (special["sep_token"], places[special["sep_token"]]),
            (special["cls_token"], places[special["cls_token"]]),
        )
    side = {"padding_side": "left"} if left else {}
    return transformers.PreTrainedTokenizerFast(tokenizer_object=made, **special, **side)


def needed() -> tuple[Any, Any]:
    """Torch and transformers, or the test is skipped."""
    torch = pytest.importorskip("torch", reason="encoders need torch: pip install 'askback[local]'")
    return torch, pytest.importorskip("transformers", reason="pip install 'askback[local]'")


def roberta_config(transformers: Any, size: int, **more: Any) -> Any:
    return transformers.RobertaConfig(
        vocab_size=size,
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=40,
        pad_token_id=1,
        bos_token_id=0,
        eos_token_id=2,
        initializer_range=0.5,
        **more,
    )


@pytest.fixture(scope="session")
def encoder(tmp_path_factory) -> Path:
    """A RoBERTa of one layer with random weights."""
    torch, transformers = needed()
    made = tokenizer(transformers, {**SPECIAL, "cls_token": "<s>", "sep_token": "</s>"})
    torch.manual_seed(1)
    folder = tmp_path_factory.mktemp("encoder")
    transformers.RobertaModel(roberta_config(transformers, len(made))).save_pretrained(folder)
    made.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def inference(tmp_path_factory) -> Path:
    """The same with a head for three labels, each by itself."""
    torch, transformers = needed()
    made = tokenizer(transformers, {**SPECIAL, "cls_token": "<s>", "sep_token": "</s>"})
    torch.manual_seed(2)
    names = {0: "contradiction", 1: "entailment", 2: "neutral"}
    config = roberta_config(
        transformers,
        len(made),
        id2label=names,
        label2id={name: place for place, name in names.items()},
        problem_type="multi_label_classification",
    )
    folder = tmp_path_factory.mktemp("inference")
    transformers.RobertaForSequenceClassification(config).save_pretrained(folder)
    made.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session", params=["right", "left"])
def causal(request, tmp_path_factory) -> Path:
    """A Llama of one layer, padded on either side."""
    torch, transformers = needed()
    special = {name: word for name, word in SPECIAL.items() if name != "pad_token"}
    made = tokenizer(transformers, special, left=request.param == "left")
    torch.manual_seed(3)
    config = transformers.LlamaConfig(
        vocab_size=len(made),
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=1,
        max_position_embeddings=64,
        bos_token_id=0,
        eos_token_id=1,
    )
    folder = tmp_path_factory.mktemp("causal")
    transformers.LlamaForCausalLM(config).save_pretrained(folder)
    made.save_pretrained(folder)
    return folder
