"""Test the grid of panels, the order of names and breaks of texts."""

from __future__ import annotations

import pytest

from simulator.figures import Bars, Figure, Level, Line, Panel
from simulator.figures.geometry import column_count, has_horizontal_bars, legend, text_width, wrap, x_ticks


def panel(*marks: Line | Bars | Level, title: str = "", **more: object) -> Panel:
    return Panel(title, "x", "y", marks, **more)  # type: ignore[arg-type]


@pytest.mark.each(("count", "expected"), [(1, 1), (3, 3), (4, 2), (5, 3), (12, 4)])
def test_columns(count: int, expected: int) -> None:
    panels = [panel(Line("a", [1], [0]), title=str(number)) for number in range(count)]
    assert column_count(Figure("f", "", panels)) == expected
    assert column_count(Figure("f", "", panels, columns=1)) == 1


def test_bars_lie_where_their_names_have_no_room_under_them(lying: Figure, grouped: Figure) -> None:
    assert has_horizontal_bars(lying) and column_count(lying) == 1
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


def test_texts_are_wrapped_at_spaces_and_between_chinese_characters() -> None:
    assert wrap("indoor or outdoor place", 10) == ["indoor or", "outdoor", "place"]
    assert wrap("室内，还是室外 place", 6) == ["室内，", "还是室", "外", "place"]
    assert wrap("unbreakable", 4) == ["unbreakable"]
    assert wrap("", 4) == [""]
    assert text_width("a室") == 3
