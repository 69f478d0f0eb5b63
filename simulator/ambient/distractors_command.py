"""`askback generate ambient-distractors`: back-translated distractors for crowdworkers (spec 5.1)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.console import Console

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
from simulator.ambient.examples import published_id
from simulator.errors import InputError
from simulator.generation import Journal, counted, each, key_of, open_model, resumable, say
from simulator.models import Refused
from simulator.runner.command import asked_how, refuse_idle_options
from simulator.runner.model_flags import NO_FLAGS, ModelFlags, asks_models
from simulator.runner.options import SeedOption
from simulator.seeds import derive_seed
from trees import Language

_NAMED: Final = 5
_DIFFERS: Final = "translator, language, seed or data"


@asks_models
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
    flags: ModelFlags = NO_FLAGS,
    log: LogOption = None,
) -> None:
    """Translate ambiguous sentences there and back. The same command again continues where it stopped."""
    console = Console()
    if (model is None) == (translator is None):
        raise InputError("say either --model provider/model or --translator FOLDER")
    pivot = language_called(language)
    ambiguous = sources(load_examples(data, split))
    if not ambiguous:
        raise InputError(f"data {data!r}: no example has exactly one ambiguous side")
    path = log or default_path()
    options = flags.options(path, seed=seed)
    refuse_idle_options(options, asked=model is not None)
    how = asked_how(options)
    about: list[Any] = [
        str(model or translator),
        flags.base_url,
        language.lower(),
        prompts,
        temperature,
        seed,
    ]
    about += [how] if how else []
    keys = {
        key_of(about, source.id, source.side, source.sentence, source.readings): source
        for source in ambiguous
    }
    due = dict(list(keys.items())[:limit])

    @asynccontextmanager
    async def open_translator() -> AsyncIterator[Translator]:
        if translator is not None:
            yield FolderTranslator(translator, pivot, device=device, temperature=temperature)
        elif model is not None:
            async with open_model(model, options, path) as service:
                yield ModelTranslator(service, pivot, prompts=prompts, temperature=temperature)

    async def work(journal: Journal) -> None:
        """Translate what the journal does not have yet."""
        missing = [key for key in due if key not in journal.rows]
        async with open_translator() as by:
            with counted(console, "sentences", len(due), len(due) - len(missing)) as tell:

                async def translate(key: str) -> None:
                    journal.add(key, await row_of(by, due[key], seed))
                    tell(1)

                await each(iter(missing), translate, concurrency)

    with resumable(out, console, done="translated", place=out) as journal:
        journal.require_only(keys, _DIFFERS)
        if due.keys() - journal.rows.keys():
            asyncio.run(work(journal))
        _report([journal.rows[key] for key in due], out, console)


async def row_of(translator: Translator, source: Source, seed: int) -> dict[str, Any]:
    """Return the row of a sentence; what a model refuses to translate has no distractor."""
    row: dict[str, Any] = {
        "id": published_id(source.id),
        "side": source.side,
        "sentence": source.sentence,
        "distractor": None,
        "translator": translator.name,
    }
    own = derive_seed(seed, "distractor", source.id, source.side)
    try:
        translated = await back_translate(translator, source.sentence, seed=own, readings=source.readings)
    except Refused as refused:
        return {**row, "refused": str(refused)}
    return {**row, **asdict(translated)}


def _report(rows: Sequence[Mapping[str, Any]], out: Path, console: Console) -> None:
    without = [str(row["id"]) for row in rows if row["distractor"] is None]
    resampled = sum(bool(row.get("resampled")) for row in rows)
    say(
        console,
        f"{len(rows)} ambiguous sentences, {len(rows) - len(without)} with a distractor; {resampled} came "
        f"back the same (or as a reading) and were drawn again. They are in {out}.",
    )
    if without:
        named = ", ".join(without[:_NAMED])
        more = f" and {len(without) - _NAMED} more" if len(without) > _NAMED else ""
        say(
            console,
            f"None for {named}{more}: nothing that came back differs. Try another --language or write the "
            "sentences into the file.",
        )
