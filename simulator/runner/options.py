"""Options that commands of several benchmarks have, in the same words.

Those of models are a command's `ModelFlags`, that of who works its `Engine`. Imported for every ``--help``,
so this module imports nothing that takes time, but for the log, which every command needs.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, get_type_hints

import typer

from logs.paths import home
from simulator.errors import InputError

if TYPE_CHECKING:
    from simulator.models import ModelOptions


DataOption = Annotated[str, typer.Option(help="builtin, the name of added data, or a path")]
RepeatOption = Annotated[int, typer.Option(min=1, help="how often each item is played")]
SeedOption = Annotated[int, typer.Option(help="seed of the run")]
RootSeedOption = Annotated[int, typer.Option(help="everything descends from it")]
ConcurrencyOption = Annotated[int, typer.Option(min=1, help="episodes at a time; with Ray in each process")]
WorkersOption = Annotated[
    int | None,
    typer.Option(min=1, help="processes that share it; default: 1, or more for a long offline run"),
]
ExecutorOption = Annotated[
    str,
    typer.Option(help="where they run: local, ray (this machine) or ray:ADDRESS, such as ray:auto"),
]
ResourcesOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="SEAT=NAME:AMOUNT",
        help="what a seat asks of a node with Ray, such as robot=num_gpus:1 (several)",
    ),
]
ThreadsOption = Annotated[int | None, typer.Option(min=1, help="threads that torch may use")]
BaseUrlOption = Annotated[
    list[str] | None,
    typer.Option(
        help="an OpenAI-compatible server; several of them (give it again), or FILE.yaml, are a fleet that "
        "shares the work"
    ),
]
TimeoutOption = Annotated[
    float | None, typer.Option(help="seconds that a server may take for one answer; default: 120")
]
RunOption = Annotated[str | None, typer.Option(help="the run's name; default: after its setup")]
ItemsOfOption = Annotated[
    str | None,
    typer.Option(help="only the items of this run of the log: a study's, to compare models with people"),
]
RunsAndFilesArgument = Annotated[
    list[str],
    typer.Argument(
        help="names of runs (askback log list shows them), files and folders, in any order",
        metavar="RUN|FILE…",
    ),
]
FolderOption = Annotated[Path, typer.Option(help="folder for everything; made if need be")]
JsonOption = Annotated[bool, typer.Option("--json", help="print JSON")]
ExcludeAbortedOption = Annotated[
    bool,
    typer.Option(
        "--exclude-aborted",
        help="leave aborted episodes out of the scores, in which they count as unsuccessful otherwise",
    ),
]
WithExcludedOption = Annotated[
    bool,
    typer.Option("--with-excluded", help="count people who were excluded from their study all the same"),
]
ExactJsonOption = Annotated[bool, typer.Option("--json", help="print JSON, with every digit")]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFlags:
    """A command line's options of the models that are asked; every command that asks models has them."""

    budget: Annotated[float | None, typer.Option(min=0, help="US dollars the models may cost")] = None
    base_url: BaseUrlOption = None
    temperature: Annotated[
        float | None, typer.Option(help="of all texts that models write; default: what the benchmark says")
    ] = None
    top_p: Annotated[
        float | None, typer.Option(help="probability mass that texts are drawn from; default: all of it")
    ] = None
    max_tokens: Annotated[
        int | None, typer.Option(help="tokens of a text at most; default: what the benchmark says")
    ] = None
    reasoning_effort: Annotated[
        str | None, typer.Option(help="how much a model thinks first: low, medium, high, or what it knows")
    ] = None
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="another parameter of the server's, such as top_k=20 (several)",
        ),
    ] = None
    timeout: TimeoutOption = None
    cache: Annotated[bool, typer.Option(help="answer repeated requests from the cache")] = True
    prices: Annotated[Path | None, typer.Option(help="your price table (YAML)")] = None
    together: Annotated[
        int,
        typer.Option(
            min=1,
            help="answers that a model on this machine writes at a time; more are faster, as memory allows",
        ),
    ] = 1

    def options(self, log: Path, *, seed: int = 0) -> ModelOptions:
        """Return how models are reached; repeated requests are answered from the cache in the Askback folder.

        Raises:
            InputError: if the prices or a fleet's file are missing or wrong, or an option is out of range.
        """
        from simulator.models import Budget, Decoding, ModelOptions
        from simulator.models.budget import read_prices
        from simulator.models.decoding import read_settings
        from simulator.models.fleet import place_of

        if self.timeout is not None and not 0 < self.timeout < float("inf"):
            raise InputError(f"--timeout {self.timeout}: must be a number of seconds above 0")
        if self.prices is not None:
            read_prices(self.prices)  # a mistake in it should not wait for the first model
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
"""Options of every command that asks models: parameter -> annotation and default."""
NO_FLAGS: Final = ModelFlags()
"""Nothing is said: the default of a command's parameter."""


def asks_models(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command with the options of `MODEL_OPTIONS` where its parameter ``flags`` stands.

    An option that the command declares itself, with a default or a meaning of its own, takes the place of
    the shared one, and is not among the flags.

    Args:
        command: gets every option by name.
    """
    return takes("flags", MODEL_OPTIONS, ModelFlags)(command)


def takes(
    parameter: str, options: Mapping[str, Any], make: Callable[..., Any]
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator for a command that has several options where one of its parameters stands.

    Args:
        parameter: of the command.
        options: option -> annotation and default, such as `field_options.options_of` gives.
        make: makes the parameter's value of those options that the command does not declare itself.
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

        made = command_of(call, declared, inspect.getdoc(command) or "")
        made.__name__, made.__module__ = command.__name__, command.__module__
        return made

    return decorate


def command_of(function: Callable[..., Any], options: Mapping[str, Any], help: str) -> Callable[..., None]:
    """Return a function with the signature that Typer makes a command of."""

    def command(**given: Any) -> None:
        function(**given)

    parameters = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        for name, (annotation, default) in options.items()
    ]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {name: annotation for name, (annotation, _) in options.items()}
    command.__doc__ = help
    return command


# ---- who works


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
