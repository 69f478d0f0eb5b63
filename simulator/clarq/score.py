"""ClarQ-LLM's dialogue metrics (paper V) and records of asking: pure functions of turns.

* **S**, success: the seeker obtained every node after the opening. `decided_by` says who decided:
  a majority of reviewers overrides a majority of judges, which overrides the containment rule. On a tie,
  the next in that order decides.
* **D**, AQD: provider turns beyond the number of responses in the item.
* **L**, AQL: length of the seeker's turns; blanks in English, characters in Chinese.

Spec section 5 states the rules that reproduce the paper's tables from the published logs.

**Asking** (see `simulator.asking`): every node after the opening is information that only the provider has,
so asking is needed until all nodes have been given. Asking on after that is a separate, unneeded decision,
recorded if the seeker has a turn after the last node. A seeker who has asked and says goodbye
while a node is missing did not ask when it was needed: another separate decision. A question is a seeker's
turn after the opening that asks something, by its form or because it was answered with a node; asking for
the task at all does not count, nor does a goodbye. It is useful if the provider's next turn contains a node
that no earlier turn contained. Everything is derived from the words, as success is, so that published
dialogues, people and models are counted in the same way.
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
from simulator.clarq.data import PROVIDER, SEEKER, is_farewell, read_item
from simulator.clarq.lexical import PATTERNS
from simulator.runner import machines
from simulator.runner.logged import ENDED, PlayedItem, played_items
from simulator.runner.machines import task_turns
from simulator.seats import Line
from simulator.tables.cells import NO_BREAK
from trees import Language, Task
from trees.model import task_type

VERSION: Final = "clarq-2"
JUDGE: Final = "judge"  # kind of a judgment: does a reply serve a missing node's purpose or contradict it?
REVIEW_SUCCESS: Final = "review.success"  # kind of a judgment: a reviewer's verdict on a dialogue
SUCCESS: Final = "success"  # kind of a judgment: a participant's own verdict on a dialogue

DecidedBy = Literal["rule", "judges", "people"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DialogueScores:
    """The metrics of one dialogue.

    Attributes:
        success: whether every node after the opening was obtained; a missing node counts as not obtained
            unless a judgment says otherwise.
        needs_judge: whether nodes are missing, some provider line contains no node, and no verdict says
            whether such a line serves instead; `success` is then a lower bound.
        obtained: indices of the nodes whose text was given.
        judged: indices of the nodes without text that a judge counts as obtained.
        responses: number of provider turns after the greeting.
        reached: number of responses after which every node was obtained; None without success.
        aqd: `responses` minus the number of responses in the item, including the opening.
        aql: mean length of the seeker's lines (English: blanks; Chinese: characters); 0 without lines.
        decided_by: who decided `success`: ``rule``, ``judges`` or ``people``.
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

    `verdicts`: node index -> whether a judge found that the provider's other words serve instead.
    """
    verdicts = verdicts or {}
    by_line = _nodes_by_line(task, lines)
    obtained = tuple(node.index for node in task.tree.nodes if any(node.index in nodes for nodes in by_line))
    absent = tuple(node.index for node in task.tree.nodes if node.index not in obtained)
    open_question = bool(absent) and not all(by_line)
    judged = tuple(index for index in absent if open_question and verdicts.get(index, False))
    missing = tuple(index for index in absent if index not in judged)
    responses = max(sum(line.seat == "provider" for line in lines) - 1, 0)
    seeker_texts = [line.text for line in lines if line.seat == "seeker"]
    return DialogueScores(
        success=not missing,
        # A single "no" decides: every missing node must be served by other words.
        needs_judge=open_question and bool(missing) and all(verdicts.get(index, True) for index in missing),
        obtained=obtained,
        judged=judged,
        missing=missing,
        responses=responses,
        reached=None if missing else _responses_needed(by_line, obtained, absent, responses),
        aqd=responses - (len(task.tree.nodes) + 1),
        aql=fmean(turn_length(text, task.language) for text in seeker_texts) if seeker_texts else 0.0,
        decided_by="judges" if open_question and any(index in verdicts for index in absent) else "rule",
    )


def spoken_lines(turns: Iterable[Turn]) -> tuple[Line, ...]:
    """Return the lines of a dialogue, Jax's greeting first."""
    return tuple(Line(turn.seat, turn.text) for turn in task_turns(turns))


def lines_after_opening(task: Task, lines: Sequence[Line]) -> tuple[str, ...]:
    """Return the provider's lines after the opening; if it was not given, after the first reply."""
    replies = [line.text for line in lines if line.seat == "provider"][1:]
    opening = (n for n, text in enumerate(replies) if contains(text, task.tree.opening, task.language))
    return tuple(replies[next(opening, 0) + 1 :])


def unmatched_lines(task: Task, lines: Sequence[Line]) -> tuple[str, ...]:
    """Return the provider's lines after the opening that contain no node, for a judge to read."""
    after = zip(lines_after_opening(task, lines), _nodes_by_line(task, lines), strict=True)
    return tuple(text for text, nodes in after if not nodes)


def _nodes_by_line(task: Task, lines: Sequence[Line]) -> list[frozenset[str]]:
    """Return the nodes contained in each provider line after the opening."""
    return [_nodes_in(task, text) for text in lines_after_opening(task, lines)]


def _nodes_in(task: Task, text: str) -> frozenset[str]:
    return frozenset(node.index for node in task.tree.nodes if contains(text, node.text, task.language))


def _responses_needed(
    by_line: Sequence[frozenset[str]], obtained: Sequence[str], absent: Sequence[str], responses: int
) -> int:
    # A node that only a judge counts as obtained cannot be located: the complete dialogue was needed.
    if absent:
        return responses
    first = (next(line for line, nodes in enumerate(by_line) if index in nodes) for index in obtained)
    return responses - len(by_line) + 1 + max(first, default=-1 - responses + len(by_line))


def turn_length(text: str, language: Language) -> int:
    """Return the length of a seeker's line: blanks in English, characters in Chinese."""
    stripped = text.strip()
    return sum(map(stripped.count, " " + NO_BREAK)) if language == "en" else len(stripped)


def score_episode(task: Task, turns: Iterable[Turn], judgments: Iterable[Judgment] = ()) -> DialogueScores:
    """Score an episode from its logged turns and the judgments of reviewers and judges."""
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
    """Return each reviewer's latest verdict on the dialogue."""
    rows = (row for row in _in_order(judgments) if row.kind == REVIEW_SUCCESS)
    return {row.annotator: bool(row.value["success"]) for row in rows}


def judge_verdicts(judgments: Iterable[Judgment]) -> dict[str, dict[str, bool]]:
    """Return each judge's latest verdicts: node index -> whether the node counts as obtained."""
    verdicts: dict[str, dict[str, bool]] = {}
    for row in _in_order(judgments):
        if row.kind == JUDGE:
            verdicts.setdefault(row.annotator, {})[str(row.value["node"])] = bool(row.value["obtained"])
    return verdicts


def judge_decides(verdicts: Mapping[str, bool], absent: Sequence[str]) -> bool | None:
    """Return whether a judge counts all `absent` nodes as obtained; None if verdicts are lacking."""
    if any(verdicts.get(index) is False for index in absent):
        return False
    return True if all(index in verdicts for index in absent) else None


def majority(votes: Iterable[bool | None]) -> bool | None:
    """Return the majority of the votes that are not None; None for a tie or no votes."""
    cast_votes = [vote for vote in votes if vote is not None]
    surplus = 2 * sum(cast_votes) - len(cast_votes)
    return None if surplus == 0 else surplus > 0


def _majority_verdicts(judges: Mapping[str, Mapping[str, bool]], absent: Sequence[str]) -> dict[str, bool]:
    """Return the verdicts on nodes of the judges in the majority; empty for a tie."""
    if len(judges) < 2:
        return {node: obtained for verdicts in judges.values() for node, obtained in verdicts.items()}
    decided = {name: judge_decides(verdicts, absent) for name, verdicts in judges.items()}
    verdict = majority(decided.values())
    if verdict is None:
        # No judge has decided, or there is a tie: verdicts on single nodes do not settle it.
        return {}
    agreeing = (verdicts for name, verdicts in judges.items() if decided[name] is verdict)
    return {node: obtained for verdicts in agreeing for node, obtained in verdicts.items()}


def _in_order(judgments: Iterable[Judgment]) -> list[Judgment]:
    return sorted(judgments, key=lambda row: row.created_at)


def score_rows(episode_id: str, scores: DialogueScores) -> tuple[Score, ...]:
    """Return the scores ``success``, ``aqd`` and ``aql`` as rows for the log."""
    details = asdict(scores)
    values = {name: float(details.pop(name)) for name in ("success", "aqd", "aql")}
    return machines.score_rows(episode_id, values, VERSION, details)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredEpisode:
    """An episode that counts; an aborted one is unsuccessful. `automatic`: scores without reviewers."""

    episode: Episode
    task: Task
    status: str
    scores: DialogueScores
    automatic: DialogueScores

    @property
    def absent(self) -> tuple[str, ...]:
        """Indices of the nodes whose text was never given."""
        return (*self.automatic.judged, *self.automatic.missing)

    @property
    def ended(self) -> bool:
        """Return True if the episode was played to its end."""
        return self.status in ENDED


def score_run(reader: LogReader, run_id: str, *, exclude_aborted: bool = False) -> tuple[ScoredEpisode, ...]:
    """Score the latest attempt of every ended episode of a run from its logged turns.

    Episodes aborted because a seat failed count as unsuccessful, unless they are excluded
    (`simulator.runner.logged`). Episodes of participants who have withdrawn are left out, because without
    the erased words they would count as failures.

    The result is ordered by language, type, task and repeat, so that resampled intervals do not depend on
    the order in which dialogues ended.
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


class _SeekerTurn(NamedTuple):
    """A seeker's turn after the opening: whether it asks or leaves, and the new nodes in the reply."""

    asks: bool
    leaves: bool
    nodes: tuple[str, ...]


def asking_record(
    item: Task, options: Mapping[str, Any], turns: Sequence[Turn], judgments: Sequence[Judgment]
) -> Asked:
    """Return the record of asking of an ended dialogue."""
    seeker_turns = tuple(_seeker_turns(item, turns))
    questions = [turn for turn in seeker_turns if turn.asks]
    scores = score_episode(item, turns, judgments)
    return Asked(
        kind=task_type(item.type).en,
        need=need_of(item),
        questions=len(questions),
        useful=sum(bool(question.nodes) for question in questions),
        # The nodes cannot be known without asking.
        right_before=None,
        right=scores.success,
        open=scores.needs_judge,
        later=tuple(_later_decisions(item, seeker_turns)),
    )


def need_of(item: Task, given: Collection[str] = ()) -> Need:
    """Return whom the seeker needs to ask: the provider ("person") until all nodes are `given`."""
    return "person" if {node.index for node in item.tree.nodes} - set(given) else "nothing"


def _later_decisions(item: Task, turns: Sequence[_SeekerTurn]) -> Iterator[Decision]:
    """Yield a decision if the seeker left with nodes missing, and one on asking after all were given."""
    given: set[str] = set()
    after_all_given: list[_SeekerTurn] = []
    for turn in turns:
        if given and need_of(item, given) == "nothing":
            after_all_given.append(turn)
        given.update(turn.nodes)
    if any(turn.asks for turn in turns) and turns[-1].leaves and need_of(item, given) == "person":
        yield Decision("person", False)
    if after_all_given:
        yield Decision("nothing", any(turn.asks for turn in after_all_given))


def is_question(text: str, nodes: Sequence[str], language: Language) -> bool:
    """Return True if a seeker's turn asks something, by its form or because `nodes` answered it."""
    asks = "?" in text or "？" in text or bool(PATTERNS[language]["asks_without_mark"].search(text))
    return bool(nodes) or (asks and not is_farewell(text))


def _seeker_turns(task: Task, turns: Sequence[Turn]) -> Iterator[_SeekerTurn]:
    lines = spoken_lines(turns)
    after = len(lines_after_opening(task, lines))
    spoken = [place for place, line in enumerate(lines) if line.seat == PROVIDER]
    if len(spoken) < 2:
        return
    # The provider line before the last `after` ones is the opening.
    start = spoken[len(spoken) - after - 1]
    given: set[str] = set()
    for line, reply in zip_longest(lines[start + 1 :], lines[start + 2 :], fillvalue=Line(PROVIDER, "")):
        if line.seat == SEEKER:
            contained = _nodes_in(task, reply.text)
            new = tuple(node.index for node in task.tree.nodes if node.index in contained - given)
            given.update(new)
            leaves = is_farewell(line.text) and not new
            yield _SeekerTurn(is_question(line.text, new, task.language), leaves, new)
