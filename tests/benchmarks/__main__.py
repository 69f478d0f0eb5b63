"""Every benchmark in one table: `python tests/benchmarks [NAME …] [--json FILE] [--markdown FILE]`.

A benchmark is a module ``bench_NAME`` with a function ``rows``. Each runs in a process of its own, so that
none meets what another has left in memory. Figures in one row were measured in one run: what else the machine
does slows both sides, so that ratios say more than times.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path

from rich.console import Console
from rows import Row, as_json, machine, markdown, table

from simulator.runner.options import tune_collector

FOLDER = Path(__file__).parent
NAMES = sorted(path.stem.removeprefix("bench_") for path in FOLDER.glob("bench_*.py"))


def measure(name: str) -> list[Row]:
    """Return the rows of a benchmark, measured in a process of its own.

    Raises:
        RuntimeError: if it fails; it has printed why.
    """
    command = [sys.executable, str(FOLDER), "--rows", name]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"the benchmark {name} failed")
    return [Row(**row) for row in json.loads(done.stdout.splitlines()[-1])]


def main() -> int:
    """Measure, print and write; 1 if a goal is missed or a benchmark failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(NAMES)}; default: all")
    parser.add_argument("--json", type=Path, help="write the rows there")
    parser.add_argument("--markdown", type=Path, help="write the table there")
    parser.add_argument("--rows", choices=NAMES, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.rows:
        rows = import_module(f"bench_{chosen.rows}").rows
        tune_collector()  # as the commands do
        print(json.dumps([vars(row) for row in rows()]))
        return 0
    if unknown := set(chosen.names) - set(NAMES):
        parser.error(f"there is no benchmark {min(unknown)}; there are {', '.join(NAMES)}")
    console = Console(width=None if sys.stdout.isatty() else 160)
    measured, failed = list[Row](), list[str]()
    console.print(machine())
    for name in chosen.names or NAMES:
        try:
            rows = measure(name)
        except RuntimeError as error:
            failed.append(str(error))
            continue
        console.print(table(rows))
        measured += rows
    if chosen.json:
        chosen.json.write_text(as_json(measured) + "\n", encoding="utf-8")
    if chosen.markdown:
        chosen.markdown.write_text(markdown(measured) + "\n", encoding="utf-8")
    missed = [row.work for row in measured if row.met is False]
    console.print(f"{len(measured)} rows; goals missed: {', '.join(missed) or 'none'}", *failed, sep="\n")
    return int(bool(missed or failed))


if __name__ == "__main__":
    sys.exit(main())
