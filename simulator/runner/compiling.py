"""Graphs compiled for play: LangGraph's machine, without LangChain's callbacks around every node.

Around a node LangGraph puts what records it for LangChain's tracers: two callback managers, a context and an
asyncio task of its own. Nobody listens here, since what happened in an episode stands in the turn log, and it
takes two fifths of a step. `Machine` leaves it out, and the step that only finds out where to begin, which
takes two fifths of a short play; the steps of the machine, its channels and its errors are LangGraph's as
ever, and inside a node ``langgraph.config.get_config`` works.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from inspect import signature
from typing import Any, Final, Generic, TypeVar, cast

from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import var_child_runnable_config
from langgraph.graph import END, START
from langgraph.graph.state import StateGraph
from langgraph.runtime import Runtime

StateT = TypeVar("StateT", bound=Any)
TableT = TypeVar("TableT", bound=Any)
_TO: Final = "branch:to:{}"
"""LangGraph's channel in which a value sends it to a node."""


class Machine(Generic[StateT, TableT]):
    """A graph compiled without a checkpointer, its nodes without callbacks around them."""

    def __init__(self, graph: StateGraph[StateT, TableT, StateT, StateT]) -> None:
        self._compiled = graph.compile()
        for node in self._compiled.nodes.values():
            # A node's function and the writers of what it returns, one after the other.
            steps = getattr(node.node, "steps", None)
            if steps:
                node.node = _Untraced(steps)
        branches = list(graph.branches[START].values()) if START in graph.branches else []
        self._edges = sorted(end for start, end in graph.edges if start == START)
        self._choose = _chooser(branches[0]) if len(branches) == 1 and not self._edges else None
        # What goes in is the state and the nodes to begin in, or what LangGraph has to find that out of.
        self._compiled.input_channels = [START, *graph.channels, *map(_TO.format, graph.nodes)]

    async def play(
        self, state: StateT, context: TableT, *, first: str | None = None, steps: int | None = None
    ) -> StateT:
        """Return the state when nothing is left to do.

        Args:
            state: the state to begin with.
            context: of the nodes.
            first: the node to begin in; default: where the edges from the start lead.
            steps: more steps than may be taken; None for LangGraph's own limit.
        """
        nodes = self._edges if first is None else [first]
        if first is None and self._choose is not None:
            nodes = [await self._choose(state, Runtime(context=context))]
        if nodes == [END]:
            return state
        entered = {**state, **dict.fromkeys(map(_TO.format, nodes))} if nodes else {START: state}
        config: RunnableConfig = {} if steps is None else {"recursion_limit": steps}
        output = await self._compiled.ainvoke(cast(Any, entered), config, context=context, version="v2")
        # No values come out where no node changed any.
        return state if output.value is None else output.value


def _chooser(branch: Any) -> Callable[[Any, Any], Awaitable[str]] | None:
    """Return the asynchronous function of state and runtime that says where to begin, if it is one."""
    function = getattr(branch.path, "afunc", None)
    named = function is not None and list(signature(function).parameters) == ["state", "runtime"]
    return function if named and all(name == end for name, end in (branch.ends or {}).items()) else None


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
