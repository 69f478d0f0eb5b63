"""How an episode is played: its options, its steps, and what its item tells whom (spec 5, 7, 8).

An episode of the task ``decide`` goes on until the robot acts; one of the task ``annotate`` is one form.
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
    """Return a calibration as an episode's options hold it; what it rests on is the run that it names."""
    return {
        "q_hat": plain_number(calibrated.q_hat),
        "n": calibrated.n,
        "epsilon": calibrated.epsilon,
        "rank": calibrated.rank,
        "run": calibrated.run,
    }


def read_calibration(option: object) -> Calibrated | None:
    """Return a calibration out of an episode's option; None if there is none yet.

    Raises:
        InputError: if it is none; names the field that is missing or wrong.
    """
    if option is None or isinstance(option, Calibrated):
        return option
    return _CALIBRATIONS.read(option, "calibration")


def _task(option: object) -> object:
    """Return what is done; of people who are paired the option holds the number of their task."""
    return "decide" if isinstance(option, int) else option


class Options(EpisodeOptions):
    """The rules of an episode.

    Attributes:
        task: ``decide`` or ``annotate``; says which seats there are.
        method: what a model in the robot's seat plays; empty for everybody else.
        calibration: the threshold of conformal methods; None while they are being calibrated.
        data: by name, whose objects LAP looks for and on whose tasks LofreeCP's similarity is fitted.
        dataset: whose scenes they are: ``ambik`` or ``knowno``.
    """

    task: Annotated[Task, BeforeValidator(_task), HIDDEN] = "decide"
    method: Annotated[Method | Literal[""], HIDDEN] = ""
    context: Context = Field(default="full_plan", description="what the prompt has of the plan")
    dialogue: Dialogue = Field(
        default="before",
        description="after: the data's question and answer stand in the ambiguous task",
    )
    questions: NonNegativeInt = Field(
        default=0, description="that are answered; 0: the robot decides once, as in the paper"
    )
    settings: Annotated[InstanceOf[Settings], BeforeValidator(read_settings)] = DEFAULT
    calibration: Annotated[InstanceOf[Calibrated] | None, BeforeValidator(read_calibration), HIDDEN] = None
    chooser: str = Field(default="", description="a model that chooses and judges; default: the robot itself")
    samples: PositiveInt = Field(default=5, description="LofreeCP: times that options are written")
    data: Annotated[str, HIDDEN] = "builtin"
    dataset: Annotated[Dataset, HIDDEN] = "ambik"
    similarity: str = Field(default="", description="LofreeCP: a folder with an encoder; default: TF-IDF")
    max_tokens: PositiveInt = Field(default=256, description="of what a model writes")


def is_calibrated(options: Options) -> bool:
    """Return True if a method is being calibrated: it is conformal, and there is no threshold yet."""
    return options.method in CONFORMAL and options.calibration is None


def seats_of(options: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the seats that an episode with these options has."""
    return (ANNOTATOR,) if options.get("task") == "annotate" else (ROBOT, USER)


def exchange_of(item: DecideItem, dialogue: Dialogue) -> tuple[tuple[str, str], ...]:
    """Return the data's question and answer where they stand in the task (spec 5): in ambiguous ones only."""
    if dialogue == "before" or not isinstance(item, PairItem) or item.member == "clear":
        return ()
    exchange = (item.pair.question, item.pair.answer)
    return (exchange,) if any(exchange) else ()


def needs_question(item: DecideItem, dialogue: Dialogue = "before") -> bool | None:
    """Return True if a good robot asks, of wishes that only the user knows; None for KnowNo's data."""
    if not isinstance(item, PairItem):
        return None
    return item.type == "preferences" and dialogue == "before"


def blinded(item: DecideItem, dialogue: Dialogue = "before", offered: tuple[str, ...] = ()) -> DecideItem:
    """Return the item without anything that a robot must not know: intent, variants, shortlist, type, answer.

    Every item then looks like the ambiguous member of a pair about preferences: of the other member nothing
    is left, and which one it is cannot be told.

    `dialogue`: ``after``: the robot is told the data's question and answer, so they stay.
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
    """The knowledge of whoever is to act or to ask.

    Attributes:
        item: scene, task, plan and offered options, and nothing that a robot must not know
            (`playing.blinded`); the data's question and answer only where the option dialogue is ``after``.
        exchanges: what it has asked in this episode, and what it was told.
        must_act: whether the decision cannot be to ask: the questions are used up. Where nobody answers from
            the start (the option questions is 0), a robot still decides whether it would ask.
        actions: the prediction set by which it has been decided to ask: only the question's words are wanted
            now, which tell what of it is meant; None where it is to propose.
    """

    item: DecideItem
    exchanges: Exchanges = ()
    may_ask: bool = False
    must_act: bool = False
    actions: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UserKnows:
    """The knowledge of whoever gave the task.

    Attributes:
        item: a user knows what they want: the clear task and the answer of the data.
    """

    item: DecideItem
    question: str
    exchanges: Exchanges = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotatorKnows:
    """The knowledge of whoever makes a pair of a draft."""

    item: DraftItem
