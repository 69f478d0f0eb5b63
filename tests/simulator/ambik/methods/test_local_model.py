"""The five methods with the model that comes in a wheel: real texts, real probabilities."""

import math
from typing import Any

import pytest

from simulator.ambik.methods import background, decide
from simulator.ambik.prompts import Case
from simulator.models import ModelOptions, load_model


@pytest.fixture
def local(smollm2_home, tmp_path, monkeypatch):
    monkeypatch.setenv("ASKBACK_HOME", str(smollm2_home))
    return load_model(
        "local/smollm2", ModelOptions(device="cpu", threads=1, cache_path=tmp_path / "cache.db")
    )


@pytest.mark.slow
async def test_a_small_model_plays_every_method(local, pair_item):
    options: dict[str, Any] = dict(samples=2, seed=1, background=background([pair_item.pair]))
    decisions = {
        method: await decide(method, Case(pair_item), local, **options)
        for method in ("knowno", "lap", "lofreecp", "binary", "nohelp")
    }
    knowno, lap = decisions["knowno"], decisions["lap"]
    assert len(set(knowno.options.values())) > 1
    assert "no_letter" not in knowno.flags
    assert len(knowno.tokens) == 5
    assert sum(math.exp(logprob) for _, logprob in knowno.tokens) <= 1 + 1e-5
    assert (lap.options, lap.tokens) == (knowno.options, knowno.tokens)
    shares = [affordance.prompt for affordance in lap.affordance.values()]
    assert shares and all(share is not None and 0 < share < 1 for share in shares)
    assert decisions["lofreecp"].draws == sum(decisions["lofreecp"].samples.values()) == 8
    assert decisions["binary"].certainty in ("certain", "uncertain")
    assert decisions["nohelp"].action == decisions["binary"].action
    await local.close()
