"""Speed of AmbiK: five methods over a slow model, all measures with intervals, and sets over all epsilons.

Run as a script: ``make bench``. Each is compared within the same run: playing with a loop that asks one
prompt after the other, method by method, as the published program does, of a model that takes 40 ms, as one
behind a network does at least; measures with loops that resample pair by pair; the curve over epsilon with
making every set anew. Prompts must be as many, and estimates the same. Beside the first stands what playing
costs in CPU, log, scores and summaries included.
"""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from unittest.mock import patch

from rich.console import Console
from rows import Row, best, main

from logs import LogReader
from simulator.ambik.benchmark import BENCHMARK
from simulator.ambik.coverage import GRID, epsilon_curve
from simulator.ambik.intents import parse_intent
from simulator.ambik.items import DraftItem, Pair, PairItem
from simulator.ambik.measures import measures
from simulator.ambik.metrics import chr_, icr, ssc
from simulator.ambik.naming import is_filler
from simulator.ambik.playing import Options
from simulator.ambik.predicting import calibrate, outcome
from simulator.ambik.prompts import Case, prompt_for, read_action, read_options
from simulator.ambik.records import Decision, Outcome
from simulator.ambik.runs import RUNS
from simulator.ambik.selection import KitchenSelection
from simulator.ambik.terms import AMBIGUITIES, CONFORMAL, DEFAULT, MEMBERS, METHODS, Role
from simulator.ambik.trial_log import decisions
from simulator.models import Completion, ModelOptions, Request, TokenLogprob
from simulator.orders import RunOrder, play_order
from simulator.runner import command
from simulator.runner.batch import run_batch
from simulator.runner.command import RunSettings
from simulator.runner.options import HERE
from simulator.stats import RESAMPLES

LATENCY = 0.04
PAIRS, CALIBRATING = 10, 5
QUICK_PAIRS = 60
"""Of the runs whose CPU is measured: what begins and ends a run is shared by some hundred decisions."""
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
RUNS_PLAYED = 8  # five methods, three of them calibrated first
DECISION_LIMIT = 2.0  # ms
KINDS = ("icr", "hr", "chr", "ssc", "set_size", "empty")


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
    """The time that playing took (seconds), and the amount played."""

    wall: float
    cpu: float
    prompts: int
    decisions: int
    playing: float = 0.0
    """Of `cpu`, what the episodes took, without reports."""


def selection(pairs: int) -> KitchenSelection:
    """Return the items to play."""
    return KitchenSelection(method=",".join(METHODS), limit=2 * pairs, calibration_limit=CALIBRATING)


def play(log: Path, pairs: int = PAIRS, latency: float = LATENCY) -> Played:
    """Five methods with their calibrations, through the runner."""
    playing = 0.0

    async def timed(*args: Any, **kwargs: Any) -> Any:
        nonlocal playing
        start = time.process_time()
        tally = await run_batch(*args, **kwargs)
        playing += time.process_time() - start
        return tally

    order = RunOrder(
        benchmark=BENCHMARK,
        players={"robot": ("offline/script",), "user": ("offline/item",)},
        selection=selection(pairs),
        rules=Options(samples=SAMPLES),
        settings=RunSettings(
            log=log,
            models=ModelOptions(script=answer, latency=latency),
            engine=HERE,
            concurrency=CONCURRENCY,
            name="bench",
        ),
        console=Console(quiet=True),
    )
    wall, cpu = time.perf_counter(), time.process_time()
    with patch.object(command, "run_batch", timed):
        play_order(RUNS, order)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    with LogReader(log) as reader:
        runs = [run.id for run in reader.runs()]
        prompts = sum(1 for run in runs for _ in reader.model_calls(run_id=run))
        return Played(wall, cpu, prompts, len(decisions(reader, runs)), playing)


def one_by_one(pairs: int = PAIRS) -> Played:
    """The same prompts one after the other, method by method; nothing is shared, logged or scored."""
    tests, calibration = selection(pairs).items(), selection(pairs).calibrating()
    prompts = decided = 0

    def ask(role: Role, case: Case, **more: object) -> str:
        nonlocal prompts
        prompts += 1
        request = Request(messages=prompt_for(role, case, **more).messages, purpose=f"robot.{role}")
        time.sleep(LATENCY)
        reply = answer(request)
        return reply if isinstance(reply, str) else reply.text

    wall, cpu = time.perf_counter(), time.process_time()
    for method in METHODS:
        for item in (*(calibration if method in CONFORMAL else ()), *tests):
            assert not isinstance(item, DraftItem)
            case = Case(item)
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
        thing = random.choice(("mug", "cup", "bowl"))
        pair = Pair(
            id=f"{seed}-{place}",
            objects=("mug", "cup", "bowl"),
            scene="a mug, a cup, a bowl",
            clear=f"Take the {thing}.",
            ambiguous="Take one.",
            type=AMBIGUITIES[place % len(AMBIGUITIES)],
            question="Which?",
            answer=thing,
            clear_plan=("take it",),
            ambiguous_plan=("take it",),
            step=0,
            intent=parse_intent(f"take, {thing}"),
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
    for result in outcomes:
        item, size = result.decision.item, len(result.predicted)
        assert isinstance(item, PairItem)
        sizes[item.pair.id][item.member] = size
        values_of = {
            "icr": icr(item.pair.intent, result.predicted),
            "hr": float(size > 1),
            "chr": float(chr_(item.type, size)),
            "ssc": ssc(item.pair.shortlist, result.predicted, item.type),
            "set_size": float(size),
            "empty": float(not size),
        }
        for name, value in values_of.items():
            if value is not None:
                for kind in (item.type, "all"):
                    values[kind, name][item.pair.id].append(value)
    for id, pair in sizes.items():
        values["all", "ambdif"][id].append(float(pair["ambiguous"] > pair["clear"] != 0))
    figures = {}
    for key, clusters in values.items():
        random, sums = Random(0), [(sum(values), len(values)) for values in clusters.values()]
        means = []
        for _ in range(resamples):
            drawn = random.choices(sums, k=len(sums))
            means.append(sum(total for total, _ in drawn) / sum(count for _, count in drawn))
        means.sort()
        figures[key] = sum(total for total, _ in sums) / sum(count for _, count in sums)
    return figures


def plain_curve(tests: Sequence[Decision], calibration: Sequence[Decision]) -> list[tuple[float, float]]:
    """Threshold and ask rate for each epsilon, everything made anew."""
    curve = []
    for epsilon in GRID:
        settings = replace(DEFAULT, target_success=1 - epsilon)
        calibrated = calibrate(calibration, settings)
        outcomes = [outcome(decision, calibrated, settings) for decision in tests]
        curve.append((calibrated.q_hat, sum(result.help for result in outcomes) / len(outcomes)))
    return curve


def rows() -> Iterator[Row]:
    """Yield playing, measures and sets; fails if an estimate differs from the loops'."""
    with TemporaryDirectory() as folder:
        os.environ["ASKBACK_HOME"] = folder
        play(Path(folder) / "first.sqlite", 1)  # templates and libraries are loaded once
        played, loop = play(Path(folder) / "log.sqlite"), one_by_one()
        quick = [play(Path(folder) / f"{number}.sqlite", QUICK_PAIRS, latency=0.0) for number in range(5)]
    assert (played.prompts, played.decisions) == (loop.prompts, loop.decisions)
    tests, calibration = made_up(TEST_PAIRS, 1), made_up(100, 2, calibrating=True)
    calibrated = calibrate(calibration, DEFAULT)
    outcomes = [outcome(decision, calibrated, DEFAULT) for decision in tests]
    _same_measures(outcomes)
    start = time.process_time()
    loops = plain_curve(tests, calibration)
    looped = time.process_time() - start
    for point, (q_hat, asks) in zip(epsilon_curve(tests, calibration, DEFAULT), loops, strict=True):
        assert abs(point.q_hat - q_hat) < 1e-9
        assert abs(point.ask_rate.value - asks) < 1e-9
    methods = len(METHODS)
    yield Row(
        work=f"AmbiK: {methods} methods, {played.prompts} prompts of {1000 * LATENCY:g} ms",
        ours=played.wall,
        unit="s",
        peer="a loop, one prompt after the other",
        theirs=loop.wall,
        goal=PLAY_LIMIT,
        goal_of="ratio",
        remark=f"wall, {CONCURRENCY} at once",
    )
    yield Row(
        work="AmbiK: a decision beside the model, log and scores included",
        ours=min(run.playing / run.decisions for run in quick) * 1e3,
        unit="ms",
        peer="the loop: prompts and parsers alone",
        theirs=loop.cpu / loop.decisions * 1e3,
        goal=DECISION_LIMIT,
        remark=f"CPU; {quick[0].prompts / quick[0].decisions:.1f} prompts",
    )
    yield Row(
        work="AmbiK: the same with the tables that a run prints",
        ours=min(run.cpu / run.decisions for run in quick) * 1e3,
        unit="ms",
        remark=f"CPU, of {quick[0].decisions} decisions in {RUNS_PLAYED} runs",
    )
    yield Row(
        work=f"AmbiK: measures of {methods} x {len(tests)} decisions, with intervals",
        ours=methods * best(lambda: measures(outcomes, DEFAULT)),
        unit="s",
        peer="plain loops",
        theirs=methods * SHARE * best(lambda: plain_measures(outcomes, RESAMPLES // SHARE), 1),
        goal=MEASURES_LIMIT,
        goal_of="ratio",
    )
    yield Row(
        work=f"AmbiK: {len(GRID)} epsilons over {len(tests)} decisions, with intervals",
        ours=best(lambda: epsilon_curve(tests, calibration, DEFAULT)),
        unit="s",
        peer="every set anew, no intervals",
        theirs=looped,
        goal=EPSILON_LIMIT,
        goal_of="ratio",
    )


def _same_measures(outcomes: Sequence[Outcome]) -> None:
    ours, plain = measures(outcomes, DEFAULT), plain_measures(outcomes, 1)
    for kind in (ours.overall, *ours.types):
        for name in KINDS:
            value = getattr(kind, name).value
            assert value is None or abs(value - plain[kind.type, name]) < 1e-9, (kind.type, name)
    assert ours.ambdif.value is not None
    assert abs(ours.ambdif.value - plain["all", "ambdif"]) < 1e-9


if __name__ == "__main__":
    main(rows)
