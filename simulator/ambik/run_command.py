"""`askback run ambik`, and AmbiK's part of `askback score` (spec 5, 7, 8)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

import typer
from rich.console import Console

from logs.cli import LogOption
from simulator.ambik.data import BUILTIN
from simulator.ambik.experiment import Experiment, play_all
from simulator.ambik.items import Task
from simulator.ambik.parts import (
    Wish,
    annotators,
    playable,
    read_methods,
    read_types,
    require_user,
)
from simulator.ambik.playing import ROBOT, USER, Dataset, Options, settings_option
from simulator.ambik.seating import ITEM, SEATED
from simulator.ambik.settings import (
    DEFAULT,
    CalibrationTruth,
    CpRule,
    IcrRule,
    Metrics,
    Quantile,
    Settings,
    Tokens,
)
from simulator.ambik.summary import print_summaries, score_run, summarise, summary_json
from simulator.ambik.terms import MEMBERS, Context, Dialogue, Method
from simulator.models import Decoding
from simulator.runner.command import read_manner
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
    TogetherOption,
    TopPOption,
    WorkersOption,
)
from simulator.runner.scoring import by_rules

Members = Literal["both", "ambiguous", "clear"]


def run_ambik(
    task: Annotated[
        Task, typer.Option(help="decide: robots act or ask; annotate: models make pairs of drafts")
    ] = "decide",
    method: Annotated[
        str,
        typer.Option(
            help="what models play: knowno, lap, lofreecp, binary, nohelp (comma list), or all that they can"
        ),
    ] = "all",
    model: Annotated[
        list[str] | None,
        typer.Option(help=f"the robot (several: give it again): {SEATED[ROBOT]}; default: offline/kitchen"),
    ] = None,
    chooser: Annotated[
        str, typer.Option(help="a model that chooses and judges; default: the robot itself")
    ] = "",
    data: DataOption = BUILTIN,
    dataset: Annotated[Dataset, typer.Option(help="pairs of AmbiK, or scenarios of KnowNo")] = "ambik",
    context: Annotated[Context, typer.Option(help="what the prompt has of the plan")] = "full_plan",
    member: Annotated[Members, typer.Option(help="of the pairs")] = "both",
    part: Annotated[
        Literal["all", "released", "added"],
        typer.Option(help="of the pairs for tests: of the paper's kind, or as added in 2025; all: both"),
    ] = "all",
    dialogue: Annotated[
        Dialogue, typer.Option(help="after: the data's question and answer stand in the ambiguous task")
    ] = "before",
    questions: Annotated[
        int, typer.Option(min=0, help="that are answered; 0: the robot decides once, as in the paper")
    ] = 0,
    user: Annotated[str, typer.Option(help=f"who answers: {SEATED[USER]}")] = ITEM,
    types: Annotated[str | None, typer.Option(help="of the pairs or scenarios, such as preferences")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="items, equally many of each type")] = None,
    calibration: Annotated[
        list[str] | None,
        typer.Option(help="a run that was played already (one per method: give it again); default: play one"),
    ] = None,
    calibration_limit: Annotated[
        int | None, typer.Option(min=1, help="items to calibrate on, spread over the data")
    ] = None,
    target_success: Annotated[float, typer.Option(help="1 - epsilon")] = DEFAULT.target_success,
    temperature: Annotated[float, typer.Option(help="KnowNo, LAP: of the softmax")] = DEFAULT.temperature,
    tokens: Annotated[Tokens, typer.Option(help="KnowNo, LAP: which tokens count")] = DEFAULT.tokens,
    quantile: Annotated[Quantile, typer.Option(help="how the threshold is taken")] = DEFAULT.quantile,
    cp_rule: Annotated[CpRule, typer.Option(help="reference: as the published code")] = DEFAULT.cp_rule,
    not_listed: Annotated[
        bool | None,
        typer.Option(
            "--not-listed/--no-not-listed",
            help="a fifth option that none is right; default: with KnowNo's data",
        ),
    ] = None,
    help_rule: Annotated[
        Literal["size", "original"],
        typer.Option(help="original: asks also of empty sets and the fifth option"),
    ] = DEFAULT.help,
    calibration_truth: Annotated[
        CalibrationTruth, typer.Option(help="what is right for pairs used in their clear form")
    ] = DEFAULT.calibration_truth,
    renormalise: Annotated[
        bool, typer.Option("--renormalise", help="LAP: scores add up to 1 again")
    ] = DEFAULT.renormalise,
    entropy_weight: Annotated[float, typer.Option(help="LofreeCP: lambda 1")] = DEFAULT.entropy_weight,
    similarity_weight: Annotated[float, typer.Option(help="LofreeCP: lambda 2")] = DEFAULT.similarity_weight,
    similarity: Annotated[str, typer.Option(help="LofreeCP: a folder with an encoder; default: TF-IDF")] = "",
    samples: Annotated[int, typer.Option(min=1, help="LofreeCP: times that options are written")] = 5,
    max_tokens: Annotated[int, typer.Option(min=1, help="of what a model writes")] = 256,
    icr: Annotated[IcrRule, typer.Option(help="how intent coverage reads a set")] = DEFAULT.icr,
    metrics: Annotated[Metrics, typer.Option(help="edge cases as in the paper, or as published")] = "paper",
    together: TogetherOption = 1,
    repeat: RepeatOption = 1,
    seed: SeedOption = 0,
    concurrency: ConcurrencyOption = 8,
    workers: WorkersOption = None,
    budget: BudgetOption = None,
    base_url: BaseUrlOption = None,
    decoding_temperature: TemperatureOption = None,
    top_p: TopPOption = None,
    reasoning_effort: ReasoningEffortOption = None,
    server_settings: SetOption = None,
    timeout: TimeoutOption = None,
    cache: CacheOption = True,
    prices: PricesOption = None,
    run: RunOption = None,
    exclude_aborted: ExcludeAbortedOption = False,
    log: LogOption = None,
) -> None:
    """Put models and built-in robots in AmbiK's kitchen: to act or to ask. Each method of each is a run.

    Conformal methods are calibrated first, in a run of their own, on the calibration part of the data. The
    same command again continues where it stopped.
    """
    console = Console()
    settings = Settings(
        target_success=target_success,
        temperature=temperature,
        tokens=tokens,
        quantile=quantile,
        cp_rule=cp_rule,
        not_listed=dataset == "knowno" if not_listed is None else not_listed,
        help=help_rule,
        calibration_truth=calibration_truth,
        renormalise=renormalise,
        entropy_weight=entropy_weight,
        similarity_weight=similarity_weight,
        icr=icr,
        metrics=metrics,
    )
    wish = Wish(
        task=task,
        data=data,
        dataset=dataset,
        members=MEMBERS if member == "both" else (member,),
        types=read_types(types, dataset),
        limit=limit,
        seed=seed,
        calibrating=calibration_limit,
        part=part,
    )
    common = {
        "task": task,
        "context": context,
        "dialogue": dialogue,
        "questions": questions,
        "max_tokens": max_tokens,
        "similarity": similarity,
        "settings": settings_option(settings),
    }
    Options.read(common)
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
        decoding=Decoding(temperature=decoding_temperature, top_p=top_p),
        reasoning_effort=reasoning_effort,
        settings=server_settings,
        timeout=timeout,
        together=together,
    )
    methods, everything = read_methods(method)
    robots = list(dict.fromkeys(model or ["offline/kitchen"]))
    pairs: tuple[tuple[str, Method | None], ...]
    left_out: Mapping[str, list[str]] = {}
    if task == "annotate":
        pairs = annotators(robots, manner.models)
    else:
        require_user(user, manner.models)
        pairs, left_out = playable(robots, methods, chooser, samples, manner.models, everything=everything)
    for why, what in left_out.items():
        console.print(f"[dim]{', '.join(dict.fromkeys(what))} left out: {why}.[/dim]")
    play_all(
        Experiment(
            pairs=pairs,
            manner=manner,
            wish=wish,
            common=common,
            user=user,
            chooser=chooser,
            samples=samples,
            calibrations=tuple(dict.fromkeys(calibration or ())),
            everything=everything,
        ),
        console,
        exclude_aborted=exclude_aborted,
    )


score_command = by_rules(score_run, summarise, summary_json, print_summaries)
"""See `simulator.runner.scoring.by_rules`."""
