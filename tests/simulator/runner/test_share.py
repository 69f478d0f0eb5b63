"""Players of a run: the number of processes, here or on a cluster, and what they share."""

import asyncio
import multiprocessing

import pytest

from simulator.errors import InputError
from simulator.models import BudgetExceeded
from simulator.models.budget import SharedBudget
from simulator.runner import executors
from simulator.runner.cluster import connecting, players
from simulator.runner.options import Engine, read_resources

OFFLINE = {"seeker": "offline/seeker:hasty", "provider": "offline/experts"}
SCRIPT = {"seeker": "script:lines.yaml", "provider": "offline/experts"}
MODEL = {"seeker": "openai/m", "provider": "offline/experts"}


@pytest.fixture(autouse=True)
def eight_cores(monkeypatch):
    monkeypatch.setattr(executors, "processor_count", lambda: 8)


@pytest.mark.each(
    ("seats", "episodes", "workers"),
    [
        (OFFLINE, 62, 1),
        (OFFLINE, 310, 1),
        (OFFLINE, 620, 3),
        (SCRIPT, 620, 3),
        (OFFLINE, 100_000, 8),
        (MODEL, 100_000, 1),
    ],
)
def test_a_long_offline_run_takes_more_processes(seats, episodes, workers):
    assert executors.workers_for(Engine(), seats, episodes) == workers


@pytest.mark.parametrize("asked", [1, 3, 20])
def test_what_is_asked_for_is_done(asked):
    assert executors.workers_for(Engine(workers=asked), MODEL, 5) == asked


async def test_a_budget_is_one_for_all_processes():
    purse = multiprocessing.get_context("spawn").Array("d", [1.0, 0.0])
    first, second = SharedBudget(3.0, purse), SharedBudget(3.0, purse)
    await first.reserve(1.5)
    waiting = asyncio.create_task(second.reserve(1.0))
    await asyncio.sleep(0.01)
    assert not waiting.done()
    first.settle(1.5, 0.5)
    await waiting
    with pytest.raises(BudgetExceeded, match=r"only 1\.5000 USD are left"):
        await first.reserve(1.6)


def test_where_runs_are_played():
    assert not Engine().is_ray
    assert Engine(executor="ray").is_ray and Engine(executor="ray").address == ""
    assert Engine(executor="ray:10.0.0.1:6379").address == "10.0.0.1:6379"
    with pytest.raises(InputError, match=r"--executor dask: write local, ray.* --workers N"):
        Engine(executor="dask")
    with pytest.raises(InputError, match=r"add --executor ray"):
        Engine(resources={"seeker": {"num_gpus": 1.0}})


def test_resources_of_seats():
    assert read_resources(["seeker=num_gpus:0.5,num_cpus:4", "provider=tpu: 2"]) == {
        "seeker": {"num_gpus": 0.5, "num_cpus": 4.0},
        "provider": {"tpu": 2.0},
    }
    for wrong in ("seeker", "seeker=num_gpus", "seeker=num_gpus:many"):
        with pytest.raises(InputError, match="such as seeker=num_gpus:1"):
            read_resources([wrong])


def test_what_computes_asks_for_the_resources():
    """A model's weights are on a node of their own accord; anything else computes where it plays."""
    seats = {"seeker": "local/smollm2", "provider": "python:mine:Agent"}
    resources = {"seeker": {"num_gpus": 1.0}, "provider": {"num_cpus": 4.0}}
    assert players._model_resources(seats, resources) == {"local/smollm2": {"num_gpus": 1.0}}
    assert players._player_resources(seats, resources) == {"num_cpus": 4.0}
    node = {"Resources": {"CPU": 9.0, "GPU": 1.0, "tpu": 2.0}}
    asked = [
        {"num_cpus": 4.0},
        {"num_gpus": 0.5, "num_cpus": 1},
        {"num_gpus": 2.0},
        {"tpu": 1.0, "num_cpus": 0},
    ]
    assert [connecting.places_for(each, node) for each in asked] == [2, 2, 0, 2]
    assert connecting.actor_options({"num_gpus": 1.0, "tpu": 2.0}) == {
        "num_cpus": 1,
        "num_gpus": 1.0,
        "resources": {"tpu": 2.0},
    }


def test_without_ray_the_way_to_it_is_told(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    with pytest.raises(InputError, match=r"pip install 'askback\[ray\]'"), connecting.connect(""):
        pass


def test_a_client_of_a_cluster_cannot_own_the_log(monkeypatch):
    pytest.importorskip("ray", reason="pip install 'askback[ray]'")
    with pytest.raises(InputError, match="ray job submit"), connecting.connect("ray://far:10001"):
        pass
