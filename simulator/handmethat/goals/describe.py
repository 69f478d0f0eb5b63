"""Goals in plain words (the patterns are in tables/goals.yaml, the words in tables/words.*.yaml)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simulator.handmethat.goals.model import ANYWHERE, OF_A_TYPE, Goal, Requirement, Subgoal
from simulator.handmethat.goals.templates import goals_table, template
from simulator.handmethat.hierarchy import hierarchy
from simulator.handmethat.words import all_words, state_word, word


def describe_goal(goal: Goal, language: str) -> tuple[str, ...]:
    """What the goal asks for, one sentence per subgoal, in their order.

    Raises:
        InputError: if there is no such language (``en`` or ``zh``), or no word for something in the goal.
    """
    return tuple(describe_subgoal(subgoal, language) for subgoal in goal.subgoals)


def describe_subgoal(subgoal: Subgoal, language: str) -> str:
    """What one subgoal asks for, as a sentence like ``Every apple is sliced and in jar #0``.

    Raises:
        InputError: as `describe_goal` does.
    """
    all_words(language)
    wording: Mapping[str, Any] = goals_table()["wording"][language]
    x = _term(wording, subgoal.x, subgoal.form in OF_A_TYPE, language)
    facts = []
    if subgoal.of_x:
        facts.append(wording["states"].format(states=_states(wording, subgoal.of_x, language)))
    if subgoal.relation:
        facts.append(wording[subgoal.relation].format(y=_place(wording, subgoal, language)))
    line: str = wording["line"][subgoal.form].format(x=x, **{"is": wording["joint"]["is"].join(facts)})
    if subgoal.y and subgoal.of_y and subgoal.form not in ANYWHERE:
        y = _term(wording, subgoal.y, False, language)
        states = _states(wording, subgoal.of_y, language)
        line = wording["and_y"].format(line=line, y=y, states=states)
    return line[0].upper() + line[1:] + str(wording["end"])


def activity_title(number: int, language: str) -> str:
    """The activity of a template in words: ``Bottling fruit``.

    Raises:
        InputError: if there is no such template or language.
    """
    all_words(language)
    return template(number).titles[language]


def _place(wording: Mapping[str, Any], subgoal: Subgoal, language: str) -> str:
    assert subgoal.y is not None
    if subgoal.form not in ANYWHERE:
        return _term(wording, subgoal.y, False, language)
    states = "".join(
        wording["adjective"].format(state=state_word(name, value, language)) for name, value in subgoal.of_y
    )
    which = "same" if subgoal.form == "ALL-SAME" else "any"
    return str(wording[which].format(states=states, word=word(subgoal.y, language)))


def _term(wording: Mapping[str, Any], name: str, is_type: bool, language: str) -> str:
    if is_type:
        return word(name, language)
    kind, _, number = name.partition("#")
    pattern = wording["location" if name in hierarchy().locations else "named"]
    return str(pattern.format(word=word(kind, language), number=number))


def _states(wording: Mapping[str, Any], required: tuple[Requirement, ...], language: str) -> str:
    joint: str = wording["joint"]["states"]
    return joint.join(state_word(name, value, language) for name, value in required)
