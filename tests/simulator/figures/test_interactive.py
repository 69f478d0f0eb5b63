"""Test the input of plotly."""

from __future__ import annotations

import json
from typing import Any

import plotly.graph_objects as go
import pytest

from simulator.figures import Bars, Figure, Level, Line, Panel, Stacked, to_plotly
from simulator.figures.look import DARK, LIGHT


def traces(figure: Figure, name: str) -> list[dict[str, Any]]:
    return [trace for trace in to_plotly(figure)["data"] if trace["legendgroup"] == name]


@pytest.mark.parametrize("dark", [False, True])
def test_plotly_knows_every_property(figure: Figure, dark: bool) -> None:
    made = to_plotly(figure, dark)
    go.Figure(made)
    assert json.loads(json.dumps(made, allow_nan=False)) == made


def test_every_number_is_there(figure: Figure) -> None:
    made = to_plotly(figure)["data"]
    for number, panel in enumerate(figure.panels):
        tail = "" if number == 0 else str(number + 1)
        here = [trace for trace in made if trace["yaxis"] == f"y{tail}"]
        for mark in panel.marks:
            drawn = [trace for trace in here if trace["legendgroup"] == mark.name]
            values = [trace for trace in drawn if trace.get("meta") != "interval"]
            assert len(values) == 1
            if isinstance(mark, Level):
                assert values[0]["y"] == [mark.y, mark.y]
                continue
            assert values[0]["y"] == list(mark.y)
            if isinstance(mark, Line):
                assert values[0]["x"] == list(mark.x)
            if mark.n is not None:
                assert all("n=" in hover for hover in values[0]["customdata"])
            if isinstance(mark, Stacked) or mark.low is None or mark.high is None:
                assert len(drawn) == 1 and "error_y" not in values[0]
            elif isinstance(mark, Bars):
                below, above = values[0]["error_y"]["arrayminus"], values[0]["error_y"]["array"]
                assert [y - r for y, r in zip(mark.y, below, strict=True)] == pytest.approx(mark.low)
                assert [y + r for y, r in zip(mark.y, above, strict=True)] == pytest.approx(mark.high)
            else:
                (band,) = (trace for trace in drawn if trace.get("meta") == "interval")
                assert band["x"] == [*mark.x, *reversed(mark.x)]
                assert band["y"] == [*mark.high, *reversed(mark.low)]


def test_bars_that_lie_start_at_their_names(lying: Figure) -> None:
    made = to_plotly(lying)
    go.Figure(made)
    bars, level = made["data"]
    assert bars["x"] == [0.5] * 8 and bars["orientation"] == "h"
    assert bars["error_x"]["array"] == pytest.approx([0.2] * 8) and "error_y" not in bars
    assert level["x"] == [0.25, 0.25]
    names, values = made["layout"]["yaxis"], made["layout"]["xaxis"]
    assert names["ticktext"][0] == "1. Electrical engineering" and names["range"][0] > names["range"][1]
    assert (names["title"]["text"], values["title"]["text"]) == ("task", "success")


def test_a_name_is_in_the_legend_once_and_looks_the_same_everywhere(multiples: Figure) -> None:
    for name in ("people", "oracle", "chance"):
        drawn = traces(multiples, name)
        assert sum(trace["showlegend"] for trace in drawn) == 1
        assert len({trace["line"]["color"] for trace in drawn}) == 1
    assert to_plotly(multiples)["layout"]["showlegend"]


def test_ground_and_colours_follow_the_appearance(curves: Figure) -> None:
    light, dark = to_plotly(curves), to_plotly(curves, dark=True)
    assert light["layout"]["font"]["color"] == LIGHT.muted
    assert dark["layout"]["font"]["color"] == DARK.muted
    assert [trace["y"] for trace in light["data"]] == [trace["y"] for trace in dark["data"]]
    assert light["data"][1]["line"]["color"] != dark["data"][1]["line"]["color"]


def test_labels_that_panels_share_are_written_once(multiples: Figure) -> None:
    layout = to_plotly(multiples)["layout"]
    assert layout["yaxis"]["title"]["text"] == "accuracy"
    assert layout["yaxis2"]["title"]["text"] == "" and not layout["yaxis2"]["showticklabels"]
    assert [layout[f"xaxis{tail}"]["title"]["text"] for tail in ("", "2", "3")] == ["example"] * 3


def test_texts_are_not_read_as_markup() -> None:
    panel = Panel("<b>& title", "n < 5", "y", [Bars("a<br>b", ["<i>x</i>"], [0.5])])
    made = to_plotly(Figure("f", "t", [panel]))
    assert made["data"][0]["name"] == "a&lt;br&gt;b"
    assert made["layout"]["xaxis"]["ticktext"] == ["&lt;i&gt;x&lt;/i&gt;"]
    assert made["layout"]["xaxis"]["title"]["text"] == "n &lt; 5"
    assert made["layout"]["annotations"][0]["text"] == "<b>&lt;b&gt;&amp; title</b>"
