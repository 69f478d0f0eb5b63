"""How well AmbiK's user understands questions: the bank's two halves by kind, and the data's own questions.

Run as a script: ``make bench``. A question is understood rightly if it is answered where it asks for what is
open, the answer begins with yes or no where it names an alternative, and nothing else is understood.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from pathlib import Path

import yaml
from rich.console import Console
from rich.table import Table

from simulator.ambik.data import load_pairs
from simulator.ambik.questions import hear

FLOOR = 0.9
BANK = Path(__file__).parents[1] / "simulator" / "ambik" / "question_bank.yaml"


def main() -> int:
    """Measure and print; 1 if the half that no rule was made on is below the floor."""
    pairs = {one.id: one for one in load_pairs("builtin")}
    bank: dict[str, list[str]] = yaml.safe_load(BANK.read_text(encoding="utf-8"))
    shares, table = {}, Table("kind", *bank, title="AmbiK: questions understood rightly")
    right: dict[str, Counter[str]] = {half: Counter() for half in bank}
    all_of: dict[str, Counter[str]] = {half: Counter() for half in bank}
    start = time.process_time()
    for half, rows in bank.items():
        for row in rows:
            pair, kind, expected, question = (part.strip() for part in row.split("|", 3))
            all_of[half][kind] += 1
            right[half][kind] += (hear(pairs[pair], question) or "none") == expected
        shares[half] = right[half].total() / all_of[half].total()
    took = 1000 * (time.process_time() - start) / sum(map(len, bank.values()))
    for kind in all_of["developed"]:
        table.add_row(kind, *(f"{right[half][kind]}/{all_of[half][kind]}" for half in bank))
    table.add_row("all", *(f"{shares[half]:.3f} of {all_of[half].total()}" for half in bank))
    Console().print(table)
    Console().print(f"{took:.1f} ms of CPU a question")
    return int(shares["measured"] < FLOOR)


if __name__ == "__main__":
    sys.exit(main())
