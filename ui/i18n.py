"""The texts of the user interface, in English and Chinese.

The nested YAML files in ``strings/`` contain the texts of the app. A text is named by its dotted path
(``play.send``) and may have ``{named}`` fields; a test checks that both languages have the same names and
fields. A benchmark's ``texts.yaml`` is available under `DECLARED` and the benchmark's name, with the
declaration as fallback. Reports are written in English, as on the command line; ``phrases-zh.yaml`` and the
``phrases.yaml`` of benchmarks translate them.
The text of an error is ``problem.{code}`` (`AskbackError.code`), or ``error.{code}`` in the ``texts.yaml`` of
the only benchmark that raises it.
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
"""Prefix of the names of all benchmarks' texts."""
_FOLDER = Path(__file__).parent / "strings"
_SIDES = ("desks", "research")
"""Researchers' pages of a benchmark, each with a texts file of its own."""


_SEPARATORS = {"; ": "；", ", ": "，"}
"""Separators of texts in a list: English -> Chinese."""


def _field_pattern(field: re.Match[str]) -> str:
    return rf"(?P<{field[1]}>{r'[0-9][0-9,]*' if field[1] == 'n' else '.+?'})"


class Strings:
    """The texts of one language, by dotted name."""

    def __init__(
        self, language: Language, texts: Mapping[str, str], phrases: Mapping[str, str] | None = None
    ) -> None:
        self.language = language
        self.texts = texts
        self.phrases = phrases or {}

    def __call__(self, name: str, **fields: object) -> str:
        """Return the text called `name` with its fields filled in, or raise `KeyError` if one is missing."""
        text = self.texts[name]
        return text.format(**fields) if fields else text

    def get(self, name: str, default: str, **fields: object) -> str:
        """Return the text called `name`, or `default` if there is none (for names that come from data)."""
        return self(name, **fields) if name in self.texts else default

    def say(self, prefix: str, value: object) -> str:
        """Return the text of a block's value: a message by its name under `prefix`, others unchanged."""
        if isinstance(value, Translated):
            return value.zh if self.language == "zh" else value.en
        if not isinstance(value, Message):
            return str(value)
        fields = {name: self.say(prefix, part) for name, part in value.fields.items()}
        return self(f"{prefix}.{value.name}", **fields)

    def phrase(self, text: str) -> str:
        """Return the translation of a report's English text; unchanged if there is none.

        The values of fields whose names start with ``text`` are translated too, as one text or a list.
        """
        if (phrase := self.phrases.get(text)) is not None:
            return phrase
        for pattern, translated in self.patterns:
            if match := pattern.fullmatch(text):
                fields = match.groupdict().items()
                return translated.format(
                    **{
                        name: self._translate_list(value) if name.startswith("text") else value
                        for name, value in fields
                    }
                )
        return text

    def _translate_list(self, text: str) -> str:
        """Return the translation of one text, or of several with separators between them."""
        separator = next((separator for separator in _SEPARATORS if separator in text), None)
        if separator is None or text in self.phrases:
            return self.phrase(text)
        texts = text.split(separator)
        translated = [self._translate_list(each) for each in texts]
        # A phrase with fields might otherwise match a whole list.
        if any(map(str.__eq__, texts, translated)) and (whole := self.phrase(text)) != text:
            return whole
        return _SEPARATORS[separator].join(translated)

    @cached_property
    def patterns(self) -> tuple[tuple[re.Pattern[str], str], ...]:
        """Patterns of the phrases with ``{named}`` fields, and their translations; ``{n}`` is a number."""
        return tuple(
            (re.compile(re.sub(r"\\{(\w+)\\}", _field_pattern, re.escape(phrase))), translated)
            for phrase, translated in self.phrases.items()
            if "{" in phrase
        )


def strings(language: str) -> Strings:
    """Return the texts in `language`, or in the default language if it is unknown."""
    # Browsers send the name: only known names may reach the cache.
    return _read(next((known for known in LANGUAGES if known == language), DEFAULT), catalog.names())


@cache
def _read(language: Language, benchmarks: tuple[str, ...]) -> Strings:
    texts: dict[str, str] = {}
    file = _FOLDER / f"phrases-{language}.yaml"
    phrases: dict[str, str] = yaml.safe_load(file.read_text(encoding="utf-8")) if file.exists() else {}
    # Per language the main file, and one for each further part of the app (research.en.yaml).
    for path in (_FOLDER / f"{language}.yaml", *sorted(_FOLDER.glob(f"*.{language}.yaml"))):
        texts.update(_flatten(yaml.safe_load(path.read_text(encoding="utf-8"))))
    for benchmark in catalog.installed():
        # Every page needs this function: a benchmark whose texts cannot be read has those of its declaration.
        files = _files(benchmark, language)
        own = _declared_texts(benchmark, files.pop("texts"))
        own.setdefault("card_link", texts["declared.card_link"].format(title=own["name"]))
        # Errors are looked up by code alone, so a benchmark's own errors join those of the app.
        errors = {name: text for name, text in own.items() if name.startswith("error.")}
        texts = {name.replace("error.", "problem."): text for name, text in errors.items()} | texts
        for side in _SIDES:
            own |= {f"{side}.{name}": text for name, text in files[side].items()}
        texts |= {f"{DECLARED}.{benchmark.name}.{name}": text for name, text in own.items()}
        phrases = files["phrases"] | phrases
    return Strings(language, texts, phrases)


def declared_texts(benchmark: Benchmark[Any, Any], language: Language) -> dict[str, str]:
    """Return the texts of a benchmark's pages in `language`, in English where they are missing.

    Raises:
        InputError: if its ``texts.yaml`` does not contain texts by language.
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
    # The names used by other pages.
    return {"name": texts["title"], "card_text": texts["summary"], **texts}


def _files(benchmark: Benchmark[Any, Any], language: Language) -> dict[str, dict[str, str]]:
    """Return the texts of each of a benchmark's files; empty for a file that cannot be read."""
    read: dict[str, Callable[[], dict[str, str]]] = {
        "phrases": lambda: _by_language(benchmark, "phrases").get(language, {}),
        **{name: partial(_file_texts, benchmark, name, language) for name in ("texts", *_SIDES)},
    }
    about = f"a texts file of {benchmark.name}"
    return {name: attempt(about, each) or {} for name, each in read.items()}


def _file_texts(benchmark: Benchmark[Any, Any], name: str, language: Language) -> dict[str, str]:
    """Return the texts of one of a benchmark's files in `language`, in English where they are missing."""
    texts = _by_language(benchmark, name)
    return {**dict(_flatten(texts.get(DEFAULT, {}))), **dict(_flatten(texts.get(language, {})))}


def _by_language(benchmark: Benchmark[Any, Any], name: str) -> dict[Language, dict[str, Any]]:
    file = benchmark.folder / f"{name}.yaml" if benchmark.folder is not None else None
    return read_words(file) if file is not None and file.is_file() else {}


def choose_language(*wishes: str | None) -> str:
    """Return the first available language among tags and Accept-Language headers; else the default."""
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


# ---- errors: pages show texts by error code; the messages are for the command line and the log


def problem_text(t: Strings, error: Exception) -> str:
    """Return the text of an error for a page; without a code, its English message, introduced as such."""
    if isinstance(error, ValidationError):
        return t("app.failed")
    code = getattr(error, "code", "")
    if isinstance(error, SeatError):  # texts of benchmarks' rules have this prefix
        code = f"seat_{code}"
    named = getattr(error, "named", {})
    return t.get(f"problem.{code}", t("problem.uncoded", message=str(error)), **named)


def trouble_text(t: Strings, warning: str) -> str:
    """Return the text for a warning about a seat (`simulator.errors.Trouble`), or the warning itself."""
    return t.get(f"problem.{getattr(warning, 'code', '')}", warning)
