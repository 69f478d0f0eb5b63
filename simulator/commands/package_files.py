"""Files of a benchmark's package beside items and studies: the words of its pages, prompts of its models."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from simulator.benchmark import Benchmark, Checker
from simulator.errors import InputError
from trees import bounded
from trees.faults import Fault

_WORDS: Final = ("texts", "desks", "research", "phrases")
_DEFAULTS: Final = ("title", "summary", "seat", "metric", "rule", "choice", "field", "player")
"""How names begin whose texts the declaration has if a file has none."""
_PAGES: Final = Path(__file__).parents[2] / "ui"


def prompt_checker(benchmark: Benchmark[Any, Any]) -> Checker | None:
    """Return what checks the prompts in a declared benchmark's own folder; None if no model can sit there."""
    if (
        benchmark.machine is not None
        or benchmark.folder is None
        or not any(s.prompt for s in benchmark.seats)
    ):
        return None
    folder = benchmark.folder.resolve() / "prompts"

    def find(path: Path) -> tuple[Path, ...]:
        files = path.rglob("*.jinja") if path.is_dir() else [path]
        return tuple(sorted(file for file in files if file.resolve().parent == folder))

    def check(files: Sequence[Path]) -> tuple[Fault, ...]:
        from simulator.runner.finding import prompt_faults  # templates take a while to import

        return prompt_faults(benchmark, files)

    return Checker(f"prompts of {benchmark.title} (NAME.LANGUAGE.jinja in its folder)", find, check)


def _find_words(path: Path) -> tuple[Path, ...]:
    files = {file for language in ("en", "zh") for file in bounded.files_with(language, path)}
    return tuple(sorted(file for file in files if file.stem in _WORDS))


def _check_words(files: Sequence[Path]) -> tuple[Fault, ...]:
    from simulator.tables.builtin import read_words  # pydantic takes a while to import

    faults = []
    for file in files:
        try:
            read_words(file)
        except InputError as error:
            problem = str(error).removeprefix(f"{file}:").strip()
            place, _, rest = problem.partition(": ")
            line, problem = (int(place), rest) if place.isdigit() else (0, problem)
            faults.append(Fault(str(file), "", line, "format", problem))
        else:
            faults += _name_faults(file) if file.stem != "phrases" else ()  # these have no names
    return tuple(faults)


def _name_faults(file: Path) -> Iterator[Fault]:
    """Yield the names of texts that neither pages nor the package use, or that one language lacks."""
    from simulator.tables.builtin import LOADER

    leaves, lines = list[str](), dict[str, int]()

    def fault(language: str, name: str, problem: str) -> Fault:
        return Fault(str(file), "", lines[f"{language}.{name}"], "words", problem, "warning")

    node = bounded.compose(file.read_text("utf-8"), LOADER)
    assert node is not None
    bounded.read_placed(node, lambda scalar, place: leaves.append(place), lines, [])
    names = {language: [leaf[3:] for leaf in leaves if leaf[:2] == language] for language in ("en", "zh")}
    known = _words_of(file.parent) | _words_of(_PAGES)
    for language, lacking in (("en", "zh"), ("zh", "en")):
        other = names[lacking]
        for name in names[language]:
            unused = [part for part in re.split(r"[\W_]+", name) if part not in known]
            if unused:
                words = difflib.get_close_matches(unused[0], sorted(known), n=1)
                near = difflib.get_close_matches(name, other, n=1, cutoff=0.8) or words
                hint = f"; did you mean {near[0]!r}?" if near else ""
                yield fault(language, name, f"nothing uses the name {name!r}{hint}")
            elif other and name not in other and (lacking == "zh" or name.split(".")[0] not in _DEFAULTS):
                yield fault(language, name, f"{name!r} has no text in {lacking}")


def _words_of(folder: Path) -> set[str]:
    """Return the words that the code, the data and the templates in a folder are written with."""
    files = (file for suffix in ("py", "yaml", "jinja") for file in folder.rglob(f"*.{suffix}"))
    files = (file for file in files if file.stem not in _WORDS and file.parent.name != "strings")
    return {word for file in files for word in re.split(r"[\W_]+", file.read_text("utf-8", "replace"))}


_KIND: Final = f"words of pages ({', '.join(f'{name}.yaml' for name in _WORDS)})"
WORDS: Final = Checker(_KIND, _find_words, _check_words)
"""Checks the words of any package's pages, by language."""
