"""The named profiles, and choices changed by name."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from simulator.errors import InputError
from simulator.handmethat.profiles import Profile, load_profile, load_profiles


def test_the_named_profiles_differ_as_the_generators_did() -> None:
    v1, v2, paper = (load_profiles()[name] for name in ("v1", "v2", "paper"))
    assert (v1.templates, v2.templates) == ("all", "v2")
    assert (v1.distractors, v2.distractors) == (False, True)
    assert (v1.least_shown, v2.least_shown) == (0, 3)
    assert (v1.scene.counts, v2.scene.counts) == ("v1", "v2")
    assert (v2.costs, v2.bring_bonus, v2.strict) == ("estimate", 1, False)
    assert (paper.costs, paper.bring_bonus, paper.strict) == ("planner", 0, True)
    assert (paper.all_meanings, paper.joint_quests, paper.plain_cost, paper.literal_sets) == (True,) * 4


def test_reference_profiles_have_every_quirk_of_the_published_programs() -> None:
    for name in ("v1", "v2"):
        mended, reference = load_profile(name), load_profile(f"{name}-reference")
        changed = {
            field.name: getattr(reference, field.name)
            for field in fields(Profile)
            if getattr(reference, field.name) != getattr(mended, field.name)
        }
        assert changed == {
            "name": f"{name}-reference",
            "broken_plans": True,
            "untargeted_may_help": True,
            "sampled_reading": True,
            "useful_reading": True,
            "subclasses_everywhere": False,
            "substring_targets": True,
            "locations_count": True,
        }
        assert reference.style == name


def test_names_in_old_logs_may_have_former_choices() -> None:
    former = load_profile("v2,ties=fewest,strict=true")
    assert former == replace(load_profile("v2"), name="v2,ties=fewest,strict=true", strict=True)


def test_a_choice_is_changed_by_name() -> None:
    changed = load_profile("v2,strict=true,truncation=uniform,least_shown=0,all_places=true")
    assert changed.name == "v2,strict=true,truncation=uniform,least_shown=0,all_places=true"
    assert (changed.strict, changed.truncation, changed.least_shown) == (True, "uniform", 0)
    assert changed.scene.all_places
    assert changed.templates == load_profile("v2").templates
    assert load_profile("v1") == load_profiles()["v1"]


@pytest.mark.each(
    ("name", "message"),
    [
        ("v3", "must be one of v1, v2, paper, v1-reference, v2-reference"),
        ("v2,speed=true", "no choice 'speed'"),
        ("v2,strict=maybe", "strict must be one of true, false, not 'maybe'"),
        ("v2,truncation=v9", "truncation must be one of v1, v2, uniform"),
        ("v2,least_shown=-1", "least_shown must be an integer"),
        ("v2,strict", "not ''"),
        ("v2,templates=all", "no choice 'templates'"),
    ],
)
def test_a_wrong_choice_is_refused_with_the_right_ones(name: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        load_profile(name)
