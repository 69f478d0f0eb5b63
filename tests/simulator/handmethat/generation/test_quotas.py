"""Levels, quest types and templates on the command line."""

from __future__ import annotations

import pytest

from simulator.errors import InputError
from simulator.handmethat.generate_command import parse_levels, parse_mix, parse_templates

SETS = {"all": tuple(range(69)), "v2": (2, 3)}


def test_levels() -> None:
    assert parse_levels("free", 10) is None
    assert parse_levels("balanced", 10) == {1: 3, 2: 3, 3: 2, 4: 2}
    assert parse_levels("1:2, 2:1", 10) == {1: 7, 2: 3}
    assert parse_levels("4:1,1:0", 3) == {4: 3}
    quotas = parse_levels("balanced", 7)
    assert sum((quotas or {}).values()) == 7
    assert quotas == {1: 2, 2: 2, 3: 2, 4: 1}


def test_mix_and_templates() -> None:
    assert parse_mix("move_to:48,bring_me:47,change_state:0") == {"bring_me": 47.0, "move_to": 48.0}
    assert parse_templates("v2", SETS) == (2, 3)
    assert parse_templates("8, 1-3,67,2", SETS) == (1, 2, 3, 8, 67)


@pytest.mark.each("text", ["", "often", "1", "5:1", "1:-1", "1:x", "1:1,1:2", "1:nan", "1:inf", "1:0"])
def test_wrong_levels_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="--levels"):
        parse_levels(text, 10)


@pytest.mark.each("text", ["", "fetch:1", "bring_me", "bring_me:0"])
def test_a_wrong_mix_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="--quest-mix"):
        parse_mix(text)


@pytest.mark.each("text", ["", "few", "69", "1-", "-3", "5-3", "1-99", "1;2", "²"])
def test_wrong_templates_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="--templates"):
        parse_templates(text, SETS)
