from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import logs

ROOT = Path(__file__).parents[2]


def test_the_public_surface() -> None:
    assert logs.__all__ == sorted(logs.__all__)
    assert {name for name in vars(logs) if not name.startswith("_")} - _modules() == set(logs.__all__)


def _modules() -> set[str]:
    folder = Path(logs.__file__).parent
    return {file.stem for file in folder.iterdir() if file.suffix == ".py" or file.is_dir()}


def test_no_public_name_hides_a_module() -> None:
    assert not _modules() & set(logs.__all__)


def test_the_log_knows_nothing_of_who_uses_it() -> None:
    program = (
        "import sys, logs, logs.cli, logs.schema\n"
        "others = {'simulator', 'ui', 'trees', 'personas'}\n"
        "print([name for name in sys.modules if name.split('.')[0] in others])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "[]"
