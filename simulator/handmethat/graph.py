r"""The episode as a LangGraph state machine: one graph for all players of its two seats.

::

    START -> utter -> listen -> act ----> listen -> … -> utter -> END
                         \---> answer ---/

`utter` speaks for the human: the instruction at the start, thanks or a complaint at the end. `listen` gets
the robot's next move. A question goes to `answer`, where the human's seat is asked; a command goes to `act`,
which changes the household and returns an observation. If a person is to move, the invocation ends; the
runner invokes the graph again with the state rebuilt from the turn log (`rebuild`). So no checkpointer is
needed: the state of the household follows from the logged commands.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import pairwise
from random import Random
from time import monotonic
from typing import Annotated, Any, Final, Literal, TypedDict, get_args

from langgraph.graph import START, StateGraph
from langgraph.runtime import Runtime
from langgraph.types import Command

from logs.rows import Turn
from personas.templates import render
from simulator.errors import SeatError
from simulator.handmethat.players.knows import (
    AskedKnows,
    HeardQuestion,
    InsiderKnows,
    RobotKnows,
    hear,
    reveals,
    robot_knows,
)
from simulator.handmethat.playing import HUMAN, ROBOT, Options, Play, Posed, Step, as_command
from simulator.runner.machines import ActiveEpisode, make_turn, state_after, task_turns
from simulator.seats import Line, Reply, Seat, View
from simulator.seeds import derive_seed
from trees import Language

CLOSING: Final = ("thanks", "complaint")


@dataclass(frozen=True)
class Context:
    """The live objects of an episode, passed as the graph's context, never in its state."""

    live: ActiveEpisode

    @cached_property
    def play(self) -> Play:
        """The task under the episode's options."""
        item: Posed = self.live.item
        return Play(item.task, item.language, Options.read(self.live.episode.options))

    @property
    def robot(self) -> Seat:
        """The robot's seat."""
        return self.live.seats[ROBOT]


class State(TypedDict):
    """The graph's state, plain values only.

    Attributes:
        lines: ``[seat, kind, text, outcome]`` per turn; the outcome is the observation after a command.
        over: ``success``, ``stopped`` or ``limit`` once the robot's part has ended.
        since: when the seat next to move became so (seconds, monotonic).
        move: the robot's command between `listen` and `act`: the fields of its `Reply`.
    """

    lines: Annotated[list[list[str]], operator.add]
    commands: Annotated[list[str], operator.add]
    over: str
    since: float
    move: dict[str, Any]


Update = dict[str, Any]
Place = Literal["utter", "listen", "answer", "__end__"]
"""The next node after a turn."""


def rebuild(turns: Iterable[Turn]) -> State:
    """Return the state after `turns`: all turns of an episode so far, in order."""
    state = State(lines=[], commands=[], over="", since=monotonic(), move={})
    for turn in task_turns(turns):
        payload = turn.payload
        state["lines"].append([turn.seat, payload["kind"], turn.text, payload.get("outcome", "")])
        if turn.seat == ROBOT:
            state["commands"].append(payload["command"])
            state["over"] = payload["over"]
    return state


def ending(state: State) -> Literal["completed", "truncated"] | None:
    """Return ``truncated`` for an end at the limit, ``completed`` for success or a stop; None before."""
    if not _is_closed(state):
        return None
    return "truncated" if state["over"] == "limit" else "completed"


def due(state: State) -> str | None:
    """Return the seat next to move; None if the episode has ended. The human speaks first and last."""
    lines = state["lines"]
    if _is_closed(state):
        return None
    if not lines or state["over"]:
        return HUMAN
    return HUMAN if lines[-1][1] == "question" else ROBOT


def pending(state: State) -> str | None:
    """Return the robot's pending question, or None."""
    lines = state["lines"]
    is_pending = lines and lines[-1][1] == "question" and not state["over"]
    return lines[-1][2] if is_pending else None


def view_for(context: Context, state: State, seat: str) -> View:
    """Return the view of `seat`. A built-in robot that needs internal data declares it (`insider`)."""
    knows: RobotKnows | InsiderKnows | AskedKnows
    lines, play, number = state["lines"], context.play, len(state["lines"])
    if seat == HUMAN:
        knows = AskedKnows(play.task, play.language, _hear_question(context, state), _exchange(state))
    elif getattr(context.robot, "insider", False):
        commands = tuple(state["commands"])
        knows = InsiderKnows(
            play, commands, _exchange(state), derive_seed(context.live.episode.seed, "robot")
        )
    else:
        knows = robot_knows(play, state["commands"], _history(context, state))
    moves = sum(line[0] == seat for line in lines)
    return View(
        episode_id=context.live.episode.id,
        seat=seat,
        number=number,
        language=play.language,
        lines=tuple(Line(speaker, text) for speaker, _, text, _ in lines),
        task=knows,
        seed=derive_seed(context.live.episode.seed, number),
        repeat=context.live.episode.repeat,
        # The instruction is spoken for the human and does not count as a move.
        moves=max(moves - 1, 0) if seat == HUMAN else moves,
        options=context.live.episode.options,
    )


def robot_turn(context: Context, state: State, reply: Reply) -> tuple[Turn, Update]:
    """Return a robot's reply as a turn for the log and an update of the state.

    The payload records asking or acting: ``asks`` is True for a question.

    Raises:
        SeatError: if the reply is empty.
    """
    step = _step(context, state, reply)
    payload = {
        "kind": "question" if step.question else "command",
        "asks": step.command.startswith("question:"),
        "command": step.command,
        "verb": step.outcome.command.verb,
        "outcome": outcome_text(context.play, step),
        "error": step.outcome.error or step.refused or None,
        "reason": step.outcome.reason,
        "reward": step.outcome.reward,
        "cost": step_cost(context.play, step),
        "over": step.over,
    }
    if step.outcome.answer is not None:
        payload["heard"] = step.outcome.answer.key
    update = {"commands": [step.command], "over": step.over}
    return _turn(context, state, ROBOT, reply, reply.text.strip(), payload, update)


def answer_turn(context: Context, state: State, reply: Reply) -> tuple[Turn, Update]:
    """Return an answer of the human's seat as a turn and an update.

    Raises:
        SeatError: if the answer is empty, or no question is pending.
    """
    text = reply.text.strip()
    if pending(state) is None:
        raise SeatError("Nothing was asked.", HUMAN, code="nothing_asked")
    if not text:
        raise SeatError("The human said nothing.", HUMAN, code="nothing_said")
    heard = _hear_question(context, state)
    payload = {
        "kind": "answer",
        "question": heard.answer.key,
        "expert": heard.answer.text,
        "reveals": list(reveals(context.play.task, heard, text)),
    }
    return _turn(context, state, HUMAN, reply, text, payload, {})


def utterance_turn(context: Context, state: State) -> tuple[Turn, Update]:
    """Return the instruction. Its payload has the options, so that the turns are enough for scoring."""
    names = ("mode", "protocol", "limit", "max_questions", "longest")
    payload = {"kind": "utterance", **{name: getattr(context.play.options, name) for name in names}}
    return _turn(context, state, HUMAN, Reply(), context.play.game.utterance, payload, {})


def closing_turn(context: Context, state: State) -> tuple[Turn, Update]:
    """Return the human's closing line: thanks after success, else a complaint."""
    kind = CLOSING[0] if state["over"] == "success" else CLOSING[1]
    random = Random(derive_seed(context.live.episode.seed, "close"))
    return _turn(
        context, state, HUMAN, Reply(), _spoken_line(kind, context.play.language, random), {"kind": kind}, {}
    )


def outcome_text(play: Play, step: Step) -> str:
    """Return the observation after a command; empty for a question, which the human answers."""
    if step.refused:
        return _spoken_line(step.refused, play.language)
    if step.question:
        return ""
    if step.over == "stopped" and step.outcome.kind == "action":
        return f"{step.outcome.observation} {_spoken_line('executed', play.language)}"
    looked = step.outcome.kind == "look"
    view = play.game.look(step.game) if play.options.append_view and not looked else ""
    return "\n".join(filter(None, (step.outcome.observation, view)))


def step_cost(play: Play, step: Step) -> int:
    """Return the cost of a step in points, without the reward for success."""
    success = play.game.costs.success if step.over == "success" else 0
    return success - step.outcome.reward


def build_graph() -> StateGraph[State, Context, State, State]:
    """Return the uncompiled graph; batch runs compile it without a checkpointer."""
    graph = StateGraph(State, context_schema=Context)
    graph.add_conditional_edges(START, _start, list(get_args(Place)))
    graph.add_node("utter", _utter)
    graph.add_node("listen", _listen)
    graph.add_node("answer", _answer)
    graph.add_node("act", _act)
    return graph


async def _start(state: State, runtime: Runtime[Context]) -> Place:
    # Asynchronous because LangGraph runs a plain function in a thread.
    return _next(runtime.context, state)


def _next(context: Context, state: State) -> Place:
    seat = due(state)
    if seat is not None and (state["over"] or not state["lines"]):
        return "utter"
    if seat is None or context.live.seats[seat].kind == "person":
        return "__end__"
    return "listen" if seat == ROBOT else "answer"


async def _utter(state: State, runtime: Runtime[Context]) -> Command[Literal["listen", "__end__"]]:
    speak = closing_turn if state["over"] else utterance_turn
    return await _record(runtime.context, state, *speak(runtime.context, state))


async def _listen(
    state: State, runtime: Runtime[Context]
) -> Command[Literal["act", "answer", "utter", "__end__"]]:
    context = runtime.context
    reply = await context.robot.reply(view_for(context, state, ROBOT))
    if _step(context, state, reply).question:
        return await _record(context, state, *robot_turn(context, state, reply))
    seconds = monotonic() - state["since"] if reply.seconds is None else reply.seconds
    return Command(update={"move": asdict(replace(reply, seconds=seconds))}, goto="act")


async def _answer(state: State, runtime: Runtime[Context]) -> Command[Literal["listen", "__end__"]]:
    context = runtime.context
    reply = await context.live.seats[HUMAN].reply(view_for(context, state, HUMAN))
    return await _record(context, state, *answer_turn(context, state, reply))


async def _act(state: State, runtime: Runtime[Context]) -> Command[Literal["listen", "utter", "__end__"]]:
    context = runtime.context
    return await _record(context, state, *robot_turn(context, state, Reply(**state["move"])))


def _step(context: Context, state: State, reply: Reply) -> Step:
    """Return the step of a robot's reply.

    Raises:
        SeatError: if the reply is empty.
    """
    command = as_command(reply.text)
    if not command:
        raise SeatError(
            "The robot's reply is empty; it must be a command or a question.", ROBOT, code="nothing_said"
        )
    return context.play.steps([*state["commands"], command])[-1]


def _is_closed(state: State) -> bool:
    return bool(state["lines"]) and state["lines"][-1][1] in CLOSING


def _hear_question(context: Context, state: State) -> HeardQuestion:
    """Return the pending question, read together with the human's earlier words."""
    earlier = tuple(text for seat, _, text, _ in state["lines"] if seat == HUMAN)
    return hear(context.play.task, state["commands"][-1], context.play.language, earlier)


def _history(context: Context, state: State) -> tuple[tuple[str, str], ...]:
    outcomes: list[str] = []
    answered = context.play.game.observer.table["answered"]
    for seat, kind, text, outcome in state["lines"]:
        if seat == ROBOT:
            outcomes.append(outcome)
        elif kind == "answer":
            outcomes[-1] = answered.format(answer=text)
    return tuple(zip(state["commands"], outcomes, strict=True))


def _exchange(state: State) -> tuple[tuple[str, str], ...]:
    """Return the questions and answers so far, without the pending question."""
    pairs = pairwise(state["lines"])
    return tuple((question[2], answer[2]) for question, answer in pairs if answer[1] == "answer")


def _turn(
    context: Context,
    state: State,
    seat: str,
    reply: Reply,
    text: str,
    payload: dict[str, Any],
    update: Update,
) -> tuple[Turn, Update]:
    number = len(state["lines"])
    turn = make_turn(
        context.live.episode.id, number, seat, reply, text=text, payload=payload, since=state["since"]
    )
    line = [seat, payload["kind"], text, payload.get("outcome", "")]
    return turn, {"lines": [line], "since": monotonic(), **update}


async def _record(context: Context, state: State, turn: Turn, update: Update) -> Command[Any]:
    await context.live.record(turn)
    return Command(update=update, goto=_next(context, state_after(state, update)))


def _spoken_line(name: str, language: Language, random: Random | None = None) -> str:
    """Return a wording of the line `name`: a random one, or without `random` the first."""
    wordings = render(f"handmethat/{name}", language, {}).text.splitlines()
    return wordings[int(random.random() * len(wordings)) if random else 0]
