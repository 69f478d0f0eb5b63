"""Shared code names no benchmark, so that a sixth is one more folder and nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from simulator import catalog

ROOT = Path(__file__).parents[1]
TEXTS = {".py", ".md", ".yaml", ".sql", ".json", ".jinja", ".html", ".css", ".js"}
SHARED = ("simulator", "askback", "logs", "app.py", "trees", "personas", "ui")
EXAMPLES = {"askback/__init__.py": 2}
"""Files whose docstring shows a call with a name -> in how many lines."""


def ours() -> tuple[str, ...]:
    """The names of the benchmarks in this repository."""
    return tuple(sorted(path.parent.name for path in (ROOT / "simulator").glob("*/benchmark.py")))


NAMED = re.compile("|".join(ours()), re.IGNORECASE)


def files(place: str) -> Iterator[Path]:
    """The files of a place that have a text, except those of the benchmarks themselves."""
    path = ROOT / place
    for file in [path] if path.is_file() else sorted(path.rglob("*")):
        parts = file.relative_to(ROOT).parts
        # Prompts and trees in folders called like a benchmark are its own; pages have none.
        own = place != "ui" and {*parts[1:-1]} & {*ours()}
        if file.is_file() and file.suffix in TEXTS and not own:
            yield file


def naming(place: str) -> dict[str, int]:
    """In how many lines each file names a benchmark."""
    counts = {
        file.relative_to(ROOT).as_posix(): sum(
            bool(NAMED.search(line)) for line in (file.name, *file.read_text(encoding="utf-8").splitlines())
        )
        for file in files(place)
    }
    return {name: count for name, count in counts.items() if count}


def test_the_five_are_those_that_are_searched_for():
    assert len(ours()) == 5
    assert {*ours()} <= {*catalog.names()}
    # Their titles differ from their names by no more than capitals and what follows.
    assert all(NAMED.match(catalog.find(name).title) for name in ours())


@pytest.mark.each("place", SHARED)
def test_what_is_shared_names_no_benchmark(place):
    assert naming(place) == {name: count for name, count in EXAMPLES.items() if name.startswith(place)}
