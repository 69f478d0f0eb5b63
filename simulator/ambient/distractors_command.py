"""`askback generate ambient-distractors`: by translation into another language and back (spec 5.1).

What comes back is near the sentence, and rarely one of its readings. If nothing has changed, the way back is
drawn five times at a high temperature, and one that differs is taken at random.
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
from simulator.ambient.examples import Example, named, published_id
from simulator.ambient.labels import Side
from simulator.ambient.pool.filters import clean
from simulator.errors import InputError
from simulator.generation import Journal, each, key_of, open_model, resumable
from simulator.models import ChatModel, Message, Refused, Request, sample
from simulator.models.fleet import address_of
from simulator.models.weights import imported, load_weights
from simulator.runner.command import asked_how, refuse_idle_options
from simulator.runner.options import NO_FLAGS, ModelFlags, SeedOption, asks_models
from simulator.runner.run_summary import counted, say
from simulator.seeds import derive_seed
from trees import Language

ENGLISH: Final = "english"
PIVOT: Final = "yoruba"
DRAWS: Final = 5
TEMPERATURE: Final = 2.0
BEAMS: Final = 5
# At this temperature the whole of a large vocabulary would be noise; the library's own limit stays.
_TOP_K: Final = 50
_MAX_TOKENS: Final = 200
PURPOSE: Final = "ambient.distractor"


class KnownLanguage(BaseModel, frozen=True):
    """A language by its names in prompts, in their language, and its code for translation models."""

    en: str
    zh: str
    code: str


class Translator(Protocol):
    """A translator between English and one other language."""

    name: str

    async def translate(self, text: str, *, back: bool, seed: int | None = None) -> Sequence[str]:
        """Return the likeliest translation out of or `back` into English; with a seed five that are drawn."""


@dataclass(frozen=True, slots=True)
class BackTranslation:
    """The outcome for a sentence; no distractor if nothing that came back can be one."""

    pivot: str
    distractor: str | None
    resampled: bool


@dataclass(frozen=True, slots=True)
class Source:
    """A sentence that needs a distractor; `readings` cannot be one."""

    id: str
    side: Side
    sentence: str
    readings: tuple[str, ...]


def sources(examples: Iterable[Example]) -> tuple[Source, ...]:
    """Return the ambiguous sentences of the examples that crowdworkers see: those with one ambiguous side."""
    return tuple(
        Source(example.id, side, example.sentence(side), example.rewrites(side))
        for example in examples
        if example.xor
        for side in example.sides
    )


async def back_translate(
    translator: Translator, sentence: str, *, seed: int, readings: Collection[str] = ()
) -> BackTranslation:
    """Return an English sentence there and back; `readings` are no distractors, as it is none itself."""
    (pivot,) = await translator.translate(sentence, back=False)
    # A model that answers with the pivot has not translated it.
    same = {sentence.strip(), pivot.strip(), *(reading.strip() for reading in readings), ""}
    (first,) = await translator.translate(pivot, back=True)
    if first.strip() not in same:
        return BackTranslation(pivot, first.strip(), False)
    drawn = await translator.translate(pivot, back=True, seed=derive_seed(seed, "draws"))
    others = [text.strip() for text in drawn if text.strip() not in same]
    chosen = Random(derive_seed(seed, "choice")).choice(others) if others else None
    return BackTranslation(pivot, chosen, True)


@cache
def languages() -> Mapping[str, KnownLanguage]:
    """Return the languages of `tables/languages.yaml` by their English names in small letters."""
    return {name: KnownLanguage.model_validate(language) for name, language in table("languages").items()}


def language_called(name: str) -> KnownLanguage:
    """Return a language to translate into.

    Raises:
        InputError: if it is not in the table, or English; says which there are.
    """
    known = {each: language for each, language in languages().items() if each != ENGLISH}
    if name.lower() not in known:
        raise InputError(f"language {name!r}: must be one of {', '.join(known)}")
    return known[name.lower()]


class ModelTranslator:
    """Any model of the house, through the prompts ``ambient/translate`` and ``ambient/translate_back``."""

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
        # Whoever follows a schema chats; others go on with the prompt.
        self._plain = model.capabilities.plain and not model.capabilities.schema

    async def translate(self, text: str, *, back: bool, seed: int | None = None) -> Sequence[str]:
        """See `Translator`; what is not drawn is asked for at temperature 0."""
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
        return tuple(_strip_quotes(written, text) for written in answer.samples)


class FolderTranslator:
    """A folder with a many-to-many translation model, such as NLLB.

    Raises:
        Unsupported: if torch or transformers is missing.
        InputError: if there is no such model, or it does not know one of the languages.
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
        self._torch = imported("torch")
        if not Path(folder).is_dir():
            raise InputError(f"{folder}: no such folder; name one with a translation model such as NLLB")
        chosen = device or ("cuda" if self._torch.cuda.is_available() else "cpu")
        weights = load_weights(str(folder), chosen)
        self._tokenizer, self._model = weights.tokenizer, weights.model
        self._english, self._other = languages()[ENGLISH].code, language.code
        self._temperature = temperature
        unknown = [code for code in (self._english, self._other) if self._id(code) is None]
        if not weights.answers or unknown:
            lacks = f"does not know {' and '.join(unknown)}" if unknown else "does not translate"
            raise InputError(f"{folder}: {lacks}; name a translation model such as NLLB")
        self._lock = asyncio.Lock()

    async def translate(self, text: str, *, back: bool, seed: int | None = None) -> Sequence[str]:
        """See `Translator`: greedily, or by beams whose tokens are drawn."""
        source, target = (self._other, self._english) if back else (self._english, self._other)
        drawing: dict[str, Any] = {"do_sample": False, "num_beams": 1}
        if seed is not None:
            drawing = {
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
            options = {"forced_bos_token_id": self._id(target), "max_new_tokens": _MAX_TOKENS, **drawing}
            read = tokenizer(text, return_tensors="pt").to(self._model.device)
            with torch.random.fork_rng(), torch.inference_mode():
                torch.manual_seed(seed or 0)
                written = self._model.generate(**read, **options)
            return tuple(tokenizer.batch_decode(written, skip_special_tokens=True))

        async with self._lock:
            return await asyncio.to_thread(generate)

    def _id(self, code: str) -> int | None:
        token = self._tokenizer.convert_tokens_to_ids(code)
        return None if token in (None, self._tokenizer.unk_token_id) else int(token)


def _strip_quotes(answer: str, text: str) -> str:
    """Return an answer on one line, without quotes and marks around it that the text does not have."""
    line = " ".join(answer.split())
    return clean(line.strip("<>")) if clean(text) == text else line


# ---- the command

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
