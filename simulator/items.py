"""Item files of a declared benchmark: YAML or JSON, read into its pydantic model, with faults by line.

::

    items_of: twenty_questions
    items:
    - name: cat
      facts: [alive, furry]
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from simulator import datasets
from simulator.benchmark import Benchmark, Checker
from simulator.errors import InputError
from simulator.fields import field_faults
from trees import bounded
from trees.faults import Fault, task_error

ItemT = TypeVar("ItemT", bound=BaseModel)
BUILTIN: Final = "builtin"
SUFFIXES: Final = (".yaml", ".yml", ".json")
_KEY: Final = "items_of:"
_HEAD: Final = 4096  # characters in which `items_of` must appear


@dataclass(frozen=True, slots=True)
class ItemFiles(Generic[ItemT]):
    """A `Benchmark.load` that reads item files."""

    benchmark: str
    model: type[ItemT]
    builtin: Path

    def __call__(self, data: str = BUILTIN) -> tuple[ItemT, ...]:
        """Return the items of ``builtin``, of registered data, or of a file or folder.

        Raises:
            InputError: if there are no items, or one is wrong; names file, line and field.
        """
        path = self.builtin if data == BUILTIN else datasets.locate(data, self.benchmark, BUILTIN).path
        files = find_item_files(self.benchmark, path)
        if not path.exists():
            hint = "; is it in the package-data of pyproject.toml?" if data == BUILTIN else "."
            raise InputError(f"{path}: no such file{hint}")
        if not files:
            raise InputError(f"{path}: no item file; item files begin with `items_of: {self.benchmark}`.")
        items: list[ItemT] = []
        for file in files:
            read, faults = read_items(self.model, file)
            if faults:
                raise InputError(str(task_error(tuple(faults))))
            items += read
        return tuple(items)


def find_item_files(benchmark: str, path: Path) -> tuple[Path, ...]:
    """Return the item files of a benchmark in a folder and its subfolders, or a file itself if it is one."""
    files = [path] if path.is_file() else path.rglob("*") if path.is_dir() else []
    return tuple(sorted(file for file in files if _declared_benchmark(file) == benchmark))


def read_items(model: type[ItemT], file: Path) -> tuple[list[ItemT], list[Fault]]:
    """Return the valid items of a file, and the faults of the others."""
    try:
        root = bounded.compose(file.read_text(encoding="utf-8-sig"))
        plain = None if root is None else yaml.SafeLoader("").construct_document(root)
    except (OSError, UnicodeDecodeError, yaml.YAMLError, ValueError) as error:
        mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None) or str(error)
        line, message = mark.line + 1 if mark else 0, problem.split("\n")[0]
        return [], [Fault(str(file), "", line, "format", f"cannot be read ({message})")]
    entries = plain.get("items") if isinstance(plain, dict) else None
    if not isinstance(entries, list) or not entries:
        return [], [Fault(str(file), "", 1, "format", "must have a non-empty list `items`")]
    items: list[ItemT] = []
    faults: list[Fault] = []
    for entry, line in zip(entries, _entry_lines(root), strict=True):
        try:
            items.append(model.model_validate(entry))
        except ValidationError as error:
            name = str(entry.get("name", "")) if isinstance(entry, dict) else ""
            faults += (Fault(str(file), name, line, "item", str(each)) for each in field_faults(error, entry))
    return items, faults


def item_checker(benchmark: Benchmark[Any, Any]) -> Checker:
    """Return the checker of a declared benchmark's item files, for `askback check`."""
    return Checker(
        f"items of {benchmark.title} (items_of: {benchmark.name})",
        partial(find_item_files, benchmark.name),
        partial(check_item_files, benchmark),
    )


def stray_checker(known: Collection[str]) -> Checker:
    """Return a checker that reports item files of benchmarks not in `known`, for `askback check`."""

    def find(path: Path) -> tuple[Path, ...]:
        files = path.rglob("*") if path.is_dir() else [path]
        return tuple(sorted(file for file in files if _declared_benchmark(file) not in (None, *known)))

    def check(files: Sequence[Path]) -> tuple[Fault, ...]:
        return tuple(Fault(str(file), "", 1, "format", problem(_declared_benchmark(file))) for file in files)

    def problem(name: str | None) -> str:
        return f"items_of: no benchmark is called {name!r}; known are {', '.join(known)}"

    return Checker("items of a benchmark that is not installed", find, check)


def check_item_files(benchmark: Benchmark[Any, Any], files: Sequence[Path]) -> tuple[Fault, ...]:
    """Return all faults of item files, including names that occur twice."""
    assert benchmark.item is not None
    faults: list[Fault] = []
    first: dict[str, Path] = {}
    for file in files:
        items, wrong = read_items(benchmark.item, file)
        faults += wrong
        for item in items:
            name = benchmark.key(item)
            if name in first:
                faults.append(Fault(str(file), name, 0, "duplicate", f"is already in {first[name]}"))
            first.setdefault(name, file)
    return tuple(faults)


def register_items(benchmark: Benchmark[Any, Any]) -> Callable[[Path, str, bool], datasets.Added]:
    """Return the function that registers a declared benchmark's data, for `askback data add`."""

    def select(folder: Path) -> Mapping[str, Path]:
        files = find_item_files(benchmark.name, folder)
        if not files:
            raise InputError(f"{folder}: no item file; item files begin with `items_of: {benchmark.name}`.")
        return {file.relative_to(folder).as_posix(): file for file in files}

    def check(copy: Path) -> Mapping[str, Any]:
        files = find_item_files(benchmark.name, copy)
        if faults := check_item_files(benchmark, files):
            raise InputError(str(task_error(faults)))
        assert benchmark.item is not None
        return {"items": sum(len(read_items(benchmark.item, file)[0]) for file in files)}

    return lambda path, name, partial: datasets.add(name, benchmark.name, path, select, check)


def _declared_benchmark(file: Path) -> str | None:
    """Return the benchmark that a file names in ``items_of``; None if it names none."""
    if file.suffix.lower() not in SUFFIXES or not file.is_file():
        return None
    with file.open(encoding="utf-8-sig", errors="replace") as opened:
        head = opened.read(_HEAD).replace('"', "").replace(" ", "")
    lines = (line.strip("{,\r") for line in head.replace(",", "\n").split("\n"))
    return next((line.removeprefix(_KEY) for line in lines if line.startswith(_KEY)), None)


def _entry_lines(root: yaml.Node | None) -> Iterator[int]:
    assert isinstance(root, yaml.MappingNode)
    entries = next(value for key, value in root.value if key.value == "items")
    yield from (node.start_mark.line + 1 for node in entries.value)
