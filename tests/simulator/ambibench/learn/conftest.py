"""A tiny model, made here; nothing is downloaded."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from simulator.ambibench.generation import generate_finetune
from simulator.ambibench.prompt import finetune_record

os.environ["HF_HUB_OFFLINE"] = "1"
FOLD = "subject_location"


@pytest.fixture
def one_thread():
    torch = pytest.importorskip("torch", reason="finetuning needs torch: pip install 'askback[local]'")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def base(tmp_path_factory) -> Path:
    """A folder with a two-layer Llama and a tokenizer of words and blanks."""
    torch = pytest.importorskip("torch", reason="finetuning needs torch: pip install 'askback[local]'")
    transformers = pytest.importorskip("transformers", reason="pip install 'askback[local]'")
    pytest.importorskip("peft", reason="adapters need peft: pip install 'askback[local]'")
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    texts = [
        record["prompt"] + record["completion"] for record in map(finetune_record, generate_finetune(3, FOLD))
    ]
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=500, special_tokens=["<unk>", "<s>", "</s>"])
    tokenizer.train_from_iterator(texts, trainer)
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", unk_token="<unk>"
    )
    torch.manual_seed(1)
    config = transformers.LlamaConfig(
        vocab_size=len(fast),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=1024,
        bos_token_id=1,
        eos_token_id=2,
        pad_token_id=2,
    )
    folder = tmp_path_factory.mktemp("base")
    transformers.LlamaForCausalLM(config).save_pretrained(folder)
    fast.save_pretrained(folder)
    return folder
