"""How an episode is played: its options, its steps, and what its item tells whom (spec 5, 7, 8).

An episode of the task ``decide`` goes on until the robot acts; one of the task ``annotate`` is one form.
Models and built-in players begin at once. People read the instructions first; in a study they are asked for
their consent before, in their first set.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Final, Literal, get_args, get_origin, get_type_hints

from simulator.ambik.items import DecideItem, PairItem, Task
from simulator.ambik.pairs import Pair
from simulator.ambik.records import Calibrated
from simulator.ambik.settings import DEFAULT, Settings
from simulator.ambik.terms import (
    APPLIANCES,
    CONTEXTS,
    DIALOGUES,
    KNOWNO_APPLIANCES,
    METHODS,
    Context,
    Dialogue,
    Method,
)
from simulator.errors import InputError
from trees import Language

ROBOT: Final = "robot"
USER: Final = "user"
ANNOTATOR: Final = "annotator"
Kind = Literal["consent", "ready", "decide", "answer", "annotate"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
Dataset = Literal["ambik", "knowno"]
DATASETS: Final[tuple[Dataset, ...]] = get_args(Dataset)
TASKS: Final[tuple[Task, ...]] = get_args(Task)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What governs an episode.

    Attributes:
        task: ``decide`` or ``annotate``; says which seats there are.
        method: what a model in the robot's seat plays; empty for everybody else.
        context: what the prompt has (spec 5).
        dialogue: ``after``: the data's question and answer are appended to the task from the start.
        questions: that are answered at most. 0: the robot decides once, and nobody answers if it asks.
        settings: of prediction sets.
        calibration: the threshold of conformal methods; None while they are being calibrated.
        chooser: the model that chooses; empty: the robot's own.
        samples: draws of LofreeCP (R).
        data: by name, whose objects LAP looks for and on whose tasks LofreeCP's similarity is fitted.
        dataset: whose scenes they are: ``ambik`` or ``knowno``.
        similarity: of LofreeCP's answers (`sets.similarity.similarity`); empty: the default.
        max_tokens: what a model may write at most.
        study: a person's consent is asked for.
        begun: the person has done a set of this study before: neither consent nor instructions come first.
        language: of the pages around the text, which is English.
    """

    task: Task = "decide"
    method: Method | Literal[""] = ""
    context: Context = "full_plan"
    dialogue: Dialogue = "before"
    questions: int = 0
    settings: Settings = DEFAULT
    calibration: Calibrated | None = None
    chooser: str = ""
    samples: int = 5
    data: str = "builtin"
    dataset: Dataset = "ambik"
    similarity: str = ""
    max_tokens: int = 256
    study: bool = False
    begun: bool = False
    language: Language = "en"

    @classmethod
    def read(cls, options: Mapping[str, Any]) -> Options:
        """Out of an episode's options; what is no concern of an episode's is left alone.

        Raises:
            InputError: if a value is not among those that there are.
        """
        given = {name: options[name] for name in cls.__slots__ if name in options}
        for name, allowed in _CLOSED.items():
            if given.get(name, allowed[0]) not in allowed:
                known = ", ".join(filter(None, allowed))
                raise InputError(f"{name} {given[name]!r}: must be one of {known}")
        for name, least in (("questions", 0), ("samples", 1), ("max_tokens", 1)):
            if type(given.get(name, least)) is not int or given.get(name, least) < least:
                raise InputError(f"{name} {given[name]!r}: must be a whole number, {least} or more")
        for name in ("study", "begun"):
            if not isinstance(given.get(name, False), bool):
                raise InputError(f"{name} {given[name]!r}: must be true or false")
        for name in ("chooser", "data", "similarity"):
            if not isinstance(given.get(name, ""), str):
                raise InputError(f"{name} {given[name]!r}: must be a name")
        given["settings"] = read_settings(given.get("settings", {}))
        if given.get("calibration") is not None:
            given["calibration"] = read_calibration(given["calibration"])
        return cls(**given)


_CLOSED: Final[Mapping[str, tuple[str, ...]]] = {
    "task": TASKS,
    "method": ("", *METHODS),
    "context": CONTEXTS,
    "dialogue": DIALOGUES,
    "dataset": DATASETS,
    "language": get_args(Language),
}
# Read once: to resolve annotations takes a millisecond, and every episode reads its options several times.
_SETTINGS: Final[Mapping[str, Any]] = get_type_hints(Settings)


def settings_option(settings: Settings) -> dict[str, Any]:
    """Settings as an episode's options hold them: what differs from the default."""
    return {
        one.name: getattr(settings, one.name)
        for one in fields(settings)
        if getattr(settings, one.name) != getattr(DEFAULT, one.name)
    }


def read_settings(given: object) -> Settings:
    """Settings out of plain values; what is not named is as by default.

    Raises:
        InputError: if there is no such setting, or a value is none that it can have.
    """
    if isinstance(given, Settings):
        return given
    if not isinstance(given, Mapping):
        raise InputError(f"settings {given!r}: must be an object of settings")
    if not given:
        return DEFAULT
    for name, value in given.items():
        if name not in _SETTINGS:
            raise InputError(f"settings: there is no {name!r}; known are {', '.join(_SETTINGS)}")
        if problem := _wrong(value, _SETTINGS[name]):
            raise InputError(f"settings: {name} is {value!r}; it must be {problem}")
    found = replace(DEFAULT, **given)
    if not 0 < found.target_success < 1:
        raise InputError(f"settings: target_success is {found.target_success}; it must be between 0 and 1")
    if not found.temperature > 0:
        raise InputError(f"settings: temperature is {found.temperature}; it must be above 0")
    return found


def _wrong(value: object, hint: Any) -> str:
    """What a setting of type `hint` must be, if `value` is not; else empty."""
    if get_origin(hint) is Literal:
        allowed = get_args(hint)
        return "" if value in allowed else f"one of {', '.join(allowed)}"
    if hint is bool:
        return "" if isinstance(value, bool) else "true or false"
    number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return "" if number else "a number"


def calibration_option(calibrated: Calibrated) -> dict[str, Any]:
    """A calibration as an episode's options hold it; what it rests on is the run that it names."""
    return {
        "q_hat": plain_number(calibrated.q_hat),
        "n": calibrated.n,
        "epsilon": calibrated.epsilon,
        "rank": calibrated.rank,
        "run": calibrated.run,
    }


def read_calibration(given: object) -> Calibrated:
    """A calibration out of an episode's option.

    Raises:
        InputError: if it is none.
    """
    if isinstance(given, Calibrated):
        return given
    wrong = f"calibration {given!r}: must have q_hat, n, epsilon and rank"
    if not isinstance(given, Mapping):
        raise InputError(wrong)
    try:
        return Calibrated(
            q_hat=float(given["q_hat"]),
            n=int(given["n"]),
            epsilon=float(given["epsilon"]),
            rank=int(given["rank"]),
            run=str(given.get("run", "")),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(wrong) from error


def plain_number(value: float | None) -> float | str | None:
    """A number as JSON can hold it: infinity as the text ``inf``."""
    return str(value) if value is not None and math.isinf(value) else value


def seats_of(options: Mapping[str, Any]) -> tuple[str, ...]:
    """The seats that an episode with these options has."""
    return (ANNOTATOR,) if options.get("task") == "annotate" else (ROBOT, USER)


def task_of(item: DecideItem) -> str:
    """The instruction."""
    return item.pair.task(item.member) if isinstance(item, PairItem) else item.scenario.task


def objects_of(item: DecideItem) -> tuple[str, ...]:
    """Objects of the scene by name, in the data's order."""
    return item.pair.objects if isinstance(item, PairItem) else item.scenario.objects


def scene_of(item: DecideItem) -> str:
    """The scene in words."""
    return item.pair.scene if isinstance(item, PairItem) else item.scenario.scene


def appliances_of(item: DecideItem) -> tuple[str, ...]:
    """What stands in every scene of the item's data (spec 2.3, 9) and is not among its objects."""
    always = APPLIANCES if isinstance(item, PairItem) else KNOWNO_APPLIANCES
    return tuple(one for one in always if one not in objects_of(item))


def previous_of(item: DecideItem) -> tuple[str, ...]:
    """The plan's steps before the one that is due (spec 5); none if the data do not say which is."""
    if not isinstance(item, PairItem) or item.pair.step is None:
        return ()
    return item.pair.plan(item.member)[: item.pair.step]


def step_of(item: DecideItem) -> str:
    """The step to be made concrete; empty if there is none."""
    if not isinstance(item, PairItem) or item.pair.step is None:
        return ""
    plan = item.pair.plan(item.member)
    return plan[item.pair.step] if 0 <= item.pair.step < len(plan) else ""


def exchange_of(item: DecideItem, dialogue: Dialogue) -> tuple[tuple[str, str], ...]:
    """The data's question and answer where they are appended to the task (spec 5): to ambiguous ones only."""
    if dialogue == "before" or not isinstance(item, PairItem) or item.member == "clear":
        return ()
    return ((item.pair.question, item.pair.answer),) if item.pair.question or item.pair.answer else ()


def needs_question(item: DecideItem, dialogue: Dialogue = "before") -> bool | None:
    """Whether a good robot asks (spec 1): of wishes that only the user knows; None for KnowNo's data."""
    if not isinstance(item, PairItem):
        return None
    return item.type == "preferences" and dialogue == "before"


def blinded(item: DecideItem, dialogue: Dialogue = "before", offered: tuple[str, ...] = ()) -> DecideItem:
    """The item without anything that a robot must not know: intent, variants, shortlist, type, answer.

    Every item then looks like the ambiguous member of a pair about preferences: of the other member nothing
    is left, and which one it is cannot be told.

    Args:
        item: as the data have it.
        dialogue: ``after``: the robot is told the data's question and answer, so they stay.
        offered: actions, in display order.
    """
    if not isinstance(item, PairItem):
        hidden = replace(item.scenario, intended=(), location="", type="", intent=None)
        return replace(item, scenario=hidden, options=offered)
    pair = item.pair
    said = exchange_of(item, dialogue)
    question, answer = said[0] if said else ("", "")
    bare = Pair(
        id=pair.id,
        objects=pair.objects,
        scene=pair.scene,
        clear="",
        ambiguous=task_of(item),
        type="preferences",
        question=question,
        answer=answer,
        clear_plan=(),
        ambiguous_plan=pair.plan(item.member),
        step=pair.step,
        intent=None,
    )
    return PairItem(pair=bare, member="ambiguous", part=item.part, options=offered)
