"""`askback generate ambient`: new examples in the manner of a pool, for linguists to annotate (spec 2.2)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console
from rich.table import Table

from logs import LogWriter
from logs.cli import LogOption
from logs.paths import default_path
from simulator.ambient.data import BUILTIN
from simulator.ambient.labels import letters
from simulator.ambient.nli.predict import load_predictor
from simulator.ambient.pool.embedding import embed
from simulator.ambient.pool.filters import Drawn, FilterSet
from simulator.ambient.pool.groups import SIZE, in_drawn_order, make_groups
from simulator.ambient.pool.handover import PAIRS, STUDY, hand_over
from simulator.ambient.pool.making import Judge, Made, Probabilities, Rules, ask_judge, make_pairs
from simulator.ambient.pool.pairs import pool_of
from simulator.ambient.pool.sampling import Asked, Decoding, draw, prompts_of, samples_of
from simulator.ambient.pool.select import Balanced, Balancing
from simulator.errors import InputError
from simulator.journal import Journal
from simulator.models import ModelError, ModelOptions, Needs, load_model, run_preflight
from simulator.models.redaction import public_url
from simulator.progress import counted
from simulator.runner.command import model_options
from simulator.runner.options import (
    BaseUrlOption,
    BudgetOption,
    CacheOption,
    FolderOption,
    PricesOption,
    SeedOption,
)
from trees import Language

SAMPLES: Final = "samples.jsonl"
PREDICTIONS: Final = "predictions.jsonl"
_USUAL: Final = Decoding()
_DIFFERS: Final = "model, server, pool, encoder, prompt or decoding"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Drawing:
    """What has been said of the drawing of samples.

    Attributes:
        all: the prompts of all seeds; rows of those that are not wanted now may be there.
        wanted: the first so many of them.
    """

    model: str
    options: ModelOptions
    decoding: Decoding
    all: Sequence[Asked]
    wanted: Sequence[Asked]
    concurrency: int


def generate_ambient(
    model: Annotated[str, typer.Option(help="provider/model that writes the pairs")],
    out: FolderOption,
    pool: Annotated[
        str, typer.Option(help="builtin, or a file: premise, hypothesis, labels of two annotators")
    ] = BUILTIN,
    nli: Annotated[
        Path | None, typer.Option(help="folder of a model of inference, for the filter of ambiguity")
    ] = None,
    no_ambiguity_filter: Annotated[
        bool, typer.Option("--no-ambiguity-filter", help="leave that filter and the balancing out")
    ] = False,
    encoder: Annotated[
        Path | None,
        typer.Option(help="folder of a transformers encoder, for neighbours; default: offline/words"),
    ] = None,
    prompts: Annotated[
        int | None, typer.Option(min=1, help="how many; default: one for each pair annotators disagree on")
    ] = None,
    samples: Annotated[int, typer.Option(min=1, help="per prompt")] = _USUAL.samples,
    group: Annotated[
        int, typer.Option(min=4, max=5, help="pairs in a prompt: 4, or 5 as in the text")
    ] = SIZE,
    top_p: Annotated[float, typer.Option(min=0.01, max=1)] = _USUAL.top_p,
    temperature: Annotated[float, typer.Option(min=0.01)] = _USUAL.temperature,
    max_tokens: Annotated[int, typer.Option(min=1, help="of a sample")] = _USUAL.max_tokens,
    language: Annotated[Language, typer.Option(help="of the instruction; pairs are English")] = "en",
    filters: Annotated[
        FilterSet, typer.Option(help='reference: without question marks and "said", too')
    ] = "default",
    selection: Annotated[Balancing, typer.Option(help="thresholds and balancing")] = "default",
    seed: SeedOption = 0,
    concurrency: Annotated[int, typer.Option(min=1, help="prompts at a time")] = 8,
    device: Annotated[str | None, typer.Option(help="of encoder and model of inference")] = None,
    budget: BudgetOption = None,
    base_url: BaseUrlOption = None,
    cache: CacheOption = True,
    prices: PricesOption = None,
    log: LogOption = None,
) -> None:
    """Make new examples for linguists. The same command again continues where it stopped."""
    console = Console()
    judge = _judge(nli, no_ambiguity_filter, device)
    decoding = Decoding(
        samples=samples,
        top_p=top_p,
        temperature=temperature,
        max_tokens=max_tokens,
        seed=seed,
        language=language,
    )
    path = log or default_path()
    pairs = pool_of(pool)
    said = [(one.premise, one.hypothesis) for one in pairs]
    if encoder is None:
        embedding = embed(said)
    else:
        with counted(console, "pool", len(pairs)) as tell:
            embedding = embed(said, encoder, device=device, tell=tell)
    groups = in_drawn_order(make_groups(pairs, embedding.vectors, group), seed)
    if prompts is not None and prompts > len(groups):
        raise InputError(
            f"--prompts {prompts}: annotators disagree on {len(groups)} pairs of the pool, and each is the "
            "seed of one prompt; ask for fewer, or for more --samples"
        )
    everything = prompts_of(groups, f"{model} {public_url(base_url or '')}", decoding)
    drawing = _Drawing(
        model=model,
        options=model_options(path, base_url=base_url, cache=cache, budget=budget, prices=prices),
        decoding=decoding,
        all=everything,
        wanted=everything[:prompts],
        concurrency=concurrency,
    )
    console.print(
        f"{len(pairs)} pairs, {len(groups)} seeds; neighbours by {embedding.name} ({embedding.how})",
        highlight=False,
        soft_wrap=True,
    )
    try:
        made = _make(
            drawing, judge, nli, Rules(filters=filters, selection=selection, seed=seed), out, path, console
        )
    except KeyboardInterrupt:
        console.print(f"\nStopped; what has been drawn is in {out}. The same command continues.")
        raise typer.Exit(130) from None
    _finish(made, out, seed, console)


def _judge(nli: Path | None, left_out: bool, device: str | None) -> Judge | None:
    """The model of inference, before anything is spent on samples."""
    if (nli is None) != left_out:
        raise InputError(
            "say either --nli FOLDER (a model that `askback train ambient-nli` made, or another of three "
            "labels) or --no-ambiguity-filter"
        )
    if nli is None:
        return None
    judge = load_predictor(nli, device=device)
    judge.probabilities([("", "")])
    return judge


def _make(
    drawing: _Drawing,
    judge: Judge | None,
    nli: Path | None,
    rules: Rules,
    out: Path,
    log: Path,
    console: Console,
) -> Made:
    with Journal(out / SAMPLES) as journal:
        journal.require_only({one.key for one in drawing.all}, _DIFFERS)
        try:
            asyncio.run(_draw(drawing, journal, log, console))
        except ModelError:
            if journal.rows:
                console.print(f"What has been drawn is in {out}; the same command continues.", soft_wrap=True)
            raise
        samples = samples_of(drawing.wanted, journal)
    if judge is None or nli is None:
        return make_pairs(samples, rules, None, drawing.model)
    with Journal(out / PREDICTIONS) as journal:
        return make_pairs(samples, rules, _asking(judge, nli, journal, console), drawing.model)


def _asking(
    judge: Judge, nli: Path, journal: Journal, console: Console
) -> Callable[[Sequence[Drawn]], list[Probabilities]]:
    def ask(pairs: Sequence[Drawn]) -> list[Probabilities]:
        with counted(console, "pairs", len(pairs)) as tell:
            return ask_judge(judge, nli, journal, tell)(pairs)

    return ask


async def _draw(drawing: _Drawing, journal: Journal, log: Path, console: Console) -> None:
    missing = sum(one.key not in journal.rows for one in drawing.wanted)
    if not missing:
        console.print("All samples were there already; the model was not asked.")
        return
    with LogWriter(log, durable=False) as writer:
        model = load_model(drawing.model, replace(drawing.options, recorder=writer.put))
        try:
            await run_preflight(model, Needs(samples=drawing.decoding.samples > 1))
            with counted(console, "prompts", len(drawing.wanted)) as tell:
                tell(len(drawing.wanted) - missing)
                await draw(
                    model,
                    drawing.wanted,
                    drawing.decoding,
                    journal,
                    concurrency=drawing.concurrency,
                    tell=lambda: tell(1),
                )
        finally:
            await model.close()


def _finish(made: Made, out: Path, seed: int, console: Console) -> None:
    table = Table("step", "left", "dropped", title="New examples", title_justify="left")
    for step in made.steps:
        table.add_row(step.name, f"{step.left:,}", "" if step.dropped is None else f"{step.dropped:,}")
    console.print(table)
    if made.balance is not None:
        console.print(_sets_table(made.balance))
    if not made.examples:
        for name in (PAIRS, STUDY):
            (out / name).unlink(missing_ok=True)
        console.print("No pair is left, so there is nothing to annotate: ask for more prompts or samples.")
        raise typer.Exit(1)
    pairs, study = hand_over(made.examples, out, seed=seed)
    console.print(
        f"{len(made.examples)} pairs are in {pairs}; {study} is a study for linguists: look at it, then "
        f"`askback app --study {study}`.",
        soft_wrap=True,
        highlight=False,
        markup=False,
    )


def _sets_table(balance: Balanced) -> Table:
    table = Table("predicted set", "pairs", "kept", title="Balancing", title_justify="left")
    for labels, number in balance.before.items():
        if number:
            table.add_row(letters(labels) or "none", f"{number:,}", f"{balance.after[labels]:,}")
    return table
