"""Who works: this process, several of this machine, or a cluster; what a command line says of it.

Imported for every ``--help``, so it imports nothing that takes time; what comes of it is in `playing` and
`spreading`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from simulator.errors import InputError

LOCAL: Final = "local"
"""The executor that is this machine."""

Resources = Mapping[str, Mapping[str, float]]
"""Seat -> what Ray calls it (``num_cpus``, ``num_gpus``, ``memory``, a name of your own) -> how much."""


@dataclass(frozen=True, kw_only=True)
class Engine:
    """The choice of who plays.

    Attributes:
        executor: ``local``, ``ray`` or ``ray:ADDRESS``.
        workers: processes; None to choose.
        resources: of the seats, on a cluster.
    """

    executor: str = LOCAL
    workers: int | None = None
    resources: Resources = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check that it can be meant.

        Raises:
            InputError: if there is no such executor, or resources are of no use.
        """
        if self.is_ray and self.executor.partition(":")[0] != "ray":
            raise InputError(
                f"--executor {self.executor}: write local, ray (this machine), or ray:ADDRESS such as "
                "ray:auto or ray:10.0.0.1:6379"
            )
        if self.resources and not self.is_ray:
            raise InputError(
                "--resources are what nodes of a cluster have; add --executor ray, or leave them out."
            )

    @property
    def is_ray(self) -> bool:
        """Return True if a cluster plays."""
        return self.executor != LOCAL

    @property
    def is_here(self) -> bool:
        """Return True if this process works alone; whoever says nothing means that."""
        return not self.is_ray and self.workers in (None, 1)

    @property
    def address(self) -> str:
        """Return the address of the cluster; empty for one on this machine."""
        return self.executor.partition(":")[2]


HERE: Final = Engine(workers=1)
"""This process alone."""


def read_resources(texts: Sequence[str]) -> Resources:
    """Return ``seeker=num_gpus:1,num_cpus:4`` as a mapping.

    Raises:
        InputError: if one is not of that form.
    """
    read: dict[str, dict[str, float]] = {}
    for text in texts:
        seat, _, amounts = text.partition("=")
        try:
            pairs = [part.split(":") for part in amounts.split(",")]
            read[seat] = {name.strip(): float(amount) for name, amount in pairs}
        except ValueError:
            raise InputError(
                f"--resources {text}: write SEAT=NAME:AMOUNT, such as seeker=num_gpus:1"
            ) from None
    return read


def processors() -> int:
    """Return the processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
