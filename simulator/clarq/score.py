"""ClarQ-LLM's dialogue metrics (paper V), as pure functions of logged turns.

* **S**, success: the seeker obtained every node after the opening.
* **D**, AQD: provider turns beyond the number of responses that the item has.
* **L**, AQL: length of the seeker's turns; blanks in English, characters in Chinese.

Spec section 5 states the rules that reproduce the paper's tables from the published logs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any, Final

from logs.rows import Judgment, Score, Turn
from simulator.clarq.compose import contains
from simulator.seats import Line
from trees import Language, Task

VERSION: Final = "clarq-1"
JUDGE: Final = "judge"  # kind of a judgment: does a reply serve a missing node's purpose or contradict it?
SUCCESS: Final = "success"  # kind of a judgment: a person's own verdict on the whole dialogue


@dataclass(frozen=True, slots=True, kw_only=True)
class DialogueScores:
    """The metrics of one dialogue.

    Attributes:
        success: whether every node after the opening was obtained; a missing one counts as not obtained
            unless a judgment says otherwise.
        needs_judge: nodes are missing, some provider line contains no node, and nobody has judged
            whether such a line serves instead: `success` is then a lower bound.
        obtained: indices of nodes whose text was given.
        judged: indices of missing nodes that a judge counts as obtained.
        missing: indices of the other nodes.
        responses: provider lines, the greeting excluded.
        reached: number of provider responses after which every node was obtained; None without success.
        aqd: `responses` minus the item's response lines, the opening included.
        aql: mean length of the seeker's lines (English: blanks; Chinese: characters); 0 without any.
    """

    success: bool
    needs_judge: bool
    obtained: tuple[str, ...]
    judged: tuple[str, ...]
    missing: tuple[str, ...]
    responses: int
    reached: int | None
    aqd: int
    aql: float


def score_dialogue(
    task: Task, lines: Sequence[Line], verdicts: Mapping[str, bool] | None = None
) -> DialogueScores:
    """Score a dialogue.

    Args:
        task: the item that was played.
        lines: all turns, Jax's greeting first.
        verdicts: node index -> whether a judge found that the provider's other words serve it.
    """
    verdicts = verdicts or {}
    obtained = obtained_nodes(task, lines)
    absent = tuple(node.index for node in task.tree.nodes if node.index not in obtained)
    open_question = bool(absent) and bool(unmatched_lines(task, lines))
    judged = tuple(index for index in absent if open_question and verdicts.get(index, False))
    missing = tuple(index for index in absent if index not in judged)
    said = [line for line in lines if line.seat == "provider"][1:]
    asked = [line.text for line in lines if line.seat == "seeker"]
    return DialogueScores(
        success=not missing,
        # One "no" settles it: all missing nodes must be served, and the first that is not ends it.
        needs_judge=open_question and bool(missing) and all(verdicts.get(index, True) for index in missing),
        obtained=obtained,
        judged=judged,
        missing=missing,
        responses=len(said),
        reached=None if missing else _reached(task, lines),
        aqd=len(said) - (len(task.tree.nodes) + 1),
        aql=fmean(turn_length(text, task.language) for text in asked) if asked else 0.0,
    )


def obtained_nodes(task: Task, lines: Sequence[Line]) -> tuple[str, ...]:
    """Indices of the nodes whose text some provider line after the opening response contains."""
    said = lines_after_opening(task, lines)
    return tuple(
        node.index
        for node in task.tree.nodes
        if any(contains(text, node.text, task.language) for text in said)
    )


def unmatched_lines(task: Task, lines: Sequence[Line]) -> tuple[str, ...]:
    """Provider lines after the opening response that contain no node: what a judge has to read."""
    return tuple(
        text
        for text in lines_after_opening(task, lines)
        if not any(contains(text, node.text, task.language) for node in task.tree.nodes)
    )


def lines_after_opening(task: Task, lines: Sequence[Line]) -> tuple[str, ...]:
    """The provider's lines after its first substantive one: the opening, or the first after the greeting."""
    said = [line.text for line in lines if line.seat == "provider"][1:]
    opening = (n for n, text in enumerate(said) if contains(text, task.tree.opening, task.language))
    return tuple(said[next(opening, 0) + 1 :])


def _reached(task: Task, lines: Sequence[Line]) -> int:
    last, missing = 0, {node.index for node in task.tree.nodes}
    responses = sum(line.seat == "provider" for line in lines) - 1
    said = lines_after_opening(task, lines)
    for count, text in enumerate(said, start=responses - len(said) + 1):
        found = {node.index for node in task.tree.nodes if contains(text, node.text, task.language)}
        if found & missing:
            last = count
        missing -= found
    # A node that only a judge counts as obtained has no line of its own: the whole dialogue was needed.
    return responses if missing else last


def turn_length(text: str, language: Language) -> int:
    """Length of a seeker's line: the number of blanks in English, of characters in Chinese."""
    stripped = text.strip()
    return stripped.count(" ") if language == "en" else len(stripped)


def success_by_responses(scored: Iterable[DialogueScores], longest: int = 14) -> tuple[float, ...]:
    """Share of dialogues in which the seeker knew everything after 1, 2, …, `longest` responses (Fig. 4)."""
    reached = [score.reached for score in scored]
    return tuple(
        sum(count is not None and count <= limit for count in reached) / max(len(reached), 1)
        for limit in range(1, longest + 1)
    )


def score_episode(task: Task, turns: Iterable[Turn], judgments: Iterable[Judgment] = ()) -> DialogueScores:
    """Score an episode out of its logged turns and what judges said of it."""
    return score_dialogue(task, [Line(turn.seat, turn.text) for turn in turns], verdicts(judgments))


def verdicts(judgments: Iterable[Judgment]) -> dict[str, bool]:
    """Node index -> whether it counts as obtained, out of judgments of kind `JUDGE`; the latest counts."""
    found: dict[str, bool] = {}
    for judgment in sorted(judgments, key=lambda row: row.created_at):
        if judgment.kind == JUDGE:
            found[str(judgment.value["node"])] = bool(judgment.value["obtained"])
    return found


def score_rows(episode_id: str, scores: DialogueScores) -> tuple[Score, ...]:
    """The scores as rows of the log: ``success``, ``aqd`` and ``aql``."""
    details: dict[str, Any] = {
        key: value for key, value in asdict(scores).items() if key not in {"success", "aqd", "aql"}
    }
    values = {"success": float(scores.success), "aqd": float(scores.aqd), "aql": scores.aql}
    return tuple(
        Score(episode_id=episode_id, metric=metric, value=value, version=VERSION, details=details)
        for metric, value in values.items()
    )
