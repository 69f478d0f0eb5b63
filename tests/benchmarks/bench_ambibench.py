"""Speed of AmbiBench's items: 720 episodes of 20 examples, and statistics over 60,000 sentences.

Run as a script: ``make bench``. Both are compared with plain Python that does the least of the same work on
the same machine: words put into templates without seeds, records and checks; sentences split and counted one
by one for the word lists and the balance of features alone.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from random import Random

from rich.console import Console
from rich.table import Table

from simulator.ambibench.features import (
    FEATURES,
    FORMATS,
    PAIRS,
    pair_of,
    read_sentence,
    slot_words,
    value_name,
)
from simulator.ambibench.generation import generate_multiple
from simulator.ambibench.prompt import Prompt
from simulator.ambibench.statistics import statistics

ROUNDS = 3
PER_CELL = 250  # 60,000 sentences
# How many times the plain work each may take.
GENERATION_LIMIT = 12.0
STATISTICS_LIMIT = 2.5


def best(work: Callable[[], object]) -> float:
    """Seconds of CPU of the fastest of a few rounds."""
    times = []
    for _ in range(ROUNDS):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def plain_texts(per_cell: int) -> list[str]:
    """Texts of episodes, with nothing around them."""
    random = Random(0)
    found = []
    for feature in FEATURES:
        pair = pair_of(feature)
        lists = [[slot_words(value_name(one, value)) for value in (True, False)] for one in PAIRS[pair]]
        place = slot_words("indoor")
        for form in FORMATS:
            line = "\n{} {} {}\n>{}" if form == "arrow" else "\nQ: {} {} {}\nA: {}"
            for _ in range(per_cell):
                text = "Output"
                for _ in range(20):
                    a, b = random.getrandbits(1), random.getrandbits(1)
                    words = random.choice(lists[0][a]), random.choice(lists[1][b]), random.choice(place)
                    text += line.format(*words, "XY"[a])
                found.append(text)
    return found


def plain_counts(prompts: Sequence[Prompt]) -> Counter[object]:
    """Words and values counted sentence by sentence, every sentence read anew."""
    counts: Counter[object] = Counter()
    for prompt in prompts:
        for example in prompt.examples:
            read = read_sentence.__wrapped__(example.sentence, prompt.pair)
            counts.update((prompt.pair, slot, word) for slot, word in read.words.items())
            counts[prompt.pair, read.a, read.b] += 1
            counts[example.label] += 1
    return counts


def main() -> int:
    """Measure and print; 1 if a limit is missed."""
    prompts = generate_multiple(0, per_cell=PER_CELL)
    rows = (
        (
            "720 episodes of 20",
            best(lambda: generate_multiple(1)),
            best(lambda: plain_texts(60)),
            GENERATION_LIMIT,
        ),
        (
            "statistics, 60,000 sentences",
            best(lambda: statistics(prompts, whole=True)),
            best(lambda: plain_counts(prompts)),
            STATISTICS_LIMIT,
        ),
    )
    table = Table("", "seconds", "plain", "ratio", "limit", title="AmbiBench: CPU")
    for name, ours, plain, limit in rows:
        table.add_row(name, f"{ours:.3f}", f"{plain:.3f}", f"{ours / plain:.2f}", f"{limit:g}")
    Console().print(table)
    return int(any(ours > limit * plain for _, ours, plain, limit in rows))


if __name__ == "__main__":
    sys.exit(main())
