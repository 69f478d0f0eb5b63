"""Orders of `askback run BENCHMARK`, and the runs that they turn into.

A benchmark's `RunSpec` declares the choices: the items (a `Selection`) and the rules, both pydantic models
whose fields are the command's options, and the run requests that follow from a `RunOrder`. Everything else is
shared by all benchmarks, here and in `simulator.commands.run`.
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
"""The number of metrics that fit a progress bar."""
_IN_PROCESS: Final = ("transformers/", "local/")
_EVERYTHING: Final = Capabilities(
    logprobs=True, schema=True, seed=True, scoring=True, plain=True, samples=True
)


class Selection(Fields):
    """The items that are played."""

    data: str = Field(default="builtin", description="builtin, the name of added data, or a path")
    limit: Limit = Field(default=None, description="number of items, drawn by the seed")


@dataclass(frozen=True, kw_only=True)
class RunOrder(Generic[SelectionT, RulesT]):
    """A validated order of runs.

    Attributes:
        players: seat -> the names of its players, without repeats.
        typed: the options that were typed, even if with their default value.
        played: the items of an earlier run, if the order is limited to them.
    """

    benchmark: Benchmark[Any, Any]
    players: Mapping[str, tuple[str, ...]]
    selection: SelectionT
    rules: RulesT
    settings: RunSettings = field(repr=False)
    console: Console = field(default_factory=Console, repr=False)
    typed: frozenset[str] = frozenset()
    played: tuple[Any, ...] | None = None

    def select_items(self, items: Iterable[Any]) -> tuple[Any, ...]:
        """Return the items to play: all of `items`, or those that the earlier run had.

        Prints a note if the earlier run had more items.

        Raises:
            InputError: if the earlier run had none of them.
        """
        if self.played is None:
            return tuple(items)
        machine = machine_of(self.benchmark)
        hashes = {machine.item_row(item).hash for item in self.played}
        kept = tuple(item for item in items if machine.item_row(item).hash in hashes)
        if not kept:
            raise InputError(
                f"--items-of: none of the {len(hashes)} items of that run is in data {self.selection.data!r}."
            )
        if (played := len({machine.item_row(item).hash for item in kept})) < len(hashes):
            self.console.print(
                f"--items-of: {played} of that run's {len(hashes)} items are played here; the others are in "
                "other data, or left out by this run's options."
            )
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

        By default each seat gets the player named first, the run has the name that was typed, its episodes
        have the rules as options, and the progress bar shows the first metrics. `config` distinguishes the
        run from others, in addition to the data.
        """
        usual = {metric.name: metric.short or metric.title for metric in self.benchmark.metrics[:SHOWN]}
        return RunRequest(
            machine=machine_of(self.benchmark),
            seats={seat: names[0] for seat, names in self.players.items()} if seats is None else seats,
            items=self.select_items(items),
            settings=replace(self.settings, name=name or self.settings.name),
            options=logged_values(self.rules) if options is None else options,
            config={"data": self.selection.data, **(config or {})},
            shown=usual if shown is None else shown,
            **more,
        )

    def run_name(self, player: str, part: str, pairs: Iterable[tuple[str, str]]) -> str | None:
        """Return the name of one of several runs, from its player and part among all such `pairs`."""
        return run_name(self.settings.name, (player, part), tuple(pairs))


class NotPlayed:
    """A placeholder for a requested run that cannot be played; the reason has been printed."""


@dataclass(frozen=True, kw_only=True)
class RunSpec(Generic[SelectionT, RulesT]):
    """The choices for a benchmark's runs.

    Attributes:
        selection: the model of the choice of items; its fields are options.
        rules: the model of an episode's rules; its fields are options, and are logged with each episode.
        requests: yields the runs of an order; each is requested after the previous one has been played.
        flags: shared model options (`options.MODEL_OPTIONS`) with another name in this benchmark, or with an
            empty name if it does not have them. An option with the name of a rule sets both.
    """

    selection: type[SelectionT]
    rules: type[RulesT]
    requests: Callable[[RunOrder[SelectionT, RulesT]], Iterable[RunRequest | NotPlayed]]
    flags: Mapping[str, str] = field(default_factory=dict)


def items_of(benchmark: Benchmark[Any, Any], log: Path, run: str | None) -> tuple[Any, ...] | None:
    """Return the items of an earlier run of the log; None if `run` is None.

    Raises:
        InputError: if nothing has been played in it, or it belongs to another benchmark.
        NotInLog: if there is no such run.
    """
    if run is None:
        return None
    with LogReader(log) as reader:
        reader.run(run)
        rows = reader.items(run)
    if not rows:
        raise InputError(f"--items-of {run}: nothing has been played in {run} yet, so it has no items.")
    if other := next((row.benchmark for row in rows if row.benchmark != benchmark.name), None):
        raise InputError(f"--items-of {run}: its items belong to {other}, not to {benchmark.name}.")
    return tuple(machine_of(benchmark).read_item(row) for row in rows)


def play_order(
    spec: RunSpec[SelectionT, RulesT], order: RunOrder[SelectionT, RulesT], *, exclude_aborted: bool = False
) -> tuple[str, ...]:
    """Play the ordered runs, print their results, and return their names.

    Raises:
        InputError: if an option, a name or the data are wrong.
        ModelError: if a model cannot be loaded.
        typer.Exit: with status 1 if episodes failed, all episodes of a run were aborted, or a requested run
            could not be played.
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
            # Imported late: --help must not wait for pandas.
            from simulator.reports import print_runs

            print_runs(order.console, reader, order.benchmark, runs, exclude_aborted=exclude_aborted)
            wrong |= any(has_gone_wrong(endings_of_runs(reader, [run]).statuses) for run in runs)
    if wrong:
        raise typer.Exit(1)
    return tuple(runs)


def read_words(option: str, text: str, known: Sequence[WordT]) -> tuple[WordT, ...]:
    """Return the words of a comma list, without repeats and in the order of `known`; all of them for ``all``.

    `known`: all possible words; ``-`` may be typed for ``_``.

    Raises:
        InputError: if a word is unknown.
    """
    words = [word.strip() for word in text.split(",")]
    named = {_normalize(word) for word in words}
    if unknown := [word for word in words if _normalize(word) not in (*known, "all")]:
        listed = ", ".join(map(typed_word, known))
        raise InputError(f"{option} {unknown[0]!r}: known are {listed} and all.")
    return tuple(word for word in known if named & {word, "all"})


def names_all(text: str) -> bool:
    """Return True if a comma list contains ``all``, in any case."""
    return "all" in map(_normalize, map(str.strip, text.split(",")))


def typed_word(word: str) -> str:
    """Return a word as it is typed and used in names of runs."""
    return word.replace("_", "-")


def idle_options(
    typed: Collection[str], concerns: Mapping[str, Collection[str]], played: Collection[str]
) -> Iterator[tuple[str, Collection[str]]]:
    """Yield typed options that have no effect on what is played, with what they do concern.

    `concerns`: option -> the settings or methods that it concerns; other options concern everything.
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
    """Return all pairs of a player and a part that the player can play.

    `parts`: settings, tasks or methods. `refusal`: returns why a player cannot play a part, in a sentence
    without its full stop; empty if they can. `option`: the option that names the parts, for messages.
    `named`: True if the parts were named one by one; an impossible pair is then an error, and is otherwise
    left out. `written`: returns a part as it is typed.

    Raises:
        InputError: if a player cannot play a part that was named, or no pair is left.
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
    for why, names in left_out.items():
        console.print(f"[dim]{', '.join(dict.fromkeys(names))} left out: {why}.[/dim]")
    if not pairs:
        raise InputError(f"there is nothing to play: {'; '.join(left_out)}.")
    return tuple(pairs)


class ModelAbilities(NamedTuple):
    """The abilities of a model, as known before a run.

    Attributes:
        ignored: the parameters that the model does not take.
    """

    name: str
    capabilities: Capabilities
    ignored: frozenset[str] = frozenset()


def model_abilities(name: str, models: ModelOptions) -> ModelAbilities:
    """Return a model's abilities as known before a run.

    Models in this process are assumed to have all abilities, so that their weights are not loaded yet; one
    that lacks an ability fails at its first request.

    Raises:
        InputError: if the name is unknown, or the weights of a local model are missing.
        ModelError: if the model needs a key or an extra that is missing; says what to do.
    """
    if name.startswith(_IN_PROCESS):
        require_weights(name)
        return ModelAbilities(name, _EVERYTHING)
    model = load_model(name, models)
    asyncio.run(model.close())
    return ModelAbilities(name, model.capabilities, getattr(model, "ignored", frozenset()))


def is_model(name: str) -> bool:
    """Return True if the name of a player is that of a language model."""
    others = ("person", "script:", "python:", "plugin/", "offline/")
    return name.startswith("offline/script") or not name.startswith(others)
