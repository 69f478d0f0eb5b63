"""`askback generate ambient-distractors`: distractors by back-translation (spec 5.1).

A back-translation is similar to the sentence and rarely one of its readings. If it equals the sentence, five
translations back are sampled at a high temperature, and a random one of those that differ is used.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Annotated, Any, Final, Protocol

import typer
from pydantic import BaseModel
from rich.console import Console

from logs.cli import LogOption
from logs.paths import default_path
from personas.templates import render
from simulator.ambient.data import BUILTIN, Split, load_examples
from simulator.ambient.distractors import table
from simulator.ambient.examples import Example, list_names, published_id
from simulator.ambient.labels import Side
from simulator.ambient.pool.filters import clean
from simulator.errors import InputError
from simulator.generation import Journal, key_of, map_concurrently, open_model, resumable_journal
from simulator.models import ChatModel, Message, Refused, Request, sample
from simulator.models.fleet import address_of
from simulator.models.weights import import_optional, load_weights
from simulator.runner.command import answer_options, refuse_idle_options
from simulator.runner.options import NO_FLAGS, ModelFlags, SeedOption, with_model_options
from simulator.runner.run_summary import counting_bar, say
from simulator.seeds import derive_seed
from trees import Language

ENGLISH: Final = "english"
PIVOT: Final = "yoruba"
DRAWS: Final = 5
TEMPERATURE: Final = 2.0
BEAMS: Final = 5
# At this temperature, sampling from the full vocabulary would give noise, so the library's default stays.
_TOP_K: Final = 50
_MAX_TOKENS: Final = 200
PURPOSE: Final = "ambient.distractor"


class KnownLanguage(BaseModel, frozen=True):
    """A language: its names in English and Chinese prompts, and its code for translation models."""

    en: str
    zh: str
    code: str


class Translator(Protocol):
    """A translator between English and one other language."""

    name: str

    async def translate(self, text: str, *, back: bool, seed: int | None = None) -> Sequence[str]:
        """Translate from English, or `back` to it: the likeliest translation, or five samples if seeded."""


@dataclass(frozen=True, slots=True)
class BackTranslation:
    """The result for a sentence; `distractor` is None if no back-translation can be one."""

    pivot: str
    distractor: str | None
    resampled: bool


@dataclass(frozen=True, slots=True)
class Source:
    """An ambiguous sentence that needs a distractor, which must differ from all `readings`."""

    id: str
    side: Side
    sentence: str
    readings: tuple[str, ...]


def sources(examples: Iterable[Example]) -> tuple[Source, ...]:
    """Return the ambiguous sentences of the examples for crowdworkers, which have one ambiguous side."""
    return tuple(
        Source(example.id, side, example.sentence(side), example.rewrites(side))
        for example in examples
        if example.xor
        for side in example.sides
    )


async def back_translate(
    translator: Translator, sentence: str, *, seed: int, readings: Collection[str] = ()
) -> BackTranslation:
    """Translate an English sentence there and back; the distractor is neither the sentence nor a reading."""
    (pivot,) = await translator.translate(sentence, back=False)
    # A model that answers with the pivot has not translated it.
    excluded = {sentence.strip(), pivot.strip(), *(reading.strip() for reading in readings), ""}
    (first,) = await translator.translate(pivot, back=True)
    if first.strip() not in excluded:
        return BackTranslation(pivot, first.strip(), False)
    samples = await translator.translate(pivot, back=True, seed=derive_seed(seed, "draws"))
    candidates = [text.strip() for text in samples if text.strip() not in excluded]
    chosen = Random(derive_seed(seed, "choice")).choice(candidates) if candidates else None
    return BackTranslation(pivot, chosen, True)


@cache
def languages() -> Mapping[str, KnownLanguage]:
    """Return the languages of `tables/languages.yaml` by their lower-case English names."""
    return {name: KnownLanguage.model_validate(language) for name, language in table("languages").items()}


def language_called(name: str) -> KnownLanguage:
    """Return the pivot language with a name.

    Raises:
        InputError: if it is English or not in the table; lists the known ones.
    """
    known = {name: language for name, language in languages().items() if name != ENGLISH}
    if name.lower() not in known:
        raise InputError(f"language {name!r}: must be one of {', '.join(known)}")
    return known[name.lower()]


class ModelTranslator:
    """A language model that translates with the prompts ``ambient/translate`` and ``translate_back``."""

    def __init__(
        self,
        model: ChatModel,
        language: KnownLanguage,
        *,
        prompts: str = "en",
        temperature: float = TEMPERATURE,
    ) -> None:
        self.name = model.name
        self._model = model
        self._language = getattr(language, prompts)
        self._prompts = prompts
        self._temperature = temperature
        # A model that follows a schema is a chat model.
        self._plain = model.capabilities.plain and not model.capabilities.schema

    async def translate(self, text: str, *, back: bool, seed: int | None = None) -> Sequence[str]:
        """See `Translator`; the likeliest translation is requested at temperature 0."""
        template = "translate_back" if back else "translate"
        prompt = render(f"ambient/{template}", self._prompts, {"text": text, "language": self._language})
        answer = await sample(
            self._model,
            Request(
                messages=(Message("user", prompt.text + ("\n" if self._plain else "")),),
                plain=self._plain,
                temperature=0.0 if seed is None else self._temperature,
                samples=1 if seed is None else DRAWS,
                seed=seed or 0,
                max_tokens=_MAX_TOKENS,
                stop=("\n",) if self._plain else (),
                purpose=f"{PURPOSE}.{template}",
                prompt_version=prompt.version,
            ),
        )
        return tuple(_strip_quotes(sample, text) for sample in answer.samples)


class FolderTranslator:
    """A many-to-many translation model in a folder, such as NLLB.

    Raises:
        Unsupported: if torch or transformers is missing.
        InputError: if the folder has no such model, or the model lacks one of the languages.
    """

    def __init__(
        self,
        folder: str | Path,
        language: KnownLanguage,
        *,
        device: str | None = None,
        temperature: float = TEMPERATURE,
    ) -> None:
        self.name = str(folder)
        self._torch = import_optional("torch")
        if not Path(folder).is_dir():
            raise InputError(f"{folder}: no such folder; name a folder with a translation model such as NLLB")
        chosen = device or ("cuda" if self._torch.cuda.is_available() else "cpu")
        weights = load_weights(str(folder), chosen)
        self._tokenizer, self._model = weights.tokenizer, weights.model
        self._english, self._other = languages()[ENGLISH].code, language.code
        self._temperature = temperature
        unknown = [code for code in (self._english, self._other) if self._id(code) is None]
        if not weights.answers or unknown:
            problem = f"does not know {' and '.join(unknown)}" if unknown else "does not translate"
            raise InputError(f"{folder}: {problem}; name a translation model such as NLLB")
        self._lock = asyncio.Lock()

    async def translate(self, text: str, *, back: bool, seed: int | None = None) -> Sequence[str]:
        """See `Translator`; decodes greedily, or samples beams if seeded."""
        source, target = (self._other, self._english) if back else (self._english, self._other)
        decoding: dict[str, Any] = {"do_sample": False, "num_beams": 1}
        if seed is not None:
            decoding = {
                "do_sample": True,
                "num_beams": BEAMS,
                "num_return_sequences": DRAWS,
                "temperature": self._temperature,
                "top_p": 1.0,
                "top_k": _TOP_K,
            }

        def generate() -> Sequence[str]:
            torch, tokenizer = self._torch, self._tokenizer
            tokenizer.src_lang = source
            options = {"forced_bos_token_id": self._id(target), "max_new_tokens": _MAX_TOKENS, **decoding}
            inputs = tokenizer(text, return_tensors="pt").to(self._model.device)
            with torch.random.fork_rng(), torch.inference_mode():
                torch.manual_seed(seed or 0)
                outputs = self._model.generate(**inputs, **options)
            return tuple(tokenizer.batch_decode(outputs, skip_special_tokens=True))

        async with self._lock:
            return await asyncio.to_thread(generate)

    def _id(self, code: str) -> int | None:
        token = self._tokenizer.convert_tokens_to_ids(code)
        return None if token in (None, self._tokenizer.unk_token_id) else int(token)


def _strip_quotes(answer: str, text: str) -> str:
    """Return an answer on one line, without surrounding quotes and marks that `text` does not have."""
    line = " ".join(answer.split())
    return clean(line.strip("<>")) if clean(text) == text else line


# ---- the command

_JOURNAL_KEY: Final = "translator, language, seed or data"


@with_model_options
def generate_distractors(
    out: Annotated[Path, typer.Option(help="the file to write, JSON lines")],
    model: Annotated[str | None, typer.Option(help="provider/model that translates")] = None,
    translator: Annotated[
        Path | None, typer.Option(help="folder of a translation model such as NLLB, instead of --model")
    ] = None,
    data: Annotated[str, typer.Option(help="examples: builtin, registered data, or a path")] = BUILTIN,
    split: Annotated[Split, typer.Option(help="split of the data")] = "all",
    language: Annotated[str, typer.Option(help="pivot language, such as yoruba")] = PIVOT,
    prompts: Annotated[Language, typer.Option(help="language of the prompts for --model")] = "en",
    temperature: Annotated[
        float, typer.Option(min=0.01, help="for sampling translations back; some models allow at most 1")
    ] = TEMPERATURE,
    limit: Annotated[int | None, typer.Option(min=1, help="number of sentences, from the first")] = None,
    seed: SeedOption = 0,
    concurrency: Annotated[int, typer.Option(min=1, help="sentences translated at a time")] = 8,
    device: Annotated[str | None, typer.Option(help="device of the translation model")] = None,
    flags: ModelFlags = NO_FLAGS,
    log: LogOption = None,
) -> None:
    """Back-translate ambiguous sentences as distractors. Rerun the command to continue after a stop."""
    console = Console()
    if (model is None) == (translator is None):
        raise InputError("give either --model provider/model or --translator FOLDER")
    pivot = language_called(language)
    ambiguous = sources(load_examples(data, split))
    if not ambiguous:
        raise InputError(f"data {data!r}: no example has exactly one ambiguous side")
    path = log or default_path()
    options = flags.options(path, seed=seed)
    refuse_idle_options(options, asked=model is not None)
    model_settings = answer_options(options)
    settings: list[Any] = [
        str(model or translator),
        address_of(options.base_url) or None,
        language.lower(),
        prompts,
        temperature,
        seed,
    ]
    settings += [model_settings] if model_settings else []
    keys = {
        key_of(settings, source.id, source.side, source.sentence, source.readings): source
        for source in ambiguous
    }
    selected = dict(list(keys.items())[:limit])

    @asynccontextmanager
    async def open_translator() -> AsyncIterator[Translator]:
        if translator is not None:
            yield FolderTranslator(translator, pivot, device=device, temperature=temperature)
        elif model is not None:
            async with open_model(model, options, path) as service:
                yield ModelTranslator(service, pivot, prompts=prompts, temperature=temperature)

    async def work(journal: Journal) -> None:
        """Translate the sentences that are not in the journal yet."""
        missing = [key for key in selected if key not in journal.rows]
        async with open_translator() as opened:
            with counting_bar(console, "sentences", len(selected), len(selected) - len(missing)) as advance:

                async def translate(key: str) -> None:
                    journal.add(key, await row_of(opened, selected[key], seed))
                    advance(1)

                await map_concurrently(iter(missing), translate, concurrency)

    with resumable_journal(out, console, done="translated", place=out) as journal:
        journal.require_only(keys, _JOURNAL_KEY)
        if selected.keys() - journal.rows.keys():
            asyncio.run(work(journal))
        _report([journal.rows[key] for key in selected], out, console)


async def row_of(translator: Translator, source: Source, seed: int) -> dict[str, Any]:
    """Return the row of a sentence, without a distractor if the model refuses to translate."""
    row: dict[str, Any] = {
        "id": published_id(source.id),
        "side": source.side,
        "sentence": source.sentence,
        "distractor": None,
        "translator": translator.name,
    }
    item_seed = derive_seed(seed, "distractor", source.id, source.side)
    try:
        result = await back_translate(translator, source.sentence, seed=item_seed, readings=source.readings)
    except Refused as refused:
        return {**row, "refused": str(refused)}
    return {**row, **asdict(result)}


def _report(rows: Sequence[Mapping[str, Any]], out: Path, console: Console) -> None:
    without = [str(row["id"]) for row in rows if row["distractor"] is None]
    resampled = sum(bool(row.get("resampled")) for row in rows)
    say(
        console,
        f"{len(rows)} ambiguous sentences, {len(rows) - len(without)} with a distractor; {resampled} were "
        f"sampled again because they came back as the sentence or a reading. Written to {out}.",
    )
    if without:
        say(
            console,
            f"No distractor for {list_names(without)}: no back-translation differs. Try another --language, "
            "or write the sentences into the file.",
        )
