"""What was answered, one record per row of a results file: the same for people and models, log and file.

Readers of published files (`simulator.ambient.files`) and readers of the log (`trial_log`) make these;
every measure is a pure function of a sequence of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from simulator.ambient.examples import Disambiguation
from simulator.ambient.labels import Label, LabelSet, Side


@dataclass(frozen=True, slots=True, kw_only=True)
class CrowdRecord:
    """The votes of all workers on one item (spec 5.2). Entry w of each list of votes is one worker.

    Attributes:
        id: of the example; a file may hold an id twice, so rows are told apart by their place.
        side: the ambiguous one.
        interpretations: the candidates in the order in which they were shown, three of them.
        labels: of each candidate; None marks a distractor.
        original: the labels of the original pair; empty where it was not asked for (spec 6.5).
        relabelled: per candidate, the labels of the pair with it in place of the ambiguous sentence.
        plausible: per candidate, whether it is a possible interpretation.
        origin: the model whose rewrites are judged (spec 6.5); empty for those of the dataset.
    """

    id: str
    premise: str
    hypothesis: str
    side: Side
    interpretations: tuple[str, ...]
    labels: tuple[Label | None, ...]
    original: tuple[Label, ...]
    relabelled: tuple[tuple[Label, ...], ...]
    plausible: tuple[tuple[bool, ...], ...]
    origin: str = ""

    @property
    def true_slots(self) -> tuple[int, ...]:
        """The places of candidates that are readings."""
        return tuple(place for place, label in enumerate(self.labels) if label is not None)

    @property
    def distractor(self) -> int | None:
        """The place of the distractor where there is exactly one."""
        places = [place for place, label in enumerate(self.labels) if label is None]
        return places[0] if len(places) == 1 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class LinguistRecord:
    """What linguists said of one example (spec 3).

    Attributes:
        workers: pseudonyms; any number, and a file may name one twice.
        annotations: the label set of each, aligned with `workers`.
        rewrites: of all of them together, not attributed to a person.
        discarded: who discarded the example, with the reason; such files as are published have none.
    """

    id: str
    premise: str
    hypothesis: str
    workers: tuple[str, ...]
    annotations: tuple[LabelSet, ...]
    rewrites: tuple[Disambiguation, ...] = ()
    discarded: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationRecord:
    """A model's disambiguations of one example (spec 6, 11).

    Attributes:
        side: the ambiguous one.
        generation: what the model wrote, uncut.
        gold: label -> rewrite; of several rewrites of a label the last.
        stored_rewrites: what the file says was parsed; None if it says nothing.
        stored_edit_f1: likewise.
    """

    id: str
    premise: str
    hypothesis: str
    side: Side
    prompt: str
    generation: str
    gold: Mapping[Label, str]
    stored_rewrites: Mapping[Label, str | None] | None = None
    stored_edit_f1: float | None = None

    @property
    def original(self) -> str:
        """The ambiguous sentence."""
        return self.premise if self.side == "premise" else self.hypothesis


@dataclass(frozen=True, slots=True, kw_only=True)
class TrueFalseRecord:
    """One statement on one rewrite, judged true or false (spec 7, 11).

    Attributes:
        id: of the example.
        template: 0 to 3.
        prediction: None if nothing could be read.
        answer: what is right.
        mass: probability of the two words together; None if unknown (chat models, people).
    """

    id: str
    side: Side
    disambiguation: str
    template: int
    prediction: bool | None
    answer: bool
    mass: float | None = None
    prompt: str = ""

    @property
    def correct(self) -> bool:
        """Whether it was answered rightly; no answer is wrong."""
        return self.prediction == self.answer


@dataclass(frozen=True, slots=True)
class ContinuationOption:
    """A conditioning sentence and its estimate of KL(P(.|d) || P(.|a)), in nats; None if there is none."""

    name: str
    sentence: str
    kl: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ContinuationRecord:
    """The estimates for one flagged sentence (spec 8, 11).

    Attributes:
        sentence: the ambiguous one, with its stem.
        options: rewrites ``y0``, ``y1``, … and the distractor ``d``.
        num_conts: continuations per option.
    """

    id: str
    sentence: str
    options: tuple[ContinuationOption, ...]
    num_conts: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NliRecord:
    """The predicted label set of one example (spec 9, 11).

    Attributes:
        predicted: of the original pair; may be empty.
        readings: of each disambiguation of the example, in its order; None if they were not predicted.
        reading_labels: the gold label of each disambiguation, aligned with `readings`.
    """

    id: str
    premise: str
    hypothesis: str
    gold: LabelSet
    predicted: LabelSet
    readings: tuple[LabelSet, ...] | None = None
    reading_labels: tuple[Label, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedRecord:
    """The stored scores of one training of a model (spec 11), as fractions.

    Attributes:
        threshold: a number; per label an interval (regression); None for a classifier over sets.
    """

    model: str
    seed: int
    em: float
    f1: float
    group_em: float
    threshold: float | Mapping[Label, tuple[float, float]] | None = None


@dataclass(frozen=True, slots=True)
class Paraphrase:
    """A paraphrase of a claim (spec 10).

    Attributes:
        score: the second-highest probability of a label.
        probabilities: of each label, the claim being the premise; None where only the score is known.
    """

    text: str
    score: float
    probabilities: Mapping[Label, float] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimRecord:
    """A political claim with its paraphrases and what the fact-check complains about (spec 10).

    Attributes:
        marks: ``a`` (ambiguity), ``f`` (factuality), as annotated; None if nobody has.
        annotations: a field of published files that no measure reads, as it stands there.
        stored_score: the file's score of the claim, which is the highest of its paraphrases.
    """

    id: str
    claim: str
    cleaned: str
    paraphrases: tuple[Paraphrase, ...] = ()
    marks: frozenset[str] | None = None
    notes: str = ""
    justification: str = ""
    rating: str = ""
    person: str = ""
    venue: str = ""
    url: str = ""
    annotations: Any = None
    stored_score: float | None = None
