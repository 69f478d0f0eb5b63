"""`askback run BENCHMARK`: who sits where, which items, by which rules; a benchmark declares them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.console import Console

from logs.cli import LogOption
from logs.paths import default_path
from simulator.benchmark import Benchmark, SeatSpec
from simulator.errors import InputError
from simulator.field_options import AnnotatedOption, options_of, read_options
from simulator.orders import RunOrder, RunSpec, Selection, items_of, play_order
from simulator.runner import options as shared
from simulator.runner.command import RunRequest, RunSettings
from simulator.runner.options import LOCAL, MODEL_OPTIONS, Engine, ModelFlags, command_of, read_resources
from simulator.sampling import stratified

RUN_OPTIONS: Final[Mapping[str, AnnotatedOption]] = {
    "repeat": (shared.RepeatOption, 1),
    "seed": (shared.SeedOption, 0),
    "concurrency": (shared.ConcurrencyOption, 8),
    "workers": (shared.WorkersOption, None),
    "executor": (shared.ExecutorOption, LOCAL),
    "resources": (shared.ResourcesOption, None),
    "run": (shared.RunOption, None),
    "items_of": (shared.ItemsOfOption, None),
    "exclude_aborted": (shared.ExcludeAbortedOption, False),
    "log": (LogOption, None),
}
"""Options of every ``askback run``, beside those of models."""
_ELSEWHERE: Final = {"log", "base_url"}
"""Options that say where things are: no part of what is played."""


def run_command(benchmark: Benchmark[Any, Any]) -> Callable[..., None]:
    """Return the command that plays episodes of a benchmark.

    Raises:
        InputError: if a rule hides another option.
    """
    options = {"command_line": (typer.Context, inspect.Parameter.empty), **run_options(benchmark)}
    return command_of(partial(_run, benchmark, run_spec(benchmark)), options, _help(benchmark))


def run_options(benchmark: Benchmark[Any, Any]) -> dict[str, AnnotatedOption]:
    """Return the options of `askback run NAME`: parameter -> annotation and default.

    Raises:
        InputError: if a rule hides another option.
    """
    spec = run_spec(benchmark)
    seats = {option_of(seat): _seat_option(seat) for seat in benchmark.seats if option_of(seat)}
    selection, rules = options_of(spec.selection), options_of(spec.rules)
    flags = {called: MODEL_OPTIONS[flag] for flag, called in _flags(spec).items() if called}
    both = {flag for flag, called in spec.flags.items() if flag == called}
    every = {*RUN_OPTIONS, *flags}
    for kind, named, others in (
        ("rule", {*rules} - both, {"a seat": {*seats}, "a choice of items": {*selection}}),
        ("seat", {*seats}, {}),
        ("choice of items", {*selection}, {}),
    ):
        for other, names in {**others, "an option of every run": every}.items():
            if clash := sorted(named & names):
                raise InputError(
                    f"{benchmark.name}: the {kind} {clash[0]} is called like {other}; rename the {kind}."
                )
    return {**seats, **selection, **flags, **rules, **RUN_OPTIONS}


def _run(
    benchmark: Benchmark[Any, Any],
    spec: RunSpec[Any, Any],
    *,
    command_line: typer.Context,
    **options: Any,
) -> None:
    log, seed = options["log"] or default_path(), options["seed"]
    typed = _typed_options(command_line)
    if options["items_of"] is not None and "limit" in typed:
        raise InputError("--limit: the items are those of --items-of; leave one of the two out.")
    flags = ModelFlags(**{flag: options[called] for flag, called in _flags(spec).items() if called})
    order = RunOrder(
        benchmark=benchmark,
        players={
            seat.name: _names(options[option_of(seat)], seat) for seat in benchmark.seats if option_of(seat)
        },
        selection=read_options(spec.selection, options),
        rules=read_options(spec.rules, options),
        settings=RunSettings(
            log=log,
            models=flags.options(log, seed=seed),
            seed=seed,
            repeats=options["repeat"],
            name=options["run"],
            concurrency=options["concurrency"],
            engine=Engine(
                executor=options["executor"],
                workers=options["workers"],
                resources=read_resources(options["resources"] or ()),
            ),
            typed={name: _path_as_text(options[name]) for name in sorted(typed - _ELSEWHERE)},
        ),
        console=Console(),
        typed=typed,
        played=items_of(benchmark, log, options["items_of"]),
    )
    play_order(spec, order, exclude_aborted=options["exclude_aborted"])


def run_spec(benchmark: Benchmark[Any, Any]) -> RunSpec[Any, Any]:
    """Return what can be chosen of a benchmark's runs; by default items, and the rules that it declares."""
    if benchmark.runs is not None:
        return benchmark.runs()
    assert benchmark.rules is not None
    return RunSpec(selection=Selection, rules=benchmark.rules, requests=_declared_requests)


def _declared_requests(order: RunOrder[Selection, Any]) -> list[RunRequest]:
    assert order.benchmark.load is not None
    items, limit = order.benchmark.load(order.selection.data), order.selection.limit
    if limit is not None:
        items = stratified(items, limit, lambda item: (), order.settings.seed)
    return [order.request(items)]


def _flags(spec: RunSpec[Any, Any]) -> dict[str, str]:
    """Return what each of the shared options of models is called here; empty where there is none."""
    return {flag: spec.flags.get(flag, flag) for flag in MODEL_OPTIONS}


def option_of(seat: SeatSpec) -> str:
    """Return the option that names who sits in a seat; empty if nothing does."""
    return seat.name if seat.option is None else seat.option


def _seat_option(seat: SeatSpec) -> AnnotatedOption:
    players = (
        *seat.players,
        *(["provider/model"] if seat.prompt else []),
        "python:MODULE:CLASS",
        "script:FILE",
    )
    known = seat.known or ", ".join(players)
    if seat.several:
        help = f"{seat.role} (several: give it again): {known}; default: {seat.usual}"
        return Annotated[list[str] | None, typer.Option(help=help)], None
    return Annotated[str, typer.Option(help=f"{seat.role}: {known}")], seat.usual


def _names(typed: str | list[str] | None, seat: SeatSpec) -> tuple[str, ...]:
    return (typed,) if isinstance(typed, str) else tuple(dict.fromkeys(typed or [seat.usual]))


def _typed_options(context: typer.Context) -> frozenset[str]:
    """Return the options that were typed, even if with the value that they have anyway."""
    sources = {name: context.get_parameter_source(name) for name in context.params}
    return frozenset(name for name, source in sources.items() if source and "DEFAULT" not in source.name)


def _path_as_text(value: Any) -> Any:
    return str(value) if isinstance(value, Path) else value


def _help(benchmark: Benchmark[Any, Any]) -> str:
    plain = f"Play {benchmark.title} and score it."
    return f"{benchmark.summary or plain}\n\nThe same command again continues where it stopped."
