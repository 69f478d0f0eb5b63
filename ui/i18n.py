"""The user interface's texts, in English and Chinese.

One YAML file per language under ``strings/``, nested; a text is named by its dotted path
(``play.send``) and may hold ``{named}`` fields. Both languages have the same names and fields, which a
test holds. What a benchmark says in its ``texts.yaml`` stands under `DECLARED` and its name; what is not
there, is taken from the declaration.
Reports are made in English, as the command line prints them; ``phrases-zh.yaml`` has their texts in Chinese,
and the ``phrases.yaml`` of a benchmark those that it alone makes.
Errors are told as ``problem.{code}`` (`AskbackError.code`): in ``strings/``, or, as ``error.{code}``, in the
``texts.yaml`` of the one benchmark that meets with them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from simulator import catalog
from simulator.benchmark import Benchmark
from simulator.blocks import Message, Translated
from simulator.catalog import attempt
from simulator.errors import SeatError
from simulator.tables.builtin import read_words
from trees import Language

LANGUAGES: tuple[Language, ...] = ("en", "zh")
DEFAULT: Language = "en"
COOKIE = "askback_language"
DECLARED = "benchmark"
"""Begins the names of the texts of every benchmark whose folder has them."""
_FOLDER = Path(__file__).parent / "strings"
_SIDES = ("desks", "research")
"""Sides of a benchmark that researchers see, each with words in a file of its own."""


_MARKS = {"; ": "；", ", ": "，"}
"""The marks between texts in a list: in English, and in the language of phrases."""


def _field(named: re.Match[str]) -> str:
    return rf"(?P<{named[1]}>{r'[0-9][0-9,]*' if named[1] == 'n' else '.+?'})"


class Strings:
    """The texts of one language, by dotted name."""

    def __init__(
        self, language: Language, texts: Mapping[str, str], phrases: Mapping[str, str] | None = None
    ) -> None:
        self.language = language
        self.texts = texts
        self.phrases = phrases or {}

    def __call__(self, name: str, **fields: object) -> str:
        """Return the text called `name`, its fields filled in.

        Raises:
            KeyError: if there is no such text, or it has a field that is not given.
        """
        text = self.texts[name]
        return text.format(**fields) if fields else text

    def get(self, name: str, default: str, **fields: object) -> str:
        """Return the text called `name`, or `default` if there is none (for names that data brings along)."""
        return self(name, **fields) if name in self.texts else default

    def say(self, prefix: str, value: object) -> str:
        """Return what a block says: a message by its name under `prefix`, anything else as it is."""
        if isinstance(value, Translated):
            return value.zh if self.language == "zh" else value.en
        if not isinstance(value, Message):
            return str(value)
        fields = {name: self.say(prefix, part) for name, part in value.fields.items()}
        return self(f"{prefix}.{value.name}", **fields)

    def under(self, prefix: str) -> dict[str, str]:
        """Return all texts whose names begin with ``prefix.``, by the rest of their names."""
        head = f"{prefix}."
        return {name[len(head) :]: text for name, text in self.texts.items() if name.startswith(head)}

    def phrase(self, text: str) -> str:
        """Return an English text of a report in this language; as it is where no phrase is known for it.

        What stands in a field whose name begins with ``text`` is put into it likewise, one text or a list.
        """
        if (known := self.phrases.get(text)) is not None:
            return known
        for pattern, translated in self.patterns:
            if match := pattern.fullmatch(text):
                fields = match.groupdict().items()
                return translated.format(
                    **{
                        name: self._translate_list(said) if name.startswith("text") else said
                        for name, said in fields
                    }
                )
        return text

    def _translate_list(self, text: str) -> str:
        """Return a text, or several with marks between them, in this language."""
        if (said := self.phrase(text)) == text:
            mark = next((mark for mark in _MARKS if mark in text), None)
            if mark is not None:
                return _MARKS[mark].join(map(self._translate_list, text.split(mark)))
        return said

    @cached_property
    def patterns(self) -> tuple[tuple[re.Pattern[str], str], ...]:
        """The phrases with ``{named}`` fields, as what they match; ``{n}`` is a number."""
        return tuple(
            (re.compile(re.sub(r"\\{(\w+)\\}", _field, re.escape(phrase))), translated)
            for phrase, translated in self.phrases.items()
            if "{" in phrase
        )


def strings(language: str) -> Strings:
    """Return the texts of `language`; of the default language if there are none in it."""
    # Browsers send the name: only names of ours may reach the cache.
    return _read(next((known for known in LANGUAGES if known == language), DEFAULT), catalog.names())


@cache
def _read(known: Language, benchmarks: tuple[str, ...]) -> Strings:
    texts: dict[str, str] = {}
    file = _FOLDER / f"phrases-{known}.yaml"
    phrases: dict[str, str] = yaml.safe_load(file.read_text(encoding="utf-8")) if file.exists() else {}
    # One file per language, and one per language for each further side of the app (research.en.yaml).
    for path in (_FOLDER / f"{known}.yaml", *sorted(_FOLDER.glob(f"*.{known}.yaml"))):
        texts.update(_flatten(yaml.safe_load(path.read_text(encoding="utf-8"))))
    for benchmark in catalog.installed():
        # A package whose words cannot be read has those of its declaration: every page needs this function.
        files = _files(benchmark, known)
        own = _declared_texts(benchmark, files.pop("texts"))
        own.setdefault("card_link", texts["declared.card_link"].format(title=own["name"]))
        # Errors are told by their codes alone: what only this benchmark meets with stands beside the rest.
        met = {name: text for name, text in own.items() if name.startswith("error.")}
        texts = {name.replace("error.", "problem."): text for name, text in met.items()} | texts
        for side in _SIDES:
            own |= {f"{side}.{name}": text for name, text in files[side].items()}
        texts |= {f"{DECLARED}.{benchmark.name}.{name}": text for name, text in own.items()}
        phrases = files["phrases"] | phrases
    return Strings(known, texts, phrases)


def declared_texts(benchmark: Benchmark[Any, Any], language: Language) -> dict[str, str]:
    """Return the texts of a benchmark's pages; those that it has not in `language` are in English.

    Raises:
        InputError: if its ``texts.yaml`` is not texts by language.
    """
    return _declared_texts(benchmark, _file_texts(benchmark, "texts", language))


def _declared_texts(benchmark: Benchmark[Any, Any], own: Mapping[str, str]) -> dict[str, str]:
    rules = benchmark.rules.model_fields if benchmark.rules is not None else {}
    texts = {
        "title": benchmark.title,
        "summary": benchmark.summary,
        **{f"seat.{seat.name}": seat.name.capitalize() for seat in benchmark.seats},
        **{f"metric.{metric.name}": metric.title for metric in benchmark.metrics},
        **{f"rule.{name}": field.description or name for name, field in rules.items()},
        **own,
    }
    # As other pages call them.
    return {"name": texts["title"], "card_text": texts["summary"], **texts}


def _files(benchmark: Benchmark[Any, Any], language: Language) -> dict[str, dict[str, str]]:
    """Return the words of each of a benchmark's files; none of one that cannot be read."""
    read: dict[str, Callable[[], dict[str, str]]] = {
        "phrases": lambda: _by_language(benchmark, "phrases").get(language, {}),
        **{name: partial(_file_texts, benchmark, name, language) for name in ("texts", *_SIDES)},
    }
    about = f"a file with words of {benchmark.name}"
    return {name: attempt(about, each) or {} for name, each in read.items()}


def _file_texts(benchmark: Benchmark[Any, Any], name: str, language: Language) -> dict[str, str]:
    """Return the texts of one of a benchmark's files, in English where they are not in `language`."""
    texts = _by_language(benchmark, name)
    return {**dict(_flatten(texts.get(DEFAULT, {}))), **dict(_flatten(texts.get(language, {})))}


def _by_language(benchmark: Benchmark[Any, Any], name: str) -> dict[Language, dict[str, Any]]:
    file = benchmark.folder / f"{name}.yaml" if benchmark.folder is not None else None
    return read_words(file) if file is not None and file.is_file() else {}


def choose(*wishes: str | None) -> str:
    """Return the first wish that is a language we have; the default if none is.

    A wish is a language tag (``zh``, ``zh-CN``) or an Accept-Language header.
    """
    for wish in wishes:
        for tag in (wish or "").split(","):
            primary = tag.partition(";")[0].strip().lower().partition("-")[0]
            if primary in LANGUAGES:
                return primary
    return DEFAULT


def _flatten(tree: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    for name, value in tree.items():
        if isinstance(value, Mapping):
            yield from _flatten(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", str(value)


# ---- errors: the simulator names what went wrong; its messages are for the command line and the log


def problem_text(t: Strings, error: Exception) -> str:
    """Return what went wrong, for a person.

    What has no code is told in its own, English, words, and that they are.
    """
    if isinstance(error, ValidationError):
        return t("app.failed")
    code = getattr(error, "code", "")
    if isinstance(error, SeatError):  # the rules of a benchmark have their words there
        code = f"seat_{code}"
    named = getattr(error, "named", {})
    return t.get(f"problem.{code}", t("problem.uncoded", message=str(error)), **named)


def trouble_text(t: Strings, warning: str) -> str:
    """Return what the seats opposite met with (`simulator.errors.Trouble`); other words as they are."""
    return t.get(f"problem.{getattr(warning, 'code', '')}", warning)
