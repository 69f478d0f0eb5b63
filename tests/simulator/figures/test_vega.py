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


def drawn(figure: Figure, tag: str = "path") -> list[ElementTree.Element]:
    return list(ElementTree.fromstring(figure_svg(figure, PAGE)).iter(SVG + tag))


def bars(figure: Figure) -> dict[str, tuple[float, ...]]:
    """The left, top, right and lower end of each bar, by the text that is read for it."""
    boxes = {}
    for path in drawn(figure):
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
    assert chart["config"]["style"]["guide-label"]["fill"] == look.muted
    (colours,) = (scale["range"] for scale in chart["scales"] if scale["name"] == "color")
    assert look.series["teal"] in colours
    (patch,) = chart["usermeta"]["embedOptions"]["patch"]
    # A signal `width` that is added takes precedence over the number.
    name, change = ("width", "add") if chart["layout"]["columns"] == 1 else ("childWidth", "replace")
    assert (patch["value"]["name"], patch["op"]) == (name, change)
    assert [signal["name"] for signal in chart["signals"]].index("childHeight") == (change == "replace")
    assert (chart["signals"][0]["name"] == name) == (change == "replace") == ("width" not in chart)


def test_every_number_is_there(figure: Figure) -> None:
    for panel, made in zip(figure.panels, to_vega_lite(figure)["concat"], strict=True):
        levels = [row for layer in made["layer"] if "data" in layer for row in layer["data"]["values"]]
        for mark in panel.marks:
            rows = [row for row in (*made["data"]["values"], *levels) if row["series"] == mark.name]
            if isinstance(mark, Level):
                assert rows == [{"series": mark.name, "y": mark.y}]
                continue
            place, places = ("x", mark.x) if isinstance(mark, Line) else ("category", mark.categories)
            assert [row[place] for row in rows] == list(places)
            assert [row["y"] - row.get("start", 0) for row in rows] == pytest.approx(list(mark.y))
            for end in ("low", "high"):
                ends = getattr(mark, end, None)
                assert ends is None or [row[end] for row in rows] == list(ends)


def test_grouped_bars_stand_side_by_side_and_are_as_high_as_their_values(grouped: Figure) -> None:
    boxes = bars(grouped)
    assert list(boxes) == [
        "people · subject: 0.800 [0.750, 0.900] n=60",
        "people · location: 0.700 [0.600, 0.750] n=60",
        "davinci · location: 0.550",
        "davinci · negation: 0.500",
    ]
    first, second, third, fourth = boxes.values()
    assert first[2] < second[0] and second[2] < third[0] and third[2] < fourth[0]
    assert third[0] - second[2] < 0.2 * (second[2] - second[0])
    assert len({box[3] for box in boxes.values()}) == 1
    heights = [box[3] - box[1] for box in boxes.values()]
    assert [0.8 * height / heights[0] for height in heights] == pytest.approx([0.8, 0.7, 0.55, 0.5])


def test_bars_of_each_panel_stand_above_their_own_names() -> None:
    kinds = {"seeker": ["person", "nothing"], "robot": ["person", "inferred", "nothing"]}
    panels = [
        Panel(who, "", "share", [Bars(f"{who} {at}", names, [0.5] * len(names)) for at in range(2)])
        for who, names in kinds.items()
    ]
    boxes = bars(Figure("asking", "Who asks", panels, columns=1))
    for who in kinds:
        alone = bars(Figure("asking", "Who asks", [panel for panel in panels if panel.title == who]))
        assert {text: box for text, box in boxes.items() if text.startswith(who)} == alone


def test_names_of_the_language_are_names(grouped: Figure) -> None:
    names = ["toString", "constructor", "__proto__"]
    panel = Panel("", "kind", "share", [Bars(name, names, [0.5, 0.2, 0.3]) for name in names])
    assert len(bars(Figure("names", "Names", [panel]))) == 9


def test_stacked_parts_stand_on_each_other(stacked: Figure) -> None:
    boxes = bars(Figure("one", "t", stacked.panels[:1]))
    parts = [
        boxes[f"{part} · English: {share} n=40"]
        for part, share in (("same", "0.500"), ("other", "0.300"), ("invalid", "0.200"))
    ]
    assert len({box[0] for box in parts}) == 1
    assert [box[1] for box in parts[:2]] == pytest.approx([box[3] for box in parts[1:]])
    shares = [text.text for text in drawn(stacked, "text")]
    assert shares.count("0.30") == 2 and "0.05" not in shares


def test_bars_that_lie_start_at_their_names(lying: Figure) -> None:
    boxes = list(bars(lying).values())
    assert len(boxes) == 8 and len({box[0] for box in boxes}) == 1
    assert boxes == sorted(boxes, key=lambda box: box[1])
    assert [text.text for text in drawn(lying, "text") if text.text in ("task", "success")] == [
        "success",
        "task",
    ]


def test_nothing_is_drawn_outside_the_axes() -> None:
    values = Bars("b", ["x", "y", "z"], [-3, 2, 1], [-4, 1, 0], [0, 5, 2])
    figure = Figure("f", "t", [Panel("", "", "", [values, Level(6, "top")], y_range=None)])
    height = to_vega_lite(figure, width=800)["concat"][0]["height"]
    down, *up = bars(figure).values()
    assert down[1] == up[0][3] == up[1][3]
    # The axis reaches from -4 to 6.
    assert down[1] == pytest.approx(0.6 * height) and up[0][1] == pytest.approx(0.4 * height)


def test_a_name_is_in_the_legend_once_and_looks_the_same_everywhere(multiples: Figure) -> None:
    panels = to_vega_lite(multiples)["concat"]
    assert len({json.dumps(panel["encoding"]["color"]) for panel in panels}) == 1
    shown = [text.text for text in drawn(multiples, "text")]
    assert [shown.count(name) for name in ("people", "oracle", "chance")] == [1, 1, 1]
    assert [shown.count(label) for label in ("accuracy", "example")] == [1, 3]


def test_a_single_name_needs_no_legend(lying: Figure) -> None:
    panels = [Panel(title, "x", "y", lying.panels[0].marks[:1]) for title in ("a", "b")]
    assert "people" not in [text.text for text in drawn(Figure("f", "t", panels), "text")]


def test_lines_and_bars_differ_without_colour() -> None:
    lines = [Line(f"line {number}", [1, 2], [0, 0.1 * number]) for number in range(9)]
    paths = drawn(Figure("f", "t", [Panel("", "", "", lines)]))
    markers = {path.get("d") for path in paths if path.get("aria-roledescription") == "point"}
    dashes = [path.get("stroke-dasharray") for path in paths if path.get("stroke-width") == "2.2"]
    assert len(markers) == 8 and dashes == ["1,0"] * 8 + ["6,3"]
    many = [Bars(f"bars {number}", ["a"], [0.5]) for number in range(9)]
    (made,) = to_vega_lite(Figure("f", "t", [Panel("", "", "", many)]))["concat"]
    assert [row["fill"] < 1 for row in made["data"]["values"]] == [False] * 8 + [True]


def test_curves_of_many_values_have_markers_at_some() -> None:
    curve = Line("loss", range(500), [1 / (1 + x) for x in range(500)])
    points = [
        path
        for path in drawn(Figure("f", "t", [Panel("", "", "", [curve])]))
        if path.get("aria-roledescription") == "point"
    ]
    assert 5 < len(points) < 30
