import re

import plotly.graph_objects as go
import pytest

from simulator.clarq.reporting.report import compare
from ui.i18n import strings
from ui.research import figures
from ui.research.figures import Figure
from ui.research.scores_page import by_language, type_rows

COLOUR = re.compile(r"--ab-[a-z-]+")


def painted(value):
    """A figure as the browser draws it: with colours in the place of their names."""
    if isinstance(value, str):
        return COLOUR.sub("#123456", value)
    if isinstance(value, list):
        return [painted(one) for one in value]
    return {name: painted(one) for name, one in value.items()} if isinstance(value, dict) else value


@pytest.fixture(params=["en", "zh"])
def made(request, calls) -> dict[str, Figure]:
    t = strings(request.param)
    one, two = calls.desk.run_data("one"), calls.desk.run_data("two")
    languages = by_language(one.scored)
    tables = {language: type_rows(t, some) for language, some in languages.items()}
    (comparison,) = compare(one.scored, two.scored)
    some = (
        figures.success_curve(t, one.report.curve),
        figures.success_by_type(t, tables),
        figures.extra_replies(t, languages),
        figures.question_length(t, languages),
        figures.differences(t, comparison),
    )
    return {figure.id: figure for figure in some}


def test_plotly_knows_every_property(made):
    for figure in made.values():
        go.Figure(painted(figure.plotly))
        assert figure.title != figure.note


def test_the_curve_is_the_reports(made, calls):
    curve = calls.desk.run_data("one").report.curve
    lines = made["curve"].plotly["data"]
    assert [line["y"] for line in lines] == [list(shares) for shares in curve.values()]
    assert lines[0]["x"] == list(range(1, 15))
    assert made["curve"].plotly["layout"]["showlegend"]


def test_types_carry_their_intervals(made, calls):
    t = strings("en")
    rows = type_rows(t, by_language(calls.desk.run_data("one").scored)["en"])
    trace = made["types"].plotly["data"][0]
    assert trace["x"] == [row.success.value for row in rows]
    highs = [x + up for x, up in zip(trace["x"], trace["error_x"]["array"], strict=True)]
    assert highs == pytest.approx([row.success.high for row in rows])


def test_every_dialogue_is_in_the_distributions(made):
    assert sum(made["aqd"].plotly["data"][0]["y"]) == 3
    assert len(made["aql"].plotly["data"][0]["x"]) == 3


def test_differences_have_an_axis_each(made, calls):
    (comparison,) = compare(calls.desk.run_data("one").scored, calls.desk.run_data("two").scored)
    figure = made["differences"].plotly
    assert [trace["xaxis"] for trace in figure["data"]] == ["x", "x2", "x3"]
    assert [trace["x"][0] for trace in figure["data"]] == [
        one.difference.value for one in comparison.differences
    ]
    for axis in ("xaxis", "xaxis2", "xaxis3"):
        low, high = figure["layout"][axis]["range"]
        assert low == -high
