"""What `askback run BENCHMARK` was asked for, and the runs that come of it.

A benchmark says in its `RunSpec` what may be chosen: which items (a `Selection`) and the rules by which they
are played, both pydantic models whose fields are the command's options, and which runs a `RunOrder` makes.
Everything else is here and in `simulator.commands.run`, once for all benchmarks.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Final, Generic, NamedTuple, TypeVar

import typer
from pydantic import BaseModel, Field
from rich.console import Console

from logs import LogReader
from simulator.benchmark import Benchmark
from simulator.errors import InputError
from simulator.field_options import logged_values
from simulator.fields import Fields
from simulator.models import Capabilities, ModelOptions, load_model
from simulator.models.weights import require_weights
from simulator.runner.build import machine_of
from simulator.runner.command import RunRequest, RunSettings, play, run_name
from simulator.runner.logged import endings_of_runs
from simulator.runner.run_summary import has_gone_wrong

SelectionT = TypeVar("SelectionT", bound="Selection")
RulesT = TypeVar("RulesT", bound=BaseModel)
Limit = Annotated[int | None, Field(ge=1)]
WordT = TypeVar("WordT", bound=str)
PartT = TypeVar("PartT")
SHOWN: Final = 4
"""Metrics that a progress bar has room for."""
_IN_PROCESS: Final = ("transformers/", "local/")
_EVERYTHING: Final = Capabilities(
    logprobs=True, schema=True, seed=True, scoring=True, plain=True, samples=True
)


class Selection(Fields):
    """The items that are played.

    Attributes:
        data: where they come from.
    """

    data: str = Field(default="builtin", description="builtin, the name of added data, or a path")
    limit: Limit = Field(default=None, description="so many items, drawn by the seed")


@dataclass(frozen=True, kw_only=True)
class RunOrder(Generic[SelectionT, RulesT]):
    """An order of runs, read and checked.

    Attributes:
        players: seat -> the names of who is to sit there, each once.
        typed: the options that were typed, even if with the value that they have anyway.
        played: the items of an earlier run, if this one keeps to them.
    """

    benchmark: Benchmark[Any, Any]
    players: Mapping[str, tuple[str, ...]]
    selection: SelectionT
    rules: RulesT
    settings: RunSettings = field(repr=False)
    console: Console = field(default_factory=Console, repr=False)
    typed: frozenset[str] = frozenset()
    played: tuple[Any, ...] | None = None

    def kept(self, items: Iterable[Any]) -> tuple[Any, ...]:
        """Return what is to be played of `items`: all, or those that the earlier run had.

        If it had others as well, that is told.

        Raises:
            InputError: if it had none of them.
        """
        if self.played is None:
            return tuple(items)
        machine = machine_of(self.benchmark)
        hashes = {machine.item_row(item).hash for item in self.played}
        kept = tuple(item for item in items if machine.item_row(item).hash in hashes)
        if not kept:
            raise InputError(
                f"--items-of: the {len(hashes)} items of that run are not in data {self.selection.data!r}."
            )
        if (there := len({machine.item_row(item).hash for item in kept})) < len(hashes):
            self.console.print(f"--items-of: {there} of that run's {len(hashes)} items are played here.")
        return kept

    def request(
        self,
        items: Sequence[Any],
        *,
        seats: Mapping[str, str] | None = None,
        name: str | None = None,
        options: Mapping[str, Any] | None = None,
        config: Mapping[str, Any] | None = None,
        shown: Mapping[str, str] | None = None,
        **more: Any,
    ) -> RunRequest:
        """Return the request of one run.

        By default whoever was named first sits in each seat, the run is called as was typed, its episodes
        have the rules as their options, and the first metrics are shown while it plays. `config` is what
        tells the run from others, beside the data.
        """
        usual = {metric.name: metric.short or metric.title for metric in self.benchmark.metrics[:SHOWN]}
        return RunRequest(
            machine=machine_of(self.benchmark),
            seats={seat: names[0] for seat, names in self.players.items()} if seats is None else seats,
            items=self.kept(items),
            settings=replace(self.settings, name=name or self.settings.name),
            options=logged_values(self.rules) if options is None else options,
            config={"data": self.selection.data, **(config or {})},
            shown=usual if shown is None else shown,
            **more,
        )

    def several(self, player: str, part: str, pairs: Iterable[tuple[str, str]]) -> str | None:
        """Return what one of several runs is called: who plays it, and what, out of all `pairs` of these."""
        return run_name(self.settings.name, (player, part), tuple(pairs))


class NotPlayed:
    """Takes the place of a request that was named and cannot be played; why has been told."""


@dataclass(frozen=True, kw_only=True)
class RunSpec(Generic[SelectionT, RulesT]):
    """The choices that a benchmark's runs leave.

    Attributes:
        selection: which items; its fields are options.
        rules: of an episode; its fields are options, and what the log says of each episode.
        requests: the runs of an order, in order; each is asked for when those before it have been played.
        flags: shared options of models (`options.MODEL_OPTIONS`) that are called otherwise here, or that
            this benchmark does not have (an empty name). One whose name is also a rule's is both.
    """

    selection: type[SelectionT]
    rules: type[RulesT]
    requests: Callable[[RunOrder[SelectionT, RulesT]], Iterable[RunRequest | NotPlayed]]
    flags: Mapping[str, str] = field(default_factory=dict)


def items_of(benchmark: Benchmark[Any, Any], log: Path, run: str | None) -> tuple[Any, ...] | None:
    """Return the items of an earlier run of the log; None if none is named.

    Raises:
        InputError: if nothing has been played in it, or it is another benchmark's.
        NotInLog: if there is no such run.
    """
    if run is None:
        return None
    with LogReader(log) as reader:
        reader.run(run)
        rows = reader.items(run)
    if not rows:
        raise InputError(
            f"--items-of {run}: nobody has played in {run} yet, so that there are no items of it."
        )
    if other := next((row.benchmark for row in rows if row.benchmark != benchmark.name), None):
        raise InputError(f"--items-of {run}: its items are of {other}, not of {benchmark.name}.")
    return tuple(machine_of(benchmark).read_item(row) for row in rows)


def play_order(
    spec: RunSpec[SelectionT, RulesT], order: RunOrder[SelectionT, RulesT], *, exclude_aborted: bool = False
) -> tuple[str, ...]:
    """Play the runs that were asked for, print what came of them, and return their names.

    Raises:
        InputError: if an option, a name or the data are wrong.
        ModelError: if a model cannot be loaded.
        typer.Exit: with status 1 if episodes failed, all of a run were aborted, or a run that was named could
            not be played.
    """
    runs: list[str] = []
    wrong = False
    for request in spec.requests(order):
        if isinstance(request, NotPlayed):
            wrong = True
        else:
            runs.append(play(request, order.console))
    if runs:
        with LogReader(order.settings.log) as reader:
            # Reports are of frames: whoever asks for help alone does not wait for pandas.
            from simulator.reports import print_runs

            print_runs(order.console, reader, order.benchmark, runs, exclude_aborted=exclude_aborted)
            wrong |= any(has_gone_wrong(endings_of_runs(reader, [run]).statuses) for run in runs)
    if wrong:
        raise typer.Exit(1)
    return tuple(runs)


def read_words(option: str, text: str, known: Sequence[WordT]) -> tuple[WordT, ...]:
    """Return the words of a comma list, or all that are known for ``all``: each once, in the known order.

    `known`: every word that there is; ``-`` may be typed for each ``_``.

    Raises:
        InputError: if it names one that there is not.
    """
    words = [word.strip() for word in text.split(",")]
    named = {_normalize(word) for word in words}
    if unknown := [word for word in words if _normalize(word) not in (*known, "all")]:
        listed = ", ".join(map(typed_word, known))
        raise InputError(f"{option} {unknown[0]!r}: known are {listed} and all.")
    return tuple(word for word in known if named & {word, "all"})


def names_all(text: str) -> bool:
    """Return True if a comma list says ``all``, however it is spelled."""
    return "all" in map(_normalize, map(str.strip, text.split(",")))


def typed_word(word: str) -> str:
    """Return a word as it is typed and as it stands in names of runs."""
    return word.replace("_", "-")


def idle_options(
    typed: Collection[str], concerns: Mapping[str, Collection[str]], played: Collection[str]
) -> Iterator[tuple[str, Collection[str]]]:
    """Yield options that were typed and concern nothing that is played, with what they are for.

    Args:
        typed: names of options.
        concerns: what changes with an option, by its name; others concern everything.
        played: settings, or methods.
    """
    for name, concerned in concerns.items():
        if name in typed and not set(concerned) & set(played):
            yield name, concerned


def _normalize(word: str) -> str:
    return word.lower().replace("-", "_")


def played_pairs(
    players: Sequence[str],
    parts: Sequence[PartT],
    refusal: Callable[[str, PartT], str],
    *,
    option: str,
    named: bool,
    console: Console,
    written: Callable[[PartT], str],
) -> tuple[tuple[str, PartT], ...]:
    """Return who plays what, before anything is played: everybody every part that they can.

    Args:
        players: by name.
        parts: settings, tasks or methods.
        refusal: why somebody cannot play a part, in a sentence without its full stop; empty if they can.
        option: names the parts, for messages.
        named: whether they were named one by one: what cannot be played is an error then, else left out.
        console: is told what is left out.
        written: a part as it is typed.

    Raises:
        InputError: if somebody cannot play a part that was named, or nothing is left.
    """
    pairs: list[tuple[str, PartT]] = []
    left_out: dict[str, list[str]] = {}
    for player in players:
        for part in parts:
            if not (why := refusal(player, part)):
                pairs.append((player, part))
            elif named:
                raise InputError(f"{option} {written(part)}: {why}.")
            else:
                left_out.setdefault(why, []).append(written(part))
    for why, what in left_out.items():
        console.print(f"[dim]{', '.join(dict.fromkeys(what))} left out: {why}.[/dim]")
    if not pairs:
        raise InputError(f"nothing is left to be played: {'; '.join(left_out)}.")
    return tuple(pairs)


class Announced(NamedTuple):
    """The abilities of a model, as known before a run.

    Attributes:
        ignored: parameters that it does not take.
    """

    name: str
    capabilities: Capabilities
    ignored: frozenset[str] = frozenset()


def announced(name: str, models: ModelOptions) -> Announced:
    """Return what is known of a model before a run.

    The weights of models in this process are not loaded for it: those can do everything that is asked about,
    or say at the first request that they cannot.

    Raises:
        InputError: if the name means nothing, or a model of this machine is not there.
        ModelError: if a key or an extra that the model needs is missing; says what to do.
    """
    if name.startswith(_IN_PROCESS):
        require_weights(name)
        return Announced(name, _EVERYTHING)
    model = load_model(name, models)
    asyncio.run(model.close())
    return Announced(name, model.capabilities, getattr(model, "ignored", frozenset()))


def is_model(name: str) -> bool:
    """Return True if a name in a seat is a language model's."""
    others = ("person", "script:", "python:", "plugin/", "offline/")
    return name.startswith("offline/script") or not name.startswith(others)
