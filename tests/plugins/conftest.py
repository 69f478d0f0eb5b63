"""The sixth benchmark, installed as its users would: by pip, found by its entry point."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from packages import TWENTY_QUESTIONS, install

from simulator import catalog


def forget() -> None:
    """Look for installed benchmarks anew."""
    importlib.invalidate_caches()
    for cached in (catalog._points, catalog._load):
        cached.cache_clear()


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the package is installed, its metadata beside it."""
    target = tmp_path_factory.mktemp("site")
    install(TWENTY_QUESTIONS, target, tmp_path_factory.mktemp("source") / "package")
    return target


@pytest.fixture
def installed(site: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """The package on the path of this process, with a home of its own."""
    monkeypatch.setenv("ASKBACK_HOME", str(tmp_path / "home"))
    monkeypatch.syspath_prepend(str(site))
    forget()
    yield site
    forget()
