"""Test that a tiny local model really learns; nothing is downloaded."""

from __future__ import annotations

import json
import math
import os
from statistics import fmean

import pytest

os.environ["HF_HUB_OFFLINE"] = "1"
torch = pytest.importorskip("torch", reason="finetuning needs torch: pip install 'askback[local]'")
transformers = pytest.importorskip("transformers", reason="pip install 'askback[local]'")

from simulator.ambibench.features import PAIRS  # noqa: E402
from simulator.ambibench.generation import generate_finetune  # noqa: E402
from simulator.ambibench.prompt import finetune_record  # noqa: E402
from simulator.ambibench.train_command import TrainConfig, encode, finetune, losses_of  # noqa: E402

FOLD = "subject_location"
pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def records() -> list[dict[str, str]]:
    return [finetune_record(prompt) for prompt in generate_finetune(3, FOLD)[:30]]


def test_the_completion_is_a_token_of_its_own_with_weight_one(base, records):
    tokenizer = transformers.AutoTokenizer.from_pretrained(base)
    for record in (records[0], records[-1]):
        encoded = encode(tokenizer, record, 0.1)
        assert tokenizer.decode(encoded.ids) == record["prompt"] + record["completion"]
        counted = [weight for weight in encoded.weights if weight == 1.0]
        assert tokenizer.decode(encoded.ids[-len(counted) :]) == record["completion"]
        assert encoded.weights[0] == 0
        assert {*encoded.weights[1 : -len(counted)]} == {0.1}


def test_the_loss_is_the_weighted_mean_of_the_tokens(base, records):
    tokenizer = transformers.AutoTokenizer.from_pretrained(base)
    model = transformers.AutoModelForCausalLM.from_pretrained(base).eval()
    encoded = encode(tokenizer, records[0], 0.25)
    with torch.no_grad():
        loss, completion = losses_of(model, encoded)
        logprobs = torch.log_softmax(model(torch.tensor([encoded.ids])).logits[0], dim=-1)
    each = [-logprobs[at - 1, encoded.ids[at]].item() for at in range(1, len(encoded.ids))]
    top = sum(weight * value for weight, value in zip(encoded.weights[1:], each, strict=True))
    assert loss.item() == pytest.approx(top / sum(encoded.weights), rel=1e-5)
    last = [value for weight, value in zip(encoded.weights[1:], each, strict=True) if weight == 1.0]
    assert completion == pytest.approx(fmean(last), rel=1e-5)


# The adapter leaves the output layer of this random model as it is, so it can do less.
@pytest.mark.slow
@pytest.mark.parametrize(("method", "gain"), [("lora", 0.25), ("full", 3.0)])
def test_it_learns_and_leaves_a_folder_that_plays(base, records, tmp_path, method, gain):
    config = TrainConfig(method=method, epochs=2, rate=1e-2, seed=4)
    curve = finetune(str(base), records, tmp_path / "out", config, facts={"fold": FOLD})
    assert len(curve.loss) == len(curve.completion) == 2 * len(records)
    assert fmean(curve.completion[-20:]) < fmean(curve.completion[:3]) - gain
    facts = json.loads((tmp_path / "out" / "askback.json").read_text())
    assert facts["fold"] == FOLD and facts["examples"] == 30 and facts["method"] == method
    assert json.loads((tmp_path / "out" / "curve.json").read_text())["loss"] == curve.loss
    assert (tmp_path / "out" / "adapter_model.safetensors").exists() == (method == "lora")


def test_the_adapter_names_its_base_and_changes_what_the_model_says(base, records, tmp_path, monkeypatch):
    from simulator.models import weights

    config = TrainConfig(epochs=1, rate=1e-2)
    finetune(str(base), records[:10], tmp_path / "out", config, name="local/tiny")
    settings = json.loads((tmp_path / "out" / "adapter_config.json").read_text())
    assert settings["base_model_name_or_path"] == "local/tiny"
    monkeypatch.setattr(weights, "find_base", lambda name: str(base) if name == "local/tiny" else name)
    tuned = weights.load_weights(str(tmp_path / "out"), "cpu")
    plain = transformers.AutoModelForCausalLM.from_pretrained(base).eval()
    ids = torch.tensor([encode(tuned.tokenizer, records[0], 0.1).ids])
    with torch.no_grad():
        difference = (tuned.model(ids).logits - plain(ids).logits).abs().max().item()
    assert difference > 1e-3


def test_the_same_seed_learns_the_same(base, records, tmp_path):
    config = TrainConfig(epochs=1, seed=7)
    first = finetune(str(base), records[:10], tmp_path / "a", config)
    second = finetune(str(base), records[:10], tmp_path / "b", config)
    other = finetune(str(base), records[:10], tmp_path / "c", TrainConfig(epochs=1, seed=8))
    assert first == second != other


def test_the_control_does_not_see_the_pair_that_is_held_out():
    for fold in PAIRS:
        for variant in ("ambiguous", "control"):
            prompts = generate_finetune(0, fold, variant)
            assert len(prompts) == 272
            assert all(prompt.pair != fold for prompt in prompts)


def test_the_prompt_can_be_left_out_of_the_loss(base, records):
    tokenizer = transformers.AutoTokenizer.from_pretrained(base)
    model = transformers.AutoModelForCausalLM.from_pretrained(base).eval()
    with torch.no_grad():
        loss, completion = losses_of(model, encode(tokenizer, records[0], 0.0))
    assert math.isclose(loss.item(), completion, rel_tol=1e-6)
