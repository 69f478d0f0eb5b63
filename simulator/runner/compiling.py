"""Graphs compiled for play: LangGraph's machine, without LangChain's callbacks around every node.

Around a node LangGraph puts what records it for LangChain's tracers: two callback managers, a context and an
asyncio task of its own. Nobody listens here, since what happened in an episode stands in the turn log, and it
takes two fifths of a step. `compile_graph` leaves it out; the steps of the machine, its channels and its
errors are LangGraph's as ever, and inside a node ``langgraph.config.get_config`` works.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import var_child_runnable_config
from langgraph.graph.state import CompiledStateGraph, StateGraph

StateT = TypeVar("StateT", bound=Any)
TableT = TypeVar("TableT", bound=Any)


def compile_graph(
    graph: StateGraph[StateT, TableT, StateT, StateT],
) -> CompiledStateGraph[StateT, TableT, StateT, StateT]:
    """Return `graph` compiled without a checkpointer, its nodes without callbacks around them."""
    compiled = graph.compile()
    for node in compiled.nodes.values():
        # A node's function and the writers of what it returns, one after the other.
        steps = getattr(node.node, "steps", None)
        if steps:
            node.node = _Untraced(steps)
    return compiled


class _Untraced(Runnable[Any, Any]):
    """Steps in a row, each with what the one before returned."""

    def __init__(self, steps: Sequence[Runnable[Any, Any]]) -> None:
        self._steps = tuple(steps)

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Refuse: seats are asked asynchronously.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError("a graph of ours is played with ainvoke")

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Run the steps."""
        token = var_child_runnable_config.set(config)
        try:
            for step in self._steps:
                input = await step.ainvoke(input, config)
            return input
        finally:
            var_child_runnable_config.reset(token)
