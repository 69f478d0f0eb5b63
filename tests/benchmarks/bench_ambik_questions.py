"""The share of questions that AmbiK's user understands: both halves of the bank by kind, and the data's own.

Run as a script: ``make bench``. A question is understood rightly if it is answered where it asks for what is
open, the answer begins with yes or no where it names an alternative, and nothing else is understood.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import yaml
from rows import Row, main

from simulator.ambik.data import load_pairs
from simulator.ambik.questions import interpret

FLOOR = 0.9
BANK = Path(__file__).parents[1] / "simulator" / "ambik" / "question_bank.yaml"


def rows() -> Iterator[Row]:
    """Yield the share of each half, and what a question takes."""
    pairs = {pair.id: pair for pair in load_pairs("builtin")}
    bank: dict[str, list[str]] = yaml.safe_load(BANK.read_text(encoding="utf-8"))
    start = time.process_time()
    for half, questions in bank.items():
        right = 0
        for row in questions:
            pair, _, expected, question = (part.strip() for part in row.split("|", 3))
            right += (interpret(pairs[pair], question) or "none") == expected
        yield Row(
            work=f"AmbiK: questions that the user understands, {half} half",
            ours=right / len(questions),
            unit="",
            goal=FLOOR if half == "measured" else None,
            more=True,
            remark=f"of {len(questions)}",
        )
    took = (time.process_time() - start) / sum(map(len, bank.values()))
    yield Row(work="AmbiK: a question understood", ours=1000 * took, unit="ms", remark="CPU")


if __name__ == "__main__":
    main(rows)
