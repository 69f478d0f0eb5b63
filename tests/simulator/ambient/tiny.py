"""Models of one layer with random weights and a few words, created here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

SPECIAL = {"bos_token": "<s>", "pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
PAIRS = {**SPECIAL, "cls_token": "<s>", "sep_token": "</s>"}


def needed() -> tuple[Any, Any]:
    """Return torch and transformers, or skip the test."""
    torch = pytest.importorskip("torch", reason="tiny models need torch: pip install 'askback[local]'")
    return torch, pytest.importorskip("transformers", reason="pip install 'askback[local]'")


def tokenizer(words: tuple[str, ...], special: dict[str, str], *, left: bool = False) -> Any:
    """Return a tokenizer whose tokens are words; with `PAIRS`, for two sentences in RoBERTa's format."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    _, transformers = needed()
    words = words if "." in words else (".", *words)
    places = {word: place for place, word in enumerate(dict.fromkeys([*special.values(), *words]))}
    made = Tokenizer(models.WordLevel(places, unk_token=special["unk_token"]))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    if "sep_token" in special:
        made.post_processor = processors.RobertaProcessing(
            (special["sep_token"], places[special["sep_token"]]),
            (special["cls_token"], places[special["cls_token"]]),
        )
    side = {"padding_side": "left"} if left else {}
    return transformers.PreTrainedTokenizerFast(tokenizer_object=made, **special, **side)


def roberta(folder: Path, words: tuple[str, ...], seed: int, kind: str = "RobertaModel", **more: Any) -> Path:
    """Save a RoBERTa with or without a head."""
    torch, transformers = needed()
    made = tokenizer(words, PAIRS)
    torch.manual_seed(seed)
    config = transformers.RobertaConfig(
        vocab_size=len(made),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=40,
        pad_token_id=1,
        bos_token_id=0,
        eos_token_id=2,
        **more,
    )
    getattr(transformers, kind)(config).save_pretrained(folder)
    made.save_pretrained(folder)
    return folder


def llama(folder: Path, words: tuple[str, ...], *, left: bool = False) -> Path:
    """Save a Llama, which has no separator and no padding token."""
    torch, transformers = needed()
    special = {name: word for name, word in SPECIAL.items() if name != "pad_token"}
    made = tokenizer(words, special, left=left)
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
    transformers.LlamaForCausalLM(config).save_pretrained(folder)
    made.save_pretrained(folder)
    return folder
