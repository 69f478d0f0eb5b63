"""What people see of an episode (`views`), built out of the graph's state and the item."""

from __future__ import annotations

from collections.abc import Sequence

from logs.rows import Ending, Judgment, Turn
from simulator.ambibench.answers import read_answer
from simulator.ambibench.aws import AwsPrompt
from simulator.ambibench.features import PAIRS, value_name
from simulator.ambibench.graph import Table
from simulator.ambibench.labels import Mode, Tie
from simulator.ambibench.oracle import Belief, beliefs, expected
from simulator.ambibench.playing import Step, gives_feedback
from simulator.ambibench.prompt import Prompt, asked_text, whole_text
from simulator.ambibench.rows import item_record
from simulator.ambibench.score import TrialScore, category, score_trials
from simulator.ambibench.trials import Item
from simulator.ambibench.views import Feedback, ParticipantView, Replay, ReplayTrial, TextReplay
from simulator.runner.one_seat import State, step_due


def participant_view(
    table: Table, state: State, ending: Ending | None = None, warning: str | None = None, stage: str = ""
) -> ParticipantView:
    """Return what a person may see after `state`; `stage` names a page without the task."""
    step = None if ending or stage else step_due(table, state)
    trial = step.trial if step else None
    item = table.item
    done = len(state["said"])
    left = ending is not None and ending.status != "completed"
    return ParticipantView(
        episode_id=table.episode_id,
        number=done,
        stage=stage or ("trial" if step else "done"),
        language=table.rules.language,
        setting="aws" if isinstance(item, AwsPrompt) else item.setting,
        format=None if isinstance(item, AwsPrompt) else item.format,
        k=trial.k if trial else None,
        done=done,
        total=len(table.steps),
        text=trial.text if trial else "",
        answer=trial.answer if trial else "label",
        feedback=None if left or stage == "done" else _feedback(item, table.steps, state),
        ending=ending,
        warning=warning,
    )


def _feedback(item: Item, steps: Sequence[Step], state: State) -> Feedback | None:
    """On the answer before, if the step before was one."""
    before = len(state["said"]) - 1
    trial = steps[before].trial if before >= 0 else None
    if trial is None or trial.gold is None or not gives_feedback(item):
        return None
    _, said = state["said"][before]
    return Feedback(said, trial.gold, read_answer(said, lower=True).label == trial.gold)


def replay(
    item: Item,
    turns: Sequence[Turn],
    judgments: Sequence[Judgment] = (),
    mode: Mode = "strip",
    tie: Tie = "wrong",
) -> Replay | TextReplay:
    """Return an ended episode with everything that was hidden, out of its logged turns."""
    if isinstance(item, AwsPrompt) or item.setting == "verbalise":
        return _text_replay(item, turns, judgments)
    a, b = PAIRS[item.pair]
    thought = beliefs(item)
    scores = {score_trial.k: score_trial for score_trial in score_trials(item, turns, mode, tie)}
    said = {turn.payload["k"]: turn.text for turn in turns if turn.payload["kind"] == "answer"}
    return Replay(
        text=whole_text(item),
        setting=item.setting,
        pair=item.pair,
        feature_a=a,
        feature_b=b,
        hypothesis=item.hypothesis,
        format=item.format,
        kind=item.kind,
        instruction=item.instruction,
        trials=tuple(_trial(item, one, scores.get(one.k), said.get(one.k)) for one in thought),
        answered=len(scores),
        correct=sum(score.correct for score in scores.values()),
        oracle=expected(thought, tuple(scores)),
        comment=next((turn.text for turn in turns if turn.payload["kind"] == "comment"), ""),
    )


def _trial(item: Prompt, belief: Belief, score: TrialScore | None, said: str | None) -> ReplayTrial:
    a, b = PAIRS[item.pair]
    example = item.examples[belief.k - 1]
    return ReplayTrial(
        sentence=example.sentence,
        value_a=value_name(a, example.a),
        value_b=value_name(b, example.b),
        k=belief.k,
        gold=example.label,
        answer=said,
        correct=score.correct if score else None,
        posterior=tuple(belief.posterior.items()),
        p_x=belief.p_x,
        identified=belief.identified,
        p_valid=score.p_valid if score else None,
        seconds=score.seconds if score else None,
    )


def _text_replay(item: Item, turns: Sequence[Turn], judgments: Sequence[Judgment]) -> TextReplay:
    hidden = {key: value for key, value in item_record(item).items() if key not in ("examples", "prompt")}
    return TextReplay(
        text=item.text if isinstance(item, AwsPrompt) else asked_text(item),
        setting="aws" if isinstance(item, AwsPrompt) else item.setting,
        answer=next((turn.text for turn in turns if turn.payload["kind"] == "text"), ""),
        category=category(item, turns, judgments),
        details=hidden,
    )
