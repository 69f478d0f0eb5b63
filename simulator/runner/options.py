"""Command-line options that several benchmarks' commands share.

The options of models are a command's `ModelFlags`, those of processes and clusters its `Engine`. Every
``--help`` imports this module, so it imports nothing slow except the log, which every command needs.
"""

from __future__ import annotations

import gc
import inspect
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, get_type_hints

import typer

from logs.paths import home
from simulator.errors import InputError

if TYPE_CHECKING:
    from simulator.models import ModelOptions


_RUN_NAME: Final = re.compile(r"(?![ .-])[^/\\]+(?<! )")


def check_run_name(name: str | None) -> str | None:
    """Return the name of a new run if it is safe in addresses and file names.

    Raises:
        InputError: if it is not.
    """
    if name and not (name.isprintable() and _RUN_NAME.fullmatch(name)):
        raise InputError(
            f"--run {name!r}: a run's name has no slash, line break or blank at its ends, and does not begin "
            "with a dot or a hyphen."
        )
    return name


DataOption = Annotated[str, typer.Option(help="builtin, the name of added data, or a path")]
RepeatOption = Annotated[int, typer.Option(min=1, help="how often each item is played")]
SeedOption = Annotated[int, typer.Option(help="seed of the run")]
RootSeedOption = Annotated[int, typer.Option(help="seed of all random choices")]
ConcurrencyOption = Annotated[int, typer.Option(min=1, help="concurrent episodes; with Ray, per process")]
WorkersOption = Annotated[
    int | None,
    typer.Option(min=1, help="number of processes; default: 1, or more for a long offline run"),
]
ExecutorOption = Annotated[
    str,
    typer.Option(help="where it runs: local, ray (this machine) or ray:ADDRESS, such as ray:auto"),
]
ResourcesOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="SEAT=NAME:AMOUNT",
        help="Ray resources for a seat, such as robot=num_gpus:1 (repeatable)",
    ),
]
ThreadsOption = Annotated[int | None, typer.Option(min=1, help="number of torch threads")]
BaseUrlOption = Annotated[
    list[str] | None,
    typer.Option(
        help="URL of an OpenAI-compatible server; several (repeat the option), or FILE.yaml, form a fleet "
        "that shares the work"
    ),
]
TimeoutOption = Annotated[
    float | None, typer.Option(help="seconds that a server may take for one answer; default: 120")
]
RunOption = Annotated[str | None, typer.Option(help="the run's name; default: derived from its setup")]
ItemsOfOption = Annotated[
    str | None,
    typer.Option(help="only the items of this logged run, such as a study's, to compare models with people"),
]
RunsAndFilesArgument = Annotated[
    list[str],
    typer.Argument(
        help="runs (askback log list shows their names), files and folders, in any order",
        metavar="RUN|FILE…",
    ),
]
FolderOption = Annotated[Path, typer.Option(help="output folder; created if necessary")]
JsonOption = Annotated[bool, typer.Option("--json", help="print JSON")]
ExcludeAbortedOption = Annotated[
    bool,
    typer.Option(
        "--exclude-aborted",
        help="exclude aborted episodes from the scores instead of counting them as unsuccessful",
    ),
]
WithExcludedOption = Annotated[
    bool,
    typer.Option("--with-excluded", help="include people who were excluded from their study"),
]
ExactJsonOption = Annotated[bool, typer.Option("--json", help="print JSON, in full precision")]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFlags:
    """The model options of a command; every command that uses models has them."""

    budget: Annotated[float | None, typer.Option(min=0, help="spending limit in US dollars")] = None
    base_url: BaseUrlOption = None
    temperature: Annotated[
        float | None, typer.Option(help="temperature of all texts; default: the benchmark's own")
    ] = None
    top_p: Annotated[
        float | None, typer.Option(help="nucleus sampling: probability mass to sample from; default: 1")
    ] = None
    max_tokens: Annotated[
        int | None, typer.Option(help="token limit of a text; default: the benchmark's own")
    ] = None
    reasoning_effort: Annotated[
        str | None, typer.Option(help="reasoning effort: low, medium, high, or a value the model accepts")
    ] = None
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="another parameter of the server, such as top_k=20 (repeatable)",
        ),
    ] = None
    timeout: TimeoutOption = None
    cache: Annotated[bool, typer.Option(help="answer repeated requests from the cache")] = True
    prices: Annotated[Path | None, typer.Option(help="your price table (YAML)")] = None
    together: Annotated[
        int,
        typer.Option(
            min=1,
            help="answers that a model on this machine writes in parallel; more are faster but need memory",
        ),
    ] = 1

    def options(self, log: Path, *, seed: int = 0) -> ModelOptions:
        """Return the options of models, with the response cache in the Askback folder.

        Raises:
            InputError: if the price or fleet file is missing or wrong, or an option is out of range.
        """
        from simulator.models import Budget, Decoding, ModelOptions
        from simulator.models.budget import read_prices
        from simulator.models.decoding import read_settings
        from simulator.models.fleet import place_of

        if self.timeout is not None and not 0 < self.timeout < float("inf"):
            raise InputError(f"--timeout {self.timeout}: must be a number of seconds above 0")
        if self.prices is not None:
            read_prices(self.prices)  # report mistakes before the first model is loaded
        return ModelOptions(
            base_url=place_of(self.base_url),
            cache_path=home() / "cache.sqlite" if self.cache else None,
            budget=None if self.budget is None else Budget(self.budget),
            prices_path=self.prices,
            recordings=log,
            together=self.together,
            decoding=Decoding(
                temperature=self.temperature, top_p=self.top_p, max_tokens=self.max_tokens, seed=seed
            ),
            extra=read_settings(self.settings or (), self.reasoning_effort),
            timeout=ModelOptions().timeout if self.timeout is None else self.timeout,
        )


_HINTS: Final = get_type_hints(ModelFlags, include_extras=True)
MODEL_OPTIONS: Final[Mapping[str, Any]] = {
    field.name: (_HINTS[field.name], field.default) for field in fields(ModelFlags)
}
"""The options of `ModelFlags`: parameter -> annotation and default."""
NO_FLAGS: Final = ModelFlags()
"""No options: the default of a command's parameter."""


def with_model_options(command: Callable[..., None]) -> Callable[..., None]:
    """Replace a command's parameter ``flags`` with the options of `MODEL_OPTIONS`.

    An option that the command declares itself, with another default or meaning, replaces the shared one and
    is not part of the flags.
    """
    return with_options("flags", MODEL_OPTIONS, ModelFlags)(command)


def with_options(
    parameter: str, options: Mapping[str, Any], make: Callable[..., Any]
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that replaces one parameter of a command with several options.

    Args:
        parameter: the command's parameter.
        options: option -> annotation and default, such as `field_options.options_of` returns.
        make: builds the parameter's value from the options that the command does not declare itself.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        hints = get_type_hints(command, include_extras=True)
        own = inspect.signature(command).parameters
        names = [name for name in options if name not in own]
        declared: dict[str, Any] = {}
        for name, each in own.items():
            if name == parameter:
                declared |= {option: options[option] for option in names}
            else:
                declared[name] = hints[name], each.default

        def call(**values: Any) -> None:
            value = make(**{name: values.pop(name) for name in names if name in values})
            command(**values, **{parameter: value})

        wrapper = command_of(call, declared, inspect.getdoc(command) or "")
        wrapper.__name__, wrapper.__module__ = command.__name__, command.__module__
        return wrapper

    return decorate


def command_of(function: Callable[..., Any], options: Mapping[str, Any], help: str) -> Callable[..., None]:
    """Return a function with a signature from which Typer can build a command."""

    def command(**values: Any) -> None:
        function(**values)

    parameters = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        for name, (annotation, default) in options.items()
    ]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {name: annotation for name, (annotation, _) in options.items()}
    command.__doc__ = help
    return command


# ---- where work runs


LOCAL: Final = "local"
"""The executor of this machine."""

Resources = Mapping[str, Mapping[str, float]]
"""Seat -> Ray's name of a resource (``num_cpus``, ``num_gpus``, ``memory``, or a custom one) -> amount."""


@dataclass(frozen=True, kw_only=True)
class Engine:
    """The processes or cluster that do the work.

    Attributes:
        executor: ``local``, ``ray`` or ``ray:ADDRESS``.
        workers: number of processes; None to choose.
    """

    executor: str = LOCAL
    workers: int | None = None
    resources: Resources = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Validate the choice.

        Raises:
            InputError: if there is no such executor, or resources are given without a cluster.
        """
        if self.is_ray and self.executor.partition(":")[0] != "ray":
            raise InputError(
                f"--executor {self.executor}: write local, ray (this machine), or ray:ADDRESS such as "
                "ray:auto or ray:10.0.0.1:6379; for several processes without Ray, --workers N"
            )
        if self.resources and not self.is_ray:
            raise InputError("--resources are for the nodes of a cluster; add --executor ray, or omit them.")

    @property
    def is_ray(self) -> bool:
        """Return True for a cluster."""
        return self.executor != LOCAL

    @property
    def is_here(self) -> bool:
        """Return True if this process works alone, which is the default."""
        return not self.is_ray and self.workers in (None, 1)

    @property
    def address(self) -> str:
        """Return the address of the cluster; empty for one on this machine."""
        return self.executor.partition(":")[2]


HERE: Final = Engine(workers=1)
"""Only this process."""


def read_resources(texts: Sequence[str]) -> Resources:
    """Parse ``seeker=num_gpus:1,num_cpus:4`` as a mapping.

    Raises:
        InputError: if a text has another form.
    """
    resources: dict[str, dict[str, float]] = {}
    for text in texts:
        seat, _, amounts = text.partition("=")
        try:
            pairs = [part.split(":") for part in amounts.split(",")]
            resources[seat] = {name.strip(): float(amount) for name, amount in pairs}
        except ValueError:
            raise InputError(
                f"--resources {text}: write SEAT=NAME:AMOUNT, such as seeker=num_gpus:1"
            ) from None
    return resources


def tune_collector() -> None:
    """Keep the garbage collector from scanning what is loaded so far, and let it run a tenth as often.

    What is loaded outlives a run or a server. Every play of a graph leaves cycles, which are collected as
    well ten times as seldom.
    """
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)


def processor_count() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
