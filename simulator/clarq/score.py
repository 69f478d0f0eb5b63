"""ClarQ-LLM's dialogue metrics (paper V), and what dialogues say of asking: pure functions of turns.

* **S**, success: the seeker obtained every node after the opening. Whose verdict that is, `decided_by` says:
  reviewers' (by majority) stand above judges' (by majority), and these above the rule of containment. A tie
  decides nothing: it is left to the next in that order.
* **D**, AQD: provider turns beyond the number of responses that the item has.
* **L**, AQL: length of the seeker's turns; blanks in English, characters in Chinese.

Spec section 5 states the rules that reproduce the paper's tables from the published logs.

**Asking** (see `simulator.asking`): what is open, only this provider can tell, every node of the tree after
the opening. Once all nodes are given nothing is open, and whoever goes on asking asks for nothing; that
decision is told apart where the seeker has a turn after the last node. Whoever has asked and says goodbye
while a node is open has not asked when it was needed: a decision of its own, too. A question is a seeker's
turn after the opening that asks something, by its form or because it was answered with a node; to be told the
task at all is no question, and neither is a goodbye. It is useful if the provider's next turn holds a node
that no earlier one held. All of it is read off the words, as the success is, so that published dialogues,
people and models are counted alike.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import zip_longest
from operator import attrgetter
from statistics import fmean
from typing import Any, Final, Literal, NamedTuple

from logs import LogReader
from logs.rows import Episode, Judgment, Score, Turn
from simulator.asking import Asked, Decision, Need
from simulator.clarq.compose import contains
from simulator.clarq.data import PROVIDER, SEEKER, farewell, read_item
from simulator.clarq.lexical import PATTERNS
from simulator.runner import machines
from simulator.runner.logged import ENDED, PlayedItem, played_items
from simulator.runner.machines import task_turns
from simulator.seats import Line
from trees import Language, Task
from trees.model import task_type

VERSION: Final = "clarq-2"
JUDGE: Final = "judge"  # kind of a judgment: does a reply serve a missing node's purpose or contradict it?
REVIEW_SUCCESS: Final = "review.success"  # kind of a judgment: a reviewer's verdict on the whole dialogue
SUCCESS: Final = "success"  # kind of a judgment: a person's own verdict on the whole dialogue


DecidedBy = Literal["rule", "judges", "people"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DialogueScores:
    """The metrics of one dialogue.

    Attributes:
        success: whether every node after the opening was obtained; a missing one counts as not obtained
            unless a judgment says otherwise.
        needs_judge: nodes are missing, some provider line contains no node, and nobody has judged
            whether such a line serves instead: `success` is then a lower bound.
        judged: indices of missing nodes that a judge counts as obtained.
        reached: number of provider responses after which every node was obtained; None without success.
        aqd: `responses` minus the item's response lines, the opening included.
        aql: mean length of the seeker's lines (English: blanks; Chinese: characters); 0 without any.
        decided_by: whose verdict `success` is: ``rule``, ``judges`` or ``people``.
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
    decided_by: DecidedBy = "rule"


def score_dialogue(
    task: Task, lines: Sequence[Line], verdicts: Mapping[str, bool] | None = None
) -> DialogueScores:
    """Score a dialogue.

    `verdicts`: node index -> whether a judge found that the provider's other words serve it.
    """
    verdicts = verdicts or {}
    brought = _nodes_brought(task, lines)
    obtained = tuple(node.index for node in task.tree.nodes if any(node.index in nodes for nodes in brought))
    absent = tuple(node.index for node in task.tree.nodes if node.index not in obtained)
    open_question = bool(absent) and not all(brought)
    judged = tuple(index for index in absent if open_question and verdicts.get(index, False))
    missing = tuple(index for index in absent if index not in judged)
    responses = max(sum(line.seat == "provider" for line in lines) - 1, 0)
    asked = [line.text for line in lines if line.seat == "seeker"]
    return DialogueScores(
        success=not missing,
        # One "no" settles it: all missing nodes must be served, and the first that is not ends it.
        needs_judge=open_question and bool(missing) and all(verdicts.get(index, True) for index in missing),
        obtained=obtained,
        judged=judged,
        missing=missing,
        responses=responses,
        reached=None if missing else _nodes_reached(brought, obtained, absent, responses),
        aqd=responses - (len(task.tree.nodes) + 1),
        aql=fmean(turn_length(text, task.language) for text in asked) if asked else 0.0,
        decided_by="judges" if open_question and any(index in verdicts for index in absent) else "rule",
    )


def spoken_lines(turns: Iterable[Turn]) -> tuple[Line, ...]:
    """Return what was said in a dialogue, Jax's greeting first."""
    return tuple(Line(turn.seat, turn.text) for turn in task_turns(turns))


def lines_after_opening(task: Task, lines: Sequence[Line]) -> tuple[str, ...]:
    """Return the provider's lines after the opening, or after the first that follows the greeting."""
    replies = [line.text for line in lines if line.seat == "provider"][1:]
    opening = (n for n, text in enumerate(replies) if contains(text, task.tree.opening, task.language))
    return tuple(replies[next(opening, 0) + 1 :])


def unmatched_lines(task: Task, lines: Sequence[Line]) -> tuple[str, ...]:
    """Return provider lines after the opening response that contain no node: what a judge has to read."""
    after = zip(lines_after_opening(task, lines), _nodes_brought(task, lines), strict=True)
    return tuple(text for text, nodes in after if not nodes)


def _nodes_brought(task: Task, lines: Sequence[Line]) -> list[frozenset[str]]:
    """Return the nodes whose text each provider line after the opening response contains."""
    return [_nodes_in(task, text) for text in lines_after_opening(task, lines)]


def _nodes_in(task: Task, text: str) -> frozenset[str]:
    return frozenset(node.index for node in task.tree.nodes if contains(text, node.text, task.language))


def _nodes_reached(
    brought: Sequence[frozenset[str]], obtained: Sequence[str], absent: Sequence[str], responses: int
) -> int:
    # A node that only a judge counts as obtained has no line of its own: the whole dialogue was needed.
    if absent:
        return responses
    first = (next(line for line, nodes in enumerate(brought) if index in nodes) for index in obtained)
    return responses - len(brought) + 1 + max(first, default=-1 - responses + len(brought))


def turn_length(text: str, language: Language) -> int:
    """Return the length of a seeker's line: the number of blanks in English, of characters in Chinese."""
    stripped = text.strip()
    return stripped.count(" ") if language == "en" else len(stripped)


def score_episode(task: Task, turns: Iterable[Turn], judgments: Iterable[Judgment] = ()) -> DialogueScores:
    """Score an episode out of its logged turns and what reviewers and judges said of it."""
    lines, rows = spoken_lines(turns), tuple(judgments)
    scores = score_dialogue(
        task, lines, _majority_verdicts(judge_verdicts(rows), score_dialogue(task, lines).missing)
    )
    verdict = majority(reviewer_verdicts(rows).values())
    if verdict is None:
        return scores
    absent = (*scores.judged, *scores.missing)
    settled = replace(scores, success=verdict, needs_judge=False, decided_by="people")
    if not verdict:
        return replace(settled, reached=None)
    reached = scores.responses if absent else scores.reached
    return replace(settled, judged=absent, missing=(), reached=reached)


def reviewer_verdicts(judgments: Iterable[Judgment]) -> dict[str, bool]:
    """Return by reviewer their verdict on the dialogue, the newest of each."""
    rows = (row for row in _in_order(judgments) if row.kind == REVIEW_SUCCESS)
    return {row.annotator: bool(row.value["success"]) for row in rows}


def judge_verdicts(judgments: Iterable[Judgment]) -> dict[str, dict[str, bool]]:
    """Return by judge and node whether it counts as obtained, the newest of each."""
    verdicts: dict[str, dict[str, bool]] = {}
    for row in _in_order(judgments):
        if row.kind == JUDGE:
            verdicts.setdefault(row.annotator, {})[str(row.value["node"])] = bool(row.value["obtained"])
    return verdicts


def judge_decides(said: Mapping[str, bool], absent: Sequence[str]) -> bool | None:
    """Return True if a judge counts all `absent` nodes as obtained; None while some are unasked."""
    if any(said.get(index) is False for index in absent):
        return False
    return True if all(index in said for index in absent) else None


def majority(votes: Iterable[bool | None]) -> bool | None:
    """Return what most votes say; None for a tie, or without any."""
    cast_votes = [vote for vote in votes if vote is not None]
    surplus = 2 * sum(cast_votes) - len(cast_votes)
    return None if surplus == 0 else surplus > 0


def _majority_verdicts(judges: Mapping[str, Mapping[str, bool]], absent: Sequence[str]) -> dict[str, bool]:
    """Return the verdicts on nodes that stand for the majority of judges; of a tie none."""
    if len(judges) < 2:
        return {node: obtained for verdicts in judges.values() for node, obtained in verdicts.items()}
    decided = {name: judge_decides(verdicts, absent) for name, verdicts in judges.items()}
    verdict = majority(decided.values())
    if verdict is None:
        # Nobody has decided, or as many this way as that: what is known of single nodes settles nothing.
        return {}
    agreeing = (verdicts for name, verdicts in judges.items() if decided[name] is verdict)
    return {node: obtained for verdicts in agreeing for node, obtained in verdicts.items()}


def _in_order(judgments: Iterable[Judgment]) -> list[Judgment]:
    return sorted(judgments, key=lambda row: row.created_at)


def score_rows(episode_id: str, scores: DialogueScores) -> tuple[Score, ...]:
    """Return the scores as rows of the log: ``success``, ``aqd`` and ``aql``."""
    details = asdict(scores)
    values = {name: float(details.pop(name)) for name in ("success", "aqd", "aql")}
    return machines.score_rows(episode_id, values, VERSION, details)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredEpisode:
    """An episode that counts, with its scores.

    Attributes:
        status: ``completed`` or ``truncated``; ``aborted`` where a seat failed.
        scores: of an aborted one: those of its turns, without success.
        automatic: what rule and judges say, without the reviewers.
    """

    episode: Episode
    task: Task
    status: str
    scores: DialogueScores
    automatic: DialogueScores

    @property
    def absent(self) -> tuple[str, ...]:
        """Nodes whose text was never given."""
        return (*self.automatic.judged, *self.automatic.missing)

    @property
    def ended(self) -> bool:
        """Return True if it was played to its end."""
        return self.status in ENDED


def score_run(reader: LogReader, run_id: str, *, exclude_aborted: bool = False) -> tuple[ScoredEpisode, ...]:
    """Score every ended episode of a run, the latest attempt of each, from its logged turns.

    An episode that was aborted because a seat failed is an unsuccessful one, unless it is excluded
    (`simulator.runner.logged`).

    They are ordered by language, type, task and repeat: intervals are resampled, and must not depend on
    which dialogue happened to end first.
    People who have withdrawn do not count: without their words their episodes would be failures.
    """
    judgments: dict[str, list[Judgment]] = {}
    for judgment in reader.judgments(run_id=run_id):
        judgments.setdefault(judgment.episode_id or "", []).append(judgment)
    played = played_items(reader, run_id, read_item, aborted=not exclude_aborted)
    scored = (_score(episode, judgments.get(episode.episode.id, ())) for episode in played)
    order = attrgetter("task.language", "task.type", "task.id", "episode.repeat")
    return tuple(sorted(scored, key=order))


def _score(played: PlayedItem, judgments: Sequence[Judgment]) -> ScoredEpisode:
    task: Task = played.item
    automatic = score_episode(task, played.turns, [row for row in judgments if row.kind != REVIEW_SUCCESS])
    scores = score_episode(task, played.turns, judgments) if judgments else automatic
    if played.ending.status not in ENDED:
        scores = automatic = replace(automatic, success=False, needs_judge=False, reached=None)
    return ScoredEpisode(
        episode=played.episode, task=task, status=played.ending.status, scores=scores, automatic=automatic
    )


class _Said(NamedTuple):
    """A seeker's turn after the opening: whether it asks or leaves, and the nodes that the reply brought."""

    asks: bool
    leaves: bool
    brought: tuple[str, ...]


def asked(
    item: Task, options: Mapping[str, Any], turns: Sequence[Turn], judgments: Sequence[Judgment]
) -> Asked:
    """Return what an ended dialogue says."""
    said = tuple(_spoken_turns(item, turns))
    questions = [turn for turn in said if turn.asks]
    scores = score_episode(item, turns, judgments)
    return Asked(
        kind=task_type(item.type).en,
        need=need_of(item),
        questions=len(questions),
        useful=sum(bool(question.brought) for question in questions),
        # Before anything was asked, nobody could know what the tree's nodes tell.
        right_before=None,
        right=scores.success,
        open=scores.needs_judge,
        later=tuple(_later_decisions(item, said)),
    )


def need_of(item: Task, given: Collection[str] = ()) -> Need:
    """Return what settles what is open once some nodes are given: the provider, as long as one is left."""
    return "person" if {node.index for node in item.tree.nodes} - set(given) else "nothing"


def _later_decisions(item: Task, said: Sequence[_Said]) -> Iterator[Decision]:
    """Yield whether whoever had asked left while something was open, and whether they asked on when not."""
    given: set[str] = set()
    when_all_is_given: list[_Said] = []
    for turn in said:
        if given and need_of(item, given) == "nothing":
            when_all_is_given.append(turn)
        given.update(turn.brought)
    if any(turn.asks for turn in said) and said[-1].leaves and need_of(item, given) == "person":
        yield Decision("person", False)
    if when_all_is_given:
        yield Decision("nothing", any(turn.asks for turn in when_all_is_given))


def is_question(text: str, brought: Sequence[str], language: Language) -> bool:
    """Return True if a seeker's turn asks something."""
    asks = "?" in text or "？" in text or bool(PATTERNS[language]["asks_without_mark"].search(text))
    return bool(brought) or (asks and not farewell(text))


def _spoken_turns(task: Task, turns: Sequence[Turn]) -> Iterator[_Said]:
    lines = spoken_lines(turns)
    after = len(lines_after_opening(task, lines))
    spoken = [place for place, line in enumerate(lines) if line.seat == PROVIDER]
    if len(spoken) < 2:
        return
    # Without a reply after the greeting nothing was opened; with one, what is left follows the opening.
    start = spoken[len(spoken) - after - 1]
    known: set[str] = set()
    for line, reply in zip_longest(lines[start + 1 :], lines[start + 2 :], fillvalue=Line(PROVIDER, "")):
        if line.seat == SEEKER:
            held = _nodes_in(task, reply.text)
            brought = tuple(node.index for node in task.tree.nodes if node.index in held - known)
            known.update(brought)
            leaves = farewell(line.text) and not brought
            yield _Said(is_question(line.text, brought, task.language), leaves, brought)
