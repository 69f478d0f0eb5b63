"""The pages of an episode that is going on, one per stage; each is made from what may be seen now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, cast

from simulator.ambient.annotation.rules import MAX_REWRITES, Problem
from simulator.ambient.data import load_guidelines
from simulator.ambient.items import Task
from simulator.ambient.labels import Label
from simulator.ambient.views import ParticipantView
from ui.i18n import Strings
from ui.render.frame import Frame, RoomLink
from ui.render.play import Notice
from ui.study.pages import Here, session_page

SHOWN: Final[tuple[Label, ...]] = ("entailment", "neutral", "contradiction")
"""From what follows to what cannot be: the order on pages, and of the keys 1, 2, 3."""

STEPS: Final[Mapping[str, str]] = {
    "consent": "consent",
    "instructions": "instructions",
    "qualification": "qualification",
    "label": "task",
    "plausible": "task",
    "relabel": "task",
    "annotate": "task",
    "true_false": "task",
}
"""The step of a study that each stage is part of."""

_POINTS: Final[Mapping[Task, tuple[str, ...]]] = {
    "crowd": ("pair", "label", "crowd"),
    "evaluate": ("evaluate", "evaluate_pair", "label"),
    "annotate": ("pair", "annotate", "rewrite", "discard"),
    "true_false": ("true_false", "judge"),
}
"""What the instructions of a task say, point by point."""

_OWN_STEPS: Final[Mapping[Task, int]] = {"crowd": 3, "evaluate": 2, "annotate": 1}
_TEMPLATES: Final[Mapping[str, str]] = {"qualification": "label"}


@dataclass(frozen=True, slots=True)
class Progress:
    """Where somebody stands: `kind` names the words (``step``, ``question``, ``statement``), `k` from 1."""

    kind: str
    k: int
    total: int


@dataclass(frozen=True, slots=True)
class LockedAnswer:
    """An earlier answer, locked.

    Attributes:
        step: whose (``label`` or ``candidate``).
        number: of the candidate, from 1.
        answer: in words.
        code: the answer itself.
    """

    step: str
    number: int
    answer: str
    code: str


def progress(view: ParticipantView) -> Progress | None:
    """Return which question, step or statement of how many is due; None where there is one alone."""
    own = _OWN_STEPS.get(view.task)
    if view.stage == "qualification":
        return Progress("question", view.done + 1, view.total - (own or 0))
    if own is None:
        return Progress("statement", view.done + 1, view.total)
    return Progress("step", view.done - (view.total - own) + 1, own) if own > 1 else None


def tested(view: ParticipantView) -> bool:
    """Return True if questions stand in front of the task, which show who qualifies."""
    own = _OWN_STEPS.get(view.task)
    return own is not None and view.total > own


def steps(view: ParticipantView) -> Mapping[str, str]:
    """Return `STEPS` as far as there are such in the episode."""
    return {stage: step for stage, step in STEPS.items() if step != "qualification" or tested(view)}


def points(view: ParticipantView) -> tuple[str, ...]:
    """Return what the instructions say."""
    return (*(("qualification",) if tested(view) else ()), *_POINTS[view.task])


def earlier(texts: Strings, view: ParticipantView) -> tuple[LockedAnswer, ...]:
    """Return the locked answers, one by one: the label of the pair, then yes or no to each candidate."""
    label = [label for step, label in view.earlier if step == "label"]
    flags = [label for step, label in view.earlier if step != "label"]
    return (
        *(LockedAnswer("label", 0, texts(f"ambient.labels.{name}"), name) for name in label),
        *(
            LockedAnswer("candidate", k, texts(f"ambient.{flag}"), flag)
            for k, flag in enumerate(flags, start=1)
        ),
    )


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement in two parts: the sentence that it is about, and what it says of it."""

    sentence: str
    rest: str


def in_two(view: ParticipantView) -> Statement:
    """Return the statement, parted after its sentence; the parts, one after the other, are its text."""
    whole, sentence = view.statement, view.sentence
    if sentence and whole.startswith(sentence):
        return Statement(sentence, whole[len(sentence) :])
    return Statement("", whole)


def complaints(texts: Strings, problems: Sequence[Problem]) -> dict[str, list[str]]:
    """Return what is wrong with a form, in words, by the place on the page where it is said."""
    said: dict[str, list[str]] = {}
    for problem in problems:
        label = texts(f"ambient.labels.{problem.label}") if problem.label else ""
        side = texts(f"ambient.side.{problem.side}").lower() if problem.side else ""
        text = texts(f"ambient.problem.{problem.code}", number=problem.number, side=side, label=label)
        said.setdefault(_place(problem), []).append(text)
    return said


def _place(problem: Problem) -> str:
    if problem.number is None:
        return "labels" if problem.label or problem.field == "labels" else problem.field
    _, _, part = problem.field.partition("].")
    return f"card-{problem.number - 1}{'-' + part if part else ''}"


@dataclass(frozen=True, slots=True)
class FormNotice(Notice):
    """A notice on a form that breaks rules.

    Attributes:
        problems: which, and where.
    """

    problems: tuple[Problem, ...] = ()


def stage_page(frame: Frame, link: RoomLink, here: Here) -> str:
    """Return the page of the stage that an episode is at; it is not done yet."""
    view = cast(ParticipantView, here.view)
    notice = here.notice
    stage = view.stage
    return session_page(
        f"ambient/{_TEMPLATES.get(stage, stage)}",
        frame,
        link,
        here,
        steps(view),
        name=stage,
        progress=progress(view),
        earlier=earlier(frame.texts, view),
        last=view.done + 1 == view.total,
        shown=SHOWN,
        guide=load_guidelines(frame.texts.language),
        points=points(view),
        statement=in_two(view),
        problems=complaints(frame.texts, notice.problems if isinstance(notice, FormNotice) else ()),
        most=MAX_REWRITES,
    )
