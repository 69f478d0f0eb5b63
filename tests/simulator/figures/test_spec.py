"""Test that wrong figures are refused on construction, with the mark in the message."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from simulator.figures import Bars, Figure, Level, Line, Mark, Panel, Stacked

LINE = Line("a", [1, 2], [0.1, 0.2])


def panel(*marks: Mark, title: str = "", **more: Any) -> Panel:
    return Panel(title, "x", "y", marks, **more)


@pytest.mark.each(
    ("arguments", "message"),
    [
        ({"x": [], "y": []}, "(?s)Line\nx.*at least 1 item"),
        ({"x": [1, 2], "y": [0.5]}, "'m': y has 1 values for 2 positions"),
        ({"x": [1, 2], "y": [0.5, math.nan]}, r"(?s)y\.1.*finite number"),
        ({"x": [1, math.inf], "y": [0.5, 0.5]}, r"(?s)x\.1.*finite number"),
        ({"x": [1, 2], "y": [0.5, None]}, r"(?s)y\.1.*valid number"),
        ({"x": [1, 2], "y": [0.5, True]}, r"(?s)y\.1.*valid number"),
        ({"x": [1, 2], "y": "12"}, "(?s)y.*sequence"),
        ({"x": [2, 1], "y": [0, 1]}, "x must ascend"),
        ({"x": [1, 1], "y": [0, 1]}, "x must ascend"),
        ({"x": [1], "y": [0.5], "low": [0.6], "high": [0.7]}, r"y\[0\] = 0.5 is not between low 0.6"),
        ({"x": [1], "y": [0.5], "low": [0.4], "high": [0.45]}, r"not between low 0.4 and high 0.45"),
        ({"x": [1], "y": [0.5], "low": [0.4]}, "needs both low and high"),
        ({"x": [1], "y": [0.5], "low": [0.4], "high": [0.6, 0.7]}, "high has 2 values for 1 positions"),
        ({"x": [1], "y": [0.5], "style": "wavy"}, "'solid', 'dashed' or 'dotted'"),
        ({"x": [1], "y": [0.5], "colour": "mauve"}, "'mauve' is neither a known colour"),
        ({"x": [1], "y": [0.5], "n": [3, 4]}, "n has 2 values for 1 positions"),
        ({"x": [1], "y": [0.5], "n": -1}, "(?s)n.*greater than or equal to 0"),
        ({"x": [1], "y": [0.5], "n": 2.5}, "(?s)n.*valid integer"),
    ],
)
def test_a_line_is_checked(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Line("m", **arguments)


@pytest.mark.each(
    ("make", "message"),
    [
        (lambda: Bars("m", [], []), "(?s)Bars\\n1.*at least 1 item"),
        (lambda: Bars("m", ["a", "a"], [1, 2]), "two categories are called 'a'"),
        (lambda: Bars("m", "ab", [1, 2]), "(?s)Bars.*Sequence"),
        (lambda: Bars("m", ["a"], [1, 2]), "y has 2 values for 1 positions"),
        (lambda: Bars(" ", ["a"], [1]), "(?s)Bars\\n0"),
        (lambda: Stacked("m", ["a"], [1.2]), "shares from 0 to 1"),
        (lambda: Level(math.nan, "chance"), "(?s)Level\\n0.*finite number"),
        (lambda: panel(), "but has none"),
        (lambda: panel(Level(0.5, "chance")), "but has none"),
        (lambda: panel(LINE, Bars("b", ["a"], [1])), "has Line and Bars"),
        (lambda: panel(LINE, Line("a", [1], [1])), "two marks have the name 'a'"),
        (lambda: panel(Line("a", [1], [53])), "'a': y reaches 53, outside y_range"),
        (lambda: panel(LINE, Level(2, "chance")), "'chance': y reaches 2"),
        (lambda: panel(Bars("b", ["a"], [3]), y_range=(2, 4)), "reaches 0.0, outside"),
        (lambda: panel(LINE, x_range=(1.5, 2)), "x reaches 1, outside x_range"),
        (lambda: panel(LINE, y_range=(1, 0)), "(?s)y_range.*must be two ascending numbers"),
        (lambda: panel(Bars("b", ["a"], [1]), x_ticks=[1]), "are for lines"),
        (lambda: panel(Stacked("s", ["a"], [0.5])), "parts of 'a' add up to 0.5"),
        (lambda: Figure("f", "t", []), "(?s)Figure\n2.*at least 1 item"),
        (lambda: Figure("a/b", "t", [panel(LINE)]), "(?s)Figure\\n0.*pattern"),
        (lambda: Figure("f", "t", [panel(LINE), panel(LINE)]), "two panels have the title ''"),
        (lambda: Figure("f", "t", [panel(LINE)], columns=2), "columns must be from 1 to 1"),
        (
            lambda: Figure(
                "f", "t", [panel(LINE), panel(Line("a", [1], [0.5], style="dotted"), title="second")]
            ),
            "'a' has two colours or styles",
        ),
    ],
)
def test_odd_figures_are_refused(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_arrays_become_plain_numbers() -> None:
    line = Line("m", np.arange(1, 3), np.array([0.25, 0.5]), n=np.array([3, 4]))
    assert line == Line("m", (1, 2), (0.25, 0.5), n=(3, 4))
    assert [type(value) for value in (*line.x, *line.y)] == [int, int, float, float]


def test_an_interval_may_miss_its_value_by_rounding() -> None:
    mean = 0.1 + 0.2
    assert Line("m", [1], [mean], [0.3 + 1e-12], [0.3 + 1e-12]).y == (mean,)


def test_shares_may_be_rounded() -> None:
    thirds = [Stacked(name, ["a"], [0.33]) for name in "xyz"]
    assert len(panel(*thirds).marks) == 3
