"""Test that series can be told apart with any colour vision, and look the same in all panels."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import numpy.typing as npt
import pytest

from simulator.figures.look import COLOURS, DARK, DASHES, LIGHT, Look, luminance, strokes, text_on

# Machado, Oliveira and Fernandes 2009, severity 1.0; rows sum to 1.
VISION = {
    "normal": [1, 0, 0, 0, 1, 0, 0, 0, 1],
    "protan": [0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116, 1.051998],
    "deutan": [0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.01182, 0.04294, 0.968881],
    "tritan": [1.255528, -0.076749, -0.178779, -0.078411, 0.930809, 0.147602, 0.004733, 0.691367, 0.3039],
}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def lab(colour: str, vision: str) -> npt.NDArray[np.float64]:
    rgb = np.array([int(colour[start : start + 2], 16) for start in (1, 3, 5)]) / 255
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    seen = TO_XYZ @ np.clip(np.reshape(VISION[vision], (3, 3)) @ linear, 0, 1) / [0.9505, 1, 1.089]
    x, y, z = np.where(seen > 0.008856, np.cbrt(seen), 7.787 * seen + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.each("vision", VISION)
@pytest.mark.each("look", [LIGHT, DARK], ids=["light", "dark"])
def test_colours_differ_for_everybody(look: Look, vision: str) -> None:
    seen = {name: lab(look.series[name], vision) for name in COLOURS}
    closest = min(combinations(seen, 2), key=lambda pair: np.linalg.norm(seen[pair[0]] - seen[pair[1]]))
    assert np.linalg.norm(seen[closest[0]] - seen[closest[1]]) > 15, closest


@pytest.mark.parametrize("look", [LIGHT, DARK], ids=["light", "dark"])
def test_colours_stand_out_from_their_ground(look: Look) -> None:
    for colour in (*look.series.values(), look.ink, look.muted):
        ends = sorted((luminance(colour), luminance(look.ground)))
        assert (ends[1] + 0.05) / (ends[0] + 0.05) > 2, colour


def test_a_colour_asked_for_is_nobody_elses() -> None:
    drawn = strokes([("a", None, "solid"), ("b", "teal", "solid"), ("c", None, "dashed")])
    assert drawn["b"].colour == "teal"
    assert drawn["c"].dash == "dashed"
    assert len({stroke.colour for stroke in drawn.values()}) == 3


def test_more_names_than_colours_still_differ() -> None:
    drawn = strokes((str(number), None, "solid") for number in range(len(DASHES) * len(COLOURS)))
    assert len({(stroke.colour, stroke.dash) for stroke in drawn.values()}) == len(drawn)
    assert drawn["8"].hatched and not drawn["0"].hatched


def test_numbers_on_bars_can_be_read() -> None:
    assert text_on("#000000") == "#ffffff"
    assert text_on("#ffffff") == LIGHT.ink
    for look in (LIGHT, DARK):
        for colour in look.series.values():
            ends = sorted((luminance(colour), luminance(text_on(colour))))
            assert (ends[1] + 0.05) / (ends[0] + 0.05) > 4, colour
