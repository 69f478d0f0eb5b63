"""`askback generate ambient`: new examples in the manner of a pool, for linguists to annotate (spec 2.2).

`askback generate ambient-distractors`: back-translated distractors for crowdworkers (5.1).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.console import Console
from rich.table import Table

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
from simulator.ambient.examples import named, published_id
from simulator.ambient.labels import LabelSet, letters
from simulator.ambient.nli.predict import Predictor, load_predictor
from simulator.ambient.pool.filters import Drawn
from simulator.ambient.pool.groups import (
    SIZE,
    Decoding,
    draw,
    embed,
    in_drawn_order,
    make_groups,
    pool_of,
    prompts_of,
    samples_of,
)
from simulator.ambient.pool.making import (
    PAIRS,
    STUDY,
    Made,
    Probabilities,
    Rules,
    ask_judge,
    make_pairs,
    write_pairs_and_study,
)
from simulator.errors import InputError
from simulator.field_options import options_of
from simulator.generation import Journal, counted, each, key_of, open_model, resumable, say
from simulator.models import Needs, Refused
from simulator.models.fleet import address_of
from simulator.runner.command import asked_how, refuse_idle_options, service_name
from simulator.runner.model_flags import NO_FLAGS, ModelFlags, asks_models, takes
from simulator.runner.options import FolderOption, SeedOption
from simulator.seeds import derive_seed
from trees import Language

SAMPLES: Final = "samples.jsonl"
PREDICTIONS: Final = "predictions.jsonl"
_DIFFERS: Final = "model, server, pool, encoder, prompt or decoding"


@asks_models
@takes("decoding", options_of(Decoding), Decoding)
@takes("rules", options_of(Rules), Rules)
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
    group: Annotated[
        int, typer.Option(min=4, max=5, help="pairs in a prompt: 4, or 5 as in the text")
    ] = SIZE,
    decoding: Decoding = Decoding(),  # noqa: B008
    rules: Rules = Rules(),  # noqa: B008
    concurrency: Annotated[int, typer.Option(min=1, help="prompts at a time")] = 8,
    device: Annotated[str | None, typer.Option(help="of encoder and model of inference")] = None,
    flags: ModelFlags = NO_FLAGS,
    log: LogOption = None,
) -> None:
    """Make new examples for linguists. The same command again continues where it stopped."""
    console = Console()
    judge = _judge(nli, no_ambiguity_filter, device)
    path, seed = log or default_path(), decoding.seed
    options = flags.options(path, seed=seed)
    pairs = pool_of(pool)
    sentences = [(pair.premise, pair.hypothesis) for pair in pairs]
    if encoder is None:
        embedding = embed(sentences)
    else:
        with counted(console, "pool", len(pairs)) as tell:
            embedding = embed(sentences, encoder, device=device, tell=tell)
    groups = in_drawn_order(make_groups(pairs, embedding.vectors, group), seed)
    if prompts is not None and prompts > len(groups):
        raise InputError(
            f"--prompts {prompts}: annotators disagree on {len(groups)} pairs of the pool, and each is the "
            "seed of one prompt; ask for fewer, or for more --samples"
        )
    everything = prompts_of(groups, service_name(model, options), decoding)
    chosen = everything[:prompts]

    async def ask_model(journal: Journal) -> None:
        missing = sum(prompt.key not in journal.rows for prompt in chosen)
        if not missing:
            console.print("All samples were there already; the model was not asked.")
            return
        async with open_model(model, options, path, Needs(samples=decoding.samples > 1)) as service:
            with counted(console, "prompts", len(chosen), len(chosen) - missing) as tell:
                await draw(service, chosen, decoding, journal, concurrency=concurrency, tell=lambda: tell(1))

    say(console, f"{len(pairs)} pairs, {len(groups)} seeds; neighbours by {embedding.name} ({embedding.how})")
    with resumable(out / SAMPLES, console, done="drawn", place=out) as journal:
        journal.require_only({prompt.key for prompt in everything}, _DIFFERS)
        asyncio.run(ask_model(journal))
        written = samples_of(chosen, journal)
        ask = None if judge is None else partial(_ask_judge, judge, out / PREDICTIONS, console)
        made = make_pairs(written, rules, ask, model=model, seed=seed)
    _finish(made, out, seed, console)


def _judge(nli: Path | None, left_out: bool, device: str | None) -> Predictor | None:
    """Return the model of inference, before anything is spent on samples."""
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


def _ask_judge(
    judge: Predictor, journal: Path, console: Console, pairs: Sequence[Drawn]
) -> list[Probabilities]:
    with Journal(journal) as predictions, counted(console, "pairs", len(pairs)) as tell:
        return ask_judge(judge, pairs, predictions, tell)


def _finish(made: Made, out: Path, seed: int, console: Console) -> None:
    table = Table("step", "left", "dropped", title="New examples", title_justify="left")
    for step in made.steps:
        table.add_row(step.name, f"{step.left:,}", "" if step.dropped is None else f"{step.dropped:,}")
    console.print(table)
    if made.sets:
        console.print(_sets_table(made.sets))
    if not made.examples:
        for name in (PAIRS, STUDY):
            (out / name).unlink(missing_ok=True)
        console.print("No pair is left, so there is nothing to annotate: ask for more prompts or samples.")
        raise typer.Exit(1)
    pairs, study = write_pairs_and_study(made.examples, out, seed=seed)
    say(
        console,
        f"{len(made.examples)} pairs are in {pairs}; {study} is a study for linguists: look at it, then "
        f"`askback app --study {study}`.",
    )


def _sets_table(sets: Mapping[LabelSet, tuple[int, int]]) -> Table:
    table = Table("predicted set", "pairs", "kept", title="Balancing", title_justify="left")
    for labels, (before, after) in sets.items():
        if before:
            table.add_row(letters(labels) or "none", f"{before:,}", f"{after:,}")
    return table


_ANOTHER: Final = "translator, language, seed or data"


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
        address_of(options.base_url) or None,
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
        journal.require_only(keys, _ANOTHER)
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
        say(
            console,
            f"None for {named(without)}: nothing that came back differs. Try another --language or write the "
            "sentences into the file.",
        )
