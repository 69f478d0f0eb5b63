"""Speed of AmbiK: five methods over a slow model, all measures with intervals, and sets over all epsilons.

Run as a script: ``make bench``. Each is compared within the same run: playing with a loop that asks one
prompt after the other, as the published program does, of a model that takes 5 ms; measures with loops that
resample pair by pair; the curve over epsilon with making every set anew. Estimates must be the same.
"""

from __future__ import annotations

import os
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from rich.console import Console
from rich.table import Table

from logs import LogReader
from simulator.ambik.epsilon import GRID, epsilon_curve
from simulator.ambik.experiment import Experiment, play_all
from simulator.ambik.intents import parse_intent
from simulator.ambik.items import PairItem
from simulator.ambik.measures import measures
from simulator.ambik.metrics import chr_, icr, ssc
from simulator.ambik.pairs import Pair
from simulator.ambik.parts import Wish
from simulator.ambik.predicting import calibrate, outcome
from simulator.ambik.records import Decision, Outcome
from simulator.ambik.settings import DEFAULT
from simulator.ambik.terms import AMBIGUITIES, MEMBERS, METHODS
from simulator.models import Completion, ModelOptions, Request, TokenLogprob
from simulator.stats import RESAMPLES

LATENCY = 0.005
PAIRS, CALIBRATING = 40, 20
TEST_PAIRS = 400
SHARE = 20
"""The plain loops resample so many times less often, and their time is multiplied."""
# What share of the plain work's time each may take.
# At 5 ms a prompt the runner's own work (3 to 4 ms of CPU with its log) is the limit, which a busy machine
# stretches and the waiting loop does not feel.
PLAY_LIMIT, MEASURES_LIMIT, EPSILON_LIMIT = 1.5, 0.1, 0.5
KINDS = ("icr", "hr", "chr", "ssc", "set_size", "empty")


def best(work: Callable[[], object], rounds: int = 3) -> float:
    """Seconds of CPU of the fastest of a few rounds."""
    times = []
    for _ in range(rounds):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def answer(request: Request) -> Any:
    """A model: four options, one action, a word, or a token with its probabilities."""
    match request.purpose.rpartition(".")[2]:
        case "generate":
            return "A) take the mug\nB) take the cup\nC) take the bowl\nD) wait"
        case "generate_one":
            return "take the mug"
        case "certainty":
            return "certain"
        case "choose":
            table = tuple((letter, -1.0 - place) for place, letter in enumerate("ABCD"))
        case _:
            table = (("True", -0.1), ("False", -2.4))
    return Completion(text=table[0][0], logprobs=(TokenLogprob(*table[0], table),))


def play(log: Path, pairs: int = PAIRS) -> tuple[float, int]:
    """Wall seconds that five methods take with their calibrations, and how many prompts they asked."""
    experiment = Experiment(
        pairs=tuple(("offline/script", method) for method in METHODS),
        wish=Wish(limit=pairs, calibrating=CALIBRATING),
        models=ModelOptions(script=answer, latency=LATENCY),
        log=log,
        workers=1,
        concurrency=32,
        name="bench",
        common={
            "task": "decide",
            "context": "full_plan",
            "dialogue": "before",
            "questions": 0,
            "settings": {},
        },
    )
    start = time.perf_counter()
    play_all(experiment, Console(quiet=True))
    took = time.perf_counter() - start
    with LogReader(log) as reader:
        return took, sum(1 for run in reader.runs() for _ in reader.model_calls(run_id=run.id))


def one_by_one(prompts: int) -> float:
    """Wall seconds of as many prompts, one after the other, of the same model."""
    request = Request(messages=(), purpose="robot.generate")
    start = time.perf_counter()
    for _ in range(prompts):
        time.sleep(LATENCY)
        answer(request)
    return time.perf_counter() - start


def made_up(number: int, seed: int, calibrating: bool = False) -> list[Decision]:
    """KnowNo's decisions on both members of so many pairs, or on one of each."""
    random, made = Random(seed), []
    for place in range(number):
        wanted = random.choice(("mug", "cup", "bowl"))
        pair = Pair(
            id=f"{seed}-{place}",
            objects=("mug", "cup", "bowl"),
            scene="a mug, a cup, a bowl",
            clear=f"Take the {wanted}.",
            ambiguous="Take one.",
            type=AMBIGUITIES[place % len(AMBIGUITIES)],
            question="Which?",
            answer=wanted,
            clear_plan=("take it",),
            ambiguous_plan=("take it",),
            step=0,
            intent=parse_intent(f"take, {wanted}"),
            shortlist=("mug", "cup"),
        )
        for member in MEMBERS[: 1 if calibrating else 2]:
            made.append(
                Decision(
                    episode_id=f"{seed}-{place}-{member}",
                    run="calibration" if calibrating else "test",
                    item=PairItem(pair=pair, member=member, part="calibration" if calibrating else "test"),
                    method="knowno",
                    options={"A": "take the mug", "B": "take the cup", "C": "take the bowl", "D": "wait"},
                    tokens=tuple((letter, -10 * random.random()) for letter in "ABCD"),
                )
            )
    return made


def plain_measures(outcomes: Sequence[Outcome], resamples: int) -> dict[tuple[str, str], float]:
    """Every measure by type and over all, and AmbDif, each resampled pair by pair in loops."""
    values: defaultdict[tuple[str, str], defaultdict[str, list[float]]] = defaultdict(
        lambda: defaultdict(list)
    )
    sizes: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for one in outcomes:
        item, size = one.decision.item, len(one.predicted)
        assert isinstance(item, PairItem)
        sizes[item.pair.id][item.member] = size
        found = {
            "icr": icr(item.pair.intent, one.predicted),
            "hr": float(size > 1),
            "chr": float(chr_(item.type, size)),
            "ssc": ssc(item.pair.shortlist, one.predicted, item.type),
            "set_size": float(size),
            "empty": float(not size),
        }
        for name, value in found.items():
            if value is not None:
                for kind in (item.type, "all"):
                    values[kind, name][item.pair.id].append(value)
    for id, pair in sizes.items():
        values["all", "ambdif"][id].append(float(pair["ambiguous"] > pair["clear"] != 0))
    told = {}
    for key, clusters in values.items():
        random, sums = Random(0), [(sum(some), len(some)) for some in clusters.values()]
        means = []
        for _ in range(resamples):
            drawn = random.choices(sums, k=len(sums))
            means.append(sum(total for total, _ in drawn) / sum(count for _, count in drawn))
        means.sort()
        told[key] = sum(total for total, _ in sums) / sum(count for _, count in sums)
    return told


def plain_curve(tests: Sequence[Decision], calibration: Sequence[Decision]) -> list[tuple[float, float]]:
    """Threshold and ask rate for each epsilon, everything made anew."""
    told = []
    for epsilon in GRID:
        settings = replace(DEFAULT, target_success=1 - epsilon)
        calibrated = calibrate(calibration, settings)
        outcomes = [outcome(one, calibrated, settings) for one in tests]
        told.append((calibrated.q_hat, sum(one.help for one in outcomes) / len(outcomes)))
    return told


def main() -> int:
    """Measure and print; 1 if a limit is missed or an estimate differs."""
    with TemporaryDirectory() as folder:
        os.environ["ASKBACK_HOME"] = folder
        play(Path(folder) / "first.sqlite", 1)  # templates and libraries are loaded once
        played, prompts = play(Path(folder) / "log.sqlite")
    tests, calibration = made_up(TEST_PAIRS, 1), made_up(100, 2, calibrating=True)
    calibrated = calibrate(calibration, DEFAULT)
    outcomes = [outcome(one, calibrated, DEFAULT) for one in tests]
    ours, plain = measures(outcomes, DEFAULT), plain_measures(outcomes, 1)
    curve, loops = epsilon_curve(tests, calibration, DEFAULT), plain_curve(tests, calibration)
    differs = [
        f"{kind.type}, {name}"
        for kind in (ours.overall, *ours.types)
        for name in KINDS
        if (value := getattr(kind, name).value) is not None and abs(value - plain[kind.type, name]) > 1e-9
    ]
    if ours.ambdif.value is None or abs(ours.ambdif.value - plain["all", "ambdif"]) > 1e-9:
        differs.append("AmbDif")
    for point, (q_hat, asks) in zip(curve, loops, strict=True):
        if abs(point.q_hat - q_hat) > 1e-9 or abs(point.ask_rate.value - asks) > 1e-9:
            differs.append(f"epsilon {point.epsilon:g}")
    methods = len(METHODS)
    rows = (
        (f"wall: 5 methods, {prompts} prompts of 5 ms", played, one_by_one(prompts), PLAY_LIMIT),
        (
            f"CPU: measures of {methods} x {len(tests)} decisions",
            methods * best(lambda: measures(outcomes, DEFAULT)),
            methods * SHARE * best(lambda: plain_measures(outcomes, RESAMPLES // SHARE), 1),
            MEASURES_LIMIT,
        ),
        (
            f"CPU: {len(GRID)} epsilons over {len(tests)} decisions, with intervals",
            best(lambda: epsilon_curve(tests, calibration, DEFAULT)),
            best(lambda: plain_curve(tests, calibration), 1),
            EPSILON_LIMIT,
        ),
    )
    table = Table("", "seconds", "plain", "ratio", "limit", title="AmbiK")
    for name, took, other, limit in rows:
        table.add_row(name, f"{took:.3f}", f"{other:.3f}", f"{took / other:.2f}", f"{limit:g}")
    Console().print(table)
    if differs:
        Console().print(f"the estimates differ: {', '.join(differs)}")
    return int(bool(differs) or any(took > limit * other for _, took, other, limit in rows))


if __name__ == "__main__":
    sys.exit(main())
