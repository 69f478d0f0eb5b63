"""Record the golden files with the program as it is: ``python tests/golden/record.py [FOLDER]``.

It asks the golden log everything that `commands.yaml` says, and writes what came of it. With a FOLDER
everything goes there instead of beside this file, so that two recordings can be compared; ``--only`` names
golden files that are recorded, and not the others.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "shared"))  # shared_data

import checking
import yaml
from golden_log import HERE
from items import builtin_hashes
from options import options
from outputs import COMMANDS, Figures, differences, read, write


def main() -> None:
    """Record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=HERE)
    parser.add_argument(
        "--only", action="append", help="a golden file's name, without .json; may be repeated"
    )
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        record(arguments.folder, Path(temporary), arguments.only)


def record(folder: Path, temporary: Path, only: list[str] | None) -> None:
    """Write the golden files into a folder."""
    expected = folder / "expected"
    names = [*COMMANDS, *(f"shared-{name}" for name in checking.shared_commands())]
    for name in [name for name in names if only is None or name in only]:
        print(name, flush=True)
        kind, _, data = name.partition("-")
        if kind != "shared":
            keep(name, checking.ask_log(name, temporary / name), expected)
        elif (checking.SHARED / data).is_dir():
            figures = checking.ask_shared(data, temporary / name)
            checking.refuse_sentences(figures)
            keep(name, figures, expected)
        else:
            print(f"{name} stays as it is: there are no published data at {checking.SHARED / data}")
    expected.mkdir(parents=True, exist_ok=True)
    text = json.dumps(builtin_hashes(), ensure_ascii=False, indent=0, sort_keys=True)
    (expected / "items.json").write_text(text + "\n", encoding="utf-8")
    text = yaml.safe_dump(options(), allow_unicode=True, width=200, default_flow_style=None)
    (expected / "options.yaml").write_text(text, encoding="utf-8")


def keep(name: str, figures: Figures, folder: Path) -> None:
    """Write a golden file, and make sure that it says what it should."""
    write(name, figures, folder)
    lost = list(differences(figures, read(name, folder)))
    assert not lost, f"{name}: cannot be read back: {lost[:3]}"


if __name__ == "__main__":
    main()
