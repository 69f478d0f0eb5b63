import pytest

from simulator.figures import Column, Table
from simulator.stats import Interval
from ui.research.address import Address
from ui.research.format import Cell, cell, cells, count, dollars, number, scale


@pytest.mark.each(
    ("value", "digits", "text"),
    [
        (0.53, 3, "0.530"),
        (-1.024, 2, "−1.02"),
        (0.6, 2, "0.60"),
        (-0.001, 2, "0.00"),
        (0, 0, "0"),
        (0.125, 2, "0.13"),
        (-0.125, 2, "−0.13"),
        (3, 0, "3"),
    ],
)
def test_numbers(value, digits, text):
    assert number(value, digits) == text


def test_other_numbers():
    assert count(1234567) == "1\u202f234\u202f567"
    assert (dollars(0), dollars(0.0123), dollars(12.345)) == ("$0.00", "$0.0123", "$12.35")


def test_a_cell_places_its_interval_on_the_columns_scale():
    low, high = Interval(-1.0, -2.0, 0.0, 9), Interval(1.0, 0.0, 2.0, 9)
    on = scale([low, high])
    first, two = cell(low, on, 1), cell(high, on, 1)
    assert (first.value, first.interval) == ("−1.0", "[−2.0, 0.0]")
    assert first.zero == two.zero == 50
    assert first.low < first.at < first.high == two.low < two.at < two.high
    assert first.low + two.high == pytest.approx(100)


def test_metrics_in_one_column_have_a_scale_each():
    points, share = Interval(20.0, 10.0, 30.0, 9), Interval(-0.2, -0.3, -0.1, 9)
    rows = [["score", points], ["success", share], ["score", points.times(-1)]]
    _, alone = cells(Table(["metric", "difference"], rows))[1]
    _, apart = cells(Table(["metric", Column("difference", scale_by="metric")], rows))[1]
    assert isinstance(alone, Cell) and isinstance(apart, Cell)
    assert alone.high - alone.low < 1 < 25 < apart.high - apart.low
    assert cells(Table(["metric"], [])) == []


def test_a_scale_of_one_value_has_a_width():
    point = Interval(2.0, None, None, 1)
    shown = cell(point, scale([point]), 1)
    assert (shown.low, shown.at, shown.high) == pytest.approx((50, 50, 50))
    assert (shown.value, shown.interval) == ("2.0", "– (n = 1)")


def test_addresses_come_back_as_they_went():
    at = Address(
        path="/research/part", run="a b&c", tab="dialogues", episode="a b&c/1.0.en/0", text="灯塔 + oil"
    )
    path, _, query = str(at).partition("?")
    assert Address.read(path, query) == at
    assert Address.read("/research", query) == at, "links that were kept lead there too"
    assert Address.read("/research/review", "run=x&lang=zh&unknown=1") == Address(
        path="/research/desk", desk="review", data="x"
    )
    assert at.to(path="/research", run="", tab="", episode="", text="") == "/research"
