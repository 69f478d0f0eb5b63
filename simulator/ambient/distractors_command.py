"""`askback generate ambient-distractors`: back-translated distractors for crowdworkers (spec 5.1)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.console import Console

from logs import LogWriter
from logs.cli import LogOption
from logs.paths import default_path
from simulator.ambient.backtranslation import (
    PIVOT,
    TEMPERATURE,
    FolderTranslator,
    ModelTranslator,
    Source,
    Translator,
    back_translate,
    language_called,
    sources,
)
from simulator.ambient.data import BUILTIN, Split, load_examples
from simulator.ambient.rows import published_id
from simulator.errors import InputError
from simulator.journal import Journal, key_of
from simulator.models import ModelError, Refused, load_model, run_preflight
from simulator.progress import counted
from simulator.runner.command import model_options
from simulator.runner.options import BaseUrlOption, BudgetOption, CacheOption, PricesOption, SeedOption
from simulator.seeds import derive_seed
from simulator.workers import each
from trees import Language

_NAMED: Final = 5
_DIFFERS: Final = "translator, language, seed or data"


def generate_distractors(
    out: Annotated[Path, typer.Option(help="the file to write, JSON lines")],
    model: Annotated[str | None, typer.Option(help="provider/model that translates")] = None,
    translator: Annotated[
        Path | None, typer.Option(help="instead: folder of a translation model such as NLLB")
    ] = None,
    data: Annotated[str, typer.Option(help="examples: builtin, added data, or a path")] = BUILTIN,
    split: Annotated[Split, typer.Option(help="of the data")] = "all",
    language: Annotated[str, typer.Option(help="through which it goes, such as yoruba")] = PIVOT,
    prompts: Annotated[Language, typer.Option(help="language of the prompts for --model")] = "en",
    temperature: Annotated[
        float, typer.Option(min=0.01, help="where the way back has to be drawn; some models allow 1 at most")
    ] = TEMPERATURE,
    limit: Annotated[int | None, typer.Option(min=1, help="the first so many sentences")] = None,
    seed: SeedOption = 0,
    concurrency: Annotated[int, typer.Option(min=1, help="sentences at a time")] = 8,
    device: Annotated[str | None, typer.Option(help="of the translation model")] = None,
    budget: BudgetOption = None,
    base_url: BaseUrlOption = None,
    cache: CacheOption = True,
    prices: PricesOption = None,
    log: LogOption = None,
) -> None:
    """Translate ambiguous sentences there and back. The same command again continues where it stopped."""
    console = Console()
    if (model is None) == (translator is None):
        raise InputError("say either --model provider/model or --translator FOLDER")
    pivot = language_called(language)
    found = sources(load_examples(data, split))
    if not found:
        raise InputError(f"data {data!r}: no example has exactly one ambiguous side")
    path = log or default_path()
    options = model_options(path, base_url=base_url, cache=cache, budget=budget, prices=prices)
    about = [str(model or translator), base_url, language.lower(), prompts, temperature, seed]
    keys = {key_of(about, one.id, one.side, one.sentence, one.readings): one for one in found}
    wanted = dict(list(keys.items())[:limit])

    async def work(journal: Journal) -> None:
        with LogWriter(path, durable=False) as writer:
            if translator is not None:
                folder = FolderTranslator(translator, pivot, device=device, temperature=temperature)
                await _translate(folder, wanted, journal, seed, concurrency, console)
            elif model is not None:
                service = load_model(model, replace(options, recorder=writer.put))
                try:
                    await run_preflight(service)
                    asked = ModelTranslator(service, pivot, prompts=prompts, temperature=temperature)
                    await _translate(asked, wanted, journal, seed, concurrency, console)
                finally:
                    await service.close()

    with Journal(out) as journal:
        journal.require_only(keys, _DIFFERS)
        try:
            if wanted.keys() - journal.rows.keys():
                asyncio.run(work(journal))
        except KeyboardInterrupt:
            console.print(f"\nStopped; what has been translated is in {out}. The same command continues.")
            raise typer.Exit(130) from None
        except ModelError:
            console.print(
                f"What has been translated is in {out}; the same command continues.", soft_wrap=True
            )
            raise
        _report([journal.rows[key] for key in wanted], out, console)


async def _translate(
    translator: Translator,
    wanted: Mapping[str, Source],
    journal: Journal,
    seed: int,
    concurrency: int,
    console: Console,
) -> None:
    """Translate what the journal does not have yet."""
    missing = [key for key in wanted if key not in journal.rows]
    with counted(console, "sentences", len(wanted)) as tell:
        tell(len(wanted) - len(missing))

        async def one(key: str) -> None:
            journal.add(key, await row_of(translator, wanted[key], seed))
            tell(1)

        await each(iter(missing), one, concurrency)


async def row_of(translator: Translator, source: Source, seed: int) -> dict[str, Any]:
    """The row of a sentence; what a model refuses to translate has no distractor."""
    row: dict[str, Any] = {
        "id": published_id(source.id),
        "side": source.side,
        "sentence": source.sentence,
        "distractor": None,
        "translator": translator.name,
    }
    own = derive_seed(seed, "distractor", source.id, source.side)
    try:
        found = await back_translate(translator, source.sentence, seed=own, readings=source.readings)
    except Refused as refused:
        return {**row, "refused": str(refused)}
    return {**row, **asdict(found)}


def _report(rows: Sequence[Mapping[str, Any]], out: Path, console: Console) -> None:
    without = [str(row["id"]) for row in rows if row["distractor"] is None]
    resampled = sum(bool(row.get("resampled")) for row in rows)
    console.print(
        f"{len(rows)} ambiguous sentences, {len(rows) - len(without)} with a distractor; {resampled} came "
        f"back the same (or as a reading) and were drawn again. They are in {out}.",
        soft_wrap=True,
        highlight=False,
        markup=False,
    )
    if without:
        named = ", ".join(without[:_NAMED])
        more = f" and {len(without) - _NAMED} more" if len(without) > _NAMED else ""
        console.print(
            f"None for {named}{more}: nothing that came back differs. Try another --language or write the "
            "sentences into the file.",
            soft_wrap=True,
            highlight=False,
        )
