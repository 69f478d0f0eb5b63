"""`askback train clarq-ranker`: train the coefficients of `offline/experts`.

The training data are logged decisions and hand-labelled questions. A file of questions maps a task to lines
``question -> nodes``: the indices of the nodes that answer it, or ``none`` for a Response II; ``after`` lists
the indices given before. The seekers of the published dialogues are all chatty models; the questions add
short ones, as people ask them, including some that have no answer.

On its own training data a ranking's best node looks better than elsewhere. The regressions on top of it are
therefore trained on rankings of other folds, which have not seen the examples' task types.

A published provider walks the nodes and gives the first that fits one of the seeker's many questions
(`ranker.py`). A seeker who asks one brief question is given the best node, so there the nodes compete.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Annotated, Final

import numpy as np
import scipy
import typer
import yaml
from rich.console import Console

from personas.templates import render
from simulator.clarq.experts import Situation
from simulator.clarq.features import ASKED, NODE, Features, Reading
from simulator.clarq.lexical import LANGUAGES
from simulator.clarq.ranker import (
    COEFFICIENTS,
    REASONS,
    SHARES,
    Assessment,
    Coefficients,
    Logistic,
    Ranker,
    Style,
    Styles,
)
from simulator.clarq.results import Dialogue, read_results, split_runs
from simulator.clarq.task_index import Floats
from simulator.errors import InputError
from simulator.output_files import write_atomically
from simulator.seats import Line
from simulator.tables.importing import file_digest
from trees import Frontier, Language, Task, Tree
from trees.sources import load_builtin

FOLDS: Final = 5
_LINE: Final = re.compile(r"(?P<question>.+) -> (?P<nodes>none|[\d. ]+?)(?: after (?P<after>[\d. ]+))?")
_QUESTIONS: Final = Path(__file__).with_name("questions")
_ONWARD: Final = {"en": "And then?", "zh": "然后呢？"}
_START: Final = {"en": "Please help me with my task: {}.", "zh": "请帮我完成任务：{}。"}


@dataclass(frozen=True)
class Lesson:
    """A provider turn with nodes available, as an example; `given` is empty for a Response II."""

    situation: Situation
    given: tuple[str, ...]

    @cached_property
    def reading(self) -> Reading:
        """The analysed utterance of the seeker."""
        return Reading(self.situation)

    @property
    def fold(self) -> int:
        """The fold, which depends on the task type."""
        return self.situation.task.type % FOLDS

    @property
    def positions(self) -> tuple[int, ...]:
        """Positions of the given nodes in the frontier."""
        return tuple(sorted(map(self.reading.available.index, self.given)))

    @property
    def example(self) -> Example:
        """The example for the ranking; of several nodes the first, which a single-info provider gives."""
        return self.reading.features, min(self.positions, default=-1)

    @property
    def bare(self) -> Lesson:
        """The same lesson in a task without explanations, as in the development set."""
        task, frontier = self.situation.task, self.situation.frontier
        tree = Tree(task.tree.opening, tuple(replace(node, explanation=None) for node in task.tree.nodes))
        frontier = Frontier(tree, frontier.opened, frontier.given)
        return Lesson(replace(self.situation, task=replace(task, tree=tree), frontier=frontier), self.given)


Example = tuple[Features, int]
"""The features of a decision, and the position of the given node among the available ones; -1 for none."""
Lessons = Mapping[str, tuple[Lesson, ...]]
"""The training data: published dialogues of a ``single``-info provider and of a multi-info provider
(``several``), and hand-labelled ``questions``."""


def lessons_of(
    single: Iterable[Dialogue], several: Iterable[Dialogue], questions: Iterable[Lesson]
) -> Lessons:
    """Return the decisions of published dialogues and the labelled questions as lessons."""

    def decisions(dialogues: Iterable[Dialogue]) -> tuple[Lesson, ...]:
        return tuple(
            Lesson(dialogue.situation(step), step.given)
            for dialogue in dialogues
            for step in dialogue.steps
            if step.before.available
        )

    return {"single": decisions(single), "several": decisions(several), "questions": tuple(questions)}


def load_questions(path: Path, language: Language) -> tuple[Lesson, ...]:
    """Read a file of labelled questions about the built-in tasks in `language`.

    Raises:
        InputError: if a task does not exist, a line is malformed or a node is not available.
    """
    tasks = {task.id: task for task in load_builtin(language)}
    questions: list[Lesson] = []
    for name, lines in yaml.safe_load(path.read_text(encoding="utf-8")).items():
        if name not in tasks:
            raise InputError(f"{path}: {name} is not a built-in task.")
        for line in lines:
            try:
                questions.append(_question(tasks[name], str(line)))
            except ValueError as error:
                raise InputError(f"{path}, {name}: {line}: {error}") from None
    return tuple(questions)


@cache
def training_questions() -> tuple[Lesson, ...]:
    """Return the labelled questions of both languages on which the experts are trained."""
    return tuple(
        question
        for language in LANGUAGES
        for question in load_questions(_QUESTIONS / f"{language}.yaml", language)
    )


def _question(task: Task, line: str) -> Lesson:
    match = _LINE.fullmatch(line)
    if not match:
        raise ValueError("is not of the form “question -> nodes” or “question -> nodes after nodes”")
    nodes = () if match["nodes"] == "none" else tuple(match["nodes"].split())
    frontier = Frontier(task.tree).open()
    lines = [
        Line("provider", render("clarq/greeting", task.language, {}).text),
        Line("seeker", _START[task.language].format(task.background.task)),
        Line("provider", task.tree.opening),
    ]
    for index in (match["after"] or "").split():
        frontier = frontier.give([index])
        lines += [Line("seeker", _ONWARD[task.language]), Line("provider", task.tree.by_index[index].text)]
    available = {node.index for node in frontier.available}
    if missing := set(nodes) - available:
        raise ValueError(f"node {', '.join(sorted(missing))} is not available then")
    lines.append(Line("seeker", match["question"]))
    return Lesson(Situation(task=task, lines=tuple(lines), frontier=frontier, number=len(lines)), nodes)


# L2 penalty on standardised weights, relative to the log-likelihood: of the ranking, of the regressions.
PENALTY, SMALL_PENALTY = 10.0, 3.0
# The factor on the probability of a Response II, by language, for chatty seekers. A logged seeker does not
# ask again for what it got in the log, so in a dialogue missed nodes weigh more than unasked ones; with
# these factors as many turns agree, and replayed seeker lines succeed nearly as often as logged.
CHATTY = {"en": 0.7, "zh": 0.85}
BRIEF = {"en": 1.0, "zh": 1.0}
# The corresponding threshold of the multi-info provider: a node is given above these odds.
SEVERAL = 0.9
# Initial regressions that follow the ranking alone; _FITS remains if there are no multi-info dialogues.
_FITS = Logistic(dict.fromkeys(SHARES, 0.0) | {"logit": 1.0}, 0.0)
_NONE = Logistic(dict.fromkeys(REASONS, 0.0) | {"unlikely": 1.0}, 0.0)


def learn(lessons: Lessons) -> Styles:
    """Train the models for chatty utterances on published dialogues, those for brief ones on questions."""
    return Styles(
        chatty=_style((*lessons["single"], *lessons["several"]), lessons["several"], CHATTY, walked=True),
        brief=_style(lessons["questions"], lessons["questions"], BRIEF, walked=False),
    )


def _style(
    lessons: Sequence[Lesson], several: Sequence[Lesson], none: Mapping[str, float], *, walked: bool
) -> Style:
    style = Style(_ranking(lessons, walked), _NONE, _FITS, dict(none))
    by_fold = {}
    for fold in {lesson.fold for lesson in lessons}:
        # Rank each fold with a ranking trained on the others, if there are any.
        others = [lesson for lesson in lessons if lesson.fold != fold]
        by_fold[fold] = replace(style, ranking=_ranking(others, walked)) if others else style
    reasons = np.array([Assessment(lesson.reading, by_fold[lesson.fold]).reasons for lesson in lessons])
    rejected = np.array([float(not lesson.given) for lesson in lessons])
    style = replace(style, rejection=fit_logistic(REASONS, reasons, rejected, SMALL_PENALTY))
    if not several:
        return style
    by_fold = {fold: replace(part, rejection=style.rejection) for fold, part in by_fold.items()}
    shares = np.concatenate([Assessment(lesson.reading, by_fold[lesson.fold]).shares for lesson in several])
    labels = np.concatenate(
        [np.isin(range(len(lesson.reading.available)), lesson.positions).astype(float) for lesson in several]
    )
    fitted = fit_logistic(SHARES, shares, labels, SMALL_PENALTY)
    return replace(style, several=replace(fitted, bias=round(fitted.bias - math.log(SEVERAL), DIGITS)))


def _ranking(lessons: Iterable[Lesson], walked: bool) -> Coefficients:
    return fit([lesson.example for lesson in lessons], PENALTY, walked=walked)


def train(single: Iterable[Dialogue], several: Iterable[Dialogue] = ()) -> Ranker:
    """Train on dialogues of a single-info and of a multi-info provider, and on the labelled questions.

    Raises:
        InputError: if the single-info dialogues contain no decision.
    """
    lessons = lessons_of(single, several, training_questions())
    if not lessons["single"]:
        raise InputError("Nothing to train on: the single-info dialogues contain no decision.")
    bare = {name: tuple(lesson.bare for lesson in part) for name, part in lessons.items()}
    return Ranker(
        explained=learn(lessons),
        bare=learn(bare),
        training={
            "decisions": len(lessons["single"]),
            "response_2": sum(not lesson.given for lesson in lessons["single"]),
            "multi_decisions": len(lessons["several"]),
            "questions": len(lessons["questions"]),
            "penalty": PENALTY,
        },
    )


def train_clarq_ranker(
    files: Annotated[list[Path], typer.Argument(help="published results files, single- and multi-info")],
    out: Annotated[Path, typer.Option(help="output file for the coefficients")] = COEFFICIENTS,
) -> None:
    """Train the coefficients of offline/experts on published ClarQ-LLM dialogues."""
    by_digest = sorted((file_digest(file), file) for file in files)
    ranker = train(*split_runs([read_results(file).dialogues for _, file in by_digest]))
    digests = {"sha256": [digest for digest, _ in by_digest]}
    ranker = replace(ranker, training=ranker.training | digests)
    write_atomically(out, json.dumps(asdict(ranker), indent=1, ensure_ascii=False) + "\n")
    counts = ranker.training
    Console().print(
        f"{counts['decisions']} single-info decisions, {counts['multi_decisions']} multi-info decisions, "
        f"{counts['questions']} questions -> {out}"
    )


DIGITS: Final = 4  # so that machines whose last bits differ write the same file


def fit(examples: Sequence[Example], penalty: float, *, walked: bool) -> Coefficients:
    """Return the most likely coefficients; `walked`: the first fitting node was given, else the best."""
    data = _TrainingSet(examples, walked)
    width = len(ASKED) + len(NODE)

    def loss(point: Floats) -> tuple[float, Floats]:
        weights = point[:width]
        value, gradient = data.negative_log_likelihood(point)
        # A weak pull of log leniency towards 0.5 keeps it identified if no second pass is needed.
        value += 0.5 * penalty * float(weights @ weights) + 0.05 * (point[-1] - 0.5) ** 2
        gradient[:width] += penalty * weights
        gradient[-1] += 0.1 * (point[-1] - 0.5)
        return value, gradient

    point = scipy.optimize.minimize(
        loss, np.zeros(width + 2), jac=True, method="L-BFGS-B", options={"maxiter": 500}
    ).x
    weights = point[:width] / np.concatenate([data.asked_scale, data.node_scale])
    asked, node = weights[: len(ASKED)], weights[len(ASKED) :]
    strict = point[width] - asked @ data.asked_mean - node @ data.node_mean
    return Coefficients(
        asked=_name_weights(ASKED, asked),
        node=_name_weights(NODE, node),
        strict=round(float(strict), DIGITS),
        leniency=round(float(np.exp(point[-1])), DIGITS) if walked else None,
    )


def fit_logistic(names: Sequence[str], features: Floats, outcomes: Floats, penalty: float) -> Logistic:
    """Return a penalised logistic regression of outcomes 0 or 1 on features, shape (examples, names)."""
    table, mean, scale = _standardise(features)

    def loss(point: Floats) -> tuple[float, Floats]:
        odds = table @ point[:-1] + point[-1]
        error = scipy.special.expit(odds) - outcomes
        value = float(
            (np.logaddexp(0, odds) - outcomes * odds).sum() + 0.5 * penalty * point[:-1] @ point[:-1]
        )
        # Keeps the bias finite where all outcomes are the same.
        value += 0.05 * float(point[-1] ** 2)
        return value, np.append(table.T @ error + penalty * point[:-1], error.sum() + 0.1 * point[-1])

    point = scipy.optimize.minimize(loss, np.zeros(len(names) + 1), jac=True, method="L-BFGS-B").x
    weights = point[:-1] / scale
    return Logistic(_name_weights(names, weights), round(float(point[-1] - weights @ mean), DIGITS))


def _name_weights(names: Sequence[str], weights: Floats) -> dict[str, float]:
    return {name: round(float(weight), DIGITS) for name, weight in zip(names, weights, strict=True)}


class _TrainingSet:
    """The features of all examples in one table, standardised."""

    def __init__(self, examples: Sequence[Example], walked: bool) -> None:
        self.walked = walked
        features = [features for features, _ in examples]
        chosen = np.array([chosen for _, chosen in examples])
        sizes = np.array([len(each.node) for each in features])
        asked = [each.asked.transpose(1, 0, 2).reshape(-1, len(ASKED)) for each in features]
        self.asked, self.asked_mean, self.asked_scale = _standardise(np.concatenate(asked))
        self.node, self.node_mean, self.node_scale = _standardise(
            np.concatenate([each.node for each in features])
        )
        askings = np.repeat([len(each.asked) for each in features], sizes)
        self.node_of = np.repeat(np.arange(len(askings)), askings)
        self.first_asking = np.cumsum(askings) - askings
        self.ends = np.cumsum(sizes)
        self.starts = self.ends - sizes
        self.none = chosen < 0
        self.chosen = self.starts + np.maximum(chosen, 0)
        self.example_of = np.repeat(np.arange(len(examples)), sizes)
        position = np.arange(len(askings)) - self.starts[self.example_of]
        self.is_before = position < chosen[self.example_of]
        self.is_chosen = position == chosen[self.example_of]

    def negative_log_likelihood(self, point: Floats) -> tuple[float, Floats]:
        """Return the negative log-likelihood and its gradient by weights, strictness and log leniency."""
        split, width = len(ASKED), len(ASKED) + len(NODE)
        asked = self.asked @ point[:split]
        top = np.maximum.reduceat(asked, self.first_asking)
        parts = np.exp(asked - top[self.node_of])
        sums = np.add.reduceat(parts, self.first_asking)
        first = top + np.log(sums) + self.node @ point[split:width] + point[width]
        if self.walked:
            leniency = np.exp(point[-1])
            value, slope, slope_second = self._passes(first, first + leniency)
            slope_leniency = slope_second.sum() * leniency
            slope += slope_second
        else:
            value, slope = self._choice(first)
            slope_leniency = 0.0
        gradient = np.concatenate(
            [
                self.asked.T @ (parts / sums[self.node_of] * slope[self.node_of]),
                self.node.T @ slope,
                [slope.sum(), slope_leniency],
            ]
        )
        return value, gradient

    def _choice(self, logits: Floats) -> tuple[float, Floats]:
        """Return the loss of a softmax over the nodes and none (logit 0), with its gradient by logit."""
        top = np.maximum(np.maximum.reduceat(logits, self.starts), 0.0)
        parts = np.exp(logits - top[self.example_of])
        together = top + np.log(np.add.reduceat(parts, self.starts) + np.exp(-top))
        value = float((together - np.where(self.none, 0.0, logits[self.chosen])).sum())
        return value, np.exp(logits - together[self.example_of]) - self.is_chosen

    def _passes(self, first: Floats, second: Floats) -> tuple[float, Floats, Floats]:
        """Return the loss of two passes over the nodes, with its gradients by their logits."""
        refused_first, refused_second = (
            np.concatenate([[0.0], np.cumsum(-np.logaddexp(0, logits))]) for logits in (first, second)
        )
        all_first = refused_first[self.ends] - refused_first[self.starts]
        all_second = refused_second[self.ends] - refused_second[self.starts]
        in_first = (
            refused_first[self.chosen] - refused_first[self.starts] - np.logaddexp(0, -first[self.chosen])
        )
        in_second = (
            all_first
            + refused_second[self.chosen]
            - refused_second[self.starts]
            - np.logaddexp(0, -second[self.chosen])
        )
        either = np.logaddexp(in_first, in_second)
        value = -float(np.where(self.none, all_first + all_second, either).sum())
        # The probability that the first pass gave the node.
        share = np.exp(in_first - either)[self.example_of]
        none = self.none[self.example_of]
        accept_first, accept_second = scipy.special.expit(first), scipy.special.expit(second)
        slope_first = accept_first * np.where(none, 1.0, 1 - share + self.is_before * share)
        slope_first -= np.where(none, 0.0, self.is_chosen * share * (1 - accept_first))
        slope_second = accept_second * np.where(none, 1.0, self.is_before * (1 - share))
        slope_second -= np.where(none, 0.0, self.is_chosen * (1 - share) * (1 - accept_second))
        return value, slope_first, slope_second


def _standardise(table: Floats) -> tuple[Floats, Floats, Floats]:
    mean, scale = table.mean(axis=0), table.std(axis=0)
    scale[scale == 0] = 1.0
    return (table - mean) / scale, mean, scale
