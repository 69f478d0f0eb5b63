"""Samples of models in this process; tiny ones with random weights."""

from dataclasses import replace

import pytest
from tiny_models import bart, gpt2, llama, needs_local, text_of, tokenizer

from simulator.models import Message, ModelOptions, Request, load_model

pytestmark = needs_local
CLOSE = pytest.approx
MAKERS = {"llama": llama, "gpt2": gpt2, "bart": bart}


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    made = {}
    for name, make in MAKERS.items():
        made[name] = tmp_path_factory.mktemp(name)
        make().save_pretrained(made[name])
        tokenizer([text_of(6)[0], text_of(6, layout="\nA: {}")[0]] * 9).save_pretrained(made[name])
    return made


@pytest.fixture
async def loaded(folders):
    made = []

    def load(name):
        made.append(load_model(f"transformers/{folders[name]}", ModelOptions(device="cpu", threads=1)))
        return made[-1]

    yield load
    for each in made:
        await each.close()


@pytest.mark.parametrize("name", MAKERS)
async def test_samples_are_drawn_together_and_by_their_seed(loaded, name):
    model = loaded(name)

    def request(**fields):
        given = {"samples": 6, "seed": 3, "temperature": 1.0, "max_tokens": 8, "plain": True, **fields}
        return Request(messages=(Message("user", "The duck"),), **given)

    answer = await model.complete(request())
    assert len(answer.samples) == 6
    assert answer.text == answer.samples[0]
    assert len(set(answer.samples)) > 3
    again = await model.complete(request())
    assert again.samples == answer.samples
    assert (await model.complete(request(seed=4))).samples != answer.samples
    stopped = await model.complete(request(stop=("e", "a", " ")))
    assert all(not set(each) & {"e", "a", " "} for each in stopped.samples)
    assert (await model.complete(request(samples=1))).samples == ()


async def test_samples_follow_the_models_distribution(loaded, folders):
    """Those that are over leave the batch; what is left goes on as if nothing had happened."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    words = AutoTokenizer.from_pretrained(folders["llama"])
    model = AutoModelForCausalLM.from_pretrained(folders["llama"]).eval()
    request = Request(
        messages=(Message("user", "The duck"),), plain=True, temperature=1.0, max_tokens=5, seed=1,
        samples=400, stop=("e",),
    )  # fmt: skip
    answer = await loaded("llama").complete(request)
    assert len(answer.samples) == 400
    read = words("The duck", return_tensors="pt")["input_ids"]
    with torch.inference_mode():
        shares = torch.softmax(model(read).logits[0, -1], -1)
    first = [words(text)["input_ids"][0] if text else None for text in answer.samples]
    best = int(shares.argmax())
    drawn = sum(token == best for token in first) / 400
    assert drawn == CLOSE(shares[best].item(), abs=0.1)
    # Greedy in effect: every sample is what the model writes word by word.
    narrow = await loaded("llama").complete(replace(request, top_p=1e-6, samples=3, stop=()))
    alone = await loaded("llama").complete(replace(request, temperature=0.0, samples=1, stop=()))
    assert set(narrow.samples) == {alone.text}
