"""Needs of a method, reported with the model's name before anything is played."""

import pytest

from simulator.ambik.methods import refusal
from simulator.models import Capabilities, ModelOptions, load_model
from simulator.orders import ModelAbilities

MUTE = ModelAbilities("anthropic/some", Capabilities(logprobs=False), frozenset({"seed", "temperature"}))
TELLS = ModelAbilities("local/smollm2", Capabilities(logprobs=True))


@pytest.mark.parametrize("method", ["knowno", "lap"])
def test_letters_need_probabilities(method):
    why = refusal(method, MUTE)
    assert {"knowno": "KnowNo", "lap": "LAP"}[method] in why
    assert "anthropic/some does not return them" in why
    assert "--chooser local/smollm2" in why
    assert "lofreecp, binary or nohelp" in why
    assert refusal(method, TELLS) == ""


@pytest.mark.parametrize("method", ["knowno", "lap"])
def test_it_is_the_chooser_who_needs_them(method):
    assert refusal(method, MUTE, TELLS) == ""
    why = refusal(method, TELLS, MUTE)
    assert "anthropic/some does not return them; take another chooser" in why


def test_several_draws_need_a_temperature():
    assert "anthropic/some does not accept one" in refusal("lofreecp", MUTE)
    assert "samples 7 answers" in refusal("lofreecp", MUTE, samples=7)
    assert refusal("lofreecp", MUTE, samples=1) == ""
    assert refusal("lofreecp", TELLS) == ""


@pytest.mark.parametrize("method", ["binary", "nohelp"])
def test_words_need_nothing(method):
    assert refusal(method, MUTE) == ""


@pytest.mark.parametrize(
    ("name", "refused"),
    [
        ("openai/gpt-4o", ()),
        ("openai/o3", ("knowno", "lap", "lofreecp")),
        ("anthropic/claude-3-5-haiku-latest", ("knowno", "lap")),
        ("completions/some@http://127.0.0.1:9/v1", ()),
    ],
)
async def test_models_as_they_are_loaded(name, refused, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "none")
    model = load_model(name, ModelOptions())
    every = ("knowno", "lap", "lofreecp", "binary", "nohelp")
    assert tuple(method for method in every if refusal(method, model)) == refused
    await model.close()
