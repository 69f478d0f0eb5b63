"""Benchmarks of their own packages, installed as their users would, by pip."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
TWENTY_QUESTIONS: Final = ROOT / "tests" / "plugins" / "twenty_questions"
PAGE: Final = (ROOT / "docs" / "add-a-benchmark.md").read_text(encoding="utf-8")
BLOCKS: Final = re.findall(r"(?:\*\*`([\w./-]+)`\*\*[^\n]*\n\n)?```(\w+)\n(.*?)```", PAGE, re.DOTALL)
_INSTALL = "-m pip install --quiet --no-deps --no-index --no-build-isolation --disable-pip-version-check"


def install(source: Path, target: Path, building: Path) -> None:
    """Install the package in `source` into the folder `target`; it is built in a copy."""
    subprocess.run(["cp", "-r", str(source), str(building)], check=True)
    command = [sys.executable, *_INSTALL.split(), "--target", str(target), str(building)]
    subprocess.run(command, check=True, timeout=300)


def guess_number() -> dict[str, str]:
    """Return the package of `docs/add-a-benchmark.md` by files.

    A block under a name is a file; what follows it in the same language without one belongs to it.
    """
    files: dict[str, str] = {}
    for name, language, text in BLOCKS:
        if name:
            files[name] = text
        elif language == "python":
            # The module is told in pieces, between which other files stand.
            files["guess-number/guess_number/__init__.py"] += f"\n\n{text}"
        elif language == "toml":
            files["guess-number/pyproject.toml"] += f"\n{text}"
    return files


def write_guess_number(folder: Path) -> Path:
    """Write the package of `docs/add-a-benchmark.md`; return its folder."""
    for name, text in guess_number().items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder / "guess-number"
