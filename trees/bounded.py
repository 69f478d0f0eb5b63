"""YAML within bounds: a small file can stand for something enormous, endless, or too deep to be read."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import yaml

MOST_CHARACTERS: Final = 50_000_000
DEEPEST: Final = 100
MOST_NODES: Final = 100_000
"""Values of a file, those counted again that an alias repeats."""

# Openers one after the other, with a key between them at most: parsers take time by the square of these.
_NESTED = re.compile(
    rf"(?:[\[{{]\s*(?:[\"']?[\w.-]{{1,40}}[\"']?\s*:\s*)?){{{DEEPEST},}}|(?:- +){{{DEEPEST},}}"
)


def files_with(key: str, path: Path) -> tuple[Path, ...]:
    """Return the YAML files with a key at their top in a folder and those below; a file itself if it is one.

    The key is looked for in the text, so that a file whose YAML is broken is known for what it is, too.
    """
    files = path.rglob("*") if path.is_dir() else [path]
    return tuple(sorted(file for file in files if file.is_file() and _has(key, file)))


def _has(key: str, file: Path) -> bool:
    if file.suffix.lower() not in (".yaml", ".yml"):
        return False
    with file.open("rb") as lines:
        return any(line.startswith(f"{key}:".encode()) for line in lines)


def check_text(text: str) -> None:
    """Refuse a YAML text that would take a parser too long.

    Raises:
        yaml.YAMLError: if it is too long or nested too deep.
    """
    if len(text) > MOST_CHARACTERS:
        raise yaml.YAMLError(f"has {len(text):,} characters; at most {MOST_CHARACTERS:,} are read")
    if _NESTED.search(text):
        raise yaml.YAMLError(f"is nested deeper than {DEEPEST} levels")


def compose(text: str, loader: Any = yaml.SafeLoader) -> yaml.Node | None:
    """Return the one document of a YAML text as a node; None if there is none.

    Raises:
        yaml.YAMLError: if it is not YAML, or beyond the bounds.
    """
    check_text(text)
    try:
        node: yaml.Node | None = yaml.compose(text, Loader=loader)
    except RecursionError as error:
        raise yaml.YAMLError(f"is nested deeper than {DEEPEST} levels") from error
    if node is not None:
        _check_node(node)
    return node


def load(text: str) -> Any:
    """Return the one value of a YAML text.

    Raises:
        yaml.YAMLError: if it is not YAML, or beyond the bounds.
    """
    node = compose(text)
    if node is None:
        return None
    try:
        return yaml.SafeLoader("").construct_document(node)
    except (ValueError, OverflowError) as error:  # a date or number that cannot be
        raise yaml.YAMLError(str(error)) from error


def read_placed(
    node: yaml.Node,
    scalar: Callable[[yaml.Node, str], Any],
    lines: dict[str, int],
    twice: list[tuple[int, str]],
    place: str = "",
    deepest: int = DEEPEST,
) -> Any:
    """Return a node's value; notes the line of every place (``nodes.0.text``), and doubled keys with theirs.

    `scalar`: returns the value of a node that is neither a list nor a mapping, at a place. `deepest`: levels
    below which nothing is read; an alias may point at what contains it.
    """
    lines.setdefault(place, node.start_mark.line + 1)
    if place.count(".") > deepest:
        return "…"
    if isinstance(node, yaml.SequenceNode):
        return [
            read_placed(child, scalar, lines, twice, _join(place, str(number)), deepest)
            for number, child in enumerate(node.value)
        ]
    if isinstance(node, yaml.MappingNode):
        result: dict[str, Any] = {}
        for key_node, child in node.value:
            key, line = str(key_node.value), key_node.start_mark.line + 1
            if key in result:
                twice.append((line, key))
            lines[_join(place, key)] = line
            result[key] = read_placed(child, scalar, lines, twice, _join(place, key), deepest)
        return result
    return scalar(node, place)


def _join(place: str, part: str) -> str:
    return f"{place}.{part}" if place else part


def known_place(place: str, lines: Mapping[str, int]) -> str:
    """Return a place, or the nearest one around it that has a line."""
    while place and place not in lines:
        place = place.rpartition(".")[0]
    return place


def unknown_key(place: str, known: Iterable[str], what: str = "key") -> str:
    """Return the sentence about a key that nobody knows, with the one that may be meant."""
    names = list(known)
    near = difflib.get_close_matches(place.rpartition(".")[2], names, n=1)
    return f"unknown {what} {place!r}; " + (
        f"did you mean {near[0]!r}?" if near else f"known: {', '.join(names)}"
    )


def _check_node(root: yaml.Node) -> None:
    """Count what a node stands for, aliases spelt out; each node is looked into once."""
    sizes: dict[int, int] = {}
    above: set[int] = set()
    waiting: list[tuple[yaml.Node, bool]] = [(root, False)]
    while waiting:
        node, done = waiting.pop()
        if done:
            above.discard(id(node))
            sizes[id(node)] = 1 + sum(sizes[id(child)] for child in _children(node))
            if sizes[id(node)] > MOST_NODES:
                raise yaml.YAMLError(f"has more than {MOST_NODES:,} values, with its aliases spelt out")
        elif id(node) in above:
            raise yaml.YAMLError(f"contains itself, in line {node.start_mark.line + 1}")
        elif id(node) not in sizes:
            above.add(id(node))
            if len(above) > DEEPEST:
                raise yaml.YAMLError(f"is nested deeper than {DEEPEST} levels")
            waiting.append((node, True))
            waiting += ((child, False) for child in _children(node))


def _children(node: yaml.Node) -> list[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        return [part for pair in node.value for part in pair]
    return list(node.value) if isinstance(node, yaml.SequenceNode) else []
