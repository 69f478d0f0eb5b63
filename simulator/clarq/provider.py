"""The provider's rules (paper IV, Algorithm 1), which turn the experts' answers into moves.

Experts judge and write; the functions here decide, and every answer passes through them. So the following
invariants hold by construction for any expert:

* a Response I contains the text of each node it gives;
* a node is never given before its parent, nor twice;
* a Response II never reveals or nearly reveals a node that has not been given, and never claims that the
  seeker knows everything;
* the frontier changes only when a node is given.

A provider's turn has three steps: `classify`, `walk` if the seeker asks for a detail, and `respond`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from personas.templates import render
from simulator.clarq.compose import contains, join_texts, nearly_reveals, reveals, says_all_is_known
from simulator.clarq.experts import Experts, Situation, TurnType
from simulator.errors import SeatError
from trees import OPENING, Frontier, Language, Node

# The types that ask for a detail: only they lead to a walk through the frontier.
DETAIL = frozenset({TurnType.ANSWERABLE, TurnType.UNANSWERABLE})
MAX_FRAME: Final = 1000
"""Maximum characters that a person may write before a node's text, and after it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The provider's decision in a turn, with its reasons.

    Attributes:
        give: indices of the nodes to give, ``("0",)`` for the opening; empty for a Response II.
        type: type of the utterance; None if the opening is given in this turn.
        walking: whether `walk` is still to run.
        enough: whether the seeker asks for a detail though every node has been given.
        details: details from the experts, by expert.
    """

    give: tuple[str, ...] = ()
    type: TurnType | None = None
    walking: bool = False
    enough: bool = False
    reason: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderTurn:
    """A finished turn of the provider; `guards` say why an expert's words were replaced."""

    text: str
    give: tuple[str, ...]
    frontier: Frontier
    guards: tuple[str, ...] = ()


async def classify(experts: Experts, situation: Situation) -> Decision:
    """Return a decision from the utterance's relevance and type, possibly still `walking` (steps 1 to 3)."""
    if not situation.frontier.opened:
        verdict = await experts.relevant(situation)
        if verdict.yes:
            return Decision(give=(OPENING,), reason=verdict.reason)
        return Decision(type=TurnType.UNRELATED, reason=verdict.reason)
    classified = await experts.classify(situation)
    type = TurnType(classified.type)
    asks, left = type in DETAIL, bool(situation.frontier.available)
    return Decision(type=type, walking=asks and left, enough=asks and not left, reason=classified.reason)


async def walk(experts: Experts, situation: Situation, decision: Decision, *, multi: bool) -> Decision:
    """Return the decision with the available nodes that answer the seeker (step 4), and no others."""
    choice = await experts.walk(situation, multi=multi)
    available = [node.index for node in situation.frontier.available]
    allowed = tuple(index for index in available if index in choice.indices)
    give = allowed if multi else allowed[:1]
    details = {**decision.details, "walk": dict(choice.details)}
    if refused := [index for index in choice.indices if index not in available]:
        details["not_available"] = list(map(str, refused))
    return replace(
        decision,
        give=give,
        type=TurnType.ANSWERABLE if give else TurnType.UNANSWERABLE,
        walking=False,
        reason=choice.reason or decision.reason,
        details=details,
    )


async def decide(experts: Experts, situation: Situation, *, multi: bool) -> Decision:
    """Return the provider's decision: classify, and walk if needed."""
    decision = await classify(experts, situation)
    return await walk(experts, situation, decision, multi=multi) if decision.walking else decision


async def respond(experts: Experts, situation: Situation, decision: Decision) -> ProviderTurn:
    """Return the provider's turn (steps 5 to 7): Response I with the nodes to give, or a Response II."""
    frontier, language = situation.frontier, situation.task.language
    if decision.give == (OPENING,):
        return ProviderTurn(text=frontier.tree.opening, give=decision.give, frontier=frontier.open())
    if decision.enough:
        return ProviderTurn(text=render("clarq/enough", language, {}).text, give=(), frontier=frontier)
    if decision.give:
        nodes = tuple(frontier.tree.by_index[index] for index in decision.give)
        joined = await experts.join(situation, nodes) if len(nodes) > 1 else ""
        return respond_one(frontier, nodes, joined, language)
    text = await experts.respond(situation, decision.type or TurnType.UNANSWERABLE)
    return respond_two(frontier, text, language)


def respond_one(frontier: Frontier, nodes: Sequence[Node], joined: str, language: Language) -> ProviderTurn:
    """Return Response I with the texts of `nodes`: `joined` by an expert if valid, else joined by rule.

    Raises:
        ValueError: if a node is not available.
    """
    after = frontier.give(node.index for node in nodes)
    texts = [node.text for node in nodes]
    guard = ""
    if joined and not all(contains(joined, text, language) for text in texts):
        guard = "joined: breaks a node's text"
    elif leaked := leaks(joined, after, language):
        guard = f"joined: contains the text of node {leaked[0]}"
    return ProviderTurn(
        text=joined if joined and not guard else join_texts(texts, language),
        give=tuple(node.index for node in nodes),
        frontier=after,
        guards=(guard,) if guard else (),
    )


def respond_two(frontier: Frontier, text: str, language: Language) -> ProviderTurn:
    """Return Response II: `text`, or a neutral line if it must not be said.

    It must not be empty, reveal or nearly reveal a node not given yet, or claim that the seeker knows
    everything.
    """
    reply, guard = text.strip(), ""
    if leaked := leaks(reply, frontier, language):
        guard = f"contains the text of node {leaked[0]}"
    elif near := _nearly_leaked(reply, frontier, language):
        guard = f"gives node {near} nearly away"
    elif says_all_is_known(reply, language):
        guard = "says that all is known"
    elif not reply:
        guard = "empty"
    if guard:
        reply = render("clarq/steer_back", language, {}).text.strip()
    guards = (f"response II: {guard}",) if guard else ()
    return ProviderTurn(text=reply, give=(), frontier=frontier, guards=guards)


def take_move(
    frontier: Frontier, move: Mapping[str, Any] | None, text: str, language: Language, *, multi: bool
) -> ProviderTurn:
    """Return the turn of a person or a script: chosen nodes with words around them, or free words.

    `move` is ``{"give": [indices], "before": str, "after": str}``; without nodes, `text` is the
    Response II. Unlike an expert's, a person's faulty move is refused with a message, to be corrected.

    Raises:
        SeatError: if a node is not available, the words around it are too long or reveal another node, or
            nothing is said.
    """
    move = move or {}
    give = _read_indices(move.get("give"))
    before, after = (str(move.get(place) or "").strip() for place in ("before", "after"))
    if max(len(before), len(after)) > MAX_FRAME:
        message = f"Words before or after an answer may have at most {MAX_FRAME} characters; shorten them."
        raise SeatError(message, "provider", code="too_long")
    if len(give) > 1 and not multi:
        raise SeatError(
            "One piece of information per reply: pick a single node.", "provider", code="one_node"
        )
    try:
        moved_frontier = frontier.open() if give == (OPENING,) else frontier.give(give)
    except ValueError:
        nodes = ", ".join(give)
        message = f"Node {nodes} cannot be given now; pick an available one."
        raise SeatError(message, "provider", code="not_available", node=nodes) from None
    body = join_texts([frontier.tree.text(index) for index in give], language) if give else ""
    reply = _join_parts((before, body, after), language) if give else text.strip()
    if not reply:
        raise SeatError("Pick a node or write a reply.", "provider", code="nothing_given")
    typed = " ".join((before, after)) if give else reply
    if leaked := leaks(typed, moved_frontier, language) or _new_leaks(reply, body, moved_frontier, language):
        message = f"Your words contain the text of node {leaked[0]}; pick that node instead of typing it."
        raise SeatError(message, "provider", code="leaks", node=leaked[0])
    return ProviderTurn(text=reply, give=give, frontier=moved_frontier)


def _hidden_texts(frontier: Frontier) -> list[tuple[str, str]]:
    opening = [] if frontier.opened else [(OPENING, frontier.tree.opening)]
    return [*opening, *((node.index, node.text) for node in frontier.withheld)]


def leaks(text: str, frontier: Frontier, language: Language) -> tuple[str, ...]:
    """Return the indices of nodes not given yet that `text` reveals; ``"0"`` is the opening."""
    return tuple(index for index, secret in _hidden_texts(frontier) if reveals(text, secret, language))


def trace(decision: Decision | None, before: Frontier, turn: ProviderTurn) -> dict[str, Any]:
    """Return the payload of a provider's logged turn; its ``give`` suffices to rebuild the frontier."""
    return {
        "give": list(turn.give),
        "type": int(decision.type) if decision and decision.type else None,
        "reason": decision.reason if decision else "",
        "details": dict(decision.details) if decision else {},
        "frontier_before": [node.index for node in before.available],
        "frontier_after": [node.index for node in turn.frontier.available],
        "guards": list(turn.guards),
    }


def _nearly_leaked(text: str, frontier: Frontier, language: Language) -> str:
    """Return the index of the first node not given yet that `text` nearly reveals; empty if none."""
    hidden = _hidden_texts(frontier)
    known = {*frontier.tree.by_index, OPENING} - {index for index, _ in hidden}
    spoken = [frontier.tree.text(index) for index in known]
    return next((index for index, secret in hidden if nearly_reveals(text, secret, spoken, language)), "")


def _new_leaks(text: str, body: str, frontier: Frontier, language: Language) -> tuple[str, ...]:
    """Return the nodes that `text` reveals but the text of the given nodes, `body`, does not."""
    if text == body:
        return ()
    by_body = leaks(body, frontier, language)
    return tuple(index for index in leaks(text, frontier, language) if index not in by_body)


def _read_indices(give: object) -> tuple[str, ...]:
    if isinstance(give, str | int):
        return (str(give),)
    return tuple(map(str, give)) if isinstance(give, Iterable) else ()


def _join_parts(parts: Sequence[str], language: Language) -> str:
    separator = " " if language == "en" else ""
    return separator.join(part.strip() for part in parts if part.strip())
