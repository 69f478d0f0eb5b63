"""Profiles of generation: the choices of spec section 12, and named sets of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache
from typing import Any, Final, Literal, get_args

from simulator.errors import InputError
from simulator.handmethat.hierarchy import Rules, read_table
from simulator.handmethat.scene import SceneRules

Truncation = Literal["v1", "v2", "uniform"]
Costs = Literal["estimate", "planner", "search"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """Choices, numbered as in spec 12.1 and 12.2.

    Attributes:
        name: name of the profile.
        templates: ``all`` (69) or ``v2`` (25), or numbers (3).
        scene: how households are drawn (B1, B2, counts of 12.3).
        distractors: targets include everything in the subclass of a wanted type (5.1, V2).
        whole_plan: take the best of several orders of the subgoals, not a random one; no joint optimum (5).
        truncation: when the human stops and asks (6).
        least_shown: fewest actions before the human asks.
        costs: the cost-to-go (7): the FF ``estimate``; the length of a plan for the complete goal by
            our ``planner``, near the shortest; or of a shortest plan by exact ``search``, which
            fails on large goals. The estimate breaks ties between operators and options by an order drawn
            from the episode's seed, as in the published programs, whose lists are sets (B20).
        broken_plans: allow plans of the human that undo earlier subgoals (5).
        bring_bonus: added to the reward of bring_me (7).
        strict: help is useful only if it reduces the cost-to-go, not if it leaves it equal (10).
        untargeted_may_help: the corner case of the published code (9).
        all_meanings: allow every meaning, not only those with A(m) within A(G) (11).
        joint_quests: one pool of meanings over all quest types, with their offsets (13).
        plain_cost: the cost of an utterance is its number of specifiers, without surcharges (14).
        literal_sets: the literal listener compares sets of objects, not specifiers (15).
        sampled_reading: r is drawn from the listener, instead of being its best reading (17).
        useful_reading: level 3 compares with A(r) within A(G) (18).
        strict_level4: drop episodes without a level in the paper's definition (19).
        subclasses_everywhere: subclass meanings for move_to and change_state (B3 fixed).
        substring_targets: names that contain a target's name are targets (B4 kept).
        locations_count: locations may veto or dilute a meaning (B5 kept).
        mix: weight of each quest type.
    """

    name: str
    templates: Literal["all", "v2"] | tuple[int, ...]
    scene: SceneRules
    distractors: bool
    truncation: Truncation
    least_shown: int
    whole_plan: bool = False
    costs: Costs = "estimate"
    broken_plans: bool = False
    bring_bonus: int = 1
    strict: bool = False
    untargeted_may_help: bool = False
    all_meanings: bool = False
    joint_quests: bool = False
    plain_cost: bool = False
    literal_sets: bool = False
    sampled_reading: bool = False
    useful_reading: bool = False
    strict_level4: bool = False
    subclasses_everywhere: bool = True
    substring_targets: bool = False
    locations_count: bool = False
    mix: Mapping[str, float] = field(default_factory=lambda: {"bring_me": 1.0})

    @property
    def style(self) -> Rules:
        """The style of its episodes' file names."""
        return "v2" if self.name.startswith("v2") else "v1"


# Choices of a profile and its scenes that can be changed by name, with their values.
_WORDS: Final[Mapping[str, tuple[str, ...]]] = {
    "truncation": get_args(Truncation),
    "costs": get_args(Costs),
    "counts": get_args(Rules),
}
FORMER: Final = ("ties=seeded", "ties=fewest")
"""Former choices without effect; names of profiles in old logs and files may contain them."""
_NUMBERS: Final = ("least_shown", "bring_bonus")
_SWITCHES: Final = tuple(
    field.name for kind in (Profile, SceneRules) for field in fields(kind) if field.type == "bool"
)


@cache
def load_profile(name: str) -> Profile:
    """Return the profile called `name`: one of `load_profiles`, maybe with changes (``v2,strict=true,…``).

    Raises:
        InputError: if the profile, a choice or its value is unknown.
    """
    base, *changes = (part.strip() for part in name.split(","))
    if base not in load_profiles():
        raise InputError(f"profile {base!r}: must be one of {', '.join(load_profiles())}")
    profile = load_profiles()[base]
    for change in changes:
        if change in FORMER:
            continue
        key, _, value = (part.strip() for part in change.partition("="))
        option = _parse_option(name, key, value)
        if key in {field.name for field in fields(SceneRules)}:
            profile = replace(profile, scene=replace(profile.scene, **{key: option}))
        else:
            profile = replace(profile, **{key: option})
    return replace(profile, name=name)


def _parse_option(name: str, key: str, value: str) -> Any:
    if key in _WORDS:
        options: dict[str, Any] = dict(zip(_WORDS[key], _WORDS[key], strict=True))
    elif key in _SWITCHES:
        options = {"true": True, "false": False}
    elif key in _NUMBERS:
        options = {str(number): number for number in range(100)}
    else:
        known = ", ".join((*_WORDS, *_NUMBERS, *_SWITCHES))
        raise InputError(f"profile {name!r}: there is no choice {key!r}; choices are: {known}")
    if value not in options:
        allowed = "an integer from 0 to 99" if key in _NUMBERS else f"one of {', '.join(options)}"
        raise InputError(f"profile {name!r}: {key} must be {allowed}, not {value!r}")
    return options[value]


@cache
def load_profiles() -> Mapping[str, Profile]:
    """Return the named profiles of tables/profiles.yaml."""
    table = read_table("profiles")
    return {
        name: Profile(name=name, **{**choices, "scene": SceneRules(**choices["scene"])})
        for name, choices in table.items()
    }
