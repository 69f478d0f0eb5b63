"""Construction of machines, seats, models and runs from names.

A seat's occupant is named ``person``, ``script:FILE``, ``python:module:Agent``, ``plugin/…``, ``offline/…``
or ``provider/model``. The benchmark decides what ``offline/…`` and a model mean in a seat
(`EpisodeMachine.seat_for`); a model is loaded once per name, however many seats it sits in.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from hashlib import sha256
from pathlib import Path
from pkgutil import resolve_name
from threading import Lock
from typing import Any, Final

import yaml

from logs.relay import RowSink
from logs.rows import Episode, Item, Run
from personas.templates import add_folder
from simulator import catalog
from simulator.benchmark import Benchmark
from simulator.errors import InputError
from simulator.models import ChatModel, ModelOptions, Needs, ScriptModel, load_model, run_preflight
from simulator.models.fleet import address_of
from simulator.models.load import bare_name, required_provider
from simulator.models.preflight import REMOTE, SERVED
from simulator.runner.machines import AnyMachine
from simulator.seats import AgentSeat, PersonSeat, Reply, ScriptSeat, Seat, View
from simulator.seeds import derive_seed
from trees import bounded


def load_machine(name: str) -> AnyMachine:
    """Return the machine of the benchmark called `name`.

    Raises:
        InputError: if there is no such benchmark.
    """
    return machine_of(catalog.find(name))


@cache
def machine_of(benchmark: Benchmark[Any, Any]) -> AnyMachine:
    """Return a benchmark's machine: its own, or one built from its declaration."""
    if benchmark.machine is not None:
        return benchmark.machine()
    from simulator.runner.declared_machine import DeclaredMachine

    if benchmark.folder is not None and (benchmark.folder / "prompts").is_dir():
        add_folder(benchmark.name, benchmark.folder / "prompts")

    return DeclaredMachine(benchmark)


SCRIPT: Final = "script:"
"""Prefix of an occupant whose moves are in a file."""


@dataclass(kw_only=True)
class Models:
    """Loads each model once, even if several threads ask for it."""

    options: ModelOptions = field(default_factory=ModelOptions)
    loaded: dict[str, ChatModel] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock, init=False, repr=False, compare=False)

    def __call__(self, name: str) -> ChatModel:
        """Return the model called `name`.

        Raises:
            ModelError: if the name, the key or the installation is at fault.
        """
        with self._lock:
            if name not in self.loaded:
                self.loaded[name] = load_model(name, self.options)
            return self.loaded[name]

    def addressed(self, name: str) -> str:
        """Return a model's name with its address, for the log: ``openai/llama@http://host/v1``."""
        place = self.options.base_url
        if place is None or not name.startswith(SERVED) or bare_name(name) != name:
            return name
        return f"{name}@{address_of(place)}"

    async def preflight(self, needs: Mapping[str, Needs]) -> None:
        """Check every model on a server that is loaded or named in `needs`.

        Raises:
            ModelError: if one cannot be loaded, does not answer or lacks something.
        """
        for name in dict.fromkeys((*self.loaded, *needs)):
            if name.startswith(REMOTE):
                await run_preflight(self(name), needs.get(name))

    async def close(self) -> None:
        """Close every model."""
        for model in self.loaded.values():
            await model.close()


def build_seats(
    machine: AnyMachine,
    names: Mapping[str, str | Seat],
    models: Callable[[str], ChatModel],
    options: Mapping[str, Any],
) -> dict[str, Seat]:
    """Return the occupant of each seat of an episode with these options, from names or live seats.

    Raises:
        InputError: if a seat has no name or an unknown one.
    """
    seats = machine.episode_seats(options)
    if missing := [seat for seat in seats if not names.get(seat)]:
        raise InputError(f"The seat {missing[0]!r} is empty; fill it with --{missing[0]}.")
    return {seat: _seat(machine, seat, names[seat], models, options) for seat in seats}


def require_seats(machine: AnyMachine, names: Mapping[str, str], options: Mapping[str, Any]) -> None:
    """Check the names of seats' occupants, without loading models.

    Raises:
        InputError: if a name is unknown; lists the known ones.
    """
    build_seats(machine, names, _not_loaded, options)


def _not_loaded(name: str) -> ChatModel:
    required_provider(name)
    return ScriptModel(str, name=name)


SeatFactory = Callable[[RowSink, int], AbstractAsyncContextManager[Mapping[str, Seat]]]
"""Builds the seats of a run for a number of concurrent episodes; pickled for the process that plays."""


@dataclass(frozen=True, kw_only=True)
class NamedSeatFactory:
    """Builds seats from names in the process that plays (a `SeatFactory`).

    Attributes:
        names: seat -> its occupant.
        models: options of the models; calls are recorded in the log of the process that plays.
    """

    benchmark: str
    names: Mapping[str, str | Seat]
    options: Mapping[str, Any] = field(default_factory=dict)
    models: ModelOptions = field(default_factory=ModelOptions)

    @asynccontextmanager
    async def __call__(self, log: RowSink, places: int) -> AsyncIterator[dict[str, Seat]]:
        """Yield the seats for `places` concurrent episodes; their models are closed in the end.

        Raises:
            InputError: if a seat's name is unknown.
            ModelError: if a model cannot be loaded.
        """
        async with self.open(log, places) as (seats, _):
            yield seats

    @asynccontextmanager
    async def open(self, log: RowSink, places: int) -> AsyncIterator[tuple[dict[str, Seat], Models]]:
        """Yield the seats, as a call does, and their models."""
        models = Models(options=replace(self.models, recorder=log.post, concurrency=places))
        try:
            yield build_seats(load_machine(self.benchmark), self.names, models, self.options), models
        finally:
            await models.close()


def _seat(
    machine: AnyMachine,
    seat: str,
    name: str | Seat,
    models: Callable[[str], ChatModel],
    options: Mapping[str, Any],
) -> Seat:
    if not isinstance(name, str):
        return name
    if name == "person":
        return PersonSeat()
    if name.startswith(SCRIPT):
        return script_seat(name, seat)
    if name.startswith("python:"):
        return AgentSeat(name, _agent(name))
    if name.startswith("plugin/"):
        return AgentSeat(name, _plugin(name))
    return machine.seat_for(seat, name, models, options)


def _agent(name: str) -> Any:
    """Return the function, or an instance of the class, at ``python:module:name``."""
    place = name.removeprefix("python:")
    if not re.fullmatch(r"[\w.]+:[\w.]+", place):
        raise InputError(f"{name}: write python:MODULE:CLASS, such as python:my_agents:Asker")
    sys.path.append(os.getcwd())  # last, so that a user's file cannot shadow our modules
    try:
        return _instantiate(resolve_name(place))
    except Exception as error:  # the user's code can raise anything
        raise InputError(f"{name}: cannot be used ({type(error).__name__}: {error})") from error
    finally:
        sys.path.remove(os.getcwd())


def _plugin(name: str) -> Any:
    known = catalog.extension_names(catalog.SEATS)
    if (part := name.removeprefix("plugin/")) not in known:
        raise InputError(f"{name}: not installed; installed plugins: {', '.join(known) or 'none'}.")
    return _instantiate(catalog.extension(catalog.SEATS, part))


def _instantiate(agent: Any) -> Any:
    return agent() if isinstance(agent, type) else agent


def script_seat(name: str, seat: str) -> Seat:
    """Return a seat that makes the moves in the file of ``script:FILE``."""
    return ScriptSeat(read_script(Path(name.removeprefix(SCRIPT)), seat), name)


def read_script(path: Path, seat: str) -> Callable[[View], Reply]:
    """Read a script, a YAML or JSON list of moves for `seat`; the last move is repeated when they run out.

    A move is a line of text, or ``{text: …}`` with the fields of the seat's structured move, such as
    ``{give: ["1"], before: …, after: …}``.

    Raises:
        InputError: if the file cannot be read or has another form.
    """
    try:
        lines = bounded.load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}).") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: is not YAML ({error}).") from error
    if not isinstance(lines, list) or not lines:
        raise InputError(f"{path}: expected a list of lines, one for each turn of the {seat}.")
    moves = [_scripted_reply(line, f"{path}: entry {number}") for number, line in enumerate(lines, start=1)]

    def move(view: View) -> Reply:
        return moves[min(view.moves, len(moves) - 1)]

    return move


def _scripted_reply(entry: Any, place: str) -> Reply:
    if isinstance(entry, str):
        return Reply(text=entry)
    if not isinstance(entry, dict) or not isinstance(entry.get("text", ""), str):
        raise InputError(f"{place}: expected a line, or a move such as {{give: ['1'], before: 'Well,'}}.")
    if any(isinstance(value, float) for value in _flatten(entry.values())):
        raise InputError(f"{place}: YAML reads 1.10 as the number 1.1; put decimal numbers in quotes.")
    return Reply(text=entry.get("text", ""), move={key: entry[key] for key in entry if key != "text"})


def _flatten(values: Iterable[Any]) -> Iterator[Any]:
    for value in values:
        yield from value if isinstance(value, list) else [value]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A run before it starts: all its episodes and the occupants of its seats."""

    run: Run
    machine: AnyMachine
    items: Sequence[tuple[Item, Any]]
    seats: Mapping[str, Seat]
    repeats: int = 1
    options: Mapping[str, Any] = field(default_factory=dict)

    def episodes(self) -> list[tuple[Episode, Item, Any]]:
        """Return the first attempts, with all items of the first repeat first."""
        return [
            (self._episode(row, repeat), row, item)
            for repeat in range(self.repeats)
            for row, item in self.items
        ]

    def _episode(self, row: Item, repeat: int) -> Episode:
        return Episode(
            id=f"{self.run.id}/{row.name}.{row.language}/{repeat}",
            run_id=self.run.id,
            item_hash=row.hash,
            language=row.language,
            seats={seat: who.name for seat, who in self.seats.items()},
            seed=derive_seed(self.run.seed, row.benchmark, row.name, row.language, repeat),
            repeat=repeat,
            options=dict(self.options),
        )


def build_plan(
    *,
    machine: AnyMachine,
    items: Sequence[Any],
    seats: Mapping[str, Seat],
    config: Mapping[str, Any],
    seed: int,
    repeats: int = 1,
    options: Mapping[str, Any] | None = None,
    name: str | None = None,
    label: str = "",
) -> Plan:
    """Return a plan; its run is called `name`, or after its configuration, so that a command can continue it.

    `label`, if any, becomes part of a generated name.

    Raises:
        InputError: if two items have the same name.
    """
    rows = [(machine.item_row(item), item) for item in items]
    names = Counter((row.name, row.language) for row, _ in rows)
    if twice := [name for (name, _), count in names.items() if count > 1]:
        raise InputError(
            f"{machine.name}: several items are called {', '.join(twice[:10])}; item names must be unique."
        )
    full_config = {
        **config,
        "seats": {seat: who.name for seat, who in seats.items()},
        "options": dict(options or {}),
        "repeats": repeats,
        "planned": len(rows) * repeats,
        "items": sha256("".join(row.hash for row, _ in rows).encode()).hexdigest()[:16],
    }
    run = Run(
        id=name or _run_name(machine, full_config, seed, label),
        benchmark=machine.name,
        setup=machine.setup({seat: who.kind for seat, who in seats.items()}),
        seed=seed,
        config=full_config,
    )
    return Plan(run=run, machine=machine, items=rows, seats=seats, repeats=repeats, options=options or {})


def _run_name(machine: AnyMachine, config: Mapping[str, Any], seed: int, label: str) -> str:
    canonical = json.dumps([config, seed], sort_keys=True, ensure_ascii=False)
    who = "-vs-".join(name.rpartition("/")[2].replace(":", "-") for name in config["seats"].values())
    parts = (machine.name, who, label, sha256(canonical.encode()).hexdigest()[:8])
    return "-".join(filter(None, parts))
