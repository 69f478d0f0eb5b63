r"""The episode as a LangGraph state machine, in the paper's terms; one graph for every kind of player.

::

    propose     the robot proposes: options, samples or one action by its method (`methods`), or the actions
                that it marks
    calibrate   conformal methods: the scores of the candidates, and the threshold from the calibration run
    decide      the prediction set under that threshold, and from it the decision to act or to ask
    ask         the question to the user; it has words if the user can answer
    answer      the user's answer, which becomes part of the next proposal

    START -> propose -> calibrate -> decide -> END               the robot acts
                     ------------->         -> ask -> END        it asks, without an answer
                                                   -> answer -> propose -> …
    START -> annotate -> END                                     an annotator makes a pair from a draft

An episode of a calibration run ends in `calibrate`: the threshold is computed from its scores (`runs`), and
there is no set yet. Once the questions are used up the robot must act. When a person is to move, the
invocation ends: the person submits a complete move, `take` makes a turn of it with the same functions, and
the runner invokes the graph again with the state rebuilt from the turn log (`rebuild`). So no checkpointer
is needed: the log is the checkpoint.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from random import Random
from time import monotonic
from typing import Annotated, Any, Final, Literal, TypedDict, cast

from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from langgraph.types import Command

from logs.rows import Turn
from simulator.ambik.forms import read_chosen
from simulator.ambik.items import DecideItem, DraftItem, Item
from simulator.ambik.payloads import (
    act_or_ask,
    annotation_move,
    answer_move,
    method_decision,
    person_mark,
    score_candidates,
    with_words,
)
from simulator.ambik.playing import (
    ANNOTATOR,
    ROBOT,
    USER,
    AnnotatorKnows,
    Options,
    RobotKnows,
    UserKnows,
    blind_item,
)
from simulator.ambik.predicting import ScoredDecision, prepare
from simulator.ambik.records import Decision
from simulator.ambik.terms import CONFORMAL, METHODS
from simulator.benchmark import Due
from simulator.errors import SeatError
from simulator.forms import measurements
from simulator.runner.machines import ActiveEpisode, due_since, make_turn, state_after
from simulator.seats import Line, Reply, View
from simulator.seeds import derive_seed

_ASKS: Final = "asks"


@dataclass(frozen=True)
class Context:
    """The objects that an episode is played with: the graph's context, never part of its state."""

    live: ActiveEpisode
    proposals: dict[int, ScoredDecision] = field(default_factory=dict)
    """Proposals not yet logged, by turn number, scored once for all nodes."""

    @property
    def item(self) -> Item:
        """The item."""
        return cast(Item, self.live.item)

    @cached_property
    def rules(self) -> Options:
        """The episode's options."""
        return Options.read(self.live.episode.options)

    @property
    def decided_on(self) -> DecideItem:
        """The item of an episode with a robot."""
        assert not isinstance(self.item, DraftItem)
        return self.item

    @cached_property
    def offered(self) -> tuple[str, ...]:
        """The offered actions in display order, which is random so that positions give nothing away."""
        options = () if isinstance(self.item, DraftItem) else tuple(dict.fromkeys(self.item.options))
        return tuple(Random(derive_seed(self.live.episode.seed, "offered")).sample(options, len(options)))


class State(TypedDict):
    """Plain values only.

    Attributes:
        said: ``[seat, kind, text, "asks" or ""]`` per turn.
        since: when the pending seat's turn began (seconds, monotonic).
        move: the robot's turn between `propose` and the log, besides `Context.proposals`: fields of its
            `Reply`, then scores under a threshold, then the turn's payload.
    """

    said: Annotated[list[list[str]], operator.add]
    since: float
    move: dict[str, Any]


Update = dict[str, Any]
Start = Literal["propose", "answer", "annotate", "__end__"]
_FIRST: Final[Mapping[str, Start]] = {"decide": "propose", "answer": "answer", "annotate": "annotate"}
"""The node in which a turn begins, by the turn's kind."""


def rebuild(turns: Iterable[Turn]) -> State:
    """Return the state after the turns of one episode, in order."""
    logged = tuple(turns)
    lines = [_line(turn.seat, turn.payload, turn.text) for turn in logged]
    return State(said=lines, since=due_since(logged), move={})


def due(context: Context, state: State) -> Due | None:
    """Return the seat that is to move and its kind of turn; None when the episode is over."""
    played = state["said"]
    if context.rules.task == "annotate":
        return None if played else Due(ANNOTATOR, "annotate")
    if not played or played[-1][1] == "answer":
        return Due(ROBOT, "decide")
    waits = played[-1][3] == _ASKS and questions_asked(state) <= context.rules.questions
    return Due(USER, "answer") if waits else None


def questions_asked(state: State) -> int:
    """Return the number of questions that the robot has asked."""
    return sum(flag == _ASKS for *_, flag in state["said"])


def must_act(context: Context, state: State) -> bool:
    """Return True if the questions are used up; without any to answer, a robot may still decide to ask."""
    return 0 < context.rules.questions <= questions_asked(state)


def last_question(state: State) -> str:
    """Return the last question, answered or not; empty if nothing was asked."""
    return next((text for *_, text, flag in reversed(state["said"]) if flag == _ASKS), "")


def exchanges(state: State) -> tuple[tuple[str, str], ...]:
    """Return the episode's answered questions, with their answers."""
    questions = (text for *_, text, flag in state["said"] if flag == _ASKS)
    answers = (text for _, kind, text, _ in state["said"] if kind == "answer")
    return tuple(zip(questions, answers, strict=False))


def seat_view(context: Context, state: State, seat: str, *, actions: tuple[str, ...] | None = None) -> View:
    """Return everything that `seat` may see now; `actions`: for a robot that is to word its question."""
    number = _number(context, state)
    return View(
        episode_id=context.live.episode.id,
        seat=seat,
        number=number,
        language=context.rules.language,
        lines=tuple(Line(who, text) for who, _, text, _ in state["said"]),
        task=_knows(context, state, seat, actions),
        seed=derive_seed(context.live.episode.seed, number),
        repeat=context.live.episode.repeat,
        moves=sum(who == seat for who, *_ in state["said"]),
        options=context.live.episode.options,
    )


def _knows(
    context: Context, state: State, seat: str, actions: tuple[str, ...] | None
) -> RobotKnows | UserKnows | AnnotatorKnows:
    if isinstance(context.item, DraftItem):
        return AnnotatorKnows(item=context.item)
    if seat == USER:
        return UserKnows(item=context.item, question=last_question(state), exchanges=exchanges(state))
    forced = must_act(context, state)
    return RobotKnows(
        item=blind_item(context.item, context.rules.dialogue, context.offered),
        exchanges=exchanges(state),
        may_ask=context.rules.questions > 0 and not forced,
        must_act=forced,
        actions=actions,
    )


def take(context: Context, state: State, seat: str, reply: Reply) -> tuple[Turn, Update]:
    """Return a reply as a turn for the log, and the state update; as robot, only a person's reply.

    Raises:
        SeatError: if the episode is over, it is not that seat's turn, or the reply breaks a rule (`forms`).
    """
    move = due(context, state)
    if move is None or move.seat != seat:
        raise SeatError("It is not your turn.", seat, code="over")
    player, person = context.live.seats[seat], context.live.seats[seat].kind == "person"
    if move.kind == "decide":
        ready = prepare(_read_proposal(context, state, reply), context.rules.settings)
        scores = score_candidates(ready, context.rules)
        payload = act_or_ask(ready, scores, context.rules, must_act=must_act(context, state))
        # Other robots' payloads are made by `propose` and the nodes after it.
        payload |= {
            "offered": list(context.offered),
            **person_mark("decide"),
            **measurements(reply.move or {}, ROBOT),
        }
        return _turn(context, state, seat, reply, payload)
    if move.kind == "answer":
        robot = context.live.seats[ROBOT].kind == "person"
        question = None if robot else last_question(state)
        text, payload = answer_move(reply, question, asked=_number(context, state) - 1, person=person)
    else:
        assert isinstance(context.item, DraftItem)
        text, payload = annotation_move(reply, context.item.draft, name=player.name, person=person)
    return _turn(context, state, seat, reply, payload, text)


def _read_proposal(context: Context, state: State, reply: Reply) -> Decision:
    """Return a robot's proposal: a method's (``{"decision": …}``), or the marked actions (`forms`)."""
    robot, rules, id = context.live.seats[ROBOT], context.rules, context.live.episode.id
    person, move = robot.kind == "person", reply.move or {}
    if "decision" in move and not person:
        return method_decision(move, context.decided_on, rules, episode_id=id, generator=robot.name)
    # People may mark only the offered actions.
    offered = context.offered if person else ()
    chosen = read_chosen(reply, offered=offered, must_act=must_act(context, state))
    return Decision(
        episode_id=id,
        run="",
        item=context.decided_on,
        method="person" if person else "offline",
        context=rules.context,
        dialogue=rules.dialogue,
        generator=robot.name,
        chosen=chosen.marked,
        action=chosen.act,
        asked=chosen.ask is not None,
        question=chosen.ask or "",
    )


def _turn(
    context: Context,
    state: State,
    seat: str,
    reply: Reply,
    payload: Mapping[str, Any],
    text: str | None = None,
) -> tuple[Turn, Update]:
    """Return a turn and the state update; a decision's text is its question or its action."""
    turn_text = (payload["question"] or payload["action"]) if text is None else text
    id, number = context.live.episode.id, _number(context, state)
    turn = make_turn(id, number, seat, reply, text=turn_text, payload=payload, since=state["since"])
    return turn, {"said": [_line(seat, payload, turn_text)], "since": monotonic(), "move": {}}


def _number(context: Context, state: State) -> int:
    return context.live.first + len(state["said"])


def _line(seat: str, payload: Mapping[str, Any], text: str) -> list[str]:
    return [seat, payload["kind"], text, _ASKS if payload.get("asks") else ""]


def build_graph() -> StateGraph[State, Context, State, State]:
    """Return the uncompiled graph; batch runs compile it without a checkpointer."""
    graph = StateGraph(State, context_schema=Context)
    graph.add_conditional_edges(START, _start, ["propose", "answer", "annotate", END])
    graph.add_node("propose", _propose)
    graph.add_node("calibrate", _calibrate)
    graph.add_node("decide", _decide)
    graph.add_node("ask", _ask)
    graph.add_node("answer", _answer)
    graph.add_node("annotate", _annotate)
    graph.add_edge("annotate", END)
    return graph


def _next(context: Context, state: State) -> Start:
    move = due(context, state)
    return "__end__" if move is None or context.live.seats[move.seat].kind == "person" else _FIRST[move.kind]


async def _start(state: State, runtime: Runtime[Context]) -> Start:
    # Asynchronous although it awaits nothing: LangGraph would run a plain function in a thread.
    return _next(runtime.context, state)


async def _propose(state: State, runtime: Runtime[Context]) -> Command[Literal["calibrate", "decide"]]:
    context, since = runtime.context, monotonic()
    reply = await context.live.seats[ROBOT].reply(seat_view(context, state, ROBOT))
    decision = _read_proposal(context, state, reply)
    context.proposals[_number(context, state)] = prepare(decision, context.rules.settings)
    move = {"reply": {"trace": dict(reply.trace), "key": reply.key, "seconds": reply.seconds}}
    conformal = decision.method in CONFORMAL
    return Command(update={"move": move, "since": since}, goto="calibrate" if conformal else "decide")


async def _calibrate(state: State, runtime: Runtime[Context]) -> Command[Literal["decide", "__end__"]]:
    context, move = runtime.context, state["move"]
    ready = context.proposals[_number(context, state)]
    scores = score_candidates(ready, context.rules)
    if context.rules.calibration is None:
        payload = act_or_ask(ready, scores, context.rules, must_act=False)
        return Command(update=await _record(context, state, payload, move["reply"]), goto="__end__")
    return Command(update={"move": {**move, "scores": scores}}, goto="decide")


async def _decide(state: State, runtime: Runtime[Context]) -> Command[Literal["ask", "__end__"]]:
    context, move = runtime.context, state["move"]
    ready, reply = context.proposals[_number(context, state)], move["reply"]
    scores = move.get("scores") or score_candidates(ready, context.rules)
    payload = act_or_ask(ready, scores, context.rules, must_act=must_act(context, state))
    if ready.decision.method in METHODS and reply["trace"]:
        shown = {"set": payload["prediction_set"], "help": payload["help"]}
        reply = {**reply, "trace": {**reply["trace"], **shown}}
    if payload["asks"]:
        return Command(update={"move": {"payload": payload, "reply": reply}}, goto="ask")
    return Command(update=await _record(context, state, payload, reply), goto="__end__")


async def _ask(state: State, runtime: Runtime[Context]) -> Command[Literal["answer", "__end__"]]:
    context, payload, reply = runtime.context, state["move"]["payload"], state["move"]["reply"]
    if context.rules.questions > 0 and not payload["question"]:
        view = seat_view(context, state, ROBOT, actions=tuple(payload["prediction_set"]))
        question = await context.live.seats[ROBOT].reply(view)
        payload, reply = with_words(payload, question), _join_replies(reply, question)
    update = await _record(context, state, payload, reply)
    answers = _next(context, state_after(state, update)) == "answer"
    return Command(update=update, goto="answer" if answers else "__end__")


async def _answer(state: State, runtime: Runtime[Context]) -> Command[Literal["propose", "__end__"]]:
    context, update = runtime.context, await _take_reply(state, runtime.context, USER)
    robot = _next(context, state_after(state, update)) == "propose"
    return Command(update=update, goto="propose" if robot else "__end__")


async def _annotate(state: State, runtime: Runtime[Context]) -> Update:
    return await _take_reply(state, runtime.context, ANNOTATOR)


async def _take_reply(state: State, context: Context, seat: str) -> Update:
    """Ask a seat for its reply, record the turn, and return the state update."""
    fresh = State(said=state["said"], since=monotonic(), move={})
    turn, update = take(
        context, fresh, seat, await context.live.seats[seat].reply(seat_view(context, fresh, seat))
    )
    await context.live.record(turn)
    return update


async def _record(
    context: Context, state: State, payload: Mapping[str, Any], reply: Mapping[str, Any]
) -> Update:
    turn, update = _turn(context, state, ROBOT, Reply(**reply), payload)
    await context.live.record(turn)
    return update


def _join_replies(decision: Mapping[str, Any], question: Reply) -> dict[str, Any]:
    """Return one turn's reply fields, joined from the decision and the wording of its question."""
    seconds = decision["seconds"], question.seconds
    return {
        **decision,
        "trace": {**decision["trace"], **({"question": dict(question.trace)} if question.trace else {})},
        "seconds": None if None in seconds else sum(seconds),
    }
