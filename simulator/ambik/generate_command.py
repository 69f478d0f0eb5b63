"""`askback generate ambik`: scenes, and in them drafts of new pairs for annotators (spec 11, 1 to 4)."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import shorten
from typing import Annotated, Final

import typer
from rich.console import Console
from rich.table import Table

from logs import LogWriter
from logs.cli import LogOption
from logs.paths import default_path
from simulator.ambik.annotation.rules import ORDER
from simulator.ambik.making.drafting import (
    Asker,
    Decoding,
    Made,
    NotAsked,
    about,
    first_open,
    make,
)
from simulator.ambik.making.handover import hand_over, write_scenes
from simulator.ambik.making.scenes import Scene, draw_scenes
from simulator.journal import Journal
from simulator.models import ModelError, ModelOptions, load_model, run_preflight
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
from simulator.workers import each
from trees import Language

ANSWERS: Final = "answers.jsonl"
_USUAL: Final = Decoding()
_DIFFERS: Final = "model, server, seed, language or decoding"
_NAMED: Final = 5
_SHOWN: Final = 160


@dataclass(frozen=True, slots=True, kw_only=True)
class _Drafting:
    """What has been said of the drafts."""

    model: str
    service: str
    options: ModelOptions
    decoding: Decoding
    scenes: Sequence[Scene]
    concurrency: int


def generate_ambik(
    out: FolderOption,
    model: Annotated[
        str | None, typer.Option(help="provider/model that writes tasks and plans; without: scenes alone")
    ] = None,
    scenes: Annotated[int, typer.Option(min=1, help="how many; the same seed begins with the same")] = 100,
    tries: Annotated[
        int, typer.Option(min=1, help="tasks asked for in a scene before it is given up")
    ] = _USUAL.tries,
    temperature: Annotated[float, typer.Option(min=0.0, help="of clear tasks")] = _USUAL.temperature,
    max_tokens: Annotated[int, typer.Option(min=1, help="of an answer")] = _USUAL.max_tokens,
    language: Annotated[Language, typer.Option(help="of the instructions; tasks are English")] = "en",
    seed: SeedOption = 0,
    concurrency: Annotated[int, typer.Option(min=1, help="scenes at a time")] = 8,
    budget: BudgetOption = None,
    base_url: BaseUrlOption = None,
    cache: CacheOption = True,
    prices: PricesOption = None,
    log: LogOption = None,
) -> None:
    """Make drafts of new pairs for annotators. The same command again continues where it stopped."""
    console = Console()
    drawn = draw_scenes(scenes, seed)
    if model is None:
        _say(console, f"Scenes: {len(drawn)}, in {write_scenes(drawn, out)}.")
        return
    path = log or default_path()
    drafting = _Drafting(
        model=model,
        service=f"{model} {public_url(base_url or '')}",
        options=model_options(path, base_url=base_url, cache=cache, budget=budget, prices=prices),
        decoding=Decoding(
            tries=tries, temperature=temperature, max_tokens=max_tokens, seed=seed, language=language
        ),
        scenes=drawn,
        concurrency=concurrency,
    )
    try:
        made = _make(drafting, out, path, console)
    except KeyboardInterrupt:
        console.print(f"\nStopped; what has been written is in {out}. The same command continues.")
        raise typer.Exit(130) from None
    _finish(made, drafting, out, console)


def _make(drafting: _Drafting, out: Path, log: Path, console: Console) -> list[Made]:
    with Journal(out / ANSWERS) as journal:
        own = about(drafting.service, drafting.decoding)
        journal.require_only({key for key in journal.rows if key.startswith(own)}, _DIFFERS)
        write_scenes(drafting.scenes, out)
        try:
            return asyncio.run(_ask(drafting, journal, log, console))
        except ModelError:
            if journal.rows:
                _say(console, f"What has been written is in {out}; the same command continues.")
            raise


async def _ask(drafting: _Drafting, journal: Journal, log: Path, console: Console) -> list[Made]:
    """What comes of the scenes; a model is loaded only if an answer is missing."""
    made: dict[str, Made] = {}
    known = Asker(drafting.service, drafting.decoding, journal)
    missing: list[Scene] = []
    for scene in drafting.scenes:
        try:
            made[scene.id] = await make(known, scene)
        except NotAsked:
            missing.append(scene)
    if not missing:
        console.print("All answers were there already; the model was not asked.")
    else:
        with (
            LogWriter(log, durable=False) as writer,
            counted(console, "scenes", len(drafting.scenes)) as tell,
        ):
            tell(len(made))
            model = load_model(drafting.model, replace(drafting.options, recorder=writer.put))
            asker = Asker(drafting.service, drafting.decoding, journal, model)

            async def one(scene: Scene) -> None:
                made[scene.id] = await make(asker, scene)
                tell(1)

            try:
                await run_preflight(model)
                await each(iter(missing), one, drafting.concurrency)
            finally:
                await model.close()
    return [made[scene.id] for scene in drafting.scenes]


def _finish(made: Sequence[Made], drafting: _Drafting, out: Path, console: Console) -> None:
    console.print(_table(made))
    handed = hand_over(made, out, model=drafting.model, seed=drafting.decoding.seed)
    unfit = [one for scene in made for one in scene.dropped]
    for one in [one for one in unfit if one.names][:_NAMED]:
        _say(
            console,
            f"{one.scene}: names what is not there ({', '.join(one.names)}): {shorten(one.task, _SHOWN)}",
        )
    if unfit:
        _say(
            console, f"Tasks that were dropped: {len(unfit)}; they are in {handed.dropped}, with the reason."
        )
    if handed.drafts is None or handed.study is None:
        _say(
            console,
            "No draft is left, so there is nothing to annotate: ask for more --scenes or --tries, or another "
            "model.",
        )
        raise typer.Exit(1)
    drafts = sum(one.draft is not None for one in made)
    _say(
        console,
        f"Drafts: {drafts}, in {handed.drafts}; {handed.study} is a study for annotators: look at it, then "
        f"`askback app --study {handed.study}`.",
    )


def _table(made: Sequence[Made]) -> Table:
    """How many are left, and what is to be repaired."""
    table = Table("", "number", title="New drafts", title_justify="left")
    reasons = Counter(one.reason for scene in made for one in scene.dropped)
    drafts = [(one, one.draft) for one in made if one.draft is not None]
    rows = [
        ("scenes", len(made)),
        ("tasks asked for", len(drafts) + sum(reasons.values())),
        *((f"dropped: {reason}", number) for reason, number in sorted(reasons.items())),
        ("drafts", len(drafts)),
        *(
            (f"with a candidate: {kind}", sum(kind in draft.candidates for _, draft in drafts))
            for kind in ORDER
        ),
        (
            "whose candidates all repeat the task",
            sum(first_open(draft.clear, draft.candidates) is None for _, draft in drafts),
        ),
        ("with a plan", sum(bool(draft.plan) for _, draft in drafts)),
        ("whose plan names what is not there", sum(bool(one.plan_names) for one, _ in drafts)),
        *((f"with the plan of: {kind}", sum(one.rewritten == kind for one, _ in drafts)) for kind in ORDER),
        ("whose plans part", sum(one.step is not None for one, _ in drafts)),
    ]
    for name, number in rows:
        table.add_row(name, f"{number:,}")
    return table


def _say(console: Console, text: str) -> None:
    console.print(text, soft_wrap=True, highlight=False, markup=False)
