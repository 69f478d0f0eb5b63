"""Searches for words in templates, and for texts in the strings files that no page shows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import ui
from ui.i18n import Strings, strings
from ui.render import environment


def own_texts() -> set[str]:
    """Words that templates hold themselves; texts are in the strings files."""
    return {text for source in templates().values() for text in _words(source)}


def _words(source: str) -> list[str]:
    shown = re.sub(r"\{% block kind %\}.*", "", source)  # class names
    bare = re.sub(r"\{[{%#].*?[}%#]\}", "", shown, flags=re.DOTALL)
    texts = [text.strip() for text in re.findall(r">([^<]+)<", bare)]
    written = [text for text in texts if not re.match(r"[\w-]+=[\"']", text)]  # attributes in a macro
    return [text for text in written if re.search(r"[^\W\d_]{2,}", text)]


def texts_under(texts: Strings, prefix: str) -> dict[str, str]:
    """All texts whose names start with ``prefix.``, by the rest of their names."""
    head = f"{prefix}."
    return {name[len(head) :]: text for name, text in texts.texts.items() if name.startswith(head)}


def texts_of(*prefixes: str) -> list[str]:
    """The names of texts that begin so."""
    return [name for name in strings("en").texts if name.startswith(prefixes)]


def unused(names: Sequence[str], made: Iterable[str] = ()) -> list[str]:
    """Those of `names` that stand in no template and no module.

    Args:
        names: of texts.
        made: what names begin with that are put together in a way which is not seen here.
    """
    modules = [path.read_text(encoding="utf-8") for path in Path(ui.__file__).parent.rglob("*.py")]
    source = "\n".join([*templates().values(), *modules])
    begun = re.findall(r"""["'](\w+\.[\w.]+[._])["']\s*~""", source)
    begun += re.findall(r"""f["'](\w+\.[\w.]+[._])\{""", source)
    return [name for name in names if name not in source and not name.startswith((*begun, *made))]


def templates() -> dict[str, str]:
    loader = environment().loader
    assert loader is not None
    return {name: loader.get_source(environment(), name)[0] for name in environment().list_templates()}
