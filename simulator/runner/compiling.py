"""Graphs compiled for play: LangGraph without LangChain's callbacks around every node.

LangGraph wraps every node for LangChain's tracers: in two callback managers, a context and an asyncio task.
Nothing listens to them here, since the turn log records an episode, and they take two fifths of a step.
`CompiledGraph` omits them, and also the step that only chooses the first node, which takes two fifths of a
short play. Steps, channels and errors are LangGraph's, and ``langgraph.config.get_config`` works in a node.

A step of the graph is a turn: nodes that go on to another without adding a turn (such as a proposal that the
next node decides on) run together in one step, whose metadata name the first of them.
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
ContextT = TypeVar("ContextT", bound=Any)
_TO: Final = "branch:to:{}"
"""LangGraph's channel that triggers a node."""


class CompiledGraph(Generic[StateT, ContextT]):
    """A graph compiled without a checkpointer and without callbacks around its nodes."""

    def __init__(self, graph: StateGraph[StateT, ContextT, StateT, StateT]) -> None:
        self._compiled = graph.compile()
        chaining = _Chaining(graph)
        for name, node in self._compiled.nodes.items():
            # A node's function, followed by the writers of its output.
            steps = getattr(node.node, "steps", None)
            if steps:
                node.node = chaining.nodes[name] = _Untraced(name, steps, chaining)
        branches = list(graph.branches[START].values()) if START in graph.branches else []
        self._edges = sorted(end for start, end in graph.edges if start == START)
        self._choose = _chooser(branches[0]) if len(branches) == 1 and not self._edges else None
        # The input is the state with the nodes to begin in, or LangGraph's own start channel.
        self._compiled.input_channels = [START, *graph.channels, *map(_TO.format, graph.nodes)]

    async def play(
        self, state: StateT, context: ContextT, *, first: str | None = None, steps: int | None = None
    ) -> StateT:
        """Run the graph and return its final state.

        `first`: the first node; by default, the target of the edges from the start. `steps`: limit of steps;
        None for LangGraph's own.
        """
        nodes = self._edges if first is None else [first]
        if first is None and self._choose is not None:
            nodes = [await self._choose(state, Runtime(context=context))]
        if nodes == [END]:
            return state
        inputs = {**state, **dict.fromkeys(map(_TO.format, nodes))} if nodes else {START: state}
        config: RunnableConfig = {} if steps is None else {"recursion_limit": steps}
        output = await self._compiled.ainvoke(cast(Any, inputs), config, context=context, version="v2")
        # There is no output if no node changed the state.
        return state if output.value is None else output.value


def _chooser(branch: Any) -> Callable[[Any, Any], Awaitable[str]] | None:
    """Return a branch's function if it is asynchronous, takes (state, runtime) and returns node names."""
    function = getattr(branch.path, "afunc", None)
    named = function is not None and list(signature(function).parameters) == ["state", "runtime"]
    return function if named and all(name == end for name, end in (branch.ends or {}).items()) else None


class _Chaining:
    """The rules by which nodes of a graph run one after another within a step.

    Attributes:
        appended: channels with a reducer, such as the turns; an update of one ends the step.
    """

    def __init__(self, graph: StateGraph[Any, Any, Any, Any]) -> None:
        self.nodes: dict[str, _Untraced] = {}
        self.appended = {name for name, each in graph.channels.items() if not isinstance(each, LastValue)}
        # Nodes with edges, policies or an own schema need LangGraph's work at the end of a step.
        leading = {start for start, _ in graph.edges} | set(graph.branches)
        self._plain = {
            name
            for name, node in graph.nodes.items()
            if name not in leading
            and node.input_schema is graph.state_schema
            and not (node.retry_policy or node.cache_policy or node.error_handler_node or node.timeout)
            and not node.defer
        }

    def next_node(self, name: str, output: Any) -> _Untraced | None:
        """Return the node to run next within the step, after `name` has returned `output`; None to end it."""
        if isinstance(output, list | tuple) or (isinstance(output, Command) and not _is_single(output.goto)):
            # Parallel nodes must see each other's updates only after a step.
            self._plain.clear()
            return None
        if not isinstance(output, Command) or not isinstance(output.goto, str):
            return None
        update = output.update or {}
        stays = not output.graph and isinstance(update, dict) and self.appended.isdisjoint(update)
        return self.nodes[output.goto] if stays and {name, output.goto} <= self._plain else None


class _Untraced(Runnable[Any, Any]):
    """A node: its function, then the writers of its output."""

    def __init__(self, name: str, steps: Sequence[Runnable[Any, Any]], chaining: _Chaining) -> None:
        self._name = name
        self._function, *self._writers = steps
        self._chaining = chaining

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Refuse: seats are asked asynchronously."""
        raise NotImplementedError("use ainvoke: seats are asynchronous")

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Run the node, and those that follow it within the step."""
        token = var_child_runnable_config.set(config)
        node, visited, update = self, {self._name}, dict[str, Any]()
        try:
            output = await node._function.ainvoke(input, config)
            while following := self._chaining.next_node(node._name, output):
                if following._name in visited:
                    break  # a cycle, which LangGraph's limit of steps ends
                visited.add(following._name)
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
    """Return True if a command goes to one named node, or does not say where to go."""
    return isinstance(goto, str) or goto == ()


def _merge_updates(update: dict[str, Any], output: Any) -> Any:
    """Return the output of a step's last node, merged with the updates of those before it."""
    if isinstance(output, list | tuple):  # commands, each with its own update
        return [Command(update=update), *output]
    if isinstance(output, Command):
        return replace(output, update={**update, **dict(output.update or {})})
    return {**update, **(output or {})}
