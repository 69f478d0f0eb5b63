"""A graph compiled for play does what LangGraph's own does, without a task and callbacks around each node."""

from __future__ import annotations

import asyncio
import operator
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.config import get_config
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command

from simulator.runner.compiling import compile_graph


class State(TypedDict):
    said: Annotated[list[str], operator.add]


def build(tasks: list[Any]) -> StateGraph[State, None, State, State]:
    async def ask(state: State) -> Command[Any]:
        tasks.append(asyncio.current_task())
        node = get_config()["metadata"]["langgraph_node"]
        return Command(update={"said": [node]}, goto="answer" if len(state["said"]) < 3 else END)

    async def answer(state: State) -> State:
        if len(state["said"]) == 3:
            raise LookupError("nothing to say")
        tasks.append(asyncio.current_task())
        return {"said": ["answered"]}

    graph = StateGraph(State)
    graph.add_node("ask", ask, destinations=("answer", END))
    graph.add_node("answer", answer)
    graph.add_edge(START, "ask")
    graph.add_edge("answer", "ask")
    return graph


async def test_states_are_the_same_and_nodes_run_in_the_task_that_plays() -> None:
    tasks: list[Any] = []
    played = await compile_graph(build(tasks)).ainvoke({"said": ["hello"]})
    assert played == await build([]).compile().ainvoke({"said": ["hello"]})
    assert played["said"] == ["hello", "ask", "answered", "ask"]
    assert set(tasks) == {asyncio.current_task()}
    with pytest.raises(RuntimeError):
        get_config()


async def test_an_error_comes_out_as_it_was_raised() -> None:
    with pytest.raises(LookupError, match="nothing to say"):
        await compile_graph(build([])).ainvoke({"said": ["a", "b"]})
