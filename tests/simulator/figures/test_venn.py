"""Test Venn diagrams of three sets."""

from __future__ import annotations

import csv
import io
import xml.etree.ElementTree as ET
from itertools import product

import pytest

from simulator.errors import InputError
from simulator.figures import Venn
from simulator.figures.look import DARK, LIGHT

AREAS = [area for area in product((False, True), repeat=3) if any(area)]


def venn(counts=None):
    return Venn(
        "sets", "Label sets", ("C", "E", "N & co"), counts or dict(zip(AREAS, range(1, 8), strict=True))
    )


@pytest.mark.parametrize(("dark", "look"), [(False, LIGHT), (True, DARK)])
def test_every_count_and_name_stands_in_the_drawing(dark, look):
    root = ET.fromstring(venn().svg(dark=dark))
    assert {text.get("fill") for text in root.iter("{http://www.w3.org/2000/svg}text")} == {
        look.ink,
        look.muted,
    }
    texts = ["".join(text.itertext()) for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"C", "E", "N & co", *map(str, range(1, 8))} <= set(texts)
    assert len(list(root.iter("{http://www.w3.org/2000/svg}circle"))) == 3


def test_numbers_stand_in_the_circles_that_hold_them():
    root = ET.fromstring(venn().svg())
    circles = [
        (float(circle.get("cx")), float(circle.get("cy")), float(circle.get("r")))
        for circle in root.iter("{http://www.w3.org/2000/svg}circle")
    ]
    place = {
        "".join(text.itertext()): (float(text.get("x")), float(text.get("y")))
        for text in root.iter("{http://www.w3.org/2000/svg}text")
    }
    for number, area in enumerate(AREAS, start=1):
        x, y = place[str(number)]
        assert area == tuple((x - cx) ** 2 + (y - cy) ** 2 < r**2 for cx, cy, r in circles)


def test_a_table_and_files(tmp_path):
    rows = list(csv.DictReader(io.StringIO(venn().csv())))
    assert [int(row["count"]) for row in rows] == list(range(1, 8))
    assert sum(float(row["share"]) for row in rows) == pytest.approx(1, abs=1e-5)
    assert venn().save(tmp_path / "a" / "v.png").read_bytes().startswith(b"\x89PNG")
    assert venn().save(tmp_path / "v.svg").read_text().startswith("<svg")
    with pytest.raises(InputError, match=r"\.svg, \.png or \.csv"):
        venn().save(tmp_path / "v.pdf")


def test_what_is_no_diagram_is_refused():
    with pytest.raises(ValueError, match="7 counts"):
        venn({(True, False, False): 1})
    with pytest.raises(ValueError, match="three different sets"):
        Venn("v", "v", ("a", "a", "b"), venn().counts)


def test_nothing_at_all_has_no_shares():
    empty = venn(dict.fromkeys(AREAS, 0))
    assert empty.total == 0
    assert "0.0 %" in empty.svg()
