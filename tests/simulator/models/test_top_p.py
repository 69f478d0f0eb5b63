"""`Request.top_p`: sent where it is not 1, a part of the key then, and never decided by somebody else."""

import importlib.util
import json
from dataclasses import replace

import pytest

from simulator.models import ModelOptions, load_model
from simulator.models.keys import content_key
from simulator.models.openai_backend import CompletionsModel


async def test_chat_servers_are_told(make, server, ask, provider):
    model = make(provider)
    await model.complete(ask(temperature=0.5, top_p=0.9))
    await model.complete(ask(temperature=0.5))
    assert server.requests[0].body["top_p"] == 0.9
    assert "top_p" not in server.requests[1].body


@pytest.mark.parametrize(("temperature", "sent"), [(1.0, False), (0.5, True)])
async def test_claude_gets_one_number_where_one_will_do(make, server, ask, temperature, sent):
    await make("anthropic", "claude-sonnet-4-6").complete(ask(temperature=temperature, top_p=0.9))
    body = server.requests[0].body
    assert body["top_p"] == 0.9
    assert ("temperature" in body) is sent


@pytest.mark.parametrize(("which", "name"), [("openai", "gpt-5"), ("anthropic", "claude-opus-5")])
async def test_models_that_take_no_temperature_get_none(make, server, ask, which, name):
    model = make(which, name)
    await model.complete(ask(top_p=0.9))
    assert "top_p" not in server.requests[0].body
    assert "top_p" in model.ignored


async def test_text_completions_are_told(server, ask):
    answer = {"index": 0, "text": "so", "finish_reason": "stop", "logprobs": None}
    body = {"id": "c", "object": "text_completion", "created": 1, "model": "m", "choices": [answer]}
    server.always = lambda handler: handler.send_json(body)
    model = CompletionsModel("m", base_url=server.base_url("openai"), timeout=5.0)
    await model.complete(ask(plain=True, temperature=1.0, top_p=0.4))
    await model.complete(ask(plain=True, temperature=1.0))
    assert [each.body.get("top_p") for each in server.requests] == [0.4, None]
    await model.close()


def test_the_key_knows_it_and_older_keys_stay(ask):
    # The key of this very request before there was `top_p`.
    assert content_key(ask()) == "77fae1219d1efd7cfbee83a81a16126c9a7e55413f58c968b4cc6b88d3b3d5ce"
    assert content_key(replace(ask(), top_p=0.9)) not in (content_key(ask()), content_key(ask(top_p=0.4)))


@pytest.mark.skipif(importlib.util.find_spec("transformers") is None, reason="pip install 'askback[local]'")
async def test_a_local_model_draws_from_all_tokens_unless_told_otherwise(sampler, ask):
    async def texts(**fields):
        asked = ask("which colour ?", temperature=2.0, max_tokens=12, **fields)
        return {(await sampler.complete(replace(asked, seed=seed))).text for seed in range(4)}

    # The folder's own settings would leave one token only.
    assert len(await texts()) > 1
    assert len(await texts(top_p=1e-6)) == 1


@pytest.fixture
async def sampler(tmp_path):
    """A tiny GPT-2 whose folder says that only the likeliest token is to be drawn."""
    torch = pytest.importorskip("torch", reason="pip install 'askback[local]'")
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    words = ["<unk>", "<end>", "<user>", "<assistant>", "which", "colour", "?", "red", "blue", "green"]
    tokenizer = Tokenizer(models.WordLevel({word: n for n, word in enumerate(words)}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, unk_token="<unk>", eos_token="<end>", pad_token="<end>"
    )
    fast.chat_template = "{% for m in messages %}<{{ m.role }}> {{ m.content }} {% endfor %}<assistant>"
    torch.manual_seed(0)
    config = GPT2Config(
        vocab_size=len(words), n_positions=64, n_embd=16, n_layer=1, n_head=2, bos_token_id=1, eos_token_id=1
    )
    GPT2LMHeadModel(config).save_pretrained(tmp_path)
    fast.save_pretrained(tmp_path)
    settings = {"do_sample": True, "top_k": 1, "top_p": 0.1, "bos_token_id": 1, "eos_token_id": 1}
    (tmp_path / "generation_config.json").write_text(json.dumps(settings), encoding="utf-8")
    model = load_model(f"transformers/{tmp_path}", ModelOptions(device="cpu", threads=1))
    yield model
    await model.close()
