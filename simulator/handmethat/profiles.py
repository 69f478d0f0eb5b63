"""How episodes are generated: every choice of spec section 12, and three named sets of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Literal

from simulator.handmethat.scene import SceneRules

Truncation = Literal["v1", "v2", "uniform"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """Choices, numbered as in spec 12.1 and 12.2.

    Attributes:
        name: its name.
        templates: ``all`` (69) or ``v2`` (25), or numbers (3).
        scene: how households are drawn (B1, B2, counts of 12.3).
        distractors: targets include everything of the subclass of a wanted type (5.1, V2).
        whole_plan: one plan for the whole goal instead of one per subgoal (5).
        truncation: when the human stops and asks (6).
        least_shown: fewest actions that the human has done by then.
        exact_costs: exact planner values instead of FF estimates (7).
        bring_bonus: added to the reward of bring_me (7).
        strict: useful only if it shortens the way, not if it keeps it (10).
        untargeted_may_help: the corner case of the published code (9).
        all_meanings: every meaning may be meant, not only those with A(m) within A(G) (11).
        joint_quests: one pool of meanings over all quest types, with their offsets (13).
        plain_cost: an utterance costs its specifiers, without surcharges (14).
        literal_sets: a literal listener compares sets of objects, not specifiers (15).
        sampled_reading: r is drawn from the listener, not its best reading (17).
        useful_reading: level 3 compares with A(r) within A(G) (18).
        strict_level4: episodes that fit no level of the paper are dropped (19).
        subclasses_everywhere: subclass meanings for move_to and change_state (B3 mended).
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
    exact_costs: bool = False
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


@cache
def load_profiles() -> Mapping[str, Profile]:
    """The named profiles: ``v1``, ``v2`` and ``paper``."""
    published = {"bring_me": 4700.0, "move_to": 4765.0, "change_state": 535.0}
    return {
        "v1": Profile(
            name="v1",
            templates="all",
            scene=SceneRules(counts="v1"),
            distractors=False,
            truncation="v1",
            least_shown=0,
            mix=published,
        ),
        "v2": Profile(
            name="v2",
            templates="v2",
            scene=SceneRules(counts="v2"),
            distractors=True,
            truncation="v2",
            least_shown=3,
        ),
        "paper": Profile(
            name="paper",
            templates="all",
            scene=SceneRules(counts="v1"),
            distractors=False,
            whole_plan=True,
            truncation="uniform",
            least_shown=0,
            exact_costs=True,
            bring_bonus=0,
            strict=True,
            all_meanings=True,
            joint_quests=True,
            plain_cost=True,
            literal_sets=True,
            strict_level4=True,
            mix=published,
        ),
    }
