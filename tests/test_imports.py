"""The arrows between the packages (design: imports go one way) and the public surfaces hold."""

from __future__ import annotations

import importlib
import logging.config
import re
from pathlib import Path

import pytest
from importlinter.cli import lint_imports

ROOT = Path(__file__).parents[1]


def sources() -> list[Path]:
    folders = ("simulator", "ui", "trees", "personas", "logs")
    return [path for folder in folders for path in (ROOT / folder).rglob("*.py")]


def test_imports_go_one_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    # It silences all loggers that there are, for the tests that come after this one, too.
    monkeypatch.setattr(logging.config, "dictConfig", lambda config: None)
    assert lint_imports(config_filename=str(ROOT / "pyproject.toml"), no_cache=True) == 0


def test_nothing_imports_the_front_door() -> None:
    """import-linter takes packages only, so the arrow to app.py is held here."""
    imports = re.compile(r"^\s*(?:from app import|import app\b)", re.MULTILINE)
    assert not [path for path in sources() if imports.search(path.read_text(encoding="utf-8"))]


def test_benchmark_rooms_do_not_know_each_other() -> None:
    benchmarks = {path.parent.name for path in (ROOT / "simulator").glob("*/benchmark.py")}
    for path in sources():
        owner = path.relative_to(ROOT).parts[1]
        if owner in benchmarks:
            imported = set(re.findall(r"simulator\.(\w+)", path.read_text(encoding="utf-8")))
            assert imported & benchmarks <= {owner}, path


@pytest.mark.parametrize("name", ["trees", "logs", "simulator.models"])
def test_a_package_exports_what_it_says(name: str) -> None:
    package = importlib.import_module(name)
    assert len(set(package.__all__)) == len(package.__all__)
    assert all(hasattr(package, symbol) for symbol in package.__all__)


def test_no_python_file_is_too_long() -> None:
    long = {
        str(path.relative_to(ROOT)): lines
        for path in sources()
        if (lines := len(path.read_text(encoding="utf-8").splitlines())) > 420
    }
    assert not long
