"""The output of commands as figures: one value per path, whatever the layout.

A path names table, row and column: keys of JSON; the head of a column; the texts by which a row is told from
the others (`row_names`), so that no figure is found by where it happens to stand. Compared are numbers, truth
values, nothing (None), and texts without a blank, which are names. Sentences are compared where they are
data, in logs, exports and files of lines: by digests of each column, block by block (`digest`).
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml
from golden_log import HERE, CommandResult, askback

Figures = dict[str, Any]

# All that differs between equal recordings, and what stands in its place.
MASKS: Final = (
    (re.compile(re.escape(str(HERE.parents[1]))), "<root>"),
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(\+00:00|Z)?"), "<time>"),
    (re.compile(r"(?:/[\w.+-]+)+/(log\.sqlite|files|out\d*)\b"), r"<home>/\1"),
    (re.compile(r"\b\d+\.\d+ (seconds|ms)\b"), r"<span> \1"),
    (re.compile(r"\b\d+:\d\d:\d\d\b"), "<span>"),
)
LONGEST: Final = 40  # of a list of rows without names; a longer one is a digest
BLOCK: Final = 120  # rows of one digest
NAMED: Final = 80  # rows with names, at most; more are a digest
_TABULAR: Final = re.compile(r"\\begin\{(?:tabular|longtable)\}(.*?)\\end\{(?:tabular|longtable)\}", re.S)
_COMMAND: Final = re.compile(r"\\[a-zA-Z]+\*?|[{}$~]")


MOVED: Final[dict[str, list[tuple[str, str]]]] = yaml.safe_load(
    (HERE / "moved.yaml").read_text(encoding="utf-8")
)


COMMANDS: Final[dict[str, list[str]]] = yaml.safe_load((HERE / "commands.yaml").read_text(encoding="utf-8"))
LEFT_OUT: Final = [re.compile(pattern) for pattern in COMMANDS.pop("left_out")]
"""Paths that no golden file holds."""


def masked(text: str) -> str:
    for pattern, stand_in in MASKS:
        text = pattern.sub(stand_in, text)
    return text


def figures_of(line: str, home: Path) -> Figures:
    """Carry out a command in an Askback folder; its figures, by path.

    Raises:
        AssertionError: if it fails.
    """
    out = _empty(home)
    words = [word.format(out=out.name, files="files") for word in shlex.split(moved("commands", line))]
    result = askback(words)
    assert result.status == 0 and not result.err.startswith("askback:"), (
        f"askback {line}: {result.err or result.out}"
    )
    figures = dict(output_figures(result, line))
    for path in sorted(file for file in out.rglob("*") if file.is_file()):
        figures.update(file_figures(path, path.relative_to(out).as_posix()))
    whole = {f"{line} > {path}": value for path, value in figures.items()}
    return {
        path: value
        for path, value in whole.items()
        if not any(pattern.fullmatch(path) for pattern in LEFT_OUT)
    }


def _empty(home: Path) -> Path:
    number = sum(1 for _ in home.glob("out*"))
    out = home / f"out{number}"
    out.mkdir()
    return out


def output_figures(result: CommandResult, line: str) -> Iterator[tuple[str, Any]]:
    text = result.out
    if "--json" in line or "json" in line.split():
        yield from flat(named(json.loads(text)))
    elif "csv" in line.split():
        yield from flat(csv_tables(text))
    elif "latex" in line.split():
        yield from flat(latex_tables(text))
    elif "--out" not in line and not line.startswith("export"):
        # Tables for people: their numbers, line by line.
        for number, row in enumerate(masked(text).splitlines()):
            yield f"{number}", [as_value(word) for word in re.findall(r"[\w.%/<>-]*\d[\w.%/<>-]*", row)]


def file_figures(path: Path, name: str) -> Iterator[tuple[str, Any]]:
    """Figures of a file that a command wrote; of pictures none."""
    if path.suffix == ".json":
        yield from flat(named(json.loads(path.read_text(encoding="utf-8"))), name)
    elif path.suffix == ".jsonl":
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        yield from flat(digest(rows), name)
    elif path.suffix == ".csv":
        text = path.read_text(encoding="utf-8-sig")
        rows = list(csv.DictReader(io.StringIO(text)))
        yield from flat(digest(rows) if len(rows) > NAMED or "log" in name else csv_tables(text), name)
    elif path.suffix == ".tex":
        yield from flat(latex_tables(path.read_text(encoding="utf-8")), name)


# ---- JSON


def named(value: Any) -> Any:
    """`value` with a mapping in place of every list of rows."""
    if isinstance(value, dict):
        return {str(key): named(part) for key, part in value.items()}
    if not isinstance(value, list):
        return value
    if not value or not all(isinstance(part, dict) for part in value):
        return [named(part) for part in value] if len(value) <= LONGEST else {"digest": short(value)}
    names = row_names(value)
    if len(value) > NAMED:
        return digest(value)
    return {name: named(row) for name, row in zip(names, value, strict=True)}


def row_names(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Names of rows: as many of their first texts as tell them apart, whole numbers too if need be.

    Where nothing does, rows of one name are counted.
    """
    names: list[str] = []
    for kinds in (str, str | int | None):
        cells = [
            [
                masked(str(value))
                for value in row.values()
                if isinstance(value, kinds) and len(str(value)) < 60
            ]
            for row in rows
        ]
        for count in range(1, 7):
            names = ["·".join(cell[:count]) for cell in cells]
            if all(names) and len(set(names)) == len(names):
                return names
    seen: dict[str, int] = {}
    for place, name in enumerate(names):
        seen[name] = seen.get(name, 0) + 1
        names[place] = f"{name}#{seen[name]}"
    return names


def digest(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A long table: its number of rows, and of each column a digest for every `BLOCK` rows.

    So a difference is found by column and block, and a column that comes later changes nothing.
    """
    keys = dict.fromkeys(key for row in rows for key in row)
    starts = range(0, len(rows), BLOCK)
    columns = {
        key: " ".join(short([row.get(key) for row in rows[start : start + BLOCK]]) for start in starts)
        for key in keys
    }
    return {"rows": len(rows), "columns": {key: blocks.split() for key, blocks in columns.items()}}


def short(value: Any) -> str:
    """The first digits of the SHA-256 of a value's canonical, masked JSON."""
    text = masked(json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":")))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def flat(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Path -> figure, for all that is compared."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield from flat(part, f"{path}/{masked(key)}" if path else masked(key))
    elif isinstance(value, list):
        plain = [part for part in value if not isinstance(part, dict | list)]
        if len(plain) == len(value):
            if figures := [
                masked(part) if isinstance(part, str) else part for part in value if compared(part)
            ]:
                yield path, figures
        else:
            for number, part in enumerate(value):
                yield from flat(part, f"{path}/{number}" if path else str(number))
    elif compared(value):
        yield path, masked(value) if isinstance(value, str) else value


def compared(value: Any) -> bool:
    """Return True of numbers and names, not of sentences."""
    return not isinstance(value, str) or (bool(value) and not re.search(r"\s", value.strip()))


# ---- tables


def csv_tables(text: str) -> dict[str, Any]:
    """Tables one below the other, each with a head, a blank line between them."""
    tables: dict[str, Any] = {}
    for number, block in enumerate(re.split(r"\n\s*\n", text.replace("\r\n", "\n").strip())):
        head, *rows = list(csv.reader(io.StringIO(block))) or [[]]
        cells = [{key: as_value(cell) for key, cell in zip(head, row, strict=False)} for row in rows]
        tables[str(number)] = dict(zip(row_names(cells), cells, strict=True))
    return tables


def latex_tables(text: str) -> dict[str, Any]:
    """Cells of each ``tabular``, as the numbers in them."""
    tables: dict[str, Any] = {}
    bodies = _TABULAR.findall(text)
    for number, body in enumerate(bodies):
        lines = [line for line in re.split(r"\\\\|\n", body) if "&" in line]
        rows = [[_COMMAND.sub("", cell).strip() for cell in line.split("&")] for line in lines]
        if not rows:
            continue
        head, *rest = rows
        cells = [dict(zip([f"{n} {key}" for n, key in enumerate(head)], row, strict=False)) for row in rest]
        named_rows = zip(row_names(cells), cells, strict=True)
        tables[str(number)] = {
            name: {key: numbers(cell) for key, cell in row.items() if numbers(cell)}
            for name, row in named_rows
        }
    return tables


def numbers(cell: str) -> str:
    return " ".join(re.findall(r"[-−]?\d[\d.,]*", cell)).replace(" ", ";")


def as_value(cell: str) -> Any:
    """A cell's number, if it is one."""
    try:
        return json.loads(cell) if re.fullmatch(r"-?\d+(\.\d+)?(e-?\d+)?", cell.strip()) else cell.strip()
    except ValueError:  # 007
        return cell.strip()


# ---- golden files


def write(name: str, figures: Figures, folder: Path) -> None:
    """Write figures: a line for each first part of a path below each command."""
    tree: dict[str, Any] = {}
    for path, value in figures.items():
        line, _, rest = path.partition(" > ")
        below = tree.setdefault(line, {})
        for part in rest.split("/"):
            below = below.setdefault(part, {})
        below[""] = value
    lines = []
    for line in sorted(tree):
        rows = [f"{_json(part)}: {_json(_slim(below))}" for part, below in sorted(tree[line].items())]
        lines.append(f"{_json(line)}: {{\n" + ",\n".join(rows) + "\n}")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def _slim(below: dict[str, Any]) -> Any:
    if list(below) == [""]:
        return below[""]
    return {part: inner if part == "" else _slim(inner) for part, inner in below.items()}


def read(name: str, folder: Path) -> Figures:
    """Return the figures that `write` wrote."""
    stored = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    return {
        f"{line} > {'/'.join(parts)}": value
        for line, below in stored.items()
        for parts, value in _leaves(below, ())
    }


def _leaves(below: Any, parts: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    if not isinstance(below, dict):
        yield parts, below
        return
    for part, inner in below.items():
        yield from _leaves(inner, (*parts, part) if part or isinstance(inner, dict) else parts)


def moved(kind: str, name: str) -> str:
    """Return the present name of an old command or path, by the first full match in ``moved.yaml``."""
    for pattern, place in _patterns(kind):
        if match := pattern.fullmatch(name):
            return match.expand(place)
    return name


@cache
def _patterns(kind: str) -> list[tuple[re.Pattern[str], str]]:
    return [(re.compile(pattern), place) for pattern, place in MOVED[kind]]


def differences(golden: Figures, now: Figures) -> Iterator[str]:
    """Yield the values that are missing now or differ, with their paths."""
    for path, value in golden.items():
        place = moved("figures", path)
        parts = place.split(" + ")
        if not now.keys() >= {*parts}:
            yield f"missing: {place}" + (f" (was: {path})" if place != path else "")
            continue
        today = now[place] if len(parts) == 1 else [now[part] for part in parts]
        if not equal(value, today):
            yield f"{place}: was {value!r}, is {today!r}"


def equal(old: Any, new: Any) -> bool:
    """Return True if all digits that a double holds for sure are equal."""
    if isinstance(old, list) and isinstance(new, list):
        return len(old) == len(new) and all(map(equal, old, new))
    if isinstance(old, bool) or isinstance(new, bool) or not isinstance(old, int | float):
        return bool(old == new) and type(old) is type(new)
    return isinstance(new, int | float) and math.isclose(old, new, rel_tol=1e-13, abs_tol=1e-15)
