"""What `askback run ambik` plays: items for tests and for calibration, and who can play which method."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, TypeVar

from simulator.ambik.data import BUILTIN, load_drafts, load_pairs, load_scenarios, read_pairs
from simulator.ambik.files.versions import kind_of_pair
from simulator.ambik.items import DecideItem, Item, PairItem, ScenarioItem, Task
from simulator.ambik.methods.needs import Announced, refusal
from simulator.ambik.pairs import Pair
from simulator.ambik.playing import ANNOTATOR, Dataset
from simulator.ambik.prepare import calibration_items, draft_items, pair_items, scenario_items, without_step
from simulator.ambik.seating import ITEM, SEATED
from simulator.ambik.terms import AMBIGUITIES, MEMBERS, METHODS, Ambiguity, Member, Method, Part
from simulator.errors import InputError
from simulator.models import Capabilities, ModelOptions, load_model
from simulator.sampling import balanced

_IN_PROCESS: Final = ("transformers/", "local/")
_ALL: Final = Capabilities(logprobs=True, schema=True, seed=True, scoring=True, plain=True, samples=True)
"""What models in this process can do; their weights are not loaded to find out."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """How items are made.

    Attributes:
        task: ``decide``: on pairs or scenarios; ``annotate``: drafts.
        data: ``builtin``, the name of registered data, or a path.
        dataset: pairs of AmbiK, or scenarios of KnowNo.
        members: of pairs.
        types: of pairs, or of scenarios; none: all.
        limit: items of the test part at most, equally many of each type, both members of a pair together; of
            drafts, spread evenly.
        seed: of the draw.
        calibrating: items of the calibration part at most, spread evenly; the first scenarios, if all are of
            one part.
        part: of the pairs for tests: those of the paper's kind, those as added in 2025, or all.
    """

    task: Task = "decide"
    data: str = BUILTIN
    dataset: Dataset = "ambik"
    members: tuple[Member, ...] = MEMBERS
    types: tuple[str, ...] = ()
    limit: int | None = None
    seed: int = 0
    calibrating: int | None = None
    part: Literal["all", "released", "added"] = "all"


def version_of(wish: Wish) -> str:
    """Which published version the pairs are of, as the load report says it; of others nothing is known.

    Raises:
        InputError: if the data cannot be had.
    """
    if wish.dataset == "knowno" or wish.task == "annotate":
        return ""
    return ", ".join(dict.fromkeys(one.version for one in read_pairs(wish.data).report.files))


def is_model(name: str) -> bool:
    """Whether a robot is a language model, which plays a method."""
    others = ("person", "script:", "offline/")
    return name.startswith("offline/script") or not name.startswith(others)


def test_items(wish: Wish) -> tuple[DecideItem, ...]:
    """The items of the test part.

    Raises:
        InputError: if there are none, or the data are faulty.
    """
    if wish.dataset == "knowno":
        scenarios = _scenarios(wish, "test")
        if wish.limit is None:
            return scenarios
        return balanced(scenarios, wish.limit, lambda one: one.type, lambda one: (), wish.seed)
    wanted = wish.types or AMBIGUITIES
    pairs = [
        pair
        for pair in load_pairs(wish.data, "test")
        if pair.type in wanted and wish.part in ("all", kind_of_pair(pair))
    ]
    if not pairs:
        kind = "" if wish.part == "all" else f"{wish.part} "
        raise InputError(
            f"data {wish.data!r} have no {kind}pairs of the types {', '.join(wanted)} for tests."
        )
    if wish.limit is None:
        return pair_items(pairs, members=wish.members)
    unfit = set(without_step(pairs, wish.members))
    fit = [pair for pair in pairs if pair not in unfit] or pairs
    # SSC and AmbDif compare the members of a pair: whole pairs are drawn, and at most one of them is parted.
    count = -(-wish.limit // len(wish.members))
    drawn = balanced(fit, count, lambda one: one.type, lambda one: (), wish.seed)
    return pair_items(drawn, members=wish.members)[: wish.limit]


def items_of(wish: Wish) -> tuple[Item, ...]:
    """What is played: the items of the test part, or drafts.

    Raises:
        InputError: if there are none, or the data are faulty.
    """
    if wish.task == "annotate":
        return draft_items(spread(load_drafts(wish.data), wish.limit))
    return test_items(wish)


def calibrating_items(wish: Wish) -> tuple[DecideItem, ...]:
    """The items of the calibration part, of all types: a threshold is of all of them together.

    Raises:
        InputError: if there are none, or the data are faulty.
    """
    if wish.dataset == "knowno":
        return spread(_scenarios(replace(wish, types=()), "calibration"), wish.calibrating)
    return calibration_items(spread(load_pairs(wish.data, "calibration"), wish.calibrating))


def _scenarios(wish: Wish, part: Part) -> tuple[ScenarioItem, ...]:
    scenarios = load_scenarios(wish.data)
    items = scenario_items(scenarios)
    if wish.calibrating and len({one.part for one in items}) == 1:
        items = scenario_items(scenarios, calibration=wish.calibrating, split="first")
    wanted = [one for one in items if one.part == part and (not wish.types or one.type in wish.types)]
    if not wanted:
        if all(one.part == "calibration" for one in items):
            raise InputError(
                f"data {wish.data!r} have scenarios for calibration alone. With --calibration-limit N the "
                f"first N are calibrated on, and the rest is tested (N below {len(items)})."
            )
        kinds = f" of the types {', '.join(wish.types)}" if wish.types else ""
        raise InputError(f"data {wish.data!r} have no scenarios for {part}{kinds}.")
    return tuple(wanted)


def spread(some: Sequence[T], limit: int | None) -> tuple[T, ...]:
    """At most so many of `some`, evenly."""
    if limit is None or limit >= len(some):
        return tuple(some)
    return tuple(some[place * len(some) // limit] for place in range(limit))


def shared(tests: Sequence[DecideItem], calibrating: Sequence[DecideItem]) -> tuple[str, ...]:
    """Ids of test items that calibration items are about, too: by either member of a pair."""
    known = {_task(one) for one in calibrating}
    return tuple(one.id for one in tests if _task(one) in known)


def _task(item: DecideItem) -> tuple[str, str]:
    if isinstance(item, PairItem):
        return _told(item.pair)
    return item.scenario.scene, item.scenario.task


def _told(pair: Pair) -> tuple[str, str]:
    return pair.scene, pair.ambiguous


def read_types(text: str | None, dataset: Dataset) -> tuple[str, ...]:
    """``preferences,safety`` as types, each once; none for all.

    Raises:
        InputError: if it names one that AmbiK has not.
    """
    if not text:
        return ()
    words = tuple(dict.fromkeys(word.strip().replace("-", "_") for word in text.split(",")))
    known: Sequence[Ambiguity] = AMBIGUITIES
    if dataset == "ambik" and (strange := [word for word in words if word not in known]):
        raise InputError(f"--types {strange[0]!r}: known are {', '.join(known)}.")
    return words


def read_methods(text: str) -> tuple[tuple[Method, ...], bool]:
    """``knowno,lap`` or ``all`` as methods, each once, and whether all were meant.

    Raises:
        InputError: if it names one that there is not.
    """
    words = [word.strip().lower() for word in text.split(",")]
    for word in words:
        if word not in (*METHODS, "all"):
            raise InputError(f"--method {word!r}: known are {', '.join(METHODS)} and all.")
    everything = "all" in words
    return tuple(one for one in METHODS if everything or one in words), everything


def playable(
    robots: Sequence[str],
    methods: Sequence[Method],
    chooser: str,
    samples: int,
    models: ModelOptions,
    *,
    everything: bool,
) -> tuple[tuple[tuple[str, Method | None], ...], Mapping[str, list[str]]]:
    """Who plays what, before anything is played; built-in robots and scripts play no method.

    Args:
        robots: by name.
        methods: that models are to play.
        chooser: by name; empty: the robot itself.
        samples: draws of LofreeCP.
        models: how language models are reached.
        everything: whether the methods were not named one by one: what cannot be played is left out then.

    Returns:
        Robots with their methods; and why methods were left out -> which.

    Raises:
        InputError: if a model cannot play a method that was named, or a name means nothing.
        ModelError: if a model's key or an extra is missing.
    """
    found: list[tuple[str, Method | None]] = []
    left_out: dict[str, list[str]] = {}
    chooses = announced(chooser, models) if chooser and any(map(is_model, robots)) else None
    for robot in robots:
        if not is_model(robot):
            found.append((robot, None))
            continue
        generates = announced(robot, models)
        for method in methods:
            why = refusal(method, generates, chooses, samples=samples)
            if why and not everything:
                raise InputError(f"--method {method}: {why}.")
            if why:
                left_out.setdefault(why, []).append(method)
            else:
                found.append((robot, method))
    if not found:
        raise InputError(f"nothing is left to be played: {'; '.join(left_out)}.")
    return tuple(found), left_out


def annotators(names: Sequence[str], models: ModelOptions) -> tuple[tuple[str, None], ...]:
    """Who fills in forms, before any is.

    Raises:
        InputError: if a name means nothing, or is a robot's.
        ModelError: if a model's key or an extra is missing.
    """
    for name in names:
        if not is_model(name) and not name.startswith(("person", "script:")):
            raise InputError(f"--model {name}: who annotates is {SEATED[ANNOTATOR]}.")
        if is_model(name):
            announced(name, models)
    return tuple((name, None) for name in names)


def announced(name: str, models: ModelOptions) -> Announced:
    """What is known of a model before a run.

    Raises:
        InputError: if the name means nothing.
        ModelError: if a key or an extra that the model needs is missing; says what to do.
    """
    if name.startswith(_IN_PROCESS):
        return Announced(name, _ALL)
    model = load_model(name, models)
    asyncio.run(model.close())
    ignored: frozenset[str] = getattr(model, "ignored", frozenset())
    return Announced(name, model.capabilities, ignored)


def require_user(name: str, models: ModelOptions) -> None:
    """Make sure that somebody of that name can be the user.

    Raises:
        InputError: if the name means nothing.
        ModelError: if a key or an extra is missing.
    """
    if name != ITEM and not name.startswith(("person", "script:")):
        if name.startswith("offline/") and not name.startswith("offline/script"):
            raise InputError(f"--user {name}: built in is {ITEM}.")
        announced(name, models)


def episode_options(
    wish: Wish, common: Mapping[str, Any], method: Method | None, *, chooser: str, samples: int
) -> dict[str, Any]:
    """The options of an episode: of all that can be said, what concerns its method.

    Others would give runs that are the same different names.
    """
    options = dict(common)
    if wish.task == "annotate":
        return {"task": wish.task}
    if method is None:
        return {name: options[name] for name in options if name not in ("max_tokens", "similarity")}
    options["method"] = method
    similar = options.pop("similarity", "")
    if chooser and method in ("knowno", "lap", "binary"):
        options["chooser"] = chooser
    if method == "lofreecp":
        options |= {"samples": samples, **({"similarity": similar} if similar else {})}
    if method in ("lap", "lofreecp"):
        options |= {"data": wish.data, "dataset": wish.dataset}
    return options
