"""Speed of AmbiBench's items: 720 episodes of 20 examples, and statistics over 60,000 sentences.

Run as a script: ``make bench``. Both are compared with plain Python that does the least of the same work on
the same machine: words put into templates without seeds, records and checks; sentences split and counted one
by one for the word lists and the balance of features alone.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from rows import Row, best, main

from logs import LogReader, LogWriter
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
from simulator.ambibench.graph import MACHINE
from simulator.ambibench.prompt import Prompt
from simulator.ambibench.statistics import statistics
from simulator.models import ChatModel, ModelOptions, ScoreRequest, load_model
from simulator.models.base import Position, Scored
from simulator.runner.batch import run_batch
from simulator.runner.build import build_plan

ROUNDS = 3
PER_CELL = 250  # 60,000 sentences
# How many times the plain work each may take.
GENERATION_LIMIT = 12.0
STATISTICS_LIMIT = 2.5
EPISODE_LIMIT = 2.0  # ms
ITEMS = generate_multiple(2, per_cell=8)


def plain_texts(per_cell: int) -> list[str]:
    """Texts of episodes, with nothing around them."""
    random = Random(0)
    texts = []
    for feature in FEATURES:
        pair = pair_of(feature)
        lists = [
            [slot_words(value_name(component, value)) for value in (True, False)] for component in PAIRS[pair]
        ]
        place = slot_words("indoor")
        for form in FORMATS:
            line = "\n{} {} {}\n>{}" if form == "arrow" else "\nQ: {} {} {}\nA: {}"
            for _ in range(per_cell):
                text = "Output"
                for _ in range(20):
                    a, b = random.getrandbits(1), random.getrandbits(1)
                    words = random.choice(lists[0][a]), random.choice(lists[1][b]), random.choice(place)
                    text += line.format(*words, "XY"[a])
                texts.append(text)
    return texts


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


def rows() -> Iterator[Row]:
    """Yield items, statistics and episodes."""
    episode = per_episode()  # first, before sixty thousand sentences lie in memory
    prompts = generate_multiple(0, per_cell=PER_CELL)
    yield Row(
        work="AmbiBench: 720 episodes of 20 made",
        ours=best(lambda: generate_multiple(1)),
        unit="s",
        peer="words into templates, no seeds or checks",
        theirs=best(lambda: plain_texts(60)),
        goal=GENERATION_LIMIT,
        goal_of="ratio",
    )
    yield Row(
        work="AmbiBench: statistics of 60,000 sentences",
        ours=best(lambda: statistics(prompts, complete=True)),
        unit="s",
        peer="plain counting",
        theirs=best(lambda: plain_counts(prompts)),
        goal=STATISTICS_LIMIT,
        goal_of="ratio",
    )
    yield Row(
        work="AmbiBench: an episode of 20 beside the model, log included",
        ours=episode,
        unit="ms",
        goal=EPISODE_LIMIT,
        remark="CPU",
    )


async def _play(path: Path) -> float:
    async with LogWriter(path, durable=False) as log:
        options = ModelOptions(script=str, scorer=_score, recorder=log.post)
        seats = {"participant": MACHINE.seat_for("participant", "offline/script", _loader(options), {})}
        plan = build_plan(
            machine=MACHINE, items=ITEMS, seats=seats, config={}, seed=1, repeats=1, options={}, name="b"
        )
        with LogReader(path) as reader:
            start = time.process_time()
            tally = await run_batch(plan, log, reader)
            assert tally.statuses == {"completed": len(ITEMS)}, tally.statuses
            return time.process_time() - start


def _loader(options: ModelOptions) -> Callable[[str], ChatModel]:
    return lambda name: load_model(name, options)


def _score(request: ScoreRequest) -> Scored:
    """Answer X or Y with some probability each at every label."""
    top = ((" X", -0.5), (" Y", -1.0))
    return Scored(positions=tuple(Position(offset, " X", -0.5, top) for offset in request.offsets))


def per_episode() -> float:
    """Return milliseconds of CPU per episode, the least of some runs."""
    times = []
    for _ in range(ROUNDS + 1):
        with TemporaryDirectory() as folder:
            times.append(asyncio.run(_play(Path(folder) / "log.sqlite")) / len(ITEMS) * 1e3)
    return min(times)


if __name__ == "__main__":
    main(rows)
