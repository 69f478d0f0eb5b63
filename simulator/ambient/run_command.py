"""`askback run ambient`, and AmbiEnt's part of `askback score`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import typer
from rich.console import Console

from logs.cli import LogOption
from simulator.ambient.data import BUILTIN, Split
from simulator.ambient.distractors import DistractorRule
from simulator.ambient.items import InstructionText, Task
from simulator.ambient.parts import Wish, capabilities_of, needs_of, part_items, read_tasks, refusal
from simulator.ambient.playing import ANNOTATOR, Options
from simulator.ambient.prompts import SHOTS
from simulator.ambient.relations import read_relations
from simulator.ambient.room import ROOM
from simulator.ambient.seating import SEATED
from simulator.ambient.summary import print_summaries, score_run, summarise, summary_json
from simulator.errors import InputError
from simulator.models import Decoding, ModelOptions
from simulator.runner.command import Manner, Wanted, play, read_manner, run_name
from simulator.runner.options import (
    BaseUrlOption,
    BudgetOption,
    CacheOption,
    ConcurrencyOption,
    DataOption,
    ExcludeAbortedOption,
    PricesOption,
    ReasoningEffortOption,
    RepeatOption,
    RunOption,
    SeedOption,
    SetOption,
    TemperatureOption,
    TimeoutOption,
    WorkersOption,
)
from simulator.runner.scoring import by_rules
from simulator.runner.telling import print_played

Stem = Literal["plain", "instructed"]
_SHOWN: Final[Mapping[Task, Mapping[str, str]]] = {
    "crowd": {"plausible": "plausible", "relabel": "label"},
    "evaluate": {"plausible": "plausible", "relabel": "label"},
    "annotate": {"exact": "exact"},
    "generate": {"edit_f1": "EDIT-F1"},
    "true_false": {"accuracy": "accuracy", "null": "null"},
    "continue": {"ranked": "ranked"},
    "nli": {"exact": "EM", "group_exact": "group EM"},
    "claim": {"flagged": "flagged"},
}
# The options of an episode that a task has; others would give runs that are the same different names.
_OPTIONS: Final[Mapping[Task, tuple[str, ...]]] = {
    "generate": ("max_tokens",),
    "true_false": ("top",),
    "claim": ("max_tokens", "nli", "top_p"),
}


def run_ambient(
    task: Annotated[
        str,
        typer.Option(
            help="generate, true-false, continue, crowd, evaluate, annotate, nli, claim (comma list), "
            "or all that the model can do"
        ),
    ] = "generate",
    model: Annotated[
        list[str] | None,
        typer.Option(help=f"who does it (several: give it again): {SEATED}; default: offline/gold"),
    ] = None,
    data: DataOption = BUILTIN,
    split: Annotated[
        Split | None,
        typer.Option(help="of the data; default: test if they have one; builtin is played whole"),
    ] = None,
    shots: Annotated[int, typer.Option(min=0, help="generate: worked examples in a prompt")] = SHOTS,
    instruction: Annotated[
        InstructionText, typer.Option(help="generate: with the published prompts' slip, or without")
    ] = "published",
    continuations: Annotated[int, typer.Option(min=1, help="continue: samples per sentence")] = 100,
    stem: Annotated[
        Stem | None,
        typer.Option(help="continue: what stands before a sentence; default: by the model's name"),
    ] = None,
    distractor: Annotated[
        DistractorRule, typer.Option(help="continue: how the distractor is made")
    ] = "paper",
    relations: Annotated[
        Path | None, typer.Option(help="continue: categories of words (ConceptNet, CSV or TSV)")
    ] = None,
    results: Annotated[
        list[str] | None, typer.Option(help="evaluate: a results file or a run; several: give it again")
    ] = None,
    distractors: Annotated[
        Path | None,
        typer.Option(help="crowd, evaluate: a file of `askback generate ambient-distractors`"),
    ] = None,
    nli: Annotated[
        Path | None, typer.Option(help="claim: folder of the model that scores paraphrases")
    ] = None,
    top_p: Annotated[
        float | None,
        typer.Option(help="probability mass that texts are drawn from; default: all, claim: .9"),
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="true-false: words with probabilities asked for")] = 20,
    max_tokens: Annotated[
        int | None, typer.Option(min=1, help="of what a model writes; default: generate, claim: 200")
    ] = None,
    repeat: RepeatOption = 1,
    limit: Annotated[
        int | None, typer.Option(min=1, help="items per run, drawn in the proportions of sides and labels")
    ] = None,
    seed: SeedOption = 0,
    concurrency: ConcurrencyOption = 8,
    workers: WorkersOption = None,
    budget: BudgetOption = None,
    base_url: BaseUrlOption = None,
    temperature: TemperatureOption = None,
    reasoning_effort: ReasoningEffortOption = None,
    settings: SetOption = None,
    timeout: TimeoutOption = None,
    cache: CacheOption = True,
    prices: PricesOption = None,
    run: RunOption = None,
    exclude_aborted: ExcludeAbortedOption = False,
    log: LogOption = None,
) -> None:
    """Put models, built-in players and models of inference on AmbiEnt's tasks. Each task of each is a run.

    The same command again continues where it stopped.
    """
    console = Console()
    options = {
        "max_tokens": Options().max_tokens if max_tokens is None else max_tokens,
        "top": top,
        "top_p": Options().top_p if top_p is None else top_p,
        "nli": "" if nli is None else str(nli),
    }
    wish = Wish(
        data=data,
        split=split,
        limit=limit,
        seed=seed,
        shots=shots,
        instruction=instruction,
        stem=stem,
        continuations=continuations,
        distractor=distractor,
        relations=None if relations is None else read_relations(relations),
        results=tuple(results or ()),
        distractors=distractors,
    )
    manner = read_manner(
        log,
        seed=seed,
        repeat=repeat,
        concurrency=concurrency,
        workers=workers,
        budget=budget,
        base_url=base_url,
        cache=cache,
        prices=prices,
        run=run,
        decoding=Decoding(temperature=temperature, top_p=top_p, max_tokens=max_tokens),
        reasoning_effort=reasoning_effort,
        settings=settings,
        timeout=timeout,
    )
    names = list(dict.fromkeys(model or ["offline/gold"]))
    pairs = playable(names, read_tasks(task), wish, options, manner.models, console, everything="all" in task)
    play_all(
        Experiment(
            pairs=pairs,
            manner=manner,
            wish=wish,
            options=options,
        ),
        console,
        exclude_aborted=exclude_aborted,
    )


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """Who does what, and how; one run for each pair.

    Attributes:
        pairs: a player and a task.
        manner: how every run is played.
        wish: how items are made.
        options: of episodes; of them a run has those that concern its task.
    """

    pairs: tuple[tuple[str, Task], ...]
    manner: Manner
    wish: Wish = field(default_factory=Wish)
    options: Mapping[str, Any] = field(default_factory=dict)


def playable(
    names: Sequence[str],
    tasks: Sequence[Task],
    wish: Wish,
    options: Mapping[str, Any],
    models: ModelOptions,
    console: Console,
    *,
    everything: bool,
) -> tuple[tuple[str, Task], ...]:
    """Who does what, before anything is played.

    Args:
        names: the players.
        tasks: the tasks.
        wish: how items are made.
        options: of the episodes.
        models: how language models are reached.
        console: is told what is left out.
        everything: whether the tasks were not named one by one: what cannot be done is left out then.

    Raises:
        InputError: if somebody cannot do a task that was named, or nothing is left; says why.
        ModelError: if a model's key or an extra is missing.
    """
    found: list[tuple[str, Task]] = []
    left_out: dict[str, list[str]] = {}
    for who in names:
        can = capabilities_of(who, models)
        for task in tasks:
            why = _missing(task, wish) or refusal(task, who, can, options)
            if why and not everything:
                raise InputError(f"--task {_written(task)}: {why}.")
            if why:
                left_out.setdefault(why, []).append(_written(task))
            else:
                found.append((who, task))
    for why, what in left_out.items():
        console.print(f"[dim]{', '.join(dict.fromkeys(what))} left out: {why}.[/dim]")
    if not found:
        raise InputError("nothing is left to be played.")
    return tuple(found)


def _missing(task: Task, wish: Wish) -> str:
    if task == "evaluate" and not wish.results:
        return "name the results file or the run whose rewrites are judged, --results"
    return ""


def play_all(experiment: Experiment, console: Console, *, exclude_aborted: bool = False) -> tuple[str, ...]:
    """Play every run of an experiment and print what came of them; the runs' names.

    Raises:
        InputError: if an option, a name or the data are wrong.
        ModelError: if a model cannot be loaded.
        typer.Exit: with status 1 if episodes failed, or all of a run were aborted.
    """
    Options.read(experiment.options)
    # All items first: what is wrong with the data of the last task is told before the first is played.
    wanted = [_wanted(experiment, who, task) for who, task in experiment.pairs]
    told = [play(one, console) for one in wanted]
    summary = partial(summarise, exclude_aborted=exclude_aborted)
    return print_played(console, experiment.manner.log, told, summary, print_summaries)


def _wanted(experiment: Experiment, who: str, task: Task) -> Wanted:
    wish, options, name = experiment.wish, experiment.options, _written(task)
    pairs = [(each, _written(one)) for each, one in experiment.pairs]
    return Wanted(
        room=ROOM,
        seats={ANNOTATOR: who},
        items=part_items(task, who, wish),
        manner=experiment.manner.called(run_name(experiment.manner.name, (who, name), pairs)),
        options={name: options[name] for name in _OPTIONS.get(task, ()) if name in options},
        config={
            "data": wish.data,
            "split": wish.split,
            "task": task,
        },
        needs={who: needs_of(task)},
        label=name,
        title=name,
        shown=_SHOWN[task],
    )


def _written(task: Task) -> str:
    """A task as it is written on a command line and in names."""
    return task.replace("_", "-")


score_command = by_rules(score_run, summarise, summary_json, print_summaries)
"""See `simulator.runner.scoring.by_rules`."""
