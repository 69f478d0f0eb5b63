"""`askback run BENCHMARK`: options for seats, items and rules, from the benchmark's declaration.

`run_form` is the same command as a form: its options as fields, the possible choices, and the resulting
command. Its values come from a browser, so seats take only players that are offered, data must be registered,
and no text may name a file: path options are left out, and texts must not contain path separators.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import isfinite
from pathlib import Path
from typing import Annotated, Any, Final, Literal, NoReturn

import typer
from rich.console import Console

from logs.cli import LogOption
from logs.paths import default_path
from simulator import catalog, datasets
from simulator.benchmark import Benchmark, SeatSpec
from simulator.errors import InputError
from simulator.field_options import AnnotatedOption, options_of, read_options
from simulator.form_blocks import Choice, Field
from simulator.model_forms import option_field, option_words
from simulator.orders import RunOrder, RunSpec, Selection, items_of, play_order
from simulator.runner import options as shared
from simulator.runner.command import RunRequest, RunSettings
from simulator.runner.options import LOCAL, MODEL_OPTIONS, Engine, ModelFlags, command_of, read_resources
from simulator.seeds import draw_strata

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
"""Options of every ``askback run``, in addition to those of models."""
_ELSEWHERE: Final = {"log", "base_url"}
"""Options that name locations, and are not part of what is played."""


def run_command(benchmark: Benchmark[Any, Any]) -> Callable[..., None]:
    """Return the command that plays episodes of a benchmark.

    Raises:
        InputError: if a rule has the name of another option.
    """
    options = {"command_line": (typer.Context, inspect.Parameter.empty), **run_options(benchmark)}
    return command_of(partial(_run, benchmark, run_spec(benchmark)), options, _help(benchmark))


def run_options(benchmark: Benchmark[Any, Any]) -> dict[str, AnnotatedOption]:
    """Return the options of `askback run NAME`: parameter -> annotation and default.

    Raises:
        InputError: if a rule has the name of another option.
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
                    f"{benchmark.name}: the {kind} {clash[0]} has the name of {other}; rename the {kind}."
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
        raise InputError("--limit cannot be used with --items-of; leave one of the two out.")
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
    """Return the choices for a benchmark's runs; by default the items and the declared rules."""
    if benchmark.runs is not None:
        return benchmark.runs()
    assert benchmark.rules is not None
    return RunSpec(selection=Selection, rules=benchmark.rules, requests=_declared_requests)


def _declared_requests(order: RunOrder[Selection, Any]) -> list[RunRequest]:
    items, limit = catalog.load_items(order.benchmark, order.selection.data), order.selection.limit
    if limit is not None:
        items = draw_strata(items, limit, lambda item: (), order.settings.seed)
    return [order.request(items)]


def _flags(spec: RunSpec[Any, Any]) -> dict[str, str]:
    """Return the name of each shared model option in this benchmark; empty if it does not have it."""
    return {flag: spec.flags.get(flag, flag) for flag in MODEL_OPTIONS}


def option_of(seat: SeatSpec) -> str:
    """Return the option that names a seat's player; empty if there is no such option."""
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
        help = f"{seat.role} (repeatable): {known}; default: {seat.usual}"
        return Annotated[list[str] | None, typer.Option(help=help)], None
    return Annotated[str, typer.Option(help=f"{seat.role}: {known}")], seat.usual


def _names(typed: str | list[str] | None, seat: SeatSpec) -> tuple[str, ...]:
    return (typed,) if isinstance(typed, str) else tuple(dict.fromkeys(typed or [seat.usual]))


def _typed_options(context: typer.Context) -> frozenset[str]:
    """Return the options that were typed, even if with their default value."""
    sources = {name: context.get_parameter_source(name) for name in context.params}
    return frozenset(name for name, source in sources.items() if source and "DEFAULT" not in source.name)


def _path_as_text(value: Any) -> Any:
    return str(value) if isinstance(value, Path) else value


def _help(benchmark: Benchmark[Any, Any]) -> str:
    plain = f"Play {benchmark.title} and score it."
    return f"{benchmark.summary or plain}\n\nThe same command again continues where it stopped."


# ---- the command as a form


Group = Literal["seats", "items", "rules", "run"]
DATA: Final = "data"
_RUN: Final = ("run", "seed", "repeat", "concurrency", "budget", "temperature", "top_p", "max_tokens")
"""Common options that the form has; the others concern the use of this machine or reach other machines."""
_BUILTIN: Final = re.compile(r"(offline/[\w-]+(?::[a-z][\w-]*)?)(?:\[:([a-z|-]+)\])?")
_LONGEST: Final = 200
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


@dataclass(frozen=True, slots=True)
class RunForm:
    """The form of a benchmark's runs, whose fields are in groups."""

    benchmark: Benchmark[Any, Any]
    fields: tuple[tuple[Group, Field], ...]
    offered: frozenset[str]

    def read_values(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the chosen values, converted to their types; defaults and empty values are left out.

        Raises:
            InputError: if an option or its value is not allowed.
        """
        known = {option.name: option for _, option in self.fields}
        chosen: dict[str, Any] = {}
        for name, value in values.items():
            if name not in known:
                _refuse(name, "no such option here")
            option = known[name]
            if value in (None, "", []):
                continue
            value = self._read_typed(option, value)
            if value != option.value:
                chosen[name] = value
        spec = run_spec(self.benchmark)
        for model in (spec.selection, spec.rules):
            read_options(model, {name: chosen.get(name) for name in options_of(model)})
        return chosen

    def words(self, values: Mapping[str, Any]) -> list[str]:
        """Return the command that plays the chosen values, without the program: ``run NAME --…``."""
        chosen = (option for _, option in self.fields if option.name in values)
        typed = (word for option in chosen for word in option_words(option, values[option.name]))
        return ["run", self.benchmark.name, *typed]

    def _read_typed(self, option: Field, value: Any) -> Any:
        match option.kind:
            case "choices" | "listed":
                part = option._replace(kind="menu" if option.kind == "choices" else "text")
                return [
                    self._read_typed(part, each) for each in (value if isinstance(value, list) else [value])
                ]
            case "switch" if not isinstance(value, bool):
                _refuse(option.name, "must be yes or no")
            case "menu" if value not in option.known:
                _refuse(option.name, f"must be one of {', '.join(option.known)}")
            case "whole" | "number":
                return _number(option, value)
            case "line" | "text":
                self._require_text(option, value)
        return value

    def _require_text(self, option: Field, value: Any) -> None:
        if not isinstance(value, str) or len(value) > _LONGEST or not value.isprintable():
            _refuse(option.name, f"must be a single line of at most {_LONGEST} characters")
        if option.name == "run" and not _NAME.fullmatch(value):
            _refuse(option.name, "must consist of letters, digits, dots, hyphens and underscores")
        if value not in self.offered and re.search(r"[/\\~:]|^\.", value):
            _refuse(option.name, "names a file, or a model that is not offered here")


def run_form(benchmark: Benchmark[Any, Any], models: Sequence[str]) -> RunForm:
    """Return the form of a benchmark's runs; `models` can be chosen in addition to built-in players."""
    spec = run_spec(benchmark)
    seats = {option_of(seat): seat for seat in benchmark.seats if option_of(seat)}
    groups: dict[str, Group] = dict.fromkeys(seats, "seats")
    groups |= dict.fromkeys(options_of(spec.selection), "items")
    groups |= dict.fromkeys(options_of(spec.rules), "rules")
    fields: list[tuple[Group, Field]] = []
    for name, declared in run_options(benchmark).items():
        if name not in groups and name not in _RUN:
            continue
        option = option_field(name, declared)
        if name in seats:
            seat, several = seats[name], option.kind == "listed"
            players = [*map(Choice, _players(seat, models))]
            option = option._replace(kind="choices" if several else "menu", choices=players, note=seat.role)
            option = option._replace(value=[seat.usual] if several else seat.usual)
        elif name == DATA:
            option = option._replace(kind="menu", choices=tuple(map(Choice, _data(benchmark.name))), note="")
        if option.kind != "file":
            group = groups.get(name, "run") if name not in RUN_OPTIONS else "run"
            fields.append((group, option))
    offered = frozenset(name for group, option in fields if group == "seats" for name in option.known)
    return RunForm(benchmark, tuple(fields), offered)


def _players(seat: SeatSpec, models: Sequence[str]) -> tuple[str, ...]:
    """Return the possible players of a seat: built-in players, and models if the seat takes them."""
    known = (name for match in _BUILTIN.finditer(seat.known) for name in _variants(match))
    asked = models if seat.prompt or "provider/model" in seat.known else ()
    return tuple(dict.fromkeys((*seat.players, *known, *asked)))


def _variants(known: re.Match[str]) -> Iterable[str]:
    name, endings = known.groups()
    return (name, *(f"{name}:{ending}" for ending in (endings or "").split("|") if ending))


def _data(benchmark: str) -> tuple[str, ...]:
    return ("builtin", *(data.name for data in datasets.list_all() if data.benchmark == benchmark))


def _number(option: Field, value: Any) -> float:
    number = isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
    whole = number and float(value).is_integer()
    if not number or (option.kind == "whole" and not whole):
        _refuse(option.name, f"must be a {'whole ' if option.kind == 'whole' else ''}number")
    least, most = option.least, option.most
    if (least is not None and value < least) or (most is not None and value > most):
        bounds = {"from": least, "to": most}
        limits = (f"{word} {bound:g}" for word, bound in bounds.items() if bound is not None)
        _refuse(option.name, f"must be {' '.join(limits)}")
    return int(value) if option.kind == "whole" else float(value)


def _refuse(name: str, why: str) -> NoReturn:
    raise InputError(f"{name}: {why}.", code="run_option", option=name, why=why)
