r"""One LangGraph state machine per method, built of the same nodes (spec 8).

::

    KnowNo     generate -> choose
    LAP        generate -> choose and afford at the same time, since neither needs the other
    LofreeCP   draw
    Binary     generate_one -> certainty
    NoHelp     generate_one

What comes out is all that a method knows before any threshold. The state holds plain values; models and
options are the context (`kit.Kit`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import cache
from itertools import pairwise
from typing import Final

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from simulator.ambik.methods import nodes
from simulator.ambik.methods.kit import DecisionParts, Kit, MethodOptions, State, Update
from simulator.ambik.prompts import Case
from simulator.ambik.terms import Method
from simulator.models import ChatModel

Node = Callable[[State, Runtime[Kit]], Awaitable[Update]]
STAGES: Final[Mapping[Method, tuple[tuple[Node, ...], ...]]] = {
    "knowno": ((nodes.generate,), (nodes.choose,)),
    "lap": ((nodes.generate,), (nodes.choose, nodes.afford)),
    "lofreecp": ((nodes.draw,),),
    "binary": ((nodes.generate_one,), (nodes.certainty,)),
    "nohelp": ((nodes.generate_one,),),
}
"""What is done one after the other; what is in one stage is done at the same time."""


def build_graph(method: Method) -> StateGraph[State, Kit, State, State]:
    """The uncompiled machine of a method."""
    graph = StateGraph(State, context_schema=Kit)
    stages = STAGES[method]
    names = [[node.__name__ for node in stage] for stage in stages]
    for stage in stages:
        for node in stage:
            graph.add_node(node.__name__, node)  # type: ignore[call-overload]
    for before, after in pairwise([[START], *names, [END]]):
        for one in before:
            for other in after:
                graph.add_edge(one, other)
    return graph


async def decide(
    method: Method,
    case: Case,
    generator: ChatModel,
    chooser: ChatModel | None = None,
    options: MethodOptions | None = None,
) -> DecisionParts:
    """Play a method.

    Args:
        method: which.
        case: the task.
        generator: writes options or the action.
        chooser: chooses and judges; None: the generator does.
        options: how it is played.

    Raises:
        ModelError: if a model fails, or cannot do what the method needs (`needs.refuse` says so before).
        TemplateError: if a prompt template is missing or malformed.
    """
    kit = Kit(
        case=case, generator=generator, chooser=chooser or generator, options=options or MethodOptions()
    )
    output = await _compiled(method).ainvoke(State(), context=kit, version="v2")
    return DecisionParts.of(method, output.value)


@cache
def _compiled(method: Method) -> CompiledStateGraph[State, Kit, State, State]:
    return build_graph(method).compile()
