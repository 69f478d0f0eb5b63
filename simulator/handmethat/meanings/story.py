"""What the human did, in words (spec 9.1, 9.3; tables/wording.*.yaml)."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from simulator.handmethat.actions import Action, domain
from simulator.handmethat.meanings.naming import label, text_name, wording
from simulator.handmethat.world import HUMAN, State, World

_AGENT = "human-"


def render_action(world: World, state: State, action: Action, language: str, *, labels: bool = False) -> str:
    """One thing that the human did, one sentence.

    Args:
        world: the household.
        state: its state; names of things do not depend on it.
        action: of the human's domain.
        language: ``en`` or ``zh``.
        labels: with words for people instead of the identifiers that commands need.
    """
    table, name = wording(language), action.name.removeprefix(_AGENT)
    names = {}
    for parameter, entity in zip(domain("human")[action.name].params, action.args, strict=True):
        told = (label if labels else text_name)(world, entity, language)
        names[parameter] = told
        if entity != HUMAN and (relation := world.kinds[entity].relation):
            names[f"{parameter}_at"] = table["place"][relation].format(container=told)
    patterns = _label_patterns(language) if labels else table["actions"]
    sentence = table["label_story"] if labels and "label_story" in table else table["story"]
    return str(sentence.format(does=patterns[name].format(**names)))


def render_story(
    world: World, state: State, actions: Iterable[Action], language: str, *, labels: bool = False
) -> tuple[str, ...]:
    """What the human did, a sentence for each action; one that says so if there was none."""
    told = tuple(render_action(world, state, action, language, labels=labels) for action in actions)
    return told or (str(wording(language)["no_story"]),)


def render_description(
    world: World,
    state: State,
    actions: Iterable[Action],
    said: str,
    language: str,
    *,
    labels: bool = False,
) -> str:
    """The task as the robot reads it: what the human did, then what the human says (`said`), quoted."""
    quoted = str(wording(language)["said"].format(utterance=said))
    between = " " if language == "en" else ""
    return between.join([*render_story(world, state, actions, language, labels=labels), quoted])


@cache
def _label_patterns(language: str) -> dict[str, str]:
    table = wording(language)
    return {**table["actions"], **table.get("label_actions", {})}
