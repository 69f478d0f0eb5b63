"""Test figures as Vega-Lite charts, and where their marks stand when they are drawn."""

from __future__ import annotations

import json
import re
from xml.etree import ElementTree

import pytest
import vl_convert

from simulator.figures import Bars, Figure, Level, Line, Panel, to_vega_lite
from simulator.figures.files import PAGE
from simulator.figures.look import DARK, LIGHT, Look
from simulator.figures.printed import VERSION, figure_svg

SVG = "{http://www.w3.org/2000/svg}"
BOX = re.compile(r"M(\S+),(\S+)h(\S+)v(\S+)h")


def bars(figure: Figure) -> dict[str, tuple[float, ...]]:
    """The left, top, right and lower end of each bar, by the text that is read for it."""
    boxes = {}
    for path in ElementTree.fromstring(figure_svg(figure, PAGE)).iter(f"{SVG}path"):
        if path.get("aria-roledescription") == "bar":
            match = BOX.match(path.get("d", ""))
            assert match is not None
            x, y, wide, high = map(float, match.groups())
            boxes[path.get("aria-label", "")] = (x, y, x + wide, y + high)
    return boxes


@pytest.mark.parametrize("look", [LIGHT, DARK])
def test_charts_of_pages_are_valid_and_fit_their_element(
    figure: Figure, look: Look, capfd: pytest.CaptureFixture[str]
) -> None:
    made = json.dumps(to_vega_lite(figure, look), allow_nan=False)
    chart = vl_convert.vegalite_to_vega(made, vl_version=VERSION, show_warnings=True)
    assert capfd.readouterr() == ("", "")
    (patch,) = chart["usermeta"]["embedOptions"]["patch"]
    names = [signal["name"] for signal in chart["signals"]]
    if len(figure.panels) == 1:
        # The signal is added, and takes precedence over the number.
        assert patch["op"] == "add" and patch["value"]["name"] == "width" and chart["width"] == 100
        assert "width" not in names and "childWidth" not in names
    else:
        assert patch["op"] == "replace" and patch["value"]["name"] == "childWidth" == names[0]
    assert chart["config"]["axis"]["labelColor"] == look.muted


def test_every_number_is_there(figure: Figure) -> None:
    for panel, made in zip(figure.panels, to_vega_lite(figure)["concat"], strict=True):
        levels = [layer["data"]["values"] for layer in made["layer"] if "data" in layer]
        rows = [*made["data"]["values"], *(row for values in levels for row in values)]
        for mark in panel.marks:
            drawn = [row for row in rows if row["series"] == mark.name]
            if isinstance(mark, Level):
                assert drawn == [{"series": mark.name, "value": mark.y}]
                continue
            places = mark.x if isinstance(mark, Line) else mark.categories
            assert [row["x" if isinstance(mark, Line) else "category"] for row in drawn] == list(places)
            assert [row["value"] - row.get("start", 0) for row in drawn] == pytest.approx(list(mark.y))
            low, high = getattr(mark, "low", None), getattr(mark, "high", None)
            if low and high:
                assert [(row["low"], row["high"]) for row in drawn] == list(zip(low, high, strict=True))
            assert all(
                ("n=" in row["tip"], "[" in row["tip"]) == (mark.n is not None, low is not None)
                for row in drawn
            )


def test_a_value_is_read_out_with_its_interval_and_n(grouped: Figure) -> None:
    assert list(bars(grouped)) == [
        "people · subject: 0.800 [0.750, 0.900] n=60",
        "people · location: 0.700 [0.600, 0.750] n=60",
        "davinci · location: 0.550",
        "davinci · negation: 0.500",
    ]


def test_grouped_bars_do_not_overlap_and_are_as_high_as_their_values(grouped: Figure) -> None:
    first, second, third, fourth = bars(grouped).values()
    assert second[2] < third[0] < second[2] + 0.2 * (second[2] - second[0])
    assert first[2] < second[0] and third[2] < fourth[0]
    ground = {box[3] for box in (first, second, third, fourth)}
    assert len(ground) == 1
    heights = [box[3] - box[1] for box in (first, second, third, fourth)]
    assert [height / heights[0] for height in heights] == pytest.approx([1, 0.7 / 0.8, 0.55 / 0.8, 0.5 / 0.8])


def test_stacked_parts_stand_on_each_other(stacked: Figure) -> None:
    boxes = bars(Figure("one", "t", stacked.panels[:1]))
    same, other, invalid = (
        boxes[f"{name} · English: {share:.3f} n=40"]
        for name, share in (("same", 0.5), ("other", 0.3), ("invalid", 0.2))
    )
    assert (same[1], other[1]) == pytest.approx((other[3], invalid[3]))
    assert same[0] == other[0] == invalid[0]
    shares = [text.text for text in ElementTree.fromstring(figure_svg(stacked, PAGE)).iter(f"{SVG}text")]
    assert shares.count("0.30") == 2 and shares.count("0.05") == 0


def test_bars_that_lie_start_at_their_names(lying: Figure) -> None:
    boxes = list(bars(lying).values())
    assert len(boxes) == 8 and len({box[0] for box in boxes}) == 1
    assert [box[1] for box in boxes] == sorted(box[1] for box in boxes)
    (made,) = to_vega_lite(lying)["concat"]
    assert (made["encoding"]["y"]["title"], made["encoding"]["x"]["title"]) == ("task", "success")


def test_nothing_is_drawn_outside_the_axes() -> None:
    values = Bars("b", ["x", "y", "z"], [-3, 2, 1], [-4, 1, 0], [0, 5, 2])
    figure = Figure("f", "t", [Panel("", "", "", [values, Level(6, "top")], y_range=None)])
    (made,) = to_vega_lite(figure, width=800)["concat"]
    low, high = made["encoding"]["y"]["scale"]["domain"]
    assert low < -4 and high > 6
    tops, ends = zip(*(box[1::2] for box in bars(figure).values()), strict=True)
    assert min(tops) > 0 and max(ends) < made["height"]
    assert tops[0] == ends[1] == ends[2]


def test_a_name_is_in_the_legend_once_and_looks_the_same_everywhere(multiples: Figure) -> None:
    panels = to_vega_lite(multiples)["concat"]
    legends = [
        layer
        for panel in panels
        for layer in panel["layer"]
        if "legend" in layer["encoding"].get("color", ())
    ]
    assert len(legends) == 1
    assert len({json.dumps(panel["encoding"]["color"]) for panel in panels}) == 1
    shown = [text.text for text in ElementTree.fromstring(figure_svg(multiples, PAGE)).iter(f"{SVG}text")]
    assert [shown.count(name) for name in ("people", "oracle", "chance")] == [1, 1, 1]
    assert [shown.count(label) for label in ("accuracy", "example")] == [1, 3]


def test_a_single_name_needs_no_legend(lying: Figure) -> None:
    panels = [Panel(title, "x", "y", lying.panels[0].marks[:1]) for title in ("a", "b")]
    shown = figure_svg(Figure("f", "t", panels), PAGE)
    assert ">people<" not in shown


def test_colours_follow_the_appearance(curves: Figure) -> None:
    (light,), (dark,) = (to_vega_lite(curves, look)["concat"] for look in (LIGHT, DARK))
    assert light["data"] == dark["data"]
    assert light["encoding"]["color"]["scale"]["range"][0] == LIGHT.series["teal"]
    assert dark["encoding"]["color"]["scale"]["range"][0] == DARK.series["teal"]


def test_lines_and_bars_differ_without_colour() -> None:
    lines = [Line(f"line {number}", [1, 2], [0, 0.1 * number]) for number in range(9)]
    drawn = ElementTree.fromstring(figure_svg(Figure("f", "t", [Panel("", "", "", lines)]), PAGE))
    points = [path for path in drawn.iter(f"{SVG}path") if path.get("aria-roledescription") == "point"]
    assert len({path.get("d") for path in points}) == 8
    assert [
        path.get("stroke-dasharray") for path in drawn.iter(f"{SVG}path") if path.get("stroke-width") == "2.2"
    ][-1] == "6,3"
    many = [Bars(f"bars {number}", ["a"], [0.5]) for number in range(9)]
    (made,) = to_vega_lite(Figure("f", "t", [Panel("", "", "", many)]))["concat"]
    assert [row["fill"] < 1 for row in made["data"]["values"]] == [False] * 8 + [True]


def test_curves_of_many_values_have_some_markers_and_all_texts() -> None:
    curve = Line("loss", range(500), [1 / (1 + x) for x in range(500)])
    (made,) = to_vega_lite(Figure("f", "t", [Panel("", "", "", [curve])]))["concat"]
    assert sum(row["marked"] for row in made["data"]["values"]) < 30
    assert made["data"]["values"][499]["tip"] == "loss · 499: 0.002"
