"""The user interface's texts, in English and Chinese.

One YAML file per language under ``strings/``, nested; a text is named by its dotted path
(``play.send``) and may hold ``{named}`` fields. Both languages have the same names and fields, which a
test holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from trees import Language

LANGUAGES: tuple[Language, ...] = ("en", "zh")
DEFAULT: Language = "en"
COOKIE = "askback_language"
_FOLDER = Path(__file__).parent / "strings"


class Strings:
    """The texts of one language, by dotted name."""

    def __init__(self, language: Language, texts: Mapping[str, str]) -> None:
        self.language = language
        self.texts = texts

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

    def under(self, prefix: str) -> dict[str, str]:
        """Return all texts whose names begin with ``prefix.``, by the rest of their names."""
        head = f"{prefix}."
        return {name[len(head) :]: text for name, text in self.texts.items() if name.startswith(head)}


def strings(language: str) -> Strings:
    """Return the texts of `language`; of the default language if there are none in it."""
    # Browsers send the name: only names of ours may reach the cache.
    return _read(next((known for known in LANGUAGES if known == language), DEFAULT))


@cache
def _read(known: Language) -> Strings:
    texts: dict[str, str] = {}
    # One file per language, and one per language for each further side of the app (research.en.yaml).
    for path in (_FOLDER / f"{known}.yaml", *sorted(_FOLDER.glob(f"*.{known}.yaml"))):
        texts.update(_flat(yaml.safe_load(path.read_text(encoding="utf-8"))))
    return Strings(known, texts)


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


def _flat(tree: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    for name, value in tree.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", str(value)
