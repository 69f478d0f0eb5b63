"""What scorers read, the same out of logged turns and out of published files (spec 13).

A `Decision` is what a robot had before any threshold: options, probabilities, samples, an answer. Which
options are in its prediction set follows from a calibration and `terms.Settings` (`predicting`),
and can be asked again at any time without a model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Literal

from pydantic import Field, SkipValidation

from simulator.ambik.items import DecideItem, Pair
from simulator.ambik.terms import Certainty, Context, Dialogue, Method
from simulator.fields import Number

Letter = str
"""``A`` to ``E``."""
_ELSEWHERE: Final = Field(exclude=True)
"""Of a decision's field that is not in the payload of its turn: the log holds it in another place."""


@dataclass(frozen=True, slots=True)
class Affordance:
    """A judgment of whether an option is possible and safe (spec 8.2).

    Attributes:
        context: 1 if every object that the option names is in the scene, else 0.
        prompt: P(True) of the affordance prompt; None if neither word came back, which counts .5.
    """

    context: Number
    prompt: Number | None

    @property
    def score(self) -> float:
        """The product."""
        return self.context * (0.5 if self.prompt is None else self.prompt)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """One decision at the point of a task where it parts (spec 13).

    Attributes:
        episode_id: its episode; a name of its own where a file has none.
        dialogue: ``after``: question and answer were appended.
        method: of the five; ``offline`` for the built-in robot, ``person`` for a person.
        generator: model that wrote the options or the action; a person's or script's name otherwise.
        chooser: model that chose; empty where the method has none.
        options: letter -> text, of KnowNo and LAP; `filled`: letters of ``do nothing`` that no model wrote.
        tokens: what the chooser's place could hold with log-probabilities (natural), as returned.
        affordance: by letter; LAP.
        samples: normalised answer -> how often it was drawn, of LofreeCP; `draws`: answers asked for (m);
            `similarities`: to the most frequent one.
        action: the one action of Binary and NoHelp; of others the best of their candidates.
        chosen: the set that a person or the built-in robot gave; None for the five methods.
        asked: whether it asked; at that time, under the run's own calibration. None for calibration items.
        question: what it asked, if it did so in words; `answer`: what it was told.
        prompts: role and prompt, in order; `raw`: what the models wrote, likewise.
        right: letters of the acceptable options where a published file says which those are; None: that
            follows from the item (`truth`).
        flags: what was met with: ``invalid_certainty``, ``no_letter``, ``filled``, ``affordance_unknown``, …
    """

    episode_id: Annotated[str, _ELSEWHERE]
    run: Annotated[str, _ELSEWHERE]
    item: Annotated[DecideItem, SkipValidation, _ELSEWHERE]
    method: Method | Literal["offline", "person"]
    context: Context = "full_plan"
    dialogue: Dialogue = "before"
    generator: str = ""
    chooser: str = ""
    options: Mapping[Letter, str] = field(default_factory=dict)
    filled: tuple[Letter, ...] = ()
    tokens: tuple[tuple[str, Number], ...] = ()
    affordance: Mapping[Letter, Affordance] = field(default_factory=dict)
    samples: Mapping[str, int] = field(default_factory=dict)
    similarities: Mapping[str, Number] = field(default_factory=dict)
    draws: int = 0
    action: str = ""
    certainty: Certainty | None = None
    chosen: tuple[str, ...] | None = None
    asked: Annotated[bool | None, _ELSEWHERE] = None
    question: str = ""
    answer: Annotated[str, _ELSEWHERE] = ""
    prompts: tuple[tuple[str, str], ...] = ()
    raw: tuple[tuple[str, str], ...] = ()
    right: tuple[Letter, ...] | None = None
    flags: tuple[str, ...] = ()
    seconds: Annotated[float | None, _ELSEWHERE] = None

    @property
    def task(self) -> str:
        """Return what was to be decided: decisions with the same task are repeats of it."""
        return f"{self.item.id} {self.dialogue}"

    @property
    def was_made(self) -> bool:
        """Return False if a failing seat aborted the episode before anything was decided."""
        return ABORTED not in self.flags


ABORTED: Final = "aborted"
"""Flag of the decision of an episode that a failing seat aborted before it had decided."""


@dataclass(frozen=True, slots=True)
class ScoredCandidate:
    """A candidate for the prediction set.

    Attributes:
        text: of the option, without label.
        nonconformity: large = strange.
        letter: of the option; empty for samples.
        acceptable: whether it is right, where that is known (`truth.acceptable_options`).
    """

    text: str
    nonconformity: float
    letter: Letter = ""
    acceptable: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A decision with its prediction set: what the metrics read.

    Attributes:
        predicted: the set's actions, ``do nothing`` removed (spec 10.1).
        covered: whether an acceptable option is in the set; None if no option is known to be right or wrong.
        action: what it would do without asking: its best candidate; empty if it has none.
    """

    decision: Decision
    predicted: tuple[str, ...]
    help: bool
    removed: int = 0
    covered: bool | None = None
    action: str = ""


@dataclass(frozen=True, slots=True)
class Exchange:
    """An episode in which a robot could ask: before and after the answer.

    Attributes:
        before: the first decision.
        after: the last one; the same if nothing was asked.
        questions: with answers, in order.
        robot: who sat in the robot's seat; `user`: in the user's.
        aborted: a seat failed, so that nothing is right in the end.
    """

    before: Decision
    after: Decision
    questions: tuple[tuple[str, str], ...]
    robot: str
    user: str
    aborted: bool = False

    @classmethod
    def of(cls, made: Sequence[Decision], *, robot: str, user: str, aborted: bool = False) -> Exchange:
        """Return the exchange of an episode's decisions, each with the answer that it got."""
        questions = tuple((each.question, each.answer) for each in made if each.asked and each.answer)
        return cls(made[0], made[-1], questions, robot, user, aborted)


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibrated:
    """The threshold of a calibration with what it rests on (spec 7).

    Attributes:
        q_hat: infinity if the rank is above n: every set is everything.
        rank: l, from 1.
        nonconformities: of the true answer of each calibration item, in the items' order.
        repeats: further decisions on the same items, which do not count: an item is one observation.
        without: calibration items none of whose options is acceptable.
        unknown: calibration items left out, because the data do not say what is right.
        unaffordable: LAP: calibration items all of whose right options have affordance 0.
    """

    q_hat: float
    n: int
    epsilon: float
    rank: int
    nonconformities: tuple[float, ...] = ()
    repeats: int = 0
    without: int = 0
    unknown: int = 0
    unaffordable: int = 0
    run: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class PairForm:
    """An annotator's form, filled in (spec 11.1).

    Attributes:
        pair: as they leave it; None if they deleted the row.
        delete: why the row was deleted; empty if it was kept.
        passed_over: why the candidates of the types that come first are not adequate; empty if none does.
        one_ambiguity: whether the annotator confirms that exactly one thing is open.
    """

    annotator: str
    draft: str
    pair: Pair | None
    delete: str = ""
    comment: str = ""
    passed_over: str = ""
    one_ambiguity: bool = False
    seconds: float | None = None
