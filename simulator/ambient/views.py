"""What participants may see, and what an ended episode shows: the contract between room and pages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from logs.rows import Ending
from simulator.ambient.examples import Disambiguation
from simulator.ambient.items import Task
from simulator.ambient.labels import Label, LabelSet, Side

Discard = Literal["offensive", "not_fluent", "incoherent"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotation:
    """A linguist's form (spec 3).

    Attributes:
        discard: why the example is to be thrown away; None if it is kept.
        labels: of all readings; empty if it is discarded.
        rewrites: where there are several labels; at least one for each of them.
        comment: anything else.
    """

    discard: Discard | None = None
    labels: LabelSet = frozenset()
    rewrites: tuple[Disambiguation, ...] = ()
    comment: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParticipantView:
    """All that a person may see now. Nothing of a later step is in it, and no gold label at all.

    Attributes:
        number: of the turn that is due; goes back with the submission.
        stage: which page: one of the study's, the kind of a step (`playing.Kind`), or ``done``.
        language: of the page; the benchmark's own text is English.
        done: steps that have been answered; `total` steps of the episode (without consent, instructions).
        premise: shown in the stages qualification, label and annotate; empty where it is not.
        hypothesis: likewise.
        sentence: the ambiguous sentence alone (plausible), or what the statement is about (true_false).
        candidates: what is asked about: candidate interpretations (plausible), in display order.
        pairs: premise and hypothesis with each candidate in place (relabel), in display order.
        side: where the candidates were put in (relabel).
        statement: what is to be judged true or false.
        earlier: the participant's own locked answers, in words of the steps before: label of the original;
            yes or no per candidate.
        study: whether it is part of a study, not free play.
        ending: how it ended, if it has.
        warning: what the program met with, if anything.
    """

    episode_id: str
    number: int
    stage: str
    task: Task
    language: str
    done: int
    total: int
    premise: str = ""
    hypothesis: str = ""
    sentence: str = ""
    candidates: tuple[str, ...] = ()
    pairs: tuple[tuple[str, str], ...] = ()
    side: Side | None = None
    statement: str = ""
    earlier: tuple[tuple[str, str], ...] = ()
    study: bool = False
    ending: Ending | None = None
    warning: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayCandidate:
    """A candidate with what was hidden: `label` None marks the distractor; then what was answered."""

    sentence: str
    label: Label | None
    plausible: bool | None
    answer: Label | None

    @property
    def found(self) -> bool | None:
        """Whether a reading was said to be possible; of a distractor that is a matter of judgement."""
        return None if self.label is None else self.plausible

    @property
    def labelled(self) -> bool | None:
        """Whether the pair with a reading got the reading's label."""
        return None if self.label is None or self.answer is None else self.answer == self.label


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayStatement:
    """A statement of the true/false task, what is right and what was answered."""

    statement: str
    answer: bool
    given: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """An ended episode of a person's task, with what was hidden.

    Attributes:
        gold: the label set of the dataset.
        disambiguations: of the dataset.
        label: the participant's label of the original pair, if asked for.
        candidates: of the crowdworkers' task.
        statements: of the true/false task.
        annotation: of the linguists' task.
        correct: answers that agree with the dataset; None where that means nothing.
        of: answers that could.
    """

    task: Task
    premise: str
    hypothesis: str
    side: Side | None
    gold: LabelSet
    disambiguations: tuple[Disambiguation, ...] = ()
    label: Label | None = None
    candidates: tuple[ReplayCandidate, ...] = ()
    statements: tuple[ReplayStatement, ...] = ()
    annotation: Annotation | None = None
    correct: int | None = None
    of: int | None = None
