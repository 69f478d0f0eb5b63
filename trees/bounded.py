"""Safe YAML parsing: bounds on length, depth and alias expansion, which a small file can abuse."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import yaml

MAX_CHARACTERS: Final = 50_000_000
MAX_DEPTH: Final = 100
MAX_NODES: Final = 100_000
"""Values in a file, with every alias expanded."""

# Nested openers with at most a key between them: parsing time is quadratic in their number.
_NESTED = re.compile(
    rf"(?:[\[{{]\s*(?:[\"']?[\w.-]{{1,40}}[\"']?\s*:\s*)?){{{MAX_DEPTH},}}|(?:- +){{{MAX_DEPTH},}}"
)


def files_with(key: str, path: Path) -> tuple[Path, ...]:
    """Return the YAML files that have `key` at top level: those below a folder, or `path` itself.

    The key is searched for in the text, so that a file with broken YAML is recognized, too.
    """
    files = path.rglob("*") if path.is_dir() else [path]
    return tuple(sorted(file for file in files if file.is_file() and _has_key(key, file)))


def _has_key(key: str, file: Path) -> bool:
    if file.suffix.lower() not in (".yaml", ".yml"):
        return False
    with file.open("rb") as lines:
        return any(line.startswith(f"{key}:".encode()) for line in lines)


def check_text(text: str) -> None:
    """Refuse YAML text that would take too long to parse.

    Raises:
        yaml.YAMLError: if it is too long or nested too deeply.
    """
    if len(text) > MAX_CHARACTERS:
        raise yaml.YAMLError(f"has {len(text):,} characters; the limit is {MAX_CHARACTERS:,}")
    if _NESTED.search(text):
        raise yaml.YAMLError(f"is nested deeper than {MAX_DEPTH} levels")


def compose(text: str, loader: Any = yaml.SafeLoader) -> yaml.Node | None:
    """Return the single document of a YAML text as a node; None if the text is empty.

    Raises:
        yaml.YAMLError: if it is not YAML or exceeds the bounds.
    """
    check_text(text)
    try:
        node: yaml.Node | None = yaml.compose(text, Loader=loader)
    except RecursionError as error:
        raise yaml.YAMLError(f"is nested deeper than {MAX_DEPTH} levels") from error
    if node is not None:
        _check_node(node)
    return node


def load(text: str) -> Any:
    """Return the value of a YAML text; None if the text is empty.

    Raises:
        yaml.YAMLError: if it is not YAML or exceeds the bounds.
    """
    node = compose(text)
    if node is None:
        return None
    try:
        return yaml.SafeLoader("").construct_document(node)
    except (ValueError, OverflowError) as error:  # an impossible date or number
        raise yaml.YAMLError(str(error)) from error


def read_placed(
    node: yaml.Node,
    scalar: Callable[[yaml.Node, str], Any],
    lines: dict[str, int],
    duplicates: list[tuple[int, str]],
    place: str = "",
    max_depth: int = MAX_DEPTH,
) -> Any:
    """Return a node's value; add the line of every place to `lines` and repeated keys to `duplicates`.

    A place is a path such as ``nodes.0.text``. `scalar` returns the value of a scalar node at a place.
    Nothing deeper than `max_depth` is read, since an alias may point at a node that contains it.
    """
    lines.setdefault(place, node.start_mark.line + 1)
    if place.count(".") > max_depth:
        return "…"
    if isinstance(node, yaml.SequenceNode):
        return [
            read_placed(child, scalar, lines, duplicates, _join(place, str(number)), max_depth)
            for number, child in enumerate(node.value)
        ]
    if isinstance(node, yaml.MappingNode):
        result: dict[str, Any] = {}
        for key_node, child in node.value:
            key, line = str(key_node.value), key_node.start_mark.line + 1
            if key in result:
                duplicates.append((line, key))
            lines[_join(place, key)] = line
            result[key] = read_placed(child, scalar, lines, duplicates, _join(place, key), max_depth)
        return result
    return scalar(node, place)


def _join(place: str, part: str) -> str:
    return f"{place}.{part}" if place else part


def known_place(place: str, lines: Mapping[str, int]) -> str:
    """Return `place`, or the innermost place around it that has a line."""
    while place and place not in lines:
        place = place.rpartition(".")[0]
    return place


def unknown_key(place: str, known: Iterable[str], what: str = "key") -> str:
    """Return the message for an unknown key, with the closest known one as a suggestion."""
    names = list(known)
    close = difflib.get_close_matches(place.rpartition(".")[2], names, n=1)
    return f"unknown {what} {place!r}; " + (
        f"did you mean {close[0]!r}?" if close else f"known: {', '.join(names)}"
    )


def _check_node(root: yaml.Node) -> None:
    """Check size with aliases expanded, depth and cycles; each node is visited once."""
    sizes: dict[int, int] = {}
    ancestors: set[int] = set()
    waiting: list[tuple[yaml.Node, bool]] = [(root, False)]
    while waiting:
        node, done = waiting.pop()
        if done:
            ancestors.discard(id(node))
            sizes[id(node)] = 1 + sum(sizes[id(child)] for child in _children(node))
            if sizes[id(node)] > MAX_NODES:
                raise yaml.YAMLError(f"has more than {MAX_NODES:,} values once its aliases are expanded")
        elif id(node) in ancestors:
            raise yaml.YAMLError(f"contains itself, in line {node.start_mark.line + 1}")
        elif id(node) not in sizes:
            ancestors.add(id(node))
            if len(ancestors) > MAX_DEPTH:
                raise yaml.YAMLError(f"is nested deeper than {MAX_DEPTH} levels")
            waiting.append((node, True))
            waiting += ((child, False) for child in _children(node))


def _children(node: yaml.Node) -> list[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        return [part for pair in node.value for part in pair]
    return list(node.value) if isinstance(node, yaml.SequenceNode) else []
