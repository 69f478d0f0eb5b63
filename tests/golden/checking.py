"""Functions for recording and testing: ask the golden log and the published data."""

from __future__ import annotations

import io
import json
import lzma
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import yaml
from golden_log import HERE, askback, at_home, unpack
from outputs import COMMANDS, Figures, figures_of
from PIL import Image
from shared_data import SHARED

SHORTEST = 15  # characters of a sentence that would be one of the published data's


def ask_log(name: str, home: Path) -> Figures:
    """The figures of a golden file, asked of a copy of the golden log and of the files imported into it."""
    unpack(home)
    shutil.copytree(HERE / "files", home / "files")
    decisions = lzma.decompress((HERE / "decisions.jsonl.xz").read_bytes())
    (home / "files" / "decisions.jsonl").write_bytes(decisions)
    lines = COMMANDS[name]
    with at_home(home), undrawn():
        if name == "score":
            lines = [*(f"score run {run} --json" for run in run_names()), *lines]
        return _ask(lines, home)


def shared_commands() -> dict[str, list[str]]:
    commands: dict[str, list[str]] = yaml.safe_load((HERE / "shared.yaml").read_text(encoding="utf-8"))
    return commands


def ask_shared(name: str, home: Path) -> Figures:
    """The figures of the published data; the folder's own name is in none of their paths."""
    with at_home(home), undrawn():
        (home / "shared").symlink_to(SHARED)
        return _ask([line.replace("{shared}", "shared") for line in shared_commands()[name]], home)


def _ask(lines: list[str], home: Path) -> Figures:
    figures: Figures = {}
    for line in lines:
        figures |= figures_of(line, home)
    return figures


def run_names() -> list[str]:
    """The names of the log's runs, from an export: whatever becomes of readers, exports stay."""
    result = askback(["export", "runs"])
    assert result.status == 0, result.err
    rows = (Path("runs") / "runs.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(row)["id"] for row in rows]


def undrawn() -> Any:
    """Write no pictures: none is compared, and they take most of the time."""
    pixel = io.BytesIO()
    Image.new("RGB", (1, 1)).save(pixel, "png")
    return mock.patch.multiple(
        "vl_convert",
        vegalite_to_svg=mock.Mock(return_value="<svg></svg>"),
        svg_to_png=mock.Mock(return_value=pixel.getvalue()),
        svg_to_pdf=mock.Mock(return_value=b""),
    )


def refuse_sentences(figures: Figures) -> None:
    """Raise an error if a sentence of the published data is among what would be kept."""
    text = "\n".join([*figures, *(str(value) for value in figures.values())])
    for path in sorted(file for file in SHARED.rglob("*.json*") if "handmethat" not in file.parts):
        for sentence in sentences(path):
            assert sentence not in text, f"{path}: {sentence!r} would be kept"


def sentences(path: Path) -> Iterator[str]:
    """Texts of a published file that are no names."""
    text = path.read_text(encoding="utf-8")
    parts = text.splitlines() if path.suffix == ".jsonl" else [text]
    left: list[Any] = [json.loads(part) for part in parts if part.strip()]
    while left:
        value = left.pop()
        if isinstance(value, dict):
            left += value.values()
        elif isinstance(value, list):
            left += value
        elif isinstance(value, str) and len(value) >= SHORTEST and " " in value.strip():
            yield value
