"""The blocks of AmbiBench's pages: instructions, a trial, the result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from simulator.ambibench.features import Feature, Format, Hypothesis, instruction, value_name
from simulator.ambibench.oracle import best_guess
from simulator.ambibench.prompt import whole_text
from simulator.ambibench.views import Feedback, ParticipantView, Replay, ReplayTrial
from simulator.bar_blocks import BarRow, Bars
from simulator.blocks import (
    Blank,
    Block,
    Card,
    Cell,
    Figure,
    Message,
    Passage,
    Points,
    Progress,
    Span,
    Table,
    Text,
    Verdict,
    message,
)
from simulator.blocks import Feedback as FeedbackBlock

# Lines of one example; the second of them ends with its label.
_LINES: Final = 2
_NOTHING: Final = "–"


def page_blocks(view: ParticipantView) -> tuple[Block, ...]:
    """Return what a participant is shown at the stage of a view."""
    feedback = [] if view.feedback is None else [feedback_block(view.feedback)]
    if view.stage == "instructions":
        return (points(single=view.total == 1),)
    if view.stage != "task":
        return tuple(feedback)
    label = message("progress", k=view.done + 1, total=view.total)
    progress = [Progress(view.done + 1, view.total, label)] if view.total > 1 else []
    blank = Blank(message("answer"))
    return (*progress, Passage((*spans(view.text, view.feedback, view.format), blank)), *feedback)


def points(*, single: bool) -> Points:
    """Return the instructions of a prompt with one answer, or with many."""
    names = ("continue", "once" if single else "next", "unclear")
    return Points([(message(f"point.{name}"), message(f"point.{name}_text")) for name in names])


def spans(text: str, feedback: Feedback | None, form: Format | None) -> tuple[Span, ...]:
    """Return a trial's text in parts that, one after the other, are the text.

    Args:
        text: as a model gets it.
        feedback: on the example before, if its label was asked for and is told now.
        form: of the examples; None if the text is not made of them.
    """
    if form is None:
        return (Span(text, "due"),)
    lines = text.splitlines(keepends=True)
    past, due = "".join(lines[1:-_LINES]), Span("".join(lines[-_LINES:]), "due")
    if feedback is None or not past.endswith(f"{feedback.right}\n"):
        return Span(lines[0]), Span(past, "past"), due
    label = Span(feedback.right, "new")
    if not feedback.correct:
        label = Span(feedback.right, "corrected", message("feedback.corrected"))
    return Span(lines[0]), Span(past.removesuffix(f"{feedback.right}\n"), "past"), label, Span("\n"), due


def feedback_block(feedback: Feedback) -> FeedbackBlock:
    """Return the result of an answer in words."""
    text = message(
        f"feedback.{'right' if feedback.correct else 'wrong'}", answer=feedback.answer, right=feedback.right
    )
    return FeedbackBlock(text, feedback.correct)


def picture() -> list[Block]:
    """Return a task as it is seen, with its third label due: human or indoors?"""
    examples = (("The hiker is in the museum.", "X"), ("The duck is in the meadow.", "Y"))
    lines = [line for sentence, label in examples for line in (sentence, f">{label}")]
    first = instruction("uninformative", Hypothesis("subject", True))
    return [Passage([Span("\n".join([first, *lines, "The reporter is in the canyon.", ">"]))])]


def result_blocks(replay: Replay) -> tuple[Block, ...]:
    """Return how an episode went, and what could have been known when."""
    return (
        verdict(replay),
        plot_card(replay),
        Card(message("result.trials"), [Passage([Span(replay.item.instruction)]), table(replay)]),
        text_card(replay),
    )


def verdict(replay: Replay) -> Verdict:
    """Return how many answers were right, beside those of the best learner."""
    total, known = len(replay.scores), replay.known
    correct, best = f"{replay.correct:g}", f"{round(replay.oracle, 2):g}"
    heading = message("result.score", correct=correct, total=total)
    if total == 1:
        heading = message(f"result.one_{'right' if replay.correct == 1 else 'wrong'}")
    certain = message("result.known_at", k=known) if known else message("result.known_never")
    return Verdict(
        heading,
        rule(replay.item.hypothesis),
        replay.correct >= replay.oracle,
        (
            Figure(message("result.you"), correct, message("result.you_note", total=total)),
            Figure(message("result.oracle"), best, message("result.oracle_note")),
            Figure(message("result.known"), certain, message("result.known_note") if known else ""),
        ),
        message("result.kicker"),
    )


def rule(task: Hypothesis) -> Message:
    """Return what the labels follow, in words."""
    return message(
        "result.rule",
        rule=message(f"about.{task.feature}"),
        x_is=value(task.feature, task.x_is),
        y_is=value(task.feature, not task.x_is),
    )


def value(feature: Feature, coded: bool) -> Message:
    """Return a value of a feature in words."""
    return message(f"value.{feature}.{value_name(feature, coded)}")


def plot_card(replay: Replay, answers: str = "result.you") -> Card:
    """Return the probabilities of the four rules before each label, and below them labels and answers.

    `answers`: the name of the text that the answers are called by.
    """
    trials = replay.trials
    rows = [
        BarRow(
            message("result.hypothesis", value=value(task.feature, task.x_is)),
            [trial.belief.posterior[task] for trial in trials],
            message("result.true_rule") if task == replay.item.hypothesis else "",
        )
        for task in trials[0].belief.posterior
    ]
    best = [best_guess(trial.belief.p_x) for trial in trials]
    strips = (
        (message("result.best"), [Cell(guess or "?", "" if guess else "muted") for guess in best]),
        (message("result.gold"), [Cell(trial.example.label) for trial in trials]),
        (message(answers), [_letter(trial) for trial in trials]),
    )
    bars = Bars(rows, strips, message("result.plot_label"))
    return Card(message("result.plot"), [Text(message("result.plot_text"), "muted"), bars])


def text_card(replay: Replay) -> Card:
    """Return the whole prompt, labels and all, folded away."""
    return Card(message("result.text"), [Passage([Span(whole_text(replay.item))])], folded=True)


def _letter(trial: ReplayTrial) -> Cell:
    if trial.turn is None or trial.score is None:
        return Cell("")
    answer = trial.turn.text.strip()
    return Cell(answer if len(answer) == 1 else _NOTHING, "right" if trial.score.correct == 1 else "wrong")


def table(replay: Replay) -> Table:
    """Return the trials, one by one."""
    names = ("k", "sentence", "gold", "you", "best", "left", "time")
    head = [message(f"result.{name}") for name in names]
    return Table([_row(trial) for trial in replay.trials], head, rest=(4, 5, 6))


def _row(trial: ReplayTrial) -> Sequence[object]:
    score, best = trial.score, best_guess(trial.belief.p_x)
    if trial.turn is None or score is None:
        answer, time = Cell(message("result.given"), "muted"), None
    else:
        answer, time = Cell(trial.turn.text, "right" if score.correct == 1 else "wrong"), score.seconds
    return (
        Cell(str(trial.belief.k), "muted"),
        trial.example.sentence,
        Cell(trial.example.label, "strong"),
        answer,
        best or Cell(message("result.guess"), "muted"),
        sum(chance > 0 for chance in trial.belief.posterior.values()),
        _NOTHING if time is None else message("result.seconds", seconds=f"{time:.1f}"),
    )
