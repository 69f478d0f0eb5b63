"""Files of a benchmark's package beside items and studies: the words of its pages, prompts of its models."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from simulator.benchmark import Benchmark, Checker
from simulator.errors import InputError
from trees import bounded
from trees.faults import Fault

_WORDS: Final = ("texts", "desks", "research", "phrases")


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
    return tuple(faults)


_KIND: Final = f"words of pages ({', '.join(f'{name}.yaml' for name in _WORDS)})"
WORDS: Final = Checker(_KIND, _find_words, _check_words)
"""Checks the words of any package's pages, by language."""
