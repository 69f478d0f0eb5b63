"""Records that scorers read, the same for logged turns and published files (spec 13).

A `Decision` is a robot's output before any threshold: options, probabilities, samples, an answer. Its
prediction set follows from a calibration and `terms.Settings` (`predicting`) and can be recomputed at any
time without a model.
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
"""Marks a field of a decision that the log stores outside the turn's payload."""


@dataclass(frozen=True, slots=True)
class Affordance:
    """A judgment of whether an option is possible and safe (spec 8.2).

    `context`: 1 if every object that the option names is in the scene, else 0; `prompt`: P(True) of the
    affordance prompt; None if neither word was returned, which counts as .5.
    """

    context: Number
    prompt: Number | None

    @property
    def score(self) -> float:
        """The product of both parts."""
        return self.context * (0.5 if self.prompt is None else self.prompt)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A robot's decision on the step of a task where act or ask is decided (spec 13).

    Attributes:
        episode_id: its episode; a generated name if a file has none.
        dialogue: ``after``: question and answer were appended.
        method: one of the five; ``offline`` for the built-in robot, ``person`` for a person.
        generator: model that wrote the options or the action; otherwise a person's or script's name.
        chooser: model that chose; empty if the method has none.
        options: KnowNo, LAP: text by letter; `filled`: letters of ``do nothing`` fillers.
        tokens: candidate tokens of the chooser with log-probabilities (natural), as returned.
        affordance: LAP: by letter.
        samples: LofreeCP: count by normalised answer; `draws`: number of answers requested (m);
            `similarities`: similarity to the most frequent answer.
        action: the one action of Binary and NoHelp; for other methods the best candidate.
        chosen: the set that a person or the built-in robot marked; None for the five methods.
        asked: whether it asked at the time, under the run's own calibration; None for calibration items.
        question: the question, if it has words; `answer`: the user's answer.
        prompts: pairs of role and prompt, in order; `raw`: pairs of role and the model's text.
        right: letters of the acceptable options if a published file lists them; None: determined from the
            item (`truth`).
        flags: incidents: ``invalid_certainty``, ``no_letter``, ``filled``, ``affordance_unknown``, …
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
        """The task decided on: decisions with the same task are repeats."""
        return f"{self.item.id} {self.dialogue}"

    @property
    def was_made(self) -> bool:
        """False if a failing seat aborted the episode before the decision."""
        return ABORTED not in self.flags


ABORTED: Final = "aborted"
"""The flag of a decision that was never made because a failing seat aborted the episode."""


@dataclass(frozen=True, slots=True)
class ScoredCandidate:
    """A candidate for the prediction set.

    Attributes:
        nonconformity: large = strange.
        letter: the option's letter; empty for samples.
        acceptable: True if it is right; None if that is unknown (`truth.acceptable_options`).
    """

    text: str
    nonconformity: float
    letter: Letter = ""
    acceptable: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A decision with its prediction set, as metrics read it.

    Attributes:
        predicted: the set's actions, without ``do nothing`` (spec 10.1).
        removed: number of ``do nothing`` fillers removed.
        covered: True if an acceptable option is in the set; None if the right options are unknown.
        action: the action without asking: the best candidate; empty if there is none.
    """

    decision: Decision
    predicted: tuple[str, ...]
    help: bool
    removed: int = 0
    covered: bool | None = None
    action: str = ""


@dataclass(frozen=True, slots=True)
class Exchange:
    """An episode in which a robot could ask, before and after the answer.

    Attributes:
        after: the last decision; the same if nothing was asked.
        questions: questions with answers, in order.
        robot: player in the robot's seat; `user`: player in the user's seat.
        aborted: True if a seat failed; the final action then counts as wrong.
    """

    before: Decision
    after: Decision
    questions: tuple[tuple[str, str], ...]
    robot: str
    user: str
    aborted: bool = False

    @classmethod
    def from_decisions(
        cls, decisions: Sequence[Decision], *, robot: str, user: str, aborted: bool = False
    ) -> Exchange:
        """Return the exchange of an episode from its decisions and their answers."""
        questions = tuple((each.question, each.answer) for each in decisions if each.asked and each.answer)
        return cls(decisions[0], decisions[-1], questions, robot, user, aborted)


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibrated:
    """The threshold of a calibration and the data it rests on (spec 7).

    Attributes:
        q_hat: the threshold; infinity if the rank is above n, so that every set has all candidates.
        rank: l, from 1.
        nonconformities: of the true answer of each calibration item, in the items' order.
        repeats: number of repeated decisions left out: an item is one observation.
        without: number of calibration items without an acceptable option.
        unknown: number of items left out because the data do not say what is right.
        unaffordable: LAP: number of calibration items whose right options all have affordance 0.
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

    @property
    def complete(self) -> bool:
        """True if its nonconformities are known, so that it can be checked and applied to other targets."""
        return len(self.nonconformities) == self.n


@dataclass(frozen=True, slots=True, kw_only=True)
class PairForm:
    """A completed annotator's form (spec 11.1).

    Attributes:
        pair: the resulting pair; None if the row was deleted.
        delete: why the row was deleted; empty if it was kept.
        passed_over: why the candidates before the chosen one are not adequate; empty if there are none.
        one_ambiguity: True if the annotator confirms that exactly one thing is open.
    """

    annotator: str
    draft: str
    pair: Pair | None
    delete: str = ""
    comment: str = ""
    passed_over: str = ""
    one_ambiguity: bool = False
    seconds: float | None = None
