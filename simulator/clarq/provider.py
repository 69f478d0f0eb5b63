"""The provider's rules (paper IV, Algorithm 1): what an expert's answer may lead to.

Experts judge and write; the functions here decide, and every answer passes through them. So these hold
by construction, whatever an expert says:

* a Response I contains the text of each node it gives;
* a node is never given before its parent, nor twice;
* a Response II contains no text of a node that has not been given, nor nearly so, and never says that all
  is known (`guarding`);
* the frontier changes only when a node is given.

A provider's turn is made in three steps: `classify`, `walk` where a detail was asked, `respond`.
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

# Types whose utterance asks about a detail: only they lead to a walk through the frontier.
DETAIL = frozenset({TurnType.ANSWERABLE, TurnType.UNANSWERABLE})
LONGEST_AROUND: Final = 1000
"""Letters of the words before a node's text, and of those after it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The provider's decision in this turn, with its reasons.

    Attributes:
        give: indices of the nodes to give, ``("0",)`` for the opening; empty for a Response II.
        type: of the utterance; None while the opening has not been given and the utterance is relevant.
        walking: whether the frontier is still to be walked.
        enough: nothing is left to give and a detail was asked: say that enough has been collected.
        details: what the experts noted, per expert.
    """

    give: tuple[str, ...] = ()
    type: TurnType | None = None
    walking: bool = False
    enough: bool = False
    reason: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderTurn:
    """A finished turn of the provider.

    Attributes:
        guards: which of an expert's words were not used, and why.
    """

    text: str
    give: tuple[str, ...]
    frontier: Frontier
    guards: tuple[str, ...] = ()


async def classify(experts: Experts, situation: Situation) -> Decision:
    """Return what the seeker's utterance is: about the task at all, and of which type (steps 1 to 3)."""
    if not situation.frontier.opened:
        verdict = await experts.relevant(situation)
        if verdict.yes:
            return Decision(give=(OPENING,), reason=verdict.reason)
        return Decision(type=TurnType.UNRELATED, reason=verdict.reason)
    heard = await experts.classify(situation)
    type = TurnType(heard.type)
    asks, left = type in DETAIL, bool(situation.frontier.available)
    return Decision(type=type, walking=asks and left, enough=asks and not left, reason=heard.reason)


async def walk(experts: Experts, situation: Situation, decision: Decision, *, multi: bool) -> Decision:
    """Return which available nodes answer the seeker (step 4). What is not available is not given."""
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
    """Return what the provider will do: classify, and walk where that is called for."""
    decision = await classify(experts, situation)
    return await walk(experts, situation, decision, multi=multi) if decision.walking else decision


async def respond(experts: Experts, situation: Situation, decision: Decision) -> ProviderTurn:
    """Return the provider's words (steps 5 to 7): Response I around the nodes to give, or a Response II."""
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
    """Return Response I: `nodes`' texts, whole; `joined` by an expert where that gives nothing else away.

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
    """Return Response II: `text`, or a neutral line if it may not be said.

    That is: if it is empty, gives away a node not given yet, in its own words or nearly so, or says that
    everything needed is known.
    """
    reply, guard = text.strip(), ""
    if leaked := leaks(reply, frontier, language):
        guard = f"contains the text of node {leaked[0]}"
    elif near := _nearly_leaks(reply, frontier, language):
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
    """Return the turn of a person or a script: nodes picked with words around them, or free words.

    `move` is ``{"give": [indices], "before": str, "after": str}``; with nothing to give, `text` is the
    Response II. Unlike an expert, a person is told what is wrong and may correct it.

    Raises:
        SeatError: if a node is not available, the words around it are too many or give away another one, or
            nothing is said.
    """
    move = move or {}
    give = _read_choice(move.get("give"))
    before, after = (str(move.get(place) or "").strip() for place in ("before", "after"))
    if max(len(before), len(after)) > LONGEST_AROUND:
        message = f"Words before or after an answer may have {LONGEST_AROUND} letters; shorten them."
        raise SeatError(message, "provider", code="too_long")
    if len(give) > 1 and not multi:
        raise SeatError(
            "One piece of information per reply: pick a single node.", "provider", code="one_node"
        )
    try:
        moved = frontier.open() if give == (OPENING,) else frontier.give(give)
    except ValueError:
        nodes = ", ".join(give)
        message = f"Node {nodes} cannot be given now; pick an available one."
        raise SeatError(message, "provider", code="not_available", node=nodes) from None
    body = join_texts([frontier.tree.text(index) for index in give], language) if give else ""
    reply = _join_parts((before, body, after), language) if give else text.strip()
    if not reply:
        raise SeatError("Pick a node or write a reply.", "provider", code="nothing_given")
    own = " ".join((before, after)) if give else reply
    if leaked := leaks(own, moved, language) or _given_away(reply, body, moved, language):
        message = f"Your words contain the text of node {leaked[0]}; pick that node instead of typing it."
        raise SeatError(message, "provider", code="leaks", node=leaked[0])
    return ProviderTurn(text=reply, give=give, frontier=moved)


def _hidden_texts(frontier: Frontier) -> list[tuple[str, str]]:
    opening = [] if frontier.opened else [(OPENING, frontier.tree.opening)]
    return [*opening, *((node.index, node.text) for node in frontier.withheld)]


def leaks(text: str, frontier: Frontier, language: Language) -> tuple[str, ...]:
    """Return indices of the nodes not given yet whose text `text` gives away; ``"0"`` is the opening."""
    return tuple(index for index, secret in _hidden_texts(frontier) if reveals(text, secret, language))


def trace(decision: Decision | None, before: Frontier, turn: ProviderTurn) -> dict[str, Any]:
    """Return the payload that is logged with a provider's turn; `give` alone rebuilds the frontier."""
    return {
        "give": list(turn.give),
        "type": int(decision.type) if decision and decision.type else None,
        "reason": decision.reason if decision else "",
        "details": dict(decision.details) if decision else {},
        "frontier_before": [node.index for node in before.available],
        "frontier_after": [node.index for node in turn.frontier.available],
        "guards": list(turn.guards),
    }


def _nearly_leaks(text: str, frontier: Frontier, language: Language) -> str:
    """Return the index of a node not given yet that `text` gives nearly away; empty if there is none."""
    hidden = _hidden_texts(frontier)
    known = {*frontier.tree.by_index, OPENING} - {index for index, _ in hidden}
    spoken = [frontier.tree.text(index) for index in known]
    return next((index for index, secret in hidden if nearly_reveals(text, secret, spoken, language)), "")


def _given_away(text: str, body: str, frontier: Frontier, language: Language) -> tuple[str, ...]:
    """Return what `text` gives away beyond what the given nodes' own words, `body`, do anyway."""
    if text == body:
        return ()
    own = leaks(body, frontier, language)
    return tuple(index for index in leaks(text, frontier, language) if index not in own)


def _read_choice(give: object) -> tuple[str, ...]:
    if isinstance(give, str | int):
        return (str(give),)
    return tuple(map(str, give)) if isinstance(give, Iterable) else ()


def _join_parts(parts: Sequence[str], language: Language) -> str:
    separator = " " if language == "en" else ""
    return separator.join(part.strip() for part in parts if part.strip())
