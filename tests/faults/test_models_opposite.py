"""Models of servers opposite people: the log says where they are; nobody is spent on one that is absent."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import app
from logs import LogReader, LogWriter
from simulator import catalog
from simulator.ambik.benchmark import BENCHMARK
from simulator.ambik.sessions import AmbikSessions
from simulator.clarq.benchmark import BENCHMARK as CLARQ
from simulator.clarq.sessions import ClarqSessions
from simulator.errors import InputError
from simulator.frames import episodes
from simulator.handmethat.sessions import HandMeThatSessions
from simulator.models import ModelOptions
from simulator.runner.build import Models
from simulator.seats import Reply
from simulator.studies import read_study
from ui import command

sys.path.insert(0, str(Path(__file__).parent))

from hostile import echo_401, good, serving, set_at

STUDY = """
id: opposite
title: Opposite a model
benchmark: ambik
language: en
seat: user
settings: {{task: decide, opposite: {opposite}, method: {method}, data: builtin, items: 4}}
setup: L2H
judgments_per_item: 3
completion_codes: {{complete: C-1, returned: R-1}}
"""


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-abcdefghij")
    with serving() as running:
        yield running


@pytest.fixture
def log(tmp_path):
    with LogWriter(tmp_path / "log.sqlite", durable=True) as writer, LogReader(writer.path) as reader:
        yield writer, reader


@pytest.fixture
def study_file(tmp_path):
    def write(opposite, method="binary"):
        path = tmp_path / "study.yaml"
        path.write_text(STUDY.format(opposite=opposite, method=method))
        return path

    return write


def models(log, **options):
    return Models(options=ModelOptions(recorder=log[0].put, max_attempts=1, **options))


@pytest.mark.slow
async def test_the_address_stays_with_the_seat(server, log):
    """Whoever starts the app again without --base-url finds the model where it was."""
    there = models(log, base_url=server.url.replace("http://", "http://user:passphrase@"))
    opponents = [there.addressed("openai/llama")]
    sessions = HandMeThatSessions(catalog.find("handmethat"), *log, there, opponents=opponents, env={})
    offered = sessions.opponents("human")
    assert [model.label for model in offered if model.name == opponents[0]] == ["llama"]
    assert not {"openai/gpt-4o"} & {model.name for model in offered}
    episode = await sessions.start(seat="robot", others={"human": opponents[0]}, rules={})
    assert log[1].episode(episode).seats["human"] == opponents[0]
    assert opponents[0].startswith("openai/llama@http://") and "passphrase" not in opponents[0]
    assert server.url.rpartition("/")[0] not in episode  # it is a part of pages' addresses
    await sessions.submit(episode, "robot", Reply(text="ask: which one?", key="1"))
    asked = server.requests
    await there.close()

    own = models(log)
    direct = f"openai/llama@{server.url}"
    again = HandMeThatSessions(catalog.find("handmethat"), *log, own, opponents=[direct], env={})
    other = await again.start(seat="robot", others={"human": direct}, rules={})
    assert log[1].episode(other).seats["human"] == direct
    restarted = HandMeThatSessions(catalog.find("handmethat"), *log, models(log), env={})
    assert await restarted.view(other, "robot")
    assert server.requests >= asked
    await own.close()


async def test_nobody_is_spent_on_a_model_that_is_not_there(server, log, study_file):
    study = read_study(study_file(f"openai/llama@{server.url}"))
    loaded = models(log)
    sessions = AmbikSessions(BENCHMARK, *log, loaded, studies=[study], env={})
    server.turn(echo_401)
    entering = {"identity": {"PROLIFIC_PID": "anna"}, "participant_key": "browser-1", "language": "en"}
    refused = await sessions.enter("opposite", **entering)
    assert (refused.refusal, refused.episode_id) == ("later", None)
    assert log[1].episodes() == []
    assert "sk-abcdefghij" not in json.dumps([call.response for call in log[1].model_calls()])
    server.turn(good)
    entered = await sessions.enter("opposite", **entering)
    assert entered.episode_id is not None
    assert log[1].episode(entered.episode_id).seats["robot"] == f"openai/llama@{server.url}"
    await loaded.close()


SEEKING = """
id: seeking
title: A model seeks
benchmark: clarq
language: zh
seat: provider
setup: L2H
settings: {{opposite: {opposite}, data: builtin, split: test, turn_limit: 1}}
judgments_per_item: 1
model_failure: {{then: neutral_turn, tries: 2}}
completion_codes: {{complete: C-1}}
"""


async def test_neutral_words_stand_for_a_model_that_fails(server, log, tmp_path):
    (tmp_path / "study.yaml").write_text(SEEKING.format(opposite=f"openai/llama@{server.url}"))
    loaded = models(log)
    sessions = ClarqSessions(CLARQ, *log, loaded, studies=[read_study(tmp_path / "study.yaml")], env={})
    entering = {"identity": {}, "participant_key": "browser-1", "language": "zh"}
    episode = (await sessions.enter("seeking", **entering)).episode_id

    async def say(*words):
        for text in words:
            seen = await sessions.submit(episode, "provider", Reply(text=text))
        return seen

    server.turn(echo_401)
    seen = await say("yes", "ready")
    assert (seen.my_turn, len(seen.moves), bool(seen.warning)) == (False, 1, True)
    seen = await sessions.view(episode, "provider")
    assert (seen.my_turn, seen.moves[-1].text, seen.warning) == (True, "抱歉，我刚才走神了，请继续。", None)
    assert (await say("没关系。", "no")).ending.status == "truncated"
    neutral = [turn for turn in log[1].turns(episode) if turn.payload.get("neutral")]
    assert [turn.seat for turn in neutral] == ["seeker"]
    frame = episodes(log[1], ["study-seeking"])
    assert list(frame["model_failures"]) == [2]
    await loaded.close()


def test_a_cap_on_spending_needs_models_whose_price_is_known(server, study_file, monkeypatch, tmp_path):
    monkeypatch.setenv("ASKBACK_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "300")
    file = study_file("openai/llama")
    log = tmp_path / "log.sqlite"

    def answers(*words):
        result = CliRunner().invoke(app.cli, [*words, "--base-url", server.url])
        return result.exit_code, result.output + str(result.exception or "")

    assert answers("study", "open", str(file), "--log", str(tmp_path / "other.sqlite"))[0] == 0
    file.write_text(file.read_text() + "model_budget: 5\n")
    for words in (("check",), ("study", "check"), ("study", "open", "--log", str(log))):
        code, output = answers(*words, str(file))
        assert code == 1 and "has no price, so a budget cannot be enforced" in output, words
    served = ["app", "--port", "7997", "--log", str(log), "--study", str(file)]
    assert "has no price, so a budget cannot be enforced" in answers(*served)[1]
    prices = tmp_path / "prices.yaml"
    prices.write_text("openai/llama: {input: 1.0, output: 2.0}\n")
    monkeypatch.setenv("ASKBACK_PRICES", str(prices))
    assert answers("study", "open", str(file), "--log", str(log))[0] == 0


def test_check_asks_the_model_opposite_once(server, study_file, monkeypatch, tmp_path):
    monkeypatch.setenv("ASKBACK_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "300")

    def check(*options):
        result = CliRunner().invoke(app.cli, ["check", str(tmp_path / "study.yaml"), *options])
        return result.exit_code, result.output

    study_file(f"openai/llama@{server.url}")
    assert check() == (0, "No faults.\n")
    assert server.requests == 1
    server.turn(set_at("choices", 0, "logprobs", value=None))
    study_file("openai/llama")
    assert check("--base-url", server.url)[0] == 0
    server.turn(echo_401)
    code, output = check("--base-url", server.url)
    assert code == 1 and "openai/llama" in output and "401" in output
    monkeypatch.delenv("OPENAI_API_KEY")
    code, output = check()
    # A key is the machine's: the file is right where there is one.
    assert code == 0 and f"warning: {tmp_path / 'study.yaml'}:" in output
    assert "openai/llama: it needs a key: set the environment variable OPENAI_API_KEY" in output


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"opponent": ["openai/gpt-4o"]}, "OPENAI_API_KEY"),
        ({"opponent": ["nobody/x"]}, "not a model"),
        ({"opponent": ["openai/x@http://someone:passphrase@127.0.0.1:9/v1"]}, "no password"),
        ({"study": True}, "OPENAI_API_KEY"),
    ],
)
def test_the_app_does_not_start_without_a_model_that_people_are_to_meet(
    arguments, problem, study_file, tmp_path, monkeypatch
):
    monkeypatch.setenv("ASKBACK_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setattr(command, "_serve", lambda *serving, **means: pytest.fail("the app has started"))
    options = [f"--opponent={name}" for name in arguments.get("opponent", ())]
    if arguments.get("study"):
        options.append(f"--study={study_file('openai/gpt-4o')}")
    log = tmp_path / "log.sqlite"
    result = CliRunner().invoke(app.cli, ["app", "--port", "7999", "--log", str(log), *options])
    assert isinstance(result.exception, InputError)
    assert problem in str(result.exception) and "passphrase" not in str(result.exception)


def test_the_app_starts_with_a_server_of_ones_own(server, study_file, tmp_path, monkeypatch):
    monkeypatch.setenv("ASKBACK_HOME", str(tmp_path / "home"))
    served = []
    monkeypatch.setattr("ui.research.mount.research_mount", lambda *log, **means: None)
    monkeypatch.setattr("ui.server.create_server", lambda sessions, **means: served.extend(sessions))
    monkeypatch.setattr(command, "_serve", lambda *serving: None)
    given = [
        "--base-url",
        server.url,
        "--opponent",
        "openai/llama",
        "--study",
        str(study_file("openai/llama")),
    ]
    result = CliRunner().invoke(
        app.cli, ["app", "--port", "7998", "--log", str(tmp_path / "l.sqlite"), *given]
    )
    assert result.exception is None, result.output
    assert server.requests == 1
    names = {opponent.name for opponent in served[0].opponents("provider")}
    assert f"openai/llama@{server.url}" in names and "openai/gpt-4o" not in names
