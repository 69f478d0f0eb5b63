"""Graphs compiled for play: LangGraph's machine, without LangChain's callbacks around every node.

Around a node LangGraph puts what records it for LangChain's tracers: two callback managers, a context and an
asyncio task of its own. Nobody listens here, since what happened in an episode stands in the turn log, and it
takes two fifths of a step. `CompiledGraph` leaves it out, and the step that only finds out where to begin,
which takes two fifths of a short play. Steps, channels and errors are LangGraph's as
ever, and inside a node ``langgraph.config.get_config`` works.

A step of the machine is a turn: nodes that hand on to the next without adding to what was said (a proposal
that is then decided on) run one after the other within one step, whose metadata name the first of them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from inspect import signature
from typing import Any, Final, Generic, TypeVar, cast

from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import var_child_runnable_config
from langgraph.channels import LastValue
from langgraph.graph import END, START
from langgraph.graph.state import StateGraph
from langgraph.runtime import Runtime
from langgraph.types import Command

StateT = TypeVar("StateT", bound=Any)
TableT = TypeVar("TableT", bound=Any)
_TO: Final = "branch:to:{}"
"""LangGraph's channel in which a value sends it to a node."""


class CompiledGraph(Generic[StateT, TableT]):
    """A graph compiled without a checkpointer, its nodes without callbacks around them."""

    def __init__(self, graph: StateGraph[StateT, TableT, StateT, StateT]) -> None:
        self._compiled = graph.compile()
        passing = _Passing(graph)
        for name, node in self._compiled.nodes.items():
            # A node's function and the writers of what it returns, one after the other.
            steps = getattr(node.node, "steps", None)
            if steps:
                node.node = passing.nodes[name] = _Untraced(name, steps, passing)
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


class _Passing:
    """The nodes of a graph, of which some hand on to each other within a step.

    Attributes:
        nodes: of the graph, by name.
        growing: what a turn adds to: with it a step ends.
    """

    def __init__(self, graph: StateGraph[Any, Any, Any, Any]) -> None:
        self.nodes: dict[str, _Untraced] = {}
        self.growing = {name for name, each in graph.channels.items() if not isinstance(each, LastValue)}
        # What else LangGraph does around or after a node, it does at the end of a step.
        leading = {start for start, _ in graph.edges} | set(graph.branches)
        self._plain = {
            name
            for name, node in graph.nodes.items()
            if name not in leading
            and node.input_schema is graph.state_schema
            and not (node.retry_policy or node.cache_policy or node.error_handler_node or node.timeout)
            and not node.defer
        }

    def following(self, name: str, output: Any) -> _Untraced | None:
        """Return the node to which `name` hands on within the step, having returned `output`."""
        if isinstance(output, list | tuple) or (isinstance(output, Command) and not _is_single(output.goto)):
            # Nodes that run beside each other see each other's updates after a step.
            self._plain.clear()
            return None
        if not isinstance(output, Command) or not isinstance(output.goto, str):
            return None
        update = output.update or {}
        stays = not output.graph and isinstance(update, dict) and self.growing.isdisjoint(update)
        return self.nodes[output.goto] if stays and {name, output.goto} <= self._plain else None


class _Untraced(Runnable[Any, Any]):
    """A node: its function, then the writers of what it returned."""

    def __init__(self, name: str, steps: Sequence[Runnable[Any, Any]], passing: _Passing) -> None:
        self._name = name
        self._function, *self._writers = steps
        self._passing = passing

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Refuse: seats are asked asynchronously.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError("a graph of ours is played with ainvoke")

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Run the node, and those to which it hands on within the step."""
        token = var_child_runnable_config.set(config)
        node, passed, update = self, {self._name}, dict[str, Any]()
        try:
            output = await node._function.ainvoke(input, config)
            while following := self._passing.following(node._name, output):
                if following._name in passed:
                    break  # a circle, which LangGraph's limit of steps ends
                passed.add(following._name)
                node, update = following, update | (output.update or {})
                output = await node._function.ainvoke({**input, **update}, config)
            if update:
                output = _merge_updates(update, output)
            for writer in node._writers:
                output = await writer.ainvoke(output, config)
            return output
        finally:
            var_child_runnable_config.reset(token)


def _is_single(goto: Any) -> bool:
    """Return True if a command leads to one node by its name, or says nothing of where it leads."""
    return isinstance(goto, str) or goto == ()


def _merge_updates(update: dict[str, Any], output: Any) -> Any:
    """Return what the last node of a step returned, with what those before it changed."""
    if isinstance(output, list | tuple):  # commands, each with an update of its own
        return [Command(update=update), *output]
    if isinstance(output, Command):
        return replace(output, update={**update, **dict(output.update or {})})
    return {**update, **(output or {})}
