"""The page of a dialogue that has ended: scores, what was found out, and the replay."""

from __future__ import annotations

import json
from dataclasses import dataclass

from simulator.clarq.playing import PROVIDER
from simulator.clarq.views import ProviderNode, Replay, ReplayStep
from trees import OPENING
from ui.i18n import Strings
from ui.problems import reason_text
from ui.render.tree import branches, small_map


@dataclass(frozen=True, slots=True)
class Moment:
    """One turn in the replay.

    Attributes:
        did: what the turn did to the tree, in words; empty for a seeker's turn.
        heard: how the seeker was understood; empty if nobody noted it.
        why: the reason given.
        choices: what could have been given.
    """

    step: ReplayStep
    did: str
    heard: str
    why: str
    choices: str


@dataclass(frozen=True, slots=True)
class Finding:
    """One piece of information and whether the seeker got it."""

    node: ProviderNode
    obtained: bool


def result_parts(texts: Strings, replay: Replay) -> dict[str, object]:
    """Return what the page of an ended dialogue shows: scores, what was found out, and the replay."""
    missing = set(replay.scores.missing)
    tree = branches(replay.opening, _opened(replay), replay.nodes)
    return {
        "scores": replay.scores,
        "findings": [Finding(node, node.index not in missing) for node in replay.nodes],
        "needed": len(replay.nodes) + 1,
        "moments": [moment(texts, step) for step in replay.steps],
        "tree": tree,
        "map": small_map(tree),
        "moves": steps_data(replay),
    }


def moment(texts: Strings, step: ReplayStep) -> Moment:
    """Return `step` in words."""
    if step.seat != PROVIDER:
        return Moment(step, "", "", texts("result.asked"), "")
    if step.number == 0:
        return Moment(step, "", "", texts("result.greeting"), "")
    available = step.available_before
    return Moment(
        step,
        _did(texts, step),
        texts("result.type", type=texts(f"result.type_{step.type}")) if step.type else "",
        reason_text(texts, step.reason),
        texts("result.available_then", nodes=", ".join(available))
        if available
        else texts("result.nothing_available"),
    )


def _did(texts: Strings, step: ReplayStep) -> str:
    if OPENING in step.gave:
        return texts("result.gave_opening")
    if step.gave:
        return texts("result.gave", nodes=", ".join(step.gave))
    return texts("result.gave_nothing")


def _opened(replay: Replay) -> bool:
    return any(OPENING in step.gave for step in replay.steps)


def steps_data(replay: Replay) -> str:
    """Return JSON for the browser: per turn, which nodes it gave and which could be given after it."""
    return json.dumps(
        [{"gave": list(step.gave), "available": list(step.available_after)} for step in replay.steps]
    )
