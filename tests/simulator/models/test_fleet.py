"""A fleet's file and its names; neither cache nor log nor replay depends on which server answers."""

import logging
from dataclasses import replace

import pytest

from logs import LogReader, LogWriter
from logs.rows import Episode, Item, Run
from simulator.commands.files import check_files
from simulator.errors import InputError
from simulator.models import (
    AuthenticationFailed,
    ModelOptions,
    Needs,
    PreflightFailed,
    Unavailable,
    load_model,
    run_preflight,
)
from simulator.models.fleet import Fleet, address_of, place_of
from simulator.models.load import addressed_name, bare_name
from simulator.runner.build import Models

FILE = """
name: gpus
servers:
  - {url: "http://gpu1:8000/v1/", capacity: 64, weight: 2, tags: [a100, big]}
  - {url: "http://user:passphrase@gpu2:8000/v1", per_minute: 600, key_variable: GPU_KEY}
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "fleet.yaml"
    path.write_text(FILE)
    return path


def test_a_file(file):
    fleet = place_of(str(file))
    assert isinstance(fleet, Fleet) and address_of(fleet) == fleet.address == "fleet:gpus"
    first, second = fleet.servers
    assert (first.address, first.capacity, first.weight, first.tags) == (
        "http://gpu1:8000/v1", 64, 2.0, ("a100", "big"),
    )  # fmt: skip
    assert (second.capacity, second.per_minute, second.key_variable) == (None, 600, "GPU_KEY")
    part = place_of([f"{file}#big"])
    assert isinstance(part, Fleet) and (part.address, part.servers) == ("fleet:gpus#big", (first,))
    file.write_text(FILE.replace("name: gpus", ""))
    assert address_of(place_of(str(file))) == "fleet:fleet", "after its file"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("- http://gpu1/v1", "expected a mapping with a list 'servers'"),
        ("{", "is not YAML"),
        ("servers: []", "servers"),
        ("servers: [http://gpu1/v1]", "servers"),
        ("servers: [{url: gpu1}]", "server 1: url is not a server's URL"),
        ("servers: [{url: http://a/v1}, {url: http://b/v1, capacity: 0}]", "server 2: capacity"),
        ("servers: [{url: http://a/v1, weight: -1}]", "server 1: weight"),
        ("servers: [{url: http://a/v1, slots: 3}]", "server 1: .*slots.*per_minute"),
        ("servers: [{url: http://a/v1}, {url: http://a/v1/}]", "http://a/v1 is named twice"),
        ("{name: a b, servers: [{url: http://a/v1}]}", "name may have letters"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(file, text, problem):
    file.write_text(text)
    with pytest.raises(InputError, match=f"fleet.yaml.*{problem}"):
        place_of(str(file))


def test_files_are_checked(file):
    assert check_files([file.parent]) == ()
    file.write_text(FILE.replace("capacity: 64", "capacity: 0"))
    (fault,) = check_files([file])
    assert fault.file == str(file) and fault.message.startswith("server 1: capacity")


def test_other_mistakes_are_said(file, tmp_path):
    with pytest.raises(InputError, match=r"nothing\.yaml: No such file"):
        place_of(str(tmp_path / "nothing.yaml"))
    with pytest.raises(InputError, match="no server has the tag 'h100'; known tags: a100, big"):
        place_of(f"{file}#h100")
    with pytest.raises(InputError, match="give no other --base-url"):
        place_of([str(file), "http://a/v1"])
    with pytest.raises(InputError, match="--base-url: http://a/v1 is named twice"):
        place_of(["http://a/v1", "http://a/v1/"])
    with pytest.raises(InputError, match="--base-url: url is not a server's URL"):
        place_of(["http://a/v1", "gpu2"])
    with pytest.raises(AuthenticationFailed, match=r"http://.*gpu2.* needs a key: set .* GPU_KEY"):
        load_model("openai/llama", ModelOptions(base_url=place_of(str(file))))


def test_addresses_are_those_that_a_log_may_know():
    assert place_of(None) is None and place_of([]) is None and address_of(None) == ""
    assert place_of(["http://a/v1/"]) == "http://a/v1/", "one server is no fleet"
    several = place_of(["http://user:passphrase@b/v1", "http://a/v1"])
    assert address_of(several) == "http://***@b/v1,http://a/v1" or "passphrase" not in address_of(several)
    assert address_of(place_of("http://b/v1,http://a/v1")) == "http://a/v1,http://b/v1"
    assert address_of("http://user:passphrase@b/v1") == "http://***@b/v1"


def test_names_of_models_with_a_fleet(file):
    name = f"openai/llama@{file}#big"
    assert (bare_name(name), addressed_name(name)) == ("openai/llama", "openai/llama@fleet:gpus#big")
    assert bare_name("openai/llama@fleet:gpus") == addressed_name("openai/llama@fleet:gpus").partition("@")[0]
    assert addressed_name("openai/llama@http://b/v1,http://a/v1") == "openai/llama@http://a/v1,http://b/v1"
    assert bare_name("gemini/claude@20250101") == "gemini/claude@20250101"
    models = Models(options=ModelOptions(base_url=place_of(f"{file}#big")))
    assert models.addressed("openai/llama") == "openai/llama@fleet:gpus#big"
    assert models("openai/llama@fleet:gpus#big").identity.base_url == "fleet:gpus#big"
    with pytest.raises(InputError, match="name the file of this fleet with --base-url"):
        load_model("openai/llama@fleet:gpus")
    with pytest.raises(InputError, match="no password or key"):
        load_model("openai/llama@http://a/v1,http://user:passphrase@b/v1")


def test_a_fleet_has_one_identity_whoever_is_in_it(file, monkeypatch):
    monkeypatch.setenv("GPU_KEY", "secret-key")
    whole = load_model("openai/llama", ModelOptions(base_url=place_of(str(file))))
    file.write_text("{name: gpus, servers: [{url: http://elsewhere/v1}]}")
    other = load_model("openai/llama", ModelOptions(base_url=place_of(str(file))))
    assert whole.identity == other.identity and whole.identity.digest == other.identity.digest
    assert whole.name == "openai/llama"
    scoring = load_model("completions/llama", ModelOptions(base_url=place_of(str(file))))
    assert scoring.capabilities.scoring and scoring.identity != whole.identity


async def test_the_log_names_the_server_of_each_answer(servers, says, ask, tmp_path):
    """The first server answers, is replaced by another, and cache and replay give what it had said."""
    first, second = servers
    second.always = says.good("another answer")
    log, path = tmp_path / "log.sqlite", tmp_path / "gpus.yaml"
    options = ModelOptions(cache_path=tmp_path / "cache.sqlite")
    request = ask(episode_id="e", turn_number=0)

    async def answer(server, request):
        path.write_text(f"servers: [{{url: '{server.url}/v1'}}]")
        with LogWriter(log, durable=False) as writer:
            model = load_model(
                "openai/llama", replace(options, base_url=place_of(str(path)), recorder=writer.put)
            )
            completion = await model.complete(request)
            await model.close()
        return completion

    with LogWriter(log, durable=False) as writer:
        writer.put(Run(id="r", benchmark="clarq", setup="H2L", seed=1))
        writer.put(Item(hash="h", benchmark="clarq", name="i", language="en", data={}))
        writer.put(Episode(id="e", run_id="r", item_hash="h", language="en", seats={}, seed=1))
    assert (await answer(first, request)).text == "hello"
    again = await answer(second, replace(request, turn_number=1))
    assert (again.text, again.cached, again.server) == ("hello", True, f"{first.url}/v1")
    assert (await answer(second, ask("Which one?"))).server == f"{second.url}/v1"
    with LogReader(log) as reader:
        calls = reader.model_calls(episode_id="e")
        assert [call.response["server"] for call in calls] == [f"{first.url}/v1"] * 2
        assert {call.request["base_url"] for call in calls} == {"fleet:gpus"}
    replay = load_model("replay/r", ModelOptions(recordings=log))
    assert (await replay.complete(request)).text == "hello"


async def test_a_failure_names_its_server(servers, says, ask):
    for server in servers:
        server.always = says.status(500)
    rows = []
    place = place_of([f"{server.url}/v1" for server in servers])
    model = load_model("openai/llama", ModelOptions(base_url=place, recorder=rows.append, max_attempts=1))
    with pytest.raises(
        Unavailable, match=r"openai/llama at http://127.0.0.1:\d+/v1: .*the server's own words"
    ):
        await model.complete(ask())
    await model.close()
    assert rows[0].response["server"] in [f"{server.url}/v1" for server in servers]
    assert rows[0].request["base_url"] == place.address


async def test_each_server_is_asked_before_a_run(servers, says):
    place = place_of([f"{server.url}/v1" for server in servers])
    model = load_model("openai/llama", ModelOptions(base_url=place))
    await run_preflight(model)
    assert [len(server.requests) for server in servers] == [1, 1]
    with pytest.raises(PreflightFailed, match=r"openai/llama at http.* was asked for log-probabilities"):
        await run_preflight(model, Needs(top_logprobs=5))
    await model.close()


async def test_a_fleet_may_lack_servers_that_are_not_there(server, caplog):
    away = "http://127.0.0.1:9/v1"
    model = load_model("openai/llama", ModelOptions(base_url=place_of([away, f"{server.url}/v1"])))
    with caplog.at_level(logging.WARNING, logger="simulator.models.pool"):
        await run_preflight(model)
    await model.close()
    assert f"{away} is out of service" in caplog.text and len(server.requests) == 1
    gone = load_model("openai/llama", ModelOptions(base_url=place_of([away, "http://127.0.0.1:19/v1"])))
    with pytest.raises(PreflightFailed, match=r"does not respond\. Nothing was played"):
        await run_preflight(gone)
    await gone.close()
