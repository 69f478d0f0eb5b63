"""Tiny language models with random weights, made here, and what a test needs to have them loaded."""

import importlib.util
from collections.abc import Iterable

import pytest

MISSING = [name for name in ("torch", "transformers") if importlib.util.find_spec(name) is None]
needs_local = pytest.mark.skipif(
    bool(MISSING), reason=f"no {' and '.join(MISSING)} here: pip install 'askback[local]'"
)
LINES = ["The duck is in the pond.", "The pope is in the house.", "The mountain lion is in the film studio."]
# What every tiny model has for its beginning and its end.
_ENDS = {"bos_token_id": 0, "eos_token_id": 0}


def text_of(count, *, start=0, layout="\n>{}"):
    """A prompt of `count` examples and the offsets of its labels."""
    text, offsets = "Output 'X' or 'Y'.", []
    for number in range(start, start + count):
        before, after = layout.split("{}")
        text += f"\n{LINES[number % 3]}{before}"
        offsets.append(len(text))
        text += "XY"[number % 2] + after
    return text, tuple(offsets)


def tokenizer(texts: Iterable[str], *, special=("<s>",), template=None):
    """Knows the words of `texts`; every byte can be written."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=330,
        special_tokens=list(special),
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    made.train_from_iterator(list(texts), trainer)
    fast = PreTrainedTokenizerFast(tokenizer_object=made, bos_token="<s>", eos_token="<s>", pad_token="<s>")
    fast.chat_template = template
    return fast


def llama(**fields):
    """Reads all that is before."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    return LlamaForCausalLM(LlamaConfig(**_decoder(), **fields))


def mistral():
    """Looks at the last tokens only."""
    import torch
    from transformers import MistralConfig, MistralForCausalLM

    torch.manual_seed(0)
    return MistralForCausalLM(MistralConfig(**_decoder(), sliding_window=16))


def gpt2():
    """With learned positions."""
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(0)
    config = GPT2Config(
        vocab_size=400, n_positions=512, n_embd=32, n_layer=2, n_head=4, initializer_range=0.3, **_ENDS
    )
    return GPT2LMHeadModel(config)


def bart():
    """Answers what it has read."""
    import torch
    from transformers import BartConfig, BartForConditionalGeneration

    torch.manual_seed(0)
    config = BartConfig(
        vocab_size=400, d_model=32, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=32, decoder_ffn_dim=32, max_position_embeddings=512,
        init_std=0.3, pad_token_id=0, decoder_start_token_id=0, forced_eos_token_id=None, **_ENDS,
    )  # fmt: skip
    return BartForConditionalGeneration(config)


def _decoder():
    return {
        "vocab_size": 400, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2,
        "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 512,
        "initializer_range": 0.3, **_ENDS,
    }  # fmt: skip
