"""Connection to Ray: an existing cluster or one of this machine alone, and the resources of its nodes."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Final

from simulator.errors import InputError
from simulator.runner.options import processor_count

ADDRESS_VARIABLE: Final = "RAY_ADDRESS"
_NOT_INSTALLED: Final = "--executor ray needs Ray, on every machine: pip install 'askback[ray]'"
_RAY_NAMES: Final = {"num_cpus": "CPU", "num_gpus": "GPU"}
_RAY_OPTIONS: Final = (*_RAY_NAMES, "memory")
_LOOPBACK: Final = "127."
_FORWARDED: Final = ("ASKBACK_", "OPENAI_", "ANTHROPIC_", "HF_")


def import_ray() -> Any:
    """Import ray, with its usage reports switched off.

    Raises:
        InputError: if it is not installed.
    """
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    try:
        return import_module("ray")
    except ImportError as error:
        raise InputError(_NOT_INSTALLED) from error


@contextmanager
def connect(address: str) -> Iterator[Any]:
    """Yield ray, connected to the cluster at `address`; without one, to a cluster of this machine alone.

    Raises:
        InputError: if Ray is not installed, or nothing answers at the address.
    """
    ray = import_ray()
    if ray.is_initialized():
        yield ray
        return
    address = address or os.environ.get(ADDRESS_VARIABLE) or "local"
    if address.startswith("ray://"):
        raise InputError(
            f"--executor ray:{address}: the log is written where the command runs, which must be a machine "
            "of the cluster: log in to its head and use ray:auto, or run the command with `ray job submit`."
        )
    host = address.rpartition(":")[0]
    if address == "local":
        more = {"num_cpus": processor_count(), "include_dashboard": False, "_node_ip_address": "127.0.0.1"}
    elif host.startswith(_LOOPBACK):
        more = {"_node_ip_address": host}  # else Ray would use this machine's network address
    else:
        more = {}
    try:
        ray.init(address, log_to_driver=False, logging_level=logging.ERROR, **more)
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise InputError(
            f"--executor ray:{address}: no cluster answers there ({error}). Start it with `ray start "
            "--head`, or omit the address for a cluster of this machine alone."
        ) from error
    try:
        yield ray
    finally:
        ray.shutdown()


def actor_options(resources: Mapping[str, float]) -> dict[str, Any]:
    """Return resources as Ray's options of an actor or a task."""
    options = {name: value for name, value in resources.items() if name in _RAY_OPTIONS}
    custom = {name: value for name, value in resources.items() if name not in _RAY_OPTIONS}
    return {"num_cpus": 1, **options, **({"resources": custom} if custom else {})}


def places_for(resources: Mapping[str, float], node: Mapping[str, Any]) -> int:
    """Return how many actors with these resources fit on a node."""
    needed = {_RAY_NAMES.get(name, name): value for name, value in resources.items() if value > 0}
    offered = node["Resources"]
    return min((int(offered.get(name, 0) // value) for name, value in needed.items()), default=1)


def living_nodes(ray: Any) -> list[Mapping[str, Any]]:
    """Return the nodes of the cluster that are alive."""
    return [node for node in ray.nodes() if node["Alive"]]


def on_node(node: str) -> dict[str, Any]:
    """Return the option that pins an actor to a node."""
    strategies = import_module("ray.util.scheduling_strategies")
    return {"scheduling_strategy": strategies.NodeAffinitySchedulingStrategy(node, soft=False)}


def this_node(ray: Any) -> str:
    """Return the id of this process's node."""
    return str(ray.get_runtime_context().get_node_id())


def environment() -> dict[str, str]:
    """Return the environment variables for processes on other nodes: models' keys and Askback's own."""
    return {
        name: value
        for name, value in os.environ.items()
        if name.startswith(_FORWARDED) or name.endswith("_API_KEY")
    }
