"""The options of an episode, its seats, and what each seat knows of the item (spec 5, 7, 8).

An episode of the task ``decide`` lasts until the robot acts; one of the task ``annotate`` is a single form.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field, InstanceOf, NonNegativeInt, PositiveInt

from simulator.ambik.items import Dataset, DecideItem, DraftItem, Pair, PairItem, Task
from simulator.ambik.records import Calibrated
from simulator.ambik.terms import CONFORMAL, DEFAULT, Context, Dialogue, Method, Settings, read_settings
from simulator.fields import HIDDEN, EpisodeOptions, plain_number
from simulator.jsonlines import Codec

ROBOT: Final = "robot"
USER: Final = "user"
ANNOTATOR: Final = "annotator"
Kind = Literal["decide", "answer", "annotate"]


_CALIBRATIONS: Final = Codec[Calibrated](Calibrated)


def calibration_option(calibrated: Calibrated) -> dict[str, Any]:
    """Return a calibration as stored in an episode's options; its data are in the run that it names."""
    return {
        "q_hat": plain_number(calibrated.q_hat),
        "n": calibrated.n,
        "epsilon": calibrated.epsilon,
        "rank": calibrated.rank,
        "run": calibrated.run,
    }


def read_calibration(option: object) -> Calibrated | None:
    """Return the calibration in an episode's options; None if there is none yet.

    Raises:
        InputError: if the option is not a calibration; names the field that is missing or wrong.
    """
    if option is None or isinstance(option, Calibrated):
        return option
    return _CALIBRATIONS.read(option, "calibration")


def _task(option: object) -> object:
    """Return the task; where people are paired, the option is the number of their task."""
    return "decide" if isinstance(option, int) else option


class Options(EpisodeOptions):
    """The rules of an episode.

    Attributes:
        task: ``decide`` or ``annotate``; determines the seats.
        method: the method of a model in the robot's seat; empty for other robots.
        calibration: the threshold of conformal methods; None while they are being calibrated.
        data: name of the data with the objects that LAP looks for and the tasks that LofreeCP's similarity is
            fitted on.
        dataset: origin of the scenes: ``ambik`` or ``knowno``.
    """

    task: Annotated[Task, BeforeValidator(_task), HIDDEN] = "decide"
    method: Annotated[Method | Literal[""], HIDDEN] = ""
    context: Context = Field(default="full_plan", description="the part of the plan in the prompt")
    dialogue: Dialogue = Field(
        default="before",
        description="after: the ambiguous task includes the data's question and answer",
    )
    questions: NonNegativeInt = Field(
        default=0, description="questions that are answered; 0: the robot decides once, as in the paper"
    )
    settings: Annotated[InstanceOf[Settings], BeforeValidator(read_settings)] = DEFAULT
    calibration: Annotated[InstanceOf[Calibrated] | None, BeforeValidator(read_calibration), HIDDEN] = None
    chooser: str = Field(default="", description="a model that chooses and judges; default: the robot itself")
    samples: PositiveInt = Field(default=5, description="LofreeCP: number of samples of options")
    data: Annotated[str, HIDDEN] = "builtin"
    dataset: Annotated[Dataset, HIDDEN] = "ambik"
    similarity: str = Field(default="", description="LofreeCP: folder of an encoder; default: TF-IDF")
    max_tokens: PositiveInt = Field(default=256, description="most tokens of a model's answer")


def is_calibrated(options: Options) -> bool:
    """Return True if the method is conformal and has no threshold yet."""
    return options.method in CONFORMAL and options.calibration is None


def seats_of(options: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the seats of an episode with these options."""
    return (ANNOTATOR,) if options.get("task") == "annotate" else (ROBOT, USER)


def exchange_of(item: DecideItem, dialogue: Dialogue) -> tuple[tuple[str, str], ...]:
    """Return the data's question and answer if the task includes them (spec 5): only ambiguous tasks do."""
    if dialogue == "before" or not isinstance(item, PairItem) or item.member == "clear":
        return ()
    exchange = (item.pair.question, item.pair.answer)
    return (exchange,) if any(exchange) else ()


def needs_question(item: DecideItem, dialogue: Dialogue = "before") -> bool | None:
    """Return True if a good robot asks, because only the user knows; None for KnowNo's data."""
    if not isinstance(item, PairItem):
        return None
    return item.type == "preferences" and dialogue == "before"


def blind_item(item: DecideItem, dialogue: Dialogue = "before", offered: tuple[str, ...] = ()) -> DecideItem:
    """Return the item without what a robot must not know: intent, variants, shortlist, type, answer.

    Every item then looks like the ambiguous member of a preferences pair: nothing of the other member
    remains, and the members cannot be distinguished.

    `dialogue`: with ``after`` the data's question and answer stay, since the robot knows them.
    """
    if not isinstance(item, PairItem):
        hidden = replace(item.scenario, intended=(), location="", type="", intent=None)
        return replace(item, scenario=hidden, options=offered)
    pair = item.pair
    question, answer = next(iter(exchange_of(item, dialogue)), ("", ""))
    bare = Pair(
        id=pair.id,
        objects=pair.objects,
        scene=pair.scene,
        clear="",
        ambiguous=item.instruction,
        type="preferences",
        question=question,
        answer=answer,
        clear_plan=(),
        ambiguous_plan=pair.plan(item.member),
        step=pair.step,
        intent=None,
    )
    return PairItem(pair=bare, member="ambiguous", part=item.part, options=offered)


Exchanges = tuple[tuple[str, str], ...]
"""Questions with their answers, in order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RobotKnows:
    """The robot's view of a task.

    Attributes:
        item: scene, task, plan and offered options, without what a robot must not know (`blind_item`); the
            data's question and answer only if the option dialogue is ``after``.
        exchanges: the questions asked in this episode, with their answers.
        must_act: True if the questions are used up, so that the robot cannot ask. If no questions are
            answered at all (the option questions is 0), a robot still decides whether it would ask.
        actions: the prediction set after a decision to ask: the robot is now to word a question that tells
            its actions apart; None where it is to propose.
    """

    item: DecideItem
    exchanges: Exchanges = ()
    may_ask: bool = False
    must_act: bool = False
    actions: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UserKnows:
    """The user's view of a task.

    `item`: the complete item: a user knows the clear task and the data's answer.
    """

    item: DecideItem
    question: str
    exchanges: Exchanges = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotatorKnows:
    """The annotator's view of a draft."""

    item: DraftItem
