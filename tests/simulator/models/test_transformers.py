"""A tiny model with random weights, made here: nothing is downloaded."""

import asyncio
import importlib.util
import json
import math
import shutil

import pytest

from simulator.errors import InputError
from simulator.models import BadRequest, Message, ModelOptions, Request, ScoreRequest, Unsupported, load_model

MISSING = [name for name in ("torch", "transformers") if importlib.util.find_spec(name) is None]
pytestmark = pytest.mark.skipif(
    bool(MISSING), reason=f"no {' and '.join(MISSING)} here: pip install 'askback[local]'"
)
TEMPLATE = (
    "{% for m in messages %}<{{ m.role }}> {{ m.content }} {% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)
WORDS = ["red", "blue", "green", "dark", "light", "which", "colour", "?"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A GPT-2 of two layers over some words."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    words = [
        "<unk>",
        "<end>",
        "<user>",
        "<assistant>",
        "<system>",
        *["red", "blue", "green", "dark", "light", "which", "colour", "?"],
    ]
    tokenizer = Tokenizer(models.WordLevel({word: n for n, word in enumerate(words)}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, unk_token="<unk>", eos_token="<end>", pad_token="<end>"
    )
    fast.chat_template = TEMPLATE
    torch.manual_seed(0)
    config = GPT2Config(
        vocab_size=len(words), n_positions=256, n_embd=16, n_layer=2, n_head=2, bos_token_id=1, eos_token_id=1
    )
    path = tmp_path_factory.mktemp("tiny")
    GPT2LMHeadModel(config).save_pretrained(path)
    fast.save_pretrained(path)
    return path


@pytest.fixture
async def model(folder):
    made = load_model(f"transformers/{folder}", ModelOptions(device="cpu"))
    yield made
    await made.close()


def question(**fields):
    return Request(messages=(Message("user", "which colour ?"),), **{"max_tokens": 8, **fields})


async def test_an_answer(model):
    completion = await model.complete(question())
    assert completion.usage.input_tokens == 5
    assert 1 <= completion.usage.output_tokens <= 8
    assert completion.cost == 0.0
    assert (await model.complete(question())).text == completion.text


async def test_the_seed_decides(model):
    settings = {"temperature": 1.5, "max_tokens": 20}
    texts = [(await model.complete(question(seed=seed, **settings))).text for seed in (1, 1, 2)]
    assert texts[0] == texts[1] != texts[2]


async def test_logprobs(model):
    completion = await model.complete(question(top_logprobs=3))
    assert len(completion.logprobs) == completion.usage.output_tokens
    for token in completion.logprobs:
        assert len(token.top) == 3
        assert token.top[0][1] == pytest.approx(token.logprob), "greedy takes the likeliest"
        assert sum(math.exp(value) for _, value in token.top) <= 1.0001


async def test_a_cancelled_call_stops_generating(model):
    task = asyncio.create_task(model.complete(question(max_tokens=240)))
    await asyncio.sleep(0.01)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert (await model.complete(question())).usage.output_tokens >= 1


@pytest.fixture
def plain_folder(folder, tmp_path):
    """The same model without a chat template."""
    path = tmp_path / "plain"
    shutil.copytree(folder, path)
    for file in path.glob("*chat_template*"):
        file.unlink()
    config = path / "tokenizer_config.json"
    content = json.loads(config.read_text())
    content.pop("chat_template", None)
    config.write_text(json.dumps(content))
    return path


async def test_a_model_without_a_chat_template_only_continues_and_scores(plain_folder):
    model = load_model(f"transformers/{plain_folder}", ModelOptions(device="cpu", threads=1))
    assert model.capabilities.plain and model.capabilities.scoring and not model.capabilities.schema
    with pytest.raises(Unsupported, match="no chat template, so it can only continue and score"):
        await model.complete(question())
    assert (await model.complete(question(plain=True))).usage.input_tokens == 3
    scored = await model.score(ScoreRequest(text="which colour ?", offsets=(13,)))
    assert scored.positions[0].token == "?"
    await model.close()


async def test_a_plain_text_goes_in_without_a_template(model):
    chat, plain = [(await model.complete(question(plain=each))) for each in (False, True)]
    assert (chat.usage.input_tokens, plain.usage.input_tokens) == (5, 3)
    with pytest.raises(BadRequest, match="a single user message"):
        await model.complete(Request(messages=(Message("system", "a"), Message("user", "b")), plain=True))


async def test_a_folder_that_is_none_is_told(tmp_path):
    with pytest.raises(InputError, match=r"cannot load the model .*nothing"):
        load_model(f"transformers/{tmp_path / 'nothing'}")


async def test_loading_says_nothing(folder, capfd):
    await load_model(f"transformers/{folder}", ModelOptions(device="cpu")).close()
    assert "".join(capfd.readouterr()) == ""
