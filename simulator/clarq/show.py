"""Page blocks of a dialogue: a seat's page during the dialogue, the result, and the replay."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from logs.rows import Ending, Judgment, Turn
from simulator.benchmark import Due, Move
from simulator.blocks import (
    Block,
    Card,
    Check,
    Checklist,
    Chips,
    Detail,
    Example,
    Figure,
    Judge,
    Meter,
    Points,
    Talk,
    Text,
    Verdict,
    Words,
    message,
)
from simulator.clarq import graph
from simulator.clarq.data import PROVIDER, SEEKER
from simulator.clarq.players.experts_offline import parse_reason
from simulator.clarq.score import DialogueScores, score_episode
from simulator.drawn_blocks import NodeState, ReplayTurn, Tree, TreeNode, TreeReplay
from simulator.runner.machines import Result, SeatPage, task_turns
from trees import OPENING, Background, Frontier, Task

KINDS: Final[Mapping[str, str]] = {SEEKER: "question", PROVIDER: "answer"}
"""The kind of each seat's turns."""
VERDICT: Final = "verdict"
"""The step of a study in which the provider judges the dialogue, which is shown again."""


def seat_page(
    context: graph.Context,
    state: graph.State,
    seat: str,
    ending: Ending | None = None,
    warning: str | None = None,
    *,
    first: int = 0,
    stage: str = "",
) -> SeatPage:
    """Return the page of a person in `seat`; `ending`: the logged ending, if there is one."""
    task = context.task
    seat_due = None if ending else graph.seat_due(state, context.turn_limit)
    moves = tuple(Move(who, KINDS[who], text) for who, text in state["lines"])
    people = {SEEKER: context.seeker, PROVIDER: context.provider}
    stage = "done" if ending else stage or "task"
    blocks: tuple[Block, ...] = ()
    if stage == "task":
        frontier = graph.frontier(task, state)
        blocks = seat_blocks(task, frontier, moves, seat, multi=context.multi, turn_limit=context.turn_limit)
    elif stage == VERDICT:
        blocks = (Talk(moves),)
    elif stage == "instructions":
        blocks = instructions(seat)
    return SeatPage(
        episode_id=context.episode_id,
        seat=seat,
        people=tuple(who for who, player in people.items() if player.kind == "person" and who != seat),
        language=task.language,
        stage=stage,
        due=Due(seat, KINDS[seat], closing="farewell" if seat == SEEKER else ""),
        my_turn=seat_due == seat,
        waits_for="" if seat_due in (None, seat) else str(seat_due),
        blocks=blocks,
        moves=moves if stage in ("task", VERDICT, "done") else (),
        first=first,
        number=len(moves),
        ending=ending,
        warning=warning,
    )


def instructions(seat: str) -> tuple[Block, ...]:
    """Return the instructions for a seat: points and two examples."""
    points = Points([("", message(f"instructions.{seat}_{number}")) for number in range(1, 5)])
    return (points, *(_example(f"example.{name}") for name in ("first", "second")))


def _example(name: str) -> Example:
    turns = [f"{SEEKER}_1", f"{PROVIDER}_1", f"{SEEKER}_2", f"{PROVIDER}_2", f"{SEEKER}_3"]
    return Example(
        heading=message(f"{name}.title"),
        text=message(f"{name}.task"),
        lines=[(turn.partition("_")[0], message(f"{name}.{turn}")) for turn in turns],
        note=message(f"{name}.note"),
    )


def seat_blocks(
    task: Task, frontier: Frontier, moves: Sequence[Move], seat: str, *, multi: bool, turn_limit: int
) -> tuple[Block, ...]:
    """Return the dialogue, and next to it the seeker's background or the provider's tree."""
    spoken = Meter("turns", sum(move.seat == SEEKER for move in moves), turn_limit)
    background = [*background_parts(task.background, seat)]
    goal = Text(message(f"goal.{seat}"), "muted")
    if seat == SEEKER:
        return (Talk(moves), spoken, Card(message("background.seeker"), [goal, *background]))
    hint = message("choose." + ("opening" if not frontier.opened else "many" if multi else "one"))
    tree_card = Card(message("tree"), [goal, Tree(tree(frontier), hint=hint, several=multi)])
    return (Talk(moves), spoken, tree_card, Card(message("background.provider"), background))


def background_parts(background: Background, seat: str) -> Iterator[Detail]:
    """Yield the parts of the seeker's background, labelled for `seat`."""
    yield Detail(message(f"background.role_{seat}"), Text(background.role))
    yield Detail(message(f"background.task_{seat}"), Text(background.task), lead=True)
    lists = (("items", background.items), ("skills", background.skills), ("scenes", background.scenes))
    for name, entries in lists:
        if entries:
            yield Detail(message(f"background.{name}"), Chips(entries))


def tree(frontier: Frontier) -> TreeNode:
    """Return the complete tree with the opening as its root, each node with its state."""
    available = {node.index for node in frontier.available}

    def state(index: str) -> NodeState:
        if index in frontier.given:
            return "given"
        return "available" if index in available else "locked"

    def under(parent: str | None) -> tuple[TreeNode, ...]:
        return tuple(
            TreeNode(index, index, node.text, node.explanation or "", state(index), under(index))
            for index, node in frontier.tree.by_index.items()
            if node.parent == parent
        )

    root: NodeState = "given" if frontier.opened else "available"
    return TreeNode(OPENING, message("opening"), frontier.tree.opening, "", root, under(None))


class ReplayStep(NamedTuple):
    """A turn of an ended dialogue, with the nodes it gave and the frontier before and after it."""

    turn: Turn
    gave: tuple[str, ...]
    before: Frontier
    after: Frontier

    @property
    def reviewable(self) -> bool:
        """Return True for a provider's turn other than the fixed greeting."""
        return self.turn.seat == PROVIDER and self.turn.number > 0


class Replay(NamedTuple):
    """An ended dialogue with its hidden task, its steps, final frontier and scores."""

    task: Task
    steps: tuple[ReplayStep, ...]
    frontier: Frontier
    scores: DialogueScores


def replay(task: Task, turns: Sequence[Turn], judgments: Sequence[Judgment] = ()) -> Replay:
    """Return the replay of an episode from its logged turns.

    The frontier of each turn is computed from the tree and the nodes given, so that imported dialogues,
    which have no logged frontier, are shown, too.
    """
    steps: list[ReplayStep] = []
    frontier = Frontier(task.tree)
    for turn in task_turns(turns):
        gave = tuple(turn.payload.get("give", ()))
        after = frontier.open() if OPENING in gave and not frontier.opened else frontier
        after = after.give(index for index in gave if index != OPENING)
        steps.append(ReplayStep(turn, gave, frontier, after))
        frontier = after
    return Replay(task, tuple(steps), frontier, score_episode(task, turns, judgments))


def result(replay: Replay, seat: str, *, judges: bool) -> Result:
    """Return the result page of an ended dialogue for the person who sat in `seat`.

    `judges`: True if they are asked for their own verdict before they see the scores.
    """
    missing = replay.scores.missing
    findings = [
        Check(
            node.index not in missing,
            message("result.missed" if node.index in missing else "result.obtained"),
            node.index,
            node.text,
        )
        for node in replay.task.tree.nodes
    ]
    scored = (_verdict(replay, seat), Card(message("result.information"), [Checklist(findings)]))
    shown = tree_replay(replay)
    blocks = (Judge(scored), shown) if judges else (*scored, shown)
    return Result(language=replay.task.language, moves=(), blocks=blocks)


def tree_replay(replay: Replay) -> TreeReplay:
    """Return an ended dialogue turn by turn, with the final state of the tree."""
    return TreeReplay([_replay_turn(step) for step in replay.steps], tree(replay.frontier))


def _verdict(replay: Replay, seat: str) -> Verdict:
    scores, total = replay.scores, len(replay.task.tree.nodes)
    outcome = "success" if scores.success else "unjudged" if scores.needs_judge else "failure"
    extra = f"{scores.aqd:+d}".replace("-", "\N{MINUS SIGN}") if scores.aqd else "0"
    used = message("result.d_note", used=scores.responses, needed=total + 1)
    length = message(f"result.l_note_{replay.task.language}")
    obtained = message("result.s_yes" if scores.success else "result.s_no")
    return Verdict(
        heading=message(f"result.{'success' if scores.success else 'failure'}.{seat}"),
        text=message(f"result.{outcome}.text", obtained=total - len(scores.missing), total=total),
        good=scores.success,
        figures=(
            Figure(message("result.s"), obtained, message("result.s_note")),
            Figure(message("result.d"), extra, used),
            Figure(message("result.l"), f"{scores.aql:.1f}", length),
        ),
    )


def _replay_turn(step: ReplayStep) -> ReplayTurn:
    """Return a turn of an ended dialogue for display: what it gave, and why."""
    seat, after = step.turn.seat, tuple(node.index for node in step.after.available)
    move = Move(seat, KINDS[seat], step.turn.text)
    if not step.reviewable:
        why = message("result.asked" if seat == SEEKER else "result.greeting")
        return ReplayTurn(move, why=(why,), gave=step.gave, available=after)
    nodes, type = ", ".join(node.index for node in step.before.available), step.turn.payload.get("type")
    classified = [message("result.heard", type=message(f"type.{type}"))] if type else []
    return ReplayTurn(
        move,
        did=given_words(step),
        why=(*classified, reason_words(step.turn.payload.get("reason", ""))),
        choices=message("result.available", nodes=nodes) if nodes else message("result.none_available"),
        gave=step.gave,
        available=after,
    )


def given_words(step: ReplayStep) -> Words:
    """Return the text that says which nodes a provider's turn gave."""
    if OPENING in step.gave:
        return message("result.gave_opening")
    return message("result.gave", nodes=", ".join(step.gave)) if step.gave else message("result.gave_nothing")


def reason_words(logged: str) -> Words:
    """Return the provider's logged reason, translatable unless it is a model's own words."""
    if not logged:
        return message("result.no_reason")
    parsed = parse_reason(logged)
    return logged if parsed is None else message(f"why.{parsed[0]}", **parsed[1])
