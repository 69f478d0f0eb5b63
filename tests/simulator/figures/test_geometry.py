"""Test the grid, ranges, ticks and breaks of texts."""

from __future__ import annotations

import pytest

from simulator.figures import Bars, Figure, Level, Line, Panel
from simulator.figures.geometry import (
    grid,
    has_horizontal_bars,
    legend,
    text_width,
    wrap,
    x_ticks,
    y_range,
    y_window,
)


def panel(*marks: Line | Bars | Level, title: str = "", **more: object) -> Panel:
    return Panel(title, "x", "y", marks, **more)  # type: ignore[arg-type]


@pytest.mark.each(("count", "expected"), [(1, (1, 1)), (3, (1, 3)), (4, (2, 2)), (5, (2, 3)), (12, (3, 4))])
def test_grid(count: int, expected: tuple[int, int]) -> None:
    panels = [panel(Line("a", [1], [0]), title=str(number)) for number in range(count)]
    assert grid(Figure("f", "", panels)) == expected
    assert grid(Figure("f", "", panels, columns=1)) == (count, 1)


def test_bars_lie_where_their_names_have_no_room_under_them(lying: Figure, grouped: Figure) -> None:
    assert has_horizontal_bars(lying) and grid(lying) == (1, 1)
    assert not has_horizontal_bars(grouped)
    numbers = panel(Bars("a", [f"{number}–" for number in range(20)], [1] * 20), y_range=None)
    assert not has_horizontal_bars(Figure("f", "", [numbers]))


def test_the_legend_has_every_name_once_and_levels_last(multiples: Figure) -> None:
    assert [entry.name for entry in legend(multiples)] == ["people", "oracle", "chance"]


@pytest.mark.each(
    ("x", "ticks"),
    [
        (range(1, 21), (1, 5, 10, 15, 20)),
        (range(4), (0, 1, 2, 3)),
        ([0, 50, 100], (0, 20, 40, 60, 80, 100)),
        ([0.5, 1.5], None),
        ([0, 10**7], None),
    ],
)
def test_ticks_at_round_numbers(x: list[int], ticks: tuple[int, ...] | None) -> None:
    assert x_ticks(panel(Line("a", x, [0] * len(x)))) == ticks


def test_a_free_range_holds_everything() -> None:
    low, high = y_range(panel(Line("a", [1, 2], [-3, 40], [-5, 30], [0, 50]), Level(60, "top"), y_range=None))
    assert low < -5 and high > 60
    bars = panel(Bars("b", ["x"], [12]), y_range=None)
    assert y_range(bars)[0] == y_window(bars)[0] == 0


def test_texts_are_wrapped_at_spaces_and_between_chinese_characters() -> None:
    assert wrap("indoor or outdoor place", 10) == ["indoor or", "outdoor", "place"]
    assert wrap("室内，还是室外 place", 6) == ["室内，", "还是室", "外", "place"]
    assert wrap("unbreakable", 4) == ["unbreakable"]
    assert wrap("", 4) == [""]
    assert text_width("a室") == 3
