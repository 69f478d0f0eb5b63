"""`askback run ambibench`, and AmbiBench's part of `askback score`."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import typer
from rich.console import Console

from logs.cli import LogOption
from simulator.ambibench.data import BUILTIN, Draw, duplicates_of
from simulator.ambibench.features import Format, Pair
from simulator.ambibench.generation import Design, Question, Spelling
from simulator.ambibench.instructions import LocationWord
from simulator.ambibench.labels import Mode, Tie
from simulator.ambibench.parts import (
    WRITTEN,
    Kinds,
    Part,
    held_parts,
    part_items,
    parts,
    read_settings,
    refuse_idle,
)
from simulator.ambibench.players.offline import PLAYERS
from simulator.ambibench.playing import PARTICIPANT, Options, System
from simulator.ambibench.room import ROOM
from simulator.ambibench.seating import SEATED, seat_for
from simulator.ambibench.summary import print_summaries, score_run, summarise, summary_json
from simulator.duplicates import Duplicates, DuplicatesOption
from simulator.errors import InputError
from simulator.models import Decoding, ModelOptions, Needs, load_model
from simulator.runner.command import Manner, Wanted, model_options, play, read_manner, run_name
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
    TopPOption,
    WorkersOption,
)
from simulator.runner.scoring import by_rules
from simulator.runner.telling import print_played

SHOWN: Final = {"accuracy": "accuracy", "valid": "valid", "same": "same"}
Formats = Literal["arrow", "qa", "both"]


def run_ambibench(
    context: typer.Context,
    model: Annotated[
        list[str] | None,
        typer.Option(help=f"who takes part (several: give it again): {SEATED}; default: offline/oracle"),
    ] = None,
    setting: Annotated[
        str | None,
        typer.Option(
            help="instruction, multiple, wug, ft_eval, verbalise, aws (comma list), or all; "
            "default: instruction,multiple; of a file whatever it holds"
        ),
    ] = None,
    kind: Annotated[
        Kinds | None,
        typer.Option(help="instruction; default: both in setting instruction, uninformative in multiple"),
    ] = None,
    fold: Annotated[Pair | None, typer.Option(help="ft_eval: the held-out pair; default: all three")] = None,
    data: DataOption = "builtin",
    per_cell: Annotated[
        int | None,
        typer.Option(min=1, help="per feature and format: 60 (verbalise 10); aws: per name, 5"),
    ] = None,
    design: Annotated[Design, typer.Option(help="stratified by feature, or free coins")] = "stratified",
    location_word: Annotated[
        LocationWord, typer.Option(help="of informative instructions: as sent, or as App. G.2 prints")
    ] = "setting",
    formats: Annotated[Formats, typer.Option(help="of the examples")] = "both",
    question: Annotated[Question, typer.Option(help="verbalise: which question")] = "best_guess",
    spelling: Annotated[Spelling, typer.Option(help="verbalise: with the paper's slip?")] = "as_printed",
    second_name: Annotated[
        bool, typer.Option("--second-name", help="aws: a run with a second name, too")
    ] = False,
    top: Annotated[int, typer.Option(min=1, help="tokens with probabilities asked for at a label")] = 20,
    max_tokens: Annotated[
        int, typer.Option(min=1, help="tokens a model may write for a label (more if it thinks first)")
    ] = 2,
    system: Annotated[System, typer.Option(help="chat models: our system prompt, or none")] = "continue",
    score_mode: Annotated[Mode, typer.Option(help="how tables of probabilities are read")] = "strip",
    tie: Annotated[Tie, typer.Option(help="what a tie for the first place counts")] = "wrong",
    repeat: RepeatOption = 1,
    limit: Annotated[
        int | None, typer.Option(min=1, help="items per run, equally many of each format and task")
    ] = None,
    seed: SeedOption = 0,
    concurrency: ConcurrencyOption = 8,
    workers: WorkersOption = None,
    budget: BudgetOption = None,
    base_url: BaseUrlOption = None,
    temperature: TemperatureOption = None,
    top_p: TopPOption = None,
    reasoning_effort: ReasoningEffortOption = None,
    settings: SetOption = None,
    timeout: TimeoutOption = None,
    cache: CacheOption = True,
    prices: PricesOption = None,
    run: RunOption = None,
    duplicates: DuplicatesOption = "refuse",
    exclude_aborted: ExcludeAbortedOption = False,
    log: LogOption = None,
) -> None:
    """Put models and built-in learners on AmbiBench's trials. Each setting of each of them is a run.

    The same command again continues where it stopped.
    """
    console = Console()
    names = list(dict.fromkeys(model or ["offline/oracle"]))
    chosen = read_settings(setting or ("instruction,multiple" if data == BUILTIN else "all"))
    wanted = held_parts(data, parts(chosen, kind=kind, fold=fold, second=second_name))
    refuse_idle(_given(context), data, wanted)
    if twice := len(duplicates_of(data)):
        done = "played as often" if duplicates == "keep" else "left out (--duplicates keep plays them)"
        console.print(f"{data}: {twice} items told twice, {done}.", highlight=False, soft_wrap=True)
    everything = setting is None or "all" in setting
    experiment = Experiment(
        pairs=playable(names, wanted, console, everything=everything),
        manner=read_manner(
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
            decoding=Decoding(temperature=temperature, top_p=top_p),
            reasoning_effort=reasoning_effort,
            settings=settings,
            timeout=timeout,
        ),
        data=data,
        duplicates=duplicates,
        draw=Draw(
            seed=seed,
            per_cell=per_cell,
            design=design,
            location_word=location_word,
            question=question,
            spelling=spelling,
        ),
        form=None if formats == "both" else formats,
        limit=limit,
        options={
            "score_mode": score_mode,
            "tie": tie,
            "top": top,
            "max_tokens": max_tokens,
            "system": system,
        },
    )
    play_all(experiment, console, exclude_aborted=exclude_aborted)


def _given(context: typer.Context) -> tuple[str, ...]:
    """The parameters that were typed, even if with the value that they have anyway."""
    sources = {name: context.get_parameter_source(name) for name in context.params}
    return tuple(name for name, one in sources.items() if one is not None and "DEFAULT" not in one.name)


def evaluate_fold(
    models: Sequence[str], fold: Pair, seed: int, per_cell: int, log: Path, console: Console
) -> tuple[str, ...]:
    """Play the episodes of the pair that a finetuning holds out, and print how each model did.

    Args:
        models: who plays.
        fold: the pair that is held out.
        seed: of the episodes.
        per_cell: episodes per salient feature and format.
        log: the log's file.
        console: for progress and results.

    Returns:
        The runs' names.
    """
    part = Part(setting="ft_eval", fold=fold)
    return play_all(
        Experiment(
            pairs=tuple((name, part) for name in models),
            manner=Manner(log=log, models=model_options(log), seed=seed),
            draw=Draw(seed=seed, per_cell=per_cell),
        ),
        console,
    )


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """Who plays what, and how; one run for each pair.

    Attributes:
        pairs: a player and a part of the experiment.
        manner: how every run is played.
        data: where the items come from.
        draw: how built-in ones are drawn.
        form: the format wanted; both if None.
        limit: items per run at most.
        duplicates: what becomes of items without an id that a file holds twice.
        options: of every episode (`playing.Options`).
    """

    pairs: tuple[tuple[str, Part], ...]
    manner: Manner
    data: str = BUILTIN
    draw: Draw = field(default_factory=Draw)
    form: Format | None = None
    limit: int | None = None
    duplicates: Duplicates = "refuse"
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """The players."""
        return tuple(dict.fromkeys(name for name, _ in self.pairs))


def play_all(experiment: Experiment, console: Console, *, exclude_aborted: bool = False) -> tuple[str, ...]:
    """Play every run of an experiment and print what came of them; the runs' names.

    Raises:
        InputError: if an option, a name or the data are wrong.
        ModelError: if a model cannot be loaded.
        typer.Exit: with status 1 if episodes failed, or all of a run were aborted.
    """
    Options.read(experiment.options)
    require_players(experiment.names, experiment.manner.models)
    told = [play(_wanted(experiment, who, part), console) for who, part in experiment.pairs]
    summary = partial(summarise, exclude_aborted=exclude_aborted)
    return print_played(console, experiment.manner.log, told, summary, print_summaries)


def _wanted(experiment: Experiment, who: str, part: Part) -> Wanted:
    form, limit = experiment.form, experiment.limit
    pairs = [(each, one.name) for each, one in experiment.pairs]
    return Wanted(
        room=ROOM,
        seats={PARTICIPANT: who},
        items=part_items(
            experiment.data,
            part,
            experiment.draw,
            form=form,
            limit=limit,
            duplicates=experiment.duplicates,
        ),
        manner=experiment.manner.called(run_name(experiment.manner.name, (who, part.name), pairs)),
        options=experiment.options,
        config={"data": experiment.data, "part": part.name},
        needs={who: _needs(who, part, experiment.options)},
        label=part.name,
        title=part.name,
        shown=SHOWN,
    )


def _needs(who: str, part: Part, options: Mapping[str, Any]) -> Needs:
    """What is asked of a model beside text: labels are read off probabilities where there are any."""
    if part.setting in ("verbalise", "aws"):
        return Needs()
    read = Options.read(options)
    return Needs(scoring=True) if who.startswith("completions/") else Needs(top_logprobs=read.top)


def playable(
    names: Sequence[str], wanted: Sequence[Part], console: Console, *, everything: bool
) -> tuple[tuple[str, Part], ...]:
    """Who plays what: everybody everything, but built-in players no setting that wants free text.

    Args:
        names: the players.
        wanted: the parts.
        console: is told what is left out.
        everything: whether the settings were not named one by one.

    Raises:
        InputError: if a built-in player was to play such a setting by name, or nothing is left.
    """
    found: list[tuple[str, Part]] = []
    for who in names:
        left_out = [part.name for part in wanted if who in PLAYERS and part.setting in WRITTEN]
        if left_out and not everything:
            raise InputError(f"--setting {left_out[0]}: {who} answers with labels, not in free text.")
        if left_out:
            console.print(f"{who} answers with labels alone: {', '.join(left_out)} left out.")
        found += [(who, part) for part in wanted if part.name not in left_out]
    return tuple(found)


def require_players(names: Sequence[str], models: ModelOptions) -> None:
    """Make sure that everybody can sit down before anything is played.

    Raises:
        InputError: if a name means nothing.
        ModelError: if a model's key or an extra that it needs is missing; says what to do.
    """
    for name in names:
        if name.startswith("offline/"):
            seat_for(PARTICIPANT, name, lambda model: load_model(model, models))
    remote = [name for name in names if not name.startswith(("offline/", "script:", "person"))]
    # A single one is loaded before its first run anyway.
    for name in remote if len(names) > 1 else ():
        asyncio.run(load_model(name, models).close())


score_command = by_rules(score_run, summarise, summary_json, print_summaries)
"""See `simulator.runner.scoring.by_rules`."""
