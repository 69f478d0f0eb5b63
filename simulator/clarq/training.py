"""Learning to decide: from logged decisions and hand-labelled questions to the coefficients of the experts.

A ranking is made for the best, so on what it was trained on its best node looks better than elsewhere. The
regressions on top of it (`decision.py`) are therefore trained on rankings of folds that left the examples'
task types out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from simulator.clarq.decision import REASONS, SHARES, Judged
from simulator.clarq.experts import Situation
from simulator.clarq.features import Reading
from simulator.clarq.fitting import DIGITS, fit, fit_logistic
from simulator.clarq.labelled import Labelled
from simulator.clarq.ranker import Coefficients, Example, Logistic, Style, Styles
from simulator.clarq.results import PublishedDialogue, provider_steps
from trees import Frontier, Tree

PENALTY = 10.0  # of the ranking
SMALL_PENALTY = 3.0  # of the regressions on top
FOLDS = 5
# Of a chatty seeker's turns, by language: what the chance of a Response II is multiplied by. A logged
# seeker does not ask again for what it got in the log, so over a dialogue the nodes missed weigh more than
# those given unasked; with these factors as many turns agree, and logged lines succeed nearly as often.
CHATTY = {"en": 0.7, "zh": 0.85}
BRIEF = {"en": 1.0, "zh": 1.0}
# The same of the multi-info provider: odds from which on a node is given.
SEVERAL = 0.9
# Gives every node that fits; for those who have no multi-info dialogues to train on.
_FITS = Logistic(dict.fromkeys(SHARES, 0.0) | {"logit": 1.0}, 0.0)
_NONE = Logistic(dict.fromkeys(REASONS, 0.0) | {"unlikely": 1.0}, 0.0)


class Decision(NamedTuple):
    """A provider turn after the opening at which something could be given.

    Attributes:
        situation: before it.
        given: indices of the nodes it gave.
    """

    situation: Situation
    given: tuple[str, ...]


@dataclass(frozen=True)
class Lesson:
    """A decision to learn from."""

    situation: Situation
    given: tuple[str, ...]

    @cached_property
    def reading(self) -> Reading:
        """The seeker's words, read."""
        return Reading(self.situation)

    @property
    def fold(self) -> int:
        """By task type."""
        return self.situation.task.type % FOLDS

    @property
    def positions(self) -> tuple[int, ...]:
        """Of the nodes given, in the frontier."""
        return tuple(sorted(map(self.reading.available.index, self.given)))

    @property
    def example(self) -> Example:
        """For the ranking: a multi-info provider finds the first of its nodes as a single-info one does."""
        return Example(self.reading.features, min(self.positions, default=-1))


@dataclass(frozen=True)
class Lessons:
    """All that is learnt from.

    Attributes:
        single: of published dialogues of a single-info provider.
        several: of a multi-info one.
        brief: hand-labelled questions.
    """

    single: tuple[Lesson, ...]
    several: tuple[Lesson, ...]
    brief: tuple[Lesson, ...]

    def only(self, keep: Callable[[int], bool]) -> Lessons:
        """Return those whose task's type is to be kept."""

        def kept(lessons: Sequence[Lesson]) -> tuple[Lesson, ...]:
            return tuple(lesson for lesson in lessons if keep(lesson.situation.task.type))

        return Lessons(kept(self.single), kept(self.several), kept(self.brief))

    def bare(self) -> Lessons:
        """Return the same in tasks whose nodes have no explanations."""

        def stripped(lessons: Sequence[Lesson]) -> tuple[Lesson, ...]:
            return tuple(Lesson(without_explanations(one.situation), one.given) for one in lessons)

        return Lessons(stripped(self.single), stripped(self.several), stripped(self.brief))


def decisions_of(dialogues: Iterable[PublishedDialogue]) -> list[Decision]:
    """All such turns of `dialogues`."""
    return [
        Decision(
            Situation(task=dialogue.task, lines=dialogue.lines[: step.position], frontier=step.before),
            step.given,
        )
        for dialogue in dialogues
        for step in provider_steps(dialogue)
        if step.before.available
    ]


def lessons_of(
    single: Iterable[PublishedDialogue], multi: Iterable[PublishedDialogue], questions: Iterable[Labelled]
) -> Lessons:
    """Return the decisions of published dialogues and of labelled questions as lessons."""
    return Lessons(
        tuple(Lesson(*decision) for decision in decisions_of(single)),
        tuple(Lesson(*decision) for decision in decisions_of(multi)),
        tuple(Lesson(question.situation, question.nodes) for question in questions),
    )


def learn(lessons: Lessons, penalty: float = PENALTY) -> Styles:
    """Learn what decides on chatty utterances from published dialogues, on brief ones from the questions."""
    return Styles(
        chatty=_style((*lessons.single, *lessons.several), lessons.several, CHATTY, penalty),
        brief=_style(lessons.brief, lessons.brief, BRIEF, penalty),
    )


def without_explanations(situation: Situation) -> Situation:
    """The same situation in a task whose nodes have no explanations, as in the development set."""
    task = situation.task
    tree = Tree(task.tree.opening, tuple(replace(node, explanation=None) for node in task.tree.nodes))
    frontier = Frontier(tree, situation.frontier.opened, situation.frontier.given)
    return replace(situation, task=replace(task, tree=tree), frontier=frontier)


def _style(
    lessons: Sequence[Lesson], several: Sequence[Lesson], none: Mapping[str, float], penalty: float
) -> Style:
    style = Style(_ranking(lessons, penalty), _NONE, _FITS, dict(none))
    held = {fold: replace(style, ranking=one) for fold, one in _held_out(lessons, style, penalty).items()}
    reasons = np.array([Judged(one.reading, held[one.fold]).reasons for one in lessons])
    rejected = np.array([float(not one.given) for one in lessons])
    style = replace(style, rejection=fit_logistic(REASONS, reasons, rejected, SMALL_PENALTY))
    if not several:
        return style
    held = {fold: replace(one, rejection=style.rejection) for fold, one in held.items()}
    shares = np.concatenate([Judged(one.reading, held[one.fold]).shares for one in several])
    given = np.concatenate(
        [[float(i in one.positions) for i in range(len(one.reading.available))] for one in several]
    )
    fitted = fit_logistic(SHARES, shares, given, SMALL_PENALTY)
    return replace(style, several=replace(fitted, bias=round(fitted.bias - math.log(SEVERAL), DIGITS)))


def _ranking(lessons: Iterable[Lesson], penalty: float) -> Coefficients:
    return fit([lesson.example for lesson in lessons], penalty)


def _held_out(lessons: Sequence[Lesson], style: Style, penalty: float) -> dict[int, Coefficients]:
    """A ranking per fold that has not seen it; that of `style` where there is nothing else to learn from."""
    found = {}
    for fold in {lesson.fold for lesson in lessons}:
        others = [lesson for lesson in lessons if lesson.fold != fold]
        found[fold] = _ranking(others, penalty) if others else style.ranking
    return found
