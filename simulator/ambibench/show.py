"""AmbiBench's pages: a participant's view during an episode, and the replay of an ended one.

Views and replays are data; the functions below turn them into blocks: instructions, trial, result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from logs.rows import Ending, Judgment, Turn
from simulator.ambibench.aws import AwsPrompt
from simulator.ambibench.features import Feature, Format, Hypothesis, Label, Setting, instruction, value_name
from simulator.ambibench.items import item_record
from simulator.ambibench.players import gives_feedback
from simulator.ambibench.prompt import (
    PARTICIPANT,
    Belief,
    Example,
    Item,
    Prompt,
    Trial,
    beliefs,
    best_guess,
    scored_positions,
    trials,
    whole_text,
)
from simulator.ambibench.score import TrialScore, category, logged_rules, read_answer, score_trials
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
from simulator.drawn_blocks import BarRow, Bars
from simulator.runner.machines import SeatPage
from simulator.runner.one_seat import OneSeatContext, State, step_due


@dataclass(frozen=True, slots=True)
class Feedback:
    """Feedback on an answer, shown with the next trial (spec section 10)."""

    answer: str
    right: Label
    correct: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ParticipantView(SeatPage):
    """Everything that a person may see now, without the current label and later sentences.

    Attributes:
        k: position of the current label, from 1; None outside trials.
        text: exactly the text that a model is sent: instruction, examples with their right labels, and the
            current example without its label. Empty outside trials.
        feedback: on the previous answer; None if the setting gives no feedback (only 4.3 does).
    """

    setting: Setting
    format: Format | None
    k: int | None
    done: int
    total: int
    text: str
    feedback: Feedback | None = None


class ReplayTrial(NamedTuple):
    """One position of a replayed prompt, with the learner's belief before it; no `turn` if unanswered."""

    example: Example
    belief: Belief
    asked: bool
    turn: Turn | None
    score: TrialScore | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """An ended episode of labels, with all positions of the prompt, including those not asked for."""

    item: Prompt
    trials: tuple[ReplayTrial, ...]

    @property
    def scores(self) -> tuple[TrialScore, ...]:
        """The scores of all answers."""
        return tuple(trial.score for trial in self.trials if trial.score is not None)

    @property
    def correct(self) -> float:
        """The number of right answers (ties count as scored)."""
        return sum(score.correct for score in self.scores)

    @property
    def oracle(self) -> float:
        """The expected number of right answers of a Bayes-optimal learner on the same sentences."""
        return sum(score.oracle for score in self.scores)

    @property
    def known(self) -> int | None:
        """The first position before which only one hypothesis is left; None if there is none."""
        return next((trial.belief.k for trial in self.trials if trial.belief.identified), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class TextReplay:
    """An ended episode of free text; `answer` is None without one, `category` before it is sorted."""

    text: str
    answer: str | None
    category: str | None
    details: dict[str, Any]


def participant_view(
    context: OneSeatContext[Item, Trial],
    state: State,
    ending: Ending | None = None,
    warning: str | None = None,
    stage: str = "",
) -> ParticipantView:
    """Return a person's view in `state`; `stage` names a page without the task, such as ``instructions``."""
    trial = None if ending or stage else step_due(context, state)
    stage = stage or ("task" if trial else "done")
    left = ending is not None and ending.status != "completed"
    return ParticipantView(
        episode_id=context.episode_id,
        seat=PARTICIPANT,
        number=len(state["said"]),
        stage=stage,
        language="en",
        setting=context.item.setting,
        format=None if isinstance(context.item, AwsPrompt) else context.item.format,
        k=trial.k if trial else None,
        done=len(state["said"]),
        total=len(context.steps),
        text=trial.text if trial else "",
        feedback=None if left or stage == "done" else _feedback(context, state),
        ending=ending,
        warning=warning,
    )


def _feedback(context: OneSeatContext[Item, Trial], state: State) -> Feedback | None:
    """Return feedback on the previous answer; None if there is none or the setting gives no feedback."""
    if not state["said"] or not gives_feedback(context.item):
        return None
    _, answer = state["said"][-1]
    right = context.steps[len(state["said"]) - 1].gold
    return None if right is None else Feedback(answer, right, read_answer(answer, lower=True).label == right)


def replay(item: Item, turns: Sequence[Turn], judgments: Sequence[Judgment] = ()) -> Replay | TextReplay:
    """Return the replay of an episode from its logged turns, with everything that was hidden."""
    if isinstance(item, AwsPrompt) or item.setting == "verbalise":
        (trial,) = trials(item)
        hidden = ("examples", "prompt")
        return TextReplay(
            text=trial.text,
            answer=next((turn.text for turn in turns if turn.payload["kind"] == "text"), None),
            category=category(item, turns, judgments),
            details={key: value for key, value in item_record(item).items() if key not in hidden},
        )
    answers = {turn.payload["k"]: turn for turn in turns if turn.payload["kind"] == "answer"}
    scores = {score.k: score for score in score_trials(item, turns, *logged_rules(turns))}
    asked = scored_positions(item)
    pairs = zip(item.examples, beliefs(item), strict=True)
    positions = (
        ReplayTrial(example, belief, belief.k in asked, answers.get(belief.k), scores.get(belief.k))
        for example, belief in pairs
    )
    return Replay(item=item, trials=tuple(positions))


# Lines of one example; the second of them ends with its label.
_LINES: Final = 2
_NOTHING: Final = "–"


def page_blocks(view: ParticipantView) -> tuple[Block, ...]:
    """Return the blocks of a participant's page at the stage of a view."""
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
    """Return a trial's text split into styled spans.

    `feedback`: on the previous example, if it is shown now. `form`: format of the examples; None if the text
    has none.
    """
    if form is None:
        return (Span(text, "due"),)
    lines = text.splitlines(keepends=True)
    past, current = "".join(lines[1:-_LINES]), Span("".join(lines[-_LINES:]), "due")
    if feedback is None or not past.endswith(f"{feedback.right}\n"):
        return Span(lines[0]), Span(past, "past"), current
    label = Span(feedback.right, "new")
    if not feedback.correct:
        label = Span(feedback.right, "corrected", message("feedback.corrected"))
    before = Span(past.removesuffix(f"{feedback.right}\n"), "past")
    return Span(lines[0]), before, label, Span("\n"), current


def feedback_block(feedback: Feedback) -> FeedbackBlock:
    """Return the block with feedback on an answer."""
    text = message(
        f"feedback.{'right' if feedback.correct else 'wrong'}", answer=feedback.answer, right=feedback.right
    )
    return FeedbackBlock(text, feedback.correct)


def picture() -> list[Block]:
    """Return an example of a task whose third label is asked for: human or indoors?"""
    examples = (("The hiker is in the museum.", "X"), ("The duck is in the meadow.", "Y"))
    lines = [line for sentence, label in examples for line in (sentence, f">{label}")]
    first = instruction("uninformative", Hypothesis("subject", True))
    return [Passage([Span("\n".join([first, *lines, "The reporter is in the canyon.", ">"]))])]


def result_blocks(replay: Replay) -> tuple[Block, ...]:
    """Return the result page of an episode: verdict, the learner's beliefs, trials, and text."""
    return (
        verdict(replay),
        plot_card(replay),
        Card(message("result.trials"), [Passage([Span(replay.item.instruction)]), trials_table(replay)]),
        text_card(replay),
    )


def verdict(replay: Replay) -> Verdict:
    """Return the number of right answers next to that of the best learner."""
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
    """Return the rule behind the labels in words."""
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
    """Return a plot of the probabilities of the four rules before each label, above labels and answers.

    `answers`: message key of the title of the answers.
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
    """Return a folded card with the complete prompt, including all labels."""
    return Card(message("result.text"), [Passage([Span(whole_text(replay.item))])], folded=True)


def _letter(trial: ReplayTrial) -> Cell:
    if trial.turn is None or trial.score is None:
        return Cell("")
    answer = trial.turn.text.strip()
    return Cell(answer if len(answer) == 1 else _NOTHING, "right" if trial.score.correct == 1 else "wrong")


def trials_table(replay: Replay) -> Table:
    """Return a table with a row per trial."""
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
