"""AmbiK's runs: robots and methods; conformal ones are first calibrated in a separate run (spec 5, 7, 8)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from operator import attrgetter
from typing import Any, Final

from logs import LogReader
from simulator.ambik import benchmark
from simulator.ambik.items import BENCHMARK, DecideItem, DraftItem, Item, PairItem
from simulator.ambik.methods import needs_of, refusal
from simulator.ambik.players import ITEM
from simulator.ambik.playing import ANNOTATOR, ROBOT, USER, Options, calibration_option
from simulator.ambik.predicting import calibrate
from simulator.ambik.records import Calibrated
from simulator.ambik.selection import KitchenSelection
from simulator.ambik.terms import CONFORMAL, METHODS, NAMES, Method, Settings
from simulator.ambik.trial_log import decisions, options_of
from simulator.errors import InputError
from simulator.field_options import logged_values
from simulator.models import ModelError, ModelOptions, Needs, load_model, run_preflight
from simulator.models.preflight import REMOTE
from simulator.orders import (
    NotPlayed,
    RunOrder,
    RunSpec,
    idle_options,
    is_model,
    model_abilities,
    played_pairs,
    typed_word,
)
from simulator.runner.command import RunRequest, play
from simulator.runner.logged import endings_of_runs, required_run
from simulator.runner.run_summary import print_usage, say

SUFFIX: Final = "calibration"
_TEST_ONLY: Final = ("settings", "calibration", "dialogue", "questions")
"""Options that a calibration run does not take over from its test run."""
_EQUAL: Final = (
    "chooser",
    "context",
    "settings.not_listed",
    "samples",
    "max_tokens",
    "data",
    "dataset",
    "similarity",
)
"""Options in which a test run and its calibration must agree."""


def calibration_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a calibration run: those of the test run that affect prompts.

    Temperature, target and other settings that only turn the log into sets can be changed afterwards, so one
    calibration run serves them all. It has no questions and answers, even if the test run does.
    """
    settings = options.get("settings", {})
    fifth = {"settings": {"not_listed": True}} if settings.get("not_listed") else {}
    return {**{name: value for name, value in options.items() if name not in _TEST_ONLY}, **fifth}


def calibrated_on(
    reader: LogReader, run_id: str, settings: Settings, tests: Sequence[Item]
) -> tuple[Calibrated, int]:
    """Return the threshold computed from a run's decisions, and the number of its items without a decision.

    Raises:
        InputError: if a test item is among its items, or it has no decisions.
        NotInLog: if there is no such run.
    """
    made = decisions(reader, [run_id])
    if not made:
        raise InputError(f"calibration {run_id}: no episode of this run has been completed.")
    # Both members of a pair count as the same task.
    known = {_task(decision.item) for decision in made}
    if shared := [test.id for test in tests if not isinstance(test, DraftItem) and _task(test) in known]:
        more = f" and {len(shared) - 1} more" if len(shared) > 1 else ""
        raise InputError(
            f"calibration {run_id}: it contains the test item {shared[0]}{more}; the guarantee needs a "
            "calibration on other items. Take another run, or other data."
        )
    planned = reader.run(run_id).config.get("planned", len(made))
    return calibrate(made, settings, run=run_id), int(planned) - len(made)


def require_matching(reader: LogReader, run_id: str, robot: str, options: Mapping[str, Any]) -> None:
    """Check that a run given with ``--source`` has the configuration of the test run.

    Raises:
        InputError: names the difference: method, model, chooser, context, the fifth option, samples, tokens,
            data, similarity.
        NotInLog: if there is no such run.
    """
    run = required_run(reader, run_id, BENCHMARK)
    source, test = options_of(reader, run_id), Options.read(options)
    if source.dialogue == "after" or source.questions:
        raise InputError(f"calibration {run_id}: it has answered questions, which a calibration must not.")
    compared = [
        ("method", source.method, test.method),
        ("model", run.config.get("seats", {}).get(ROBOT), robot),
        *((name.rpartition(".")[2], attrgetter(name)(source), attrgetter(name)(test)) for name in _EQUAL),
    ]
    for name, before, now in compared:
        if before != now:
            raise InputError(
                f"calibration {run_id}: its {name} is {before!r}, but here it is {now!r}. Take a run that "
                "agrees, or omit --calibration to play one."
            )


def _task(item: DecideItem) -> tuple[str, str]:
    if isinstance(item, PairItem):
        return item.pair.scene, item.pair.ambiguous
    return item.scenario.scene, item.scenario.task


Order = RunOrder[KitchenSelection, Options]
Pair = tuple[str, Method | None]
"""A robot, and its method if it is a model."""
_SHOWN: Final = {"hr": "help", "chr": "CHR", "icr": "ICR"}
_SHOWN_OF_FORMS: Final = {"problems": "problems", "deleted": "deleted"}
_SHOWN_OF_CALIBRATIONS: Final = {"right_before": "right"}
# Episode options that only some methods use. They are dropped for all others, so that equal runs get equal
# names.
_METHODS_OF: Final[Mapping[str, tuple[Method, ...]]] = {
    "max_tokens": METHODS,
    "chooser": ("knowno", "lap", "binary"),
    "samples": ("lofreecp",),
    "similarity": ("lofreecp",),
    "data": ("lap", "lofreecp"),
    "dataset": ("lap", "lofreecp"),
}


# Options that have an effect only on these methods.
_EFFECTIVE_FOR: Final[Mapping[str, tuple[Method, ...]]] = {
    "method": METHODS,
    **dict.fromkeys(("calibration", "calibration_limit", "target_success"), CONFORMAL),
    **dict.fromkeys(("quantile", "cp_rule", "help_rule", "calibration_truth"), CONFORMAL),
    **dict.fromkeys(("temperature", "tokens"), ("knowno", "lap")),
    "renormalise": ("lap",),
    **dict.fromkeys(("entropy_weight", "similarity_weight"), ("lofreecp",)),
    **{name: methods for name, methods in _METHODS_OF.items() if name not in ("data", "dataset")},
}


def _requests(order: Order) -> Iterator[RunRequest | NotPlayed]:
    """Yield the test runs; calibration runs are played in between.

    Servers are checked before anything is played. Methods that need a missing capability are skipped with the
    reason, as are methods whose calibration fails; the others are played.
    """
    chosen, console = order.selection, order.console
    if chosen.dataset == "knowno" and "not_listed" not in order.typed:
        settings = replace(order.rules.settings, not_listed=True)
        order = replace(order, rules=order.rules.model_copy(update={"settings": settings}))
    pairs = _robots_and_methods(order)
    _warn_of_idle_options(order, pairs)
    tests = chosen.items(order.settings.seed)
    # Errors in the data or in named calibrations are reported before anything is played.
    named = {
        (robot, method): _named_calibration(order, robot, method, tests)
        for robot, method in pairs
        if method in CONFORMAL
    }
    calibrating = chosen.calibrating() if None in named.values() else ()
    unable = _unplayable_pairs(order, pairs)
    for robot, method in (pair for pair in pairs if pair not in unable):
        request = _request(order, robot, method, tests, pairs)
        if method in CONFORMAL:
            source = named[robot, method] or play(_calibrating(order, request, method, calibrating), console)
            calibrated = _threshold_of(order, source, tests)
            if calibrated is None:
                yield NotPlayed()
                continue
            calibration = {"calibration": calibration_option(calibrated)}
            request = replace(request, options={**request.options, **calibration})
        yield request
    if unable and chosen.named:
        yield NotPlayed()


def _robots_and_methods(order: Order) -> tuple[Pair, ...]:
    """Return the robots with their methods; built-in robots and scripts have none."""
    robots, models, rules = order.players[ROBOT], order.settings.models, order.rules
    methods = order.selection.methods  # raises for an unknown method even if no model plays
    if order.selection.task == "annotate":
        for name in robots:
            _require(
                name,
                (),
                f"--model {name}: the annotator is {benchmark.BENCHMARK.seat(ANNOTATOR).known}.",
                models,
            )
        return tuple((robot, None) for robot in robots)
    user = order.players[USER][0]
    _require(user, (ITEM,), f"--user {user}: the built-in user is {ITEM}.", models)
    asked = [robot for robot in robots if is_model(robot)]
    pairs: list[Pair] = [(robot, None) for robot in robots if robot not in asked]
    if asked:
        chooser = model_abilities(rules.chooser, models) if rules.chooser else None
        known = {robot: model_abilities(robot, models) for robot in asked}
        played = played_pairs(
            asked,
            methods,
            lambda robot, method: refusal(method, known[robot], chooser, samples=rules.samples),
            option="--method",
            named=order.selection.named,
            console=order.console,
            written=str,
        )
        pairs += played
    return tuple(sorted(pairs, key=lambda pair: robots.index(pair[0])))


def _warn_of_idle_options(order: Order, pairs: Sequence[Pair]) -> None:
    """Warn of each given option that has no effect on the methods played."""
    played = {method for _, method in pairs if method}
    robots = ", ".join(dict.fromkeys(robot for robot, _ in pairs))
    for name, methods in idle_options(order.typed, _EFFECTIVE_FOR, played):
        if name == "calibration_limit" and order.selection.dataset == "knowno":
            continue  # it also splits KnowNo's scenarios, for every robot
        if played:
            why = f"it is for {', '.join(methods)}, and {', '.join(sorted(played))} is played"
        else:
            why = f"it is for models, which play a method, not for {robots}"
        say(order.console, f"--{typed_word(name)} has no effect here: {why}.", "yellow")


def _require(name: str, built_in: Sequence[str], otherwise: str, models: ModelOptions) -> None:
    """Check, before anything is played, that a player of that name exists."""
    if is_model(name):
        model_abilities(name, models)
    elif name.startswith("offline/") and name not in built_in:
        raise InputError(otherwise)


def _request(
    order: Order, robot: str, method: Method | None, items: Sequence[Item], pairs: Sequence[Pair]
) -> RunRequest:
    chosen = order.selection
    annotates = chosen.task == "annotate"
    return order.request(
        items,
        seats={ANNOTATOR: robot} if annotates else {ROBOT: robot, USER: order.players[USER][0]},
        name=order.run_name(robot, method or "", ((each, other or "") for each, other in pairs)),
        options=_options(order, method),
        config={
            "dataset": chosen.dataset,
            "dataset_version": chosen.version,
            "software_version": version("askback"),
        },
        label=method or "",
        title=f"test, {NAMES[method]}" if method else "episodes",
        shown=_SHOWN_OF_FORMS if annotates else _SHOWN,
        needs=_needs(order, robot, method),
    )


def _calibrating(order: Order, test: RunRequest, method: Method, items: Sequence[Item]) -> RunRequest:
    """Return the request for a test run's calibration run, with the item as the user."""
    robot, name = str(test.seats[ROBOT]), test.settings.name
    return replace(
        test,
        items=tuple(items),
        seats={ROBOT: test.seats[ROBOT], USER: ITEM},
        settings=replace(test.settings, repeats=1, name=None if name is None else f"{name}-{SUFFIX}"),
        options=calibration_options(test.options),
        label=f"{method}-{SUFFIX}",
        title=f"{SUFFIX}, {NAMES[method]}",
        needs=needs_of(method, robot, order.rules.chooser, samples=order.rules.samples),
        shown=_SHOWN_OF_CALIBRATIONS,
    )


def _options(order: Order, method: Method | None) -> dict[str, Any]:
    """Return the options of an episode, limited to those that its method uses."""
    chosen = order.selection
    if chosen.task == "annotate":
        return {"task": chosen.task}
    rules = {"task": chosen.task, **logged_values(order.rules)}
    rules |= {"data": chosen.data, "dataset": chosen.dataset}
    idle = {name for name in ("chooser", "similarity") if not rules[name]}
    idle |= {name for name, methods in _METHODS_OF.items() if method not in methods}
    options = {name: value for name, value in rules.items() if name not in idle}
    return options if method is None else {**options, "method": method}


def _needs(order: Order, robot: str, method: Method | None) -> dict[str, Needs]:
    """Return the needs of a method's models, including the user's."""
    rules = order.rules
    needs = dict(needs_of(method, robot, rules.chooser, samples=rules.samples)) if method else {}
    for name in (*order.players[USER], *(() if method else (robot,))):
        if is_model(name):
            needs.setdefault(name, Needs())
    return needs


def _unplayable_pairs(order: Order, pairs: Sequence[Pair]) -> frozenset[Pair]:
    """Return the robots and methods that cannot be played for lack of a server capability, and warn of them.

    Raises:
        ModelError: if none can be played.
    """
    needs = {pair: _needs(order, *pair) for pair in pairs}
    asked = dict.fromkeys(need for each in needs.values() for need in each.items())
    faults = asyncio.run(_preflight(asked, order.settings.models))
    errors = {
        pair: fault
        for pair in pairs
        if (fault := next(filter(None, map(faults.get, needs[pair].items())), None)) is not None
    }
    for (robot, method), error in errors.items():
        player = f"{NAMES[method]} with {robot}" if method else robot
        say(order.console, f"{player} is left out: {error}", "yellow")
    if len(errors) == len(pairs):
        raise errors[pairs[0]]
    return frozenset(errors)


async def _preflight(
    asked: Iterable[tuple[str, Needs]], options: ModelOptions
) -> dict[tuple[str, Needs], ModelError]:
    """Return the errors of servers that lack a needed capability; they are checked one after the other."""
    errors: dict[tuple[str, Needs], ModelError] = {}
    for name, need in asked:
        if not name.startswith(REMOTE):
            continue
        model = load_model(name, options)
        try:
            await run_preflight(model, need)
        except ModelError as error:
            errors[name, need] = error
        finally:
            await model.close()
    return errors


def _named_calibration(order: Order, robot: str, method: Method, tests: Sequence[Item]) -> str | None:
    """Return the calibration run named for a method, after checking it; None if none was named."""
    named = tuple(dict.fromkeys(order.selection.calibration))
    if not named:
        return None
    with LogReader(order.settings.log) as reader:
        for run in named:
            if len(named) == 1 or options_of(reader, run).method == method:
                require_matching(reader, run, robot, _options(order, method))
                calibrated_on(reader, run, order.rules.settings, tests)
                return run
    raise InputError(f"--calibration: none of these runs used {NAMES[method]}.")


def _threshold_of(order: Order, run: str, tests: Sequence[Item]) -> Calibrated | None:
    """Return and print a calibration run's threshold; None if failed episodes must be repeated."""
    console = order.console
    with LogReader(order.settings.log) as reader:
        if failed := len(reader.episodes(run, latest=True, status="failed")):
            say(
                console,
                f"{failed} episodes of the calibration {run} failed, so there is no threshold yet; repeat "
                "the command to play them again.",
            )
            endings = endings_of_runs(reader, [run])
            for why, count in {**endings.failures, **endings.left}.items():
                say(console, f"  {count} x {why}")
            return None
        threshold, missing = calibrated_on(reader, run, order.rules.settings, tests)
        print_usage(console, reader.usage(run))
    aborted = f", {missing} aborted" if missing else ""
    console.print(
        f"[dim]threshold[/dim] {threshold.q_hat:.4f} [dim]from {threshold.n} items of[/dim] {run}{aborted}"
    )
    return threshold


RUNS: Final = RunSpec(
    selection=KitchenSelection,
    rules=Options,
    requests=_requests,
    flags={"temperature": "decoding_temperature", "max_tokens": ""},
)
