"""Commands that ask models without a run send one request to each before the work begins."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from app import cli
from simulator.errors import InputError
from simulator.models import ModelError, ModelOptions
from simulator.models.decoding import Decoding
from simulator.runner.command import service_name

sys.path.insert(0, str(Path(__file__).parents[1] / "faults"))

from hostile import serving

MODEL = "openai/absent"
COMMANDS = {
    "pairs": ["generate", "ambient", "--no-ambiguity-filter", "--prompts", "3", "--out", "made"],
    "distractors": ["generate", "ambient-distractors", "--limit", "3", "--out", "made.jsonl"],
    "scenes": ["generate", "ambik", "--out", "made"],
    "audit": ["audit", "provider", "r"],
    "judge": ["score", "r"],
}
SEATS = {"audit": "--provider", "judge": "--judge"}


def absent(handler, body):
    """Do not have the model."""
    handler.send_json({"error": {"message": "no such model", "code": "model_not_found"}}, status=404)


@pytest.fixture
def server():
    with serving() as made:
        made.turn(absent)
        yield made


@pytest.fixture
def ask(server, tmp_path, monkeypatch):
    """Call one of the commands on a run of two dialogues; its result and what the server was sent."""
    monkeypatch.setenv("ASKBACK_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    monkeypatch.chdir(tmp_path)
    log = ["--log", str(tmp_path / "log.sqlite")]
    played = CliRunner().invoke(cli, ["run", "clarq", "--limit", "2", "--run", "r", *log])
    assert played.exit_code == 0, played.output

    def call(name, *options, model=True):
        server.asked.clear()
        asked = [SEATS.get(name, "--model"), MODEL, "--base-url", server.url] if model else []
        result = CliRunner().invoke(cli, [*COMMANDS[name], *asked, *options, *log])
        return result, list(server.asked)

    return call


# Where a command has an option of its own, the preflight goes without it.
SHARED = {
    "pairs": {},
    "distractors": {"top_p": 0.5, "max_tokens": 7},
    "scenes": {"top_p": 0.5},
    "audit": {"temperature": 0.3, "top_p": 0.5, "max_tokens": 7},
    "judge": {"temperature": 0.3, "top_p": 0.5, "max_tokens": 7},
}


def test_decoding_options_are_sent_with_every_request(ask):
    for name, shared in SHARED.items():
        given = {"set": "top_k=20", "reasoning-effort": "low", "timeout": 5}
        given |= {option.replace("_", "-"): value for option, value in shared.items()}
        options = [word for option, value in given.items() for word in (f"--{option}", str(value))]
        result, sent = ask(name, *options)
        assert isinstance(result.exception, ModelError), (name, result.output, result.exception)
        expected = {"top_k": 20, "reasoning_effort": "low", **shared}
        assert [{option: body.get(option) for option in expected} for body in sent] == [expected], name
        wrong, nothing = ask(name, "--timeout", "0")
        assert "--timeout 0.0: must be" in str(wrong.exception), name
        assert nothing == []


@pytest.mark.parametrize("name", ["scenes", "audit", "judge"])
def test_decoding_options_without_a_model_are_refused(ask, name):
    result, sent = ask(name, "--top-p", "0.5", model=False)
    assert isinstance(result.exception, InputError), result.output
    assert "these options have no effect; omit: top_p" in str(result.exception)
    assert sent == []


def test_what_is_chosen_is_part_of_a_services_name():
    usual = ModelOptions(base_url="http://host/v1")
    assert service_name("openai/x", ModelOptions()) == "openai/x "
    assert service_name("openai/x", usual) == "openai/x http://host/v1"
    chosen = ModelOptions(decoding=Decoding(top_p=0.5, seed=7), extra={"top_k": 20}, together=2)
    assert service_name("openai/x", chosen) == (
        'openai/x  {"decoding": {"top_p": 0.5}, "server_options": {"top_k": 20}, "together": 2}'
    )


@pytest.mark.slow
def test_a_model_that_is_not_there_is_found_out_with_one_request(ask):
    wrong = []
    for name in COMMANDS:
        result, sent = ask(name)
        if not isinstance(result.exception, ModelError) or "Nothing was played" not in str(result.exception):
            wrong.append(f"{name}: {result.exception!r} {result.output}")
        if len(sent) != 1 or "ready" not in json.dumps(sent[0]):
            wrong.append(f"{name}: {len(sent)} requests")
    assert wrong == []
