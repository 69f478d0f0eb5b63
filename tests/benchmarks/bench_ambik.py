"""Speed of AmbiK: five methods over a slow model, all measures with intervals, and sets over all epsilons.

Run as a script: ``make bench``. Each is compared within the same run: playing with a loop that asks one
prompt after the other, method by method, as the published program does, of a model that takes 40 ms, as one
behind a network does at least; measures with loops that resample pair by pair; the curve over epsilon with
making every set anew. Prompts must be as many, and estimates the same. Beside the first stands what playing
costs in CPU, log, scores and summaries included.
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
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

from logs import LogReader
from simulator.ambik.benchmark import BENCHMARK
from simulator.ambik.intents import parse_intent
from simulator.ambik.items import DraftItem, PairItem
from simulator.ambik.measuring.measures import measures
from simulator.ambik.measuring.metrics import chr_, icr, ssc
from simulator.ambik.naming import is_filler
from simulator.ambik.pairs import Pair
from simulator.ambik.parsing import read_action, read_options
from simulator.ambik.playing import Options
from simulator.ambik.prompts import Case, case_of, prompt
from simulator.ambik.records import Decision, Outcome
from simulator.ambik.runs import RUNS
from simulator.ambik.selection import KitchenSelection
from simulator.ambik.sets.coverage import GRID, epsilon_curve
from simulator.ambik.sets.predicting import calibrate, outcome
from simulator.ambik.settings import DEFAULT
from simulator.ambik.terms import AMBIGUITIES, CONFORMAL, MEMBERS, METHODS, Role
from simulator.ambik.trial_log import decisions
from simulator.models import Completion, ModelOptions, Request, TokenLogprob
from simulator.orders import RunOrder, play_order
from simulator.runner.command import RunSettings
from simulator.stats import RESAMPLES

LATENCY = 0.04
PAIRS, CALIBRATING = 10, 5
CONCURRENCY = 16
TEST_PAIRS = 400
SAMPLES = 5
"""Of LofreeCP."""
SHARE = 20
"""The plain loops resample so many times less often, and their time is multiplied."""
# What share of the plain work's time each may take.
# Playing takes a fifth to two fifths: a busy machine stretches our own work, and a loop that waits does not
# feel it.
PLAY_LIMIT, MEASURES_LIMIT, EPSILON_LIMIT = 0.7, 0.1, 0.5
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


class Played(NamedTuple):
    """What playing took (seconds), and how much of it there was."""

    wall: float
    cpu: float
    prompts: int
    decisions: int


def selection(pairs: int) -> KitchenSelection:
    """Which items are played."""
    return KitchenSelection(method=",".join(METHODS), limit=2 * pairs, calibration_limit=CALIBRATING)


def play(log: Path, pairs: int = PAIRS) -> Played:
    """Five methods with their calibrations, through the runner."""
    order = RunOrder(
        benchmark=BENCHMARK,
        players={"robot": ("offline/script",), "user": ("offline/item",)},
        selection=selection(pairs),
        rules=Options(samples=SAMPLES),
        settings=RunSettings(
            log=log,
            models=ModelOptions(script=answer, latency=LATENCY),
            workers=1,
            concurrency=CONCURRENCY,
            name="bench",
        ),
        console=Console(quiet=True),
    )
    wall, cpu = time.perf_counter(), time.process_time()
    play_order(RUNS, order)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    with LogReader(log) as reader:
        runs = [run.id for run in reader.runs()]
        prompts = sum(1 for run in runs for _ in reader.model_calls(run_id=run))
        return Played(wall, cpu, prompts, len(decisions(reader, runs)))


def one_by_one(pairs: int = PAIRS) -> Played:
    """The same prompts one after the other, method by method; nothing is shared, logged or scored."""
    tests, calibration = selection(pairs).items(), selection(pairs).calibrating()
    prompts = decided = 0

    def ask(role: Role, case: Case, **more: object) -> str:
        nonlocal prompts
        prompts += 1
        request = Request(messages=prompt(role, case, **more).messages, purpose=f"robot.{role}")
        time.sleep(LATENCY)
        told = answer(request)
        return told if isinstance(told, str) else told.text

    wall, cpu = time.perf_counter(), time.process_time()
    for method in METHODS:
        for item in (*(calibration if method in CONFORMAL else ()), *tests):
            assert not isinstance(item, DraftItem)
            case = case_of(item)
            decided += 1
            match method:
                case "lofreecp":
                    for _ in range(SAMPLES):
                        read_options(ask("generate", case))
                case "knowno" | "lap":
                    options = read_options(ask("generate", case)).texts
                    ask("choose", case, options=tuple(options.items()))
                    for text in options.values() if method == "lap" else ():
                        # What was not written, but fills up, is not judged.
                        if not is_filler(text):
                            ask("afford", case, action=text)
                case _:
                    action = read_action(ask("generate_one", case))
                    if method == "binary":
                        ask("certainty", case, action=action)
    return Played(time.perf_counter() - wall, time.process_time() - cpu, prompts, decided)


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
        played, loop = play(Path(folder) / "log.sqlite"), one_by_one()
    tests, calibration = made_up(TEST_PAIRS, 1), made_up(100, 2, calibrating=True)
    calibrated = calibrate(calibration, DEFAULT)
    outcomes = [outcome(one, calibrated, DEFAULT) for one in tests]
    ours, plain = measures(outcomes, DEFAULT), plain_measures(outcomes, 1)
    curve, start = epsilon_curve(tests, calibration, DEFAULT), time.process_time()
    loops = plain_curve(tests, calibration)
    looped = time.process_time() - start
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
    if (played.prompts, played.decisions) != (loop.prompts, loop.decisions):
        differs.append(f"prompts ({played.prompts}, one after the other {loop.prompts})")
    methods = len(METHODS)
    rows = (
        (
            f"wall: {methods} methods, {played.prompts} calls, {1000 * LATENCY:g} ms, {CONCURRENCY} at once",
            played.wall,
            loop.wall,
            PLAY_LIMIT,
        ),
        (
            f"CPU: measures of {methods} x {len(tests)} decisions",
            methods * best(lambda: measures(outcomes, DEFAULT)),
            methods * SHARE * best(lambda: plain_measures(outcomes, RESAMPLES // SHARE), 1),
            MEASURES_LIMIT,
        ),
        (
            f"CPU: {len(GRID)} epsilons over {len(tests)} decisions, with intervals",
            best(lambda: epsilon_curve(tests, calibration, DEFAULT)),
            looped,
            EPSILON_LIMIT,
        ),
    )
    table = Table("", "seconds", "plain", "ratio", "limit", title="AmbiK")
    for name, took, other, limit in rows:
        table.add_row(name, f"{took:.3f}", f"{other:.3f}", f"{took / other:.2f}", f"{limit:g}")
    Console().print(table)
    Console().print(
        f"CPU of playing: {1000 * played.cpu / played.decisions:.1f} ms a decision, "
        f"{1000 * played.cpu / played.prompts:.1f} ms a prompt "
        f"(the loop: {1000 * loop.cpu / loop.prompts:.1f} ms)"
    )
    if differs:
        Console().print(f"the estimates differ: {', '.join(differs)}")
    return int(bool(differs) or any(took > limit * other for _, took, other, limit in rows))


if __name__ == "__main__":
    sys.exit(main())
