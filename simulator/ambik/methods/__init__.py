"""The five methods as state machines (spec 8); `decide` plays one."""

from simulator.ambik.methods.graphs import build_graph, decide
from simulator.ambik.methods.kit import DecisionParts, Kit, MethodOptions

__all__ = ["DecisionParts", "Kit", "MethodOptions", "build_graph", "decide"]
