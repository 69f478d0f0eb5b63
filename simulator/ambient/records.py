"""Records of answers, one per row of a results file: the same for people and models, log and file.

They are read from published files (`simulator.ambient.files`) or from the log (`trial_log`); every measure
is a pure function of a sequence of records. Field annotations declare the published file format, and only
records from files are validated.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import isfinite
from operator import not_
from typing import Annotated, Any, Final, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PlainSerializer,
    model_serializer,
    model_validator,
)

from simulator.ambient.annotation.rules import Discard
from simulator.ambient.examples import Disambiguation, PublishedKey, refuse_infinite
from simulator.ambient.labels import (
    SHOWN,
    AnyLabels,
    Label,
    LabelSet,
    Side,
    SomeLabels,
    format_labels,
    parse_label,
    parse_labels,
)
from simulator.ambient.nli.families import CheckedThreshold, Threshold
from simulator.fields import (
    Finite,
    FiniteOrNone,
    Flag,
    Key,
    NonBlank,
    OptionalText,
    Whole,
    must,
    read_as,
    shorten,
)

_PIPE: Final = "|"
DISTRACTOR: Final = "d"
"""The name of the distractor among a sentence's options."""
_SLACK: Final = 1e-6  # by which two probabilities of single precision may exceed 1 together


def _answer(value: Any) -> bool | None:
    """Return a prediction, which files store as a boolean, 1.0 or 0.0; null and NaN become None."""
    if value is None or value != value:
        return None
    if value not in (True, False):
        raise ValueError(f"is {shorten(value)}, not true, false, 1.0, 0.0 or null")
    return bool(value)


def _prompt(value: Any) -> Any:
    """Return a prompt as one text, joining a chat's messages with blank lines."""
    if isinstance(value, list):
        contents = [message.get("content") for message in value if isinstance(message, dict)]
        texts = [content for content in contents if isinstance(content, str)]
        return "\n\n".join(texts) if len(texts) == len(value) else value
    return "" if value is None else value


def _join_sentences(value: Any) -> Any:
    """Return a text, joining lists of sentences as found in some files."""
    is_list = isinstance(value, list) and all(isinstance(each, str) for each in value)
    return " ".join(value) if is_list else value


Fraction = Annotated[Finite, must(lambda value: 0 <= value <= 1, "is {}, not a fraction from 0 to 1".format)]
"""A number from 0 to 1."""
FractionOrNone = Annotated[
    Finite | None,
    BeforeValidator(lambda value: None if value != value else value),  # NaN
    must(lambda value: value is None or 0 <= value <= 1 + _SLACK, "is {}, not a fraction from 0 to 1".format),
]
"""A number from 0 to 1; None if unknown."""
Prompt = Annotated[str, BeforeValidator(_prompt)]
"""A prompt, stored as a text or as the messages of a chat; empty if missing."""
PipedLabels = Annotated[
    LabelSet,
    read_as(NonBlank, lambda text: parse_labels(text, _PIPE)),
    PlainSerializer(lambda labels: _PIPE.join(label for label in SHOWN if label in labels)),
]
"""A set of labels in the format of linguists' files: ``entailment|neutral``."""


@dataclass(frozen=True, slots=True)
class _Rewrite:
    """A rewrite as submitted; it may be empty, since measures use only the label sets."""

    premise: str
    hypothesis: str


def _from_labels(by_label: Mapping[Label, Iterable[_Rewrite]]) -> tuple[Disambiguation, ...]:
    return tuple(
        Disambiguation(rewrite.premise, rewrite.hypothesis, label)
        for label, rewrites in by_label.items()
        for rewrite in rewrites
    )


def _by_label(rewrites: Iterable[Disambiguation]) -> dict[Label, list[dict[str, str]]]:
    by_label: dict[Label, list[dict[str, str]]] = {}
    for rewrite in rewrites:
        texts = {"premise": rewrite.premise, "hypothesis": rewrite.hypothesis}
        by_label.setdefault(rewrite.label, []).append(texts)
    return by_label


def _by_parsed_label(rewrites: Mapping[str, Any] | None) -> Mapping[Label, Any] | None:
    return None if rewrites is None else {parse_label(name): text for name, text in rewrites.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class CrowdRecord:
    """The votes of all workers on one item (spec 5.2); entry w of each list of votes is worker w's.

    Attributes:
        id: the example's id, which may occur several times in a file.
        interpretations: the three candidates in the order shown.
        labels: the label of each candidate; None marks a distractor.
        original: votes on the label of the original pair; empty if not asked for (spec 6.5).
        relabelled: per candidate, votes on the label of the pair that contains it.
        plausible: per candidate, votes on whether it is a possible interpretation.
        origin: the model whose rewrites are judged (spec 6.5); empty for rewrites of the dataset.
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
        """The slots of candidates that are readings."""
        return tuple(place for place, label in enumerate(self.labels) if label is not None)

    @property
    def workers(self) -> int:
        """The number of workers."""
        return len(self.plausible[0]) if self.plausible else 0

    @property
    def distractor(self) -> int | None:
        """The slot of the distractor; None unless there is exactly one."""
        places = [place for place, label in enumerate(self.labels) if label is None]
        return places[0] if len(places) == 1 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class LinguistRecord:
    """The annotations of one example by linguists (spec 3).

    Attributes:
        workers: pseudonyms of the annotators, which need not be distinct.
        annotations: the label set of each, aligned with `workers`.
        rewrites: rewrites of all annotators, not attributed to a person.
        discarded: who discarded the example -> reason; not in published files.
    """

    id: PublishedKey
    workers: Annotated[tuple[Key, ...], Field(alias="worker_ids")]
    premise: NonBlank
    hypothesis: NonBlank
    annotations: tuple[PipedLabels, ...]
    rewrites: Annotated[
        tuple[Disambiguation, ...],
        read_as(Mapping[Label, tuple[_Rewrite, ...]], _from_labels),
        PlainSerializer(_by_label),
        Field(alias="disambiguations"),
    ]
    discarded: Annotated[Mapping[str, Discard] | None, Field(exclude_if=not_)] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationRecord:
    """A model's disambiguations of one example (spec 6, 11).

    `gold` has the last rewrite of each label; `stored_…` are the file's own parse and score, None if missing.
    """

    id: PublishedKey
    premise: NonBlank
    hypothesis: NonBlank
    premise_ambiguous: Flag
    hypothesis_ambiguous: Flag
    prompt: Prompt = ""
    generation: str
    gold: Annotated[
        Mapping[Label, str],
        read_as(Annotated[Mapping[str, NonBlank], must(bool, "is empty")], _by_parsed_label),
        Field(alias="gold_rewrites"),
    ]
    stored_rewrites: Annotated[
        Mapping[Label, str | None] | None,
        read_as(Mapping[str, str | None] | None, _by_parsed_label),
        Field(alias="predicted_rewrites"),
    ] = None
    stored_edit_f1: Annotated[FractionOrNone, Field(alias="edit_f1")] = None

    @model_validator(mode="after")
    def _one_side_is_ambiguous(self) -> Self:
        if self.premise_ambiguous == self.hypothesis_ambiguous:
            raise ValueError("premise_ambiguous and hypothesis_ambiguous: exactly one should be true")
        return self

    @property
    def side(self) -> Side:
        """The ambiguous side."""
        return "premise" if self.premise_ambiguous else "hypothesis"

    @property
    def original(self) -> str:
        """The ambiguous sentence."""
        return self.premise if self.side == "premise" else self.hypothesis


@dataclass(frozen=True, slots=True, kw_only=True)
class TrueFalseRecord:
    """One statement on one rewrite, judged true or false (spec 7, 11).

    `prediction`: None if unreadable; `mass`: total probability of the two words, None if unknown (chat
    models, people).
    """

    id: Annotated[PublishedKey, Field(alias="example_id")]
    template: Annotated[Whole, Field(alias="template_id")]
    prompt: Prompt = ""
    prediction: Annotated[bool | None, BeforeValidator(_answer)]
    answer: Flag
    mass: Annotated[FractionOrNone, Field(alias="TF_prob_mass", exclude_if=lambda mass: mass is None)] = None
    side: Annotated[Side, Field(alias="ambiguous_sentence_key")]
    disambiguation: NonBlank

    @property
    def correct(self) -> bool:
        """Return True if the prediction is right; None is wrong."""
        return self.prediction == self.answer


@dataclass(frozen=True, slots=True)
class ContinuationOption:
    """A conditioning sentence and its estimate of KL(P(.|d) || P(.|a)), in nats; None if unknown."""

    name: str
    sentence: str
    kl: float | None


@dataclass(frozen=True, slots=True)
class _Estimate:
    """An option in a file, where it is stored under its name."""

    sentence: OptionalText = ""
    kl: Annotated[FiniteOrNone, Field(alias="KL_div")] = None


def _ordered_options(estimates: Mapping[str, _Estimate]) -> tuple[ContinuationOption, ...]:
    names = [*(f"y{place}" for place in range(len(estimates) - 1)), DISTRACTOR]
    if len(names) < 2 or estimates.keys() != set(names):
        actual = ", ".join(estimates) or "nothing"
        raise ValueError(f"should be a distractor, {DISTRACTOR}, and rewrites, y0, y1, …, not {actual}")
    return tuple(ContinuationOption(name, estimates[name].sentence, estimates[name].kl) for name in names)


def _options_by_name(options: Iterable[ContinuationOption]) -> dict[str, dict[str, Any]]:
    return {option.name: {"sentence": option.sentence, "KL_div": option.kl} for option in options}


def _read_count(value: Any) -> Any:
    """Return a count of continuations, which files may store as a float; None if missing."""
    if value is None or (isinstance(value, float) and not isfinite(value)):
        return None
    if isinstance(value, int | float) and (value < 0 or value != int(value)):
        raise ValueError(f"is {value:g}, not a number of continuations")
    return int(value) if isinstance(value, float) else value


@dataclass(frozen=True, slots=True, kw_only=True)
class ContinuationRecord:
    """The estimates for one flagged sentence (spec 8, 11).

    Attributes:
        sentence: the ambiguous sentence with its stem.
        options: rewrites ``y0``, ``y1``, … and the distractor ``d``.
        num_conts: number of continuations compared per option; None if unknown.
    """

    id: PublishedKey
    sentence: Annotated[NonBlank, Field(alias="ambiguous_sentence")]
    options: Annotated[
        tuple[ContinuationOption, ...],
        read_as(Mapping[str, _Estimate], _ordered_options),
        PlainSerializer(_options_by_name),
    ]
    num_conts: Annotated[Whole | None, BeforeValidator(_read_count)] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NliRecord:
    """The predicted label set of one example (spec 9, 11), which may be empty.

    `readings`: the predicted set of each disambiguation; None if not predicted. `reading_labels`: the gold
    label of each.
    """

    id: Key
    premise: NonBlank
    hypothesis: NonBlank
    gold: Annotated[SomeLabels, Field(alias="labels")]
    predicted: Annotated[
        LabelSet,
        # pandas reads an empty text as missing and writes it as null.
        BeforeValidator(lambda value: "" if value is None or value != value else value),
        read_as(str, parse_labels),
        PlainSerializer(format_labels),
        Field(alias="prediction"),
    ]
    readings: Annotated[tuple[AnyLabels, ...] | None, Field(exclude=True)] = None
    reading_labels: Annotated[tuple[Label, ...], Field(exclude=True)] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedRecord:
    """The stored scores of one trained model (spec 11), as fractions.

    Attributes:
        model: the name of the file's folder.
        seed: from the file's name.
        threshold: a number; an interval per label (regression); None for a classifier over sets.
    """

    model: str
    seed: int
    f1: Fraction
    em: Fraction
    group_em: Fraction
    threshold: Annotated[Threshold, read_as(CheckedThreshold), Field(alias="logit_threshold")] = None


@dataclass(frozen=True, slots=True)
class Paraphrase:
    """A paraphrase of a claim (spec 10), scored by the second-highest probability of a label.

    `probabilities`: with the claim as premise; None if only the score is known.
    """

    text: NonBlank
    score: Fraction
    probabilities: Mapping[Label, float] | None = None

    @model_validator(mode="before")
    @classmethod
    def _from_pair(cls, value: Any) -> Any:
        if not isinstance(value, list) or len(value) != 2:
            raise ValueError("is not a pair of text and score")
        return {"text": value[0], "score": value[1]}

    @model_serializer
    def _as_pair(self) -> list[Any]:
        return [self.text, self.score]

    def payload(self) -> dict[str, Any]:
        """Return the paraphrase as stored in a turn's payload."""
        shares = None if self.probabilities is None else dict(self.probabilities)
        return {"text": self.text, "probabilities": shares, "score": self.score}


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimRecord:
    """A political claim with its paraphrases and the fact-check's complaint (spec 10).

    Attributes:
        marks: annotated complaints, ``a`` (ambiguity) and ``f`` (factuality); None if not annotated.
        annotations: a field of published files that no measure uses, unchanged.
        stored_score: the file's score of the claim, the highest among its paraphrases.
    """

    id: Annotated[Key, Field(alias="example_id")]
    rating: Annotated[OptionalText, Field(alias="label")] = ""
    url: OptionalText = ""
    annotations: Annotated[
        Any, AfterValidator(refuse_infinite), Field(exclude_if=lambda value: value is None)
    ] = None
    claim: NonBlank
    person: OptionalText = ""
    venue: OptionalText = ""
    justification: Annotated[OptionalText, BeforeValidator(_join_sentences)] = ""
    cleaned: Annotated[NonBlank, Field(alias="cleaned_claim")]
    stored_score: Annotated[FractionOrNone, Field(alias="ambiguity_score")] = None
    paraphrases: tuple[Paraphrase, ...]
    marks: Annotated[frozenset[str] | None, Field(exclude=True)] = None
    notes: Annotated[str, Field(exclude=True)] = ""
