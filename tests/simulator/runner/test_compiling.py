"""A graph compiled for play does what LangGraph's own does, without a task and callbacks around each node."""

from __future__ import annotations

import asyncio
import operator
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.config import get_config
from langgraph.errors import GraphRecursionError
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from langgraph.types import Command, RetryPolicy

from simulator.runner.compiling import CompiledGraph


class State(TypedDict):
    replies: Annotated[list[str], operator.add]


def build(tasks: list[Any]) -> StateGraph[State, None, State, State]:
    async def ask(state: State) -> Command[Any]:
        tasks.append(asyncio.current_task())
        node = get_config()["metadata"]["langgraph_node"]
        return Command(update={"replies": [node]}, goto="answer" if len(state["replies"]) < 3 else END)

    async def answer(state: State) -> State:
        if len(state["replies"]) == 3:
            raise LookupError("nothing to say")
        tasks.append(asyncio.current_task())
        return {"replies": ["answered"]}

    graph = StateGraph(State)
    graph.add_node("ask", ask, destinations=("answer", END))
    graph.add_node("answer", answer)
    graph.add_edge(START, "ask")
    graph.add_edge("answer", "ask")
    return graph


async def test_states_are_the_same_and_nodes_run_in_the_task_that_plays() -> None:
    tasks: list[Any] = []
    played = await CompiledGraph(build(tasks)).play({"replies": ["hello"]}, None)
    assert played == await build([]).compile().ainvoke({"replies": ["hello"]})
    assert played["replies"] == ["hello", "ask", "answered", "ask"]
    assert set(tasks) == {asyncio.current_task()}
    with pytest.raises(RuntimeError):
        get_config()


async def test_an_error_comes_out_as_it_was_raised() -> None:
    with pytest.raises(LookupError, match="nothing to say"):
        await CompiledGraph(build([])).play({"replies": ["a", "b"]}, None)


async def test_play_begins_where_the_start_leads_and_at_the_end_nothing_is_played() -> None:
    async def choose(state: State, runtime: Runtime[str]) -> str:
        return runtime.context

    tasks: list[Any] = []
    graph = build(tasks)
    graph.edges.clear()
    graph.add_conditional_edges(START, choose, ["ask", "answer", END])
    machine = CompiledGraph(graph)
    assert (await machine.play({"replies": ["a", "b"]}, END))["replies"] == ["a", "b"] and not tasks
    assert (await machine.play({"replies": ["a", "b", "c", "d"]}, "ask"))["replies"][4:] == ["ask"]
    with pytest.raises(LookupError):
        await machine.play({"replies": ["a", "b", "c"]}, "answer")


async def test_where_a_plain_function_chooses_langgraph_asks_it() -> None:
    graph = build([])
    graph.edges.clear()
    graph.add_conditional_edges(START, lambda state: "first", {"first": "ask"})
    assert (await CompiledGraph(graph).play({"replies": ["a", "b", "c"]}, None))["replies"][3:] == ["ask"]


class Deciding(TypedDict):
    replies: Annotated[list[str], operator.add]
    plan: str
    seen: str


def deciding(
    reached: list[int], goto: Any = "decide", several: bool = False, **policies: Any
) -> StateGraph[Any, None, Any, Any]:
    """A graph that plans, decides and speaks; `reached`: LangGraph's step in which each node runs."""

    def step() -> None:
        reached.append(get_config()["metadata"]["langgraph_step"])

    async def plan(state: Deciding) -> Command[Any]:
        step()
        return Command(update={"plan": f"plan {len(state['replies'])}"}, goto=goto)

    async def decide(state: Deciding) -> Any:
        step()
        command = Command(update={"seen": state["plan"]}, goto="speak")
        return [command, Command(goto="speak")] if several else command

    async def speak(state: Deciding) -> Command[Any]:
        step()
        lines = [f"{state['plan']}, {state['seen']}"]
        return Command(update={"replies": lines}, goto=END if len(state["replies"]) else "plan")

    graph = StateGraph(Deciding)
    graph.add_node("plan", plan, destinations=("decide", "speak"))
    graph.add_node("decide", decide, destinations=("speak",), **policies)
    graph.add_node("speak", speak, destinations=("plan", END))
    graph.add_edge(START, "plan")
    return graph


NOTHING: dict[str, Any] = {"replies": [], "plan": "", "seen": ""}


async def test_a_step_is_a_turn() -> None:
    reached: list[int] = []
    played = await CompiledGraph(deciding(reached)).play(NOTHING, None)
    assert played == await deciding([]).compile().ainvoke(NOTHING)
    assert played["replies"] == ["plan 0, plan 0", "plan 1, plan 1"]
    first, second = reached[0], reached[3]
    assert reached == [first] * 3 + [second] * 3 and second == first + 1


async def test_nodes_beside_each_other_and_policies_are_left_to_langgraph() -> None:
    for graph in (
        lambda: deciding([], ["decide", "speak"]),
        lambda: deciding([], retry_policy=RetryPolicy()),
        lambda: deciding([], several=True),
    ):
        assert await CompiledGraph(graph()).play(NOTHING, None) == await graph().compile().ainvoke(NOTHING)


async def test_a_circle_without_a_turn_meets_the_limit_of_steps() -> None:
    with pytest.raises(GraphRecursionError):
        await CompiledGraph(deciding([], "plan")).play(NOTHING, None, steps=20)
