"""What ClarQ-LLM's dialogues say of asking (see `simulator.asking`).

What is open, only this provider can tell: every node of the tree after the opening. Once all nodes are given
nothing is open, and whoever goes on asking asks for nothing; that decision is told apart where the seeker
has a turn after the last node. Whoever has asked and says goodbye while a node is open has not asked when it
was needed: a decision of its own, too. A question is a seeker's turn after the opening
that asks something, by its form or because it was answered with a node; to be told the task at all is no
question, and neither is a goodbye. It is useful if the provider's next turn holds a node that no earlier one
held. All of it is read off the words, as the success is (spec section 5), so that published dialogues,
people and models are counted alike.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from logs.rows import Judgment, Turn
from simulator.asking import Asked, Decision, Need
from simulator.clarq.compose import contains
from simulator.clarq.graph import farewell
from simulator.clarq.lexical import patterns
from simulator.clarq.playing import PROVIDER, SEEKER
from simulator.clarq.score import lines_after_opening, score_episode, spoken_lines
from trees import Language, Task
from trees.model import task_type

# Words that ask without a question mark.
_ASKS = patterns("asks_without_mark")


class _Said(NamedTuple):
    """A seeker's turn after the opening, and the nodes that the reply brought."""

    text: str
    brought: tuple[str, ...]


def asked(
    item: Task, options: Mapping[str, Any], turns: Sequence[Turn], judgments: Sequence[Judgment]
) -> Asked:
    """Return what an ended dialogue says."""
    turns_after = tuple(_spoken_turns(item, turns))
    questions = [turn for turn in turns_after if is_question(turn.text, turn.brought, item.language)]
    scores = score_episode(item, turns, judgments)
    return Asked(
        kind=task_type(item.type).en,
        need=need_of(item),
        questions=len(questions),
        useful=sum(bool(question.brought) for question in questions),
        # Before anything was asked, nobody could know what the tree's nodes tell.
        right_before=None,
        right=scores.success,
        open=scores.needs_judge,
        later=(*_left_open(item, turns_after), *_when_all_is_given(item, turns_after)),
    )


def need_of(item: Task, given: Collection[str] = ()) -> Need:
    """Return what settles what is open once some nodes are given: the provider, as long as one is left."""
    return "person" if {node.index for node in item.tree.nodes} - set(given) else "nothing"


def _left_open(item: Task, said: Sequence[_Said]) -> tuple[Decision, ...]:
    """Return the decision of a seeker who asked, then said goodbye while something was open; else nothing."""
    given = [node for turn in said for node in turn.brought]
    asked = any(is_question(turn.text, turn.brought, item.language) for turn in said)
    stopped = asked and farewell(said[-1].text) and not said[-1].brought
    return (Decision("person", False),) if stopped and need_of(item, given) == "person" else ()


def _when_all_is_given(item: Task, said: Sequence[_Said]) -> tuple[Decision, ...]:
    """Return True if the seeker asked on when nothing was open any more; nothing if it had no turn then."""
    given: set[str] = set()
    rest: list[_Said] = []
    for turn in said:
        if given and need_of(item, given) == "nothing":
            rest.append(turn)
        given.update(turn.brought)
    asked = any(is_question(turn.text, turn.brought, item.language) for turn in rest)
    return (Decision("nothing", asked),) if rest else ()


def is_question(text: str, brought: Sequence[str], language: Language) -> bool:
    """Return True if a seeker's turn asks something."""
    if farewell(text) and not brought:
        return False
    return bool(brought) or "?" in text or "？" in text or bool(_ASKS[language].search(text))


def _spoken_turns(task: Task, turns: Sequence[Turn]) -> Iterator[_Said]:
    lines = spoken_lines(turns)
    after = len(lines_after_opening(task, lines))
    spoken = [place for place, line in enumerate(lines) if line.seat == PROVIDER]
    if len(spoken) < 2:
        return
    # Without a reply after the greeting nothing was opened; with one, what is left follows the opening.
    start = spoken[len(spoken) - after - 1]
    known: list[str] = []
    for place in range(start + 1, len(lines)):
        if lines[place].seat != SEEKER:
            continue
        reply = lines[place + 1].text if place + 1 < len(lines) else ""
        brought = tuple(
            node.index
            for node in task.tree.nodes
            if reply and node.index not in known and contains(reply, node.text, task.language)
        )
        known += brought
        yield _Said(lines[place].text, brought)
