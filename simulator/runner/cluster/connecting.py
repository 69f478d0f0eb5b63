"""The way to Ray: the extra, a cluster of this machine alone or one that stands, and what its nodes offer."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Final

from simulator.errors import InputError
from simulator.runner.options import processors

ADDRESS_VARIABLE: Final = "RAY_ADDRESS"
_NOT_INSTALLED: Final = "--executor ray needs Ray, on every machine: pip install 'askback[ray]'"
_ITS_NAMES: Final = {"num_cpus": "CPU", "num_gpus": "GPU"}
_OWN_OPTIONS: Final = (*_ITS_NAMES, "memory")
_LOOPBACK: Final = "127."
_PASSED_ON: Final = ("ASKBACK_", "OPENAI_", "ANTHROPIC_", "HF_")


def imported_ray() -> Any:
    """Return the module ray, which then tells nobody that it is used.

    Raises:
        InputError: if it is not installed.
    """
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    try:
        return import_module("ray")
    except ImportError as error:
        raise InputError(_NOT_INSTALLED) from error


@contextmanager
def connected(address: str) -> Iterator[Any]:
    """Yield ray, connected to the cluster at `address`; without one, to a cluster of this machine alone.

    Raises:
        InputError: if Ray is not installed, or nothing answers at the address.
    """
    ray = imported_ray()
    if ray.is_initialized():
        yield ray
        return
    address = address or os.environ.get(ADDRESS_VARIABLE) or "local"
    if address.startswith("ray://"):
        raise InputError(
            f"--executor ray:{address}: the log is written where the command runs, so that must be a machine "
            "of the cluster: log in to its head and write ray:auto, or run it by `ray job submit`."
        )
    host = address.rpartition(":")[0]
    if address == "local":
        more = {"num_cpus": processors(), "include_dashboard": False, "_node_ip_address": "127.0.0.1"}
    elif host.startswith(_LOOPBACK):
        more = {"_node_ip_address": host}  # Ray would look for this machine under its address in the network
    else:
        more = {}
    try:
        ray.init(address, log_to_driver=False, logging_level=logging.ERROR, **more)
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise InputError(
            f"--executor ray:{address}: no cluster answers there ({error}). Start it with `ray start "
            "--head`, or leave the address out for one on this machine alone."
        ) from error
    try:
        yield ray
    finally:
        ray.shutdown()


def actor_options(resources: Mapping[str, float]) -> dict[str, Any]:
    """Return resources as Ray's options of an actor or a task."""
    own = {name: value for name, value in resources.items() if name in _OWN_OPTIONS}
    others = {name: value for name, value in resources.items() if name not in _OWN_OPTIONS}
    return {"num_cpus": 1, **own, **({"resources": others} if others else {})}


def places_for(resources: Mapping[str, float], node: Mapping[str, Any]) -> int:
    """Return how many actors with these resources a node holds."""
    asked = {_ITS_NAMES.get(name, name): value for name, value in resources.items() if value > 0}
    offered = node["Resources"]
    return min((int(offered.get(name, 0) // value) for name, value in asked.items()), default=1)


def living_nodes(ray: Any) -> list[Mapping[str, Any]]:
    """Return the nodes of the cluster that are alive."""
    return [node for node in ray.nodes() if node["Alive"]]


def on_node(node: str) -> dict[str, Any]:
    """Return the option that puts an actor on a node and nowhere else."""
    strategies = import_module("ray.util.scheduling_strategies")
    return {"scheduling_strategy": strategies.NodeAffinitySchedulingStrategy(node, soft=False)}


def this_node(ray: Any) -> str:
    """Return the node on which this process runs."""
    return str(ray.get_runtime_context().get_node_id())


def environment() -> dict[str, str]:
    """Return the variables that processes elsewhere need: keys of models and Askback's own."""
    return {
        name: value
        for name, value in os.environ.items()
        if name.startswith(_PASSED_ON) or name.endswith("_API_KEY")
    }
