"""Test figures as files: valid, complete, reproducible."""

from __future__ import annotations

import csv
import io
import re
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from simulator.errors import InputError
from simulator.figures import Bars, Figure, Level, Line, Panel, save
from simulator.figures.files import COLUMN, HEADINGS, PAGE, csv_text, rows

SVG = "{http://www.w3.org/2000/svg}"


def texts(svg: bytes) -> list[str]:
    return ["".join(text.itertext()).strip() for text in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def test_rows_hold_every_number(figure: Figure) -> None:
    table = rows(figure)
    assert all(tuple(row) == HEADINGS for row in table)
    expected: list[Any] = []
    for panel in figure.panels:
        for mark in panel.marks:
            if isinstance(mark, Level):
                expected.append((panel.title, mark.name, None, mark.y, None))
                continue
            places = mark.x if isinstance(mark, Line) else mark.categories
            lows = getattr(mark, "low", None) or [None] * len(mark.y)
            expected += [
                (panel.title, mark.name, place, y, low)
                for place, y, low in zip(places, mark.y, lows, strict=True)
            ]
    values = [
        (row["panel"], row["series"], row["category"] if row["x"] is None else row["x"], row["y"], row["low"])
        for row in table
    ]
    assert values == expected


def test_csv_has_the_rows_and_no_empty_columns(figure: Figure) -> None:
    read = list(csv.DictReader(io.StringIO(csv_text(figure))))
    assert [float(row["y"]) for row in read] == [row["y"] for row in rows(figure)]
    assert ("x" in read[0]) != ("category" in read[0])
    assert all(any(row[heading] for row in read) for heading in read[0] if heading != "panel")


@pytest.mark.parametrize("width", [COLUMN, PAGE])
def test_png_is_as_wide_as_asked_at_300_dpi(curves: Figure, tmp_path: Path, width: float) -> None:
    content = save(curves, tmp_path / "curves.png", width=width).read_bytes()
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    wide, high = struct.unpack(">II", content[16:24])
    assert abs(wide - width / 2.54 * 300) <= 1
    assert 0.3 * wide < high < wide
    assert b"Askback" in content and curves.caption.encode() in content


def test_svg_keeps_text_as_text(figure: Figure, tmp_path: Path) -> None:
    shown = texts(save(figure, tmp_path / "figure.svg").read_bytes())
    expected = [figure.title, figure.panels[0].x_label, figure.panels[0].y_label]
    for panel in figure.panels:
        expected += [panel.title] if panel.title else []
        for mark in panel.marks:
            expected += [mark.name, *getattr(mark, "categories", ())]
    assert set(expected) <= set(shown)
    assert shown.count(figure.panels[0].y_label) == (len(figure.panels) if figure.columns == 1 else 1)


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf", ".html", ".csv", ".json"])
def test_the_same_figure_makes_the_same_bytes(multiples: Figure, tmp_path: Path, suffix: str) -> None:
    first = save(multiples, tmp_path / f"one{suffix}").read_bytes()
    for number in range(3):
        assert save(multiples, tmp_path / "deeper" / f"{number}{suffix.upper()}").read_bytes() == first
    assert not re.search(rb"20\d\d-\d\d-\d\dT", first[:3000])


def test_texts_are_not_read_as_mathematics_or_hidden(tmp_path: Path) -> None:
    lines = [Line(name, [1, 2], [0, 1]) for name in ("_private", "$x^2$", "a < b & c")]
    figure = Figure("f", "100 $ and 50 $", [Panel("", "", "", lines)])
    assert {"100 $ and 50 $", "_private", "$x^2$", "a < b & c"} <= set(
        texts(save(figure, tmp_path / "f.svg").read_bytes())
    )


def test_chinese_texts(tmp_path: Path) -> None:
    panel = Panel("主语", "例子", "正确率", [Line("参与者", [1, 2], [0.5, 1])])
    figure = Figure("zh", "每个例子的正确率", [panel])
    assert {"每个例子的正确率", "主语", "例子", "正确率"} <= set(
        texts(save(figure, tmp_path / "zh.svg").read_bytes())
    )
    installed = subprocess.run(
        ["fc-list", ":lang=zh-cn", "family"], capture_output=True, text=True, check=False
    )
    if "Noto Sans CJK SC" not in installed.stdout:
        pytest.skip("no Chinese font on this machine; on Debian: apt-get install fonts-noto-cjk")
    fonts = re.findall(rb"/BaseFont /\w+\+(\w+)", save(figure, tmp_path / "zh.pdf").read_bytes())
    assert set(fonts) == {b"NotoSansCJKsc"}


def test_long_words_and_many_names_are_drawn(tmp_path: Path) -> None:
    many = [Line(f"model with a long name {number}", [1, 2], [0.1, 0.05 * number]) for number in range(12)]
    title = "A title that is too long for one line " * 3
    shown = texts(save(Figure("many", title, [Panel("", "x", "y", many)]), tmp_path / "m.svg").read_bytes())
    assert {line.name for line in many} <= set(shown)
    bars = Bars("b", ["incomprehensibility", "short", "a b c"], [-3, 2, 1], [-4, 1, 0], [0, 5, 2])
    path = save(Figure("long", "t", [Panel("", "x", "y", [bars], y_range=None)]), tmp_path / "l.svg", width=5)
    assert "incomprehensibility" in texts(path.read_bytes())


def test_names_beside_bars_stand_upright(lying: Figure, tmp_path: Path) -> None:
    drawn = ElementTree.fromstring(save(lying, tmp_path / "lying.svg").read_bytes())
    (name,) = (text for text in drawn.iter(f"{SVG}text") if text.text == "8. Electrical engineering")
    assert "rotate" not in name.get("transform", "")


def test_the_page_needs_nothing_else(tmp_path: Path) -> None:
    figure = Figure(
        "page", "a </script><b>", [Panel("", "x", "y", [Line("</script>", [1, 2], [0, 1])])], "cap & tion"
    )
    page = save(figure, tmp_path / "f.html").read_text(encoding="utf-8")
    assert "window.vegaEmbed" in page
    markup = re.sub(r"(?s)(<script[^>]*>).*?</script>", r"\1", page)
    assert not re.search(r"<(?:script|link|img)[^>]*(?:src|href)=", markup)
    assert page.count("</script>") == 3
    assert "<h1>a &lt;/script&gt;&lt;b&gt;</h1>" in page and "cap &amp; tion" in page
    assert "<td>&lt;/script&gt;</td>" in page


def test_another_suffix_is_refused(curves: Figure, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"curves.gif: .*\.png, \.svg, \.pdf, \.html, \.csv, \.json"):
        save(curves, tmp_path / "curves.gif")
    with pytest.raises(InputError, match="width from 4 to 100 cm"):
        save(curves, tmp_path / "curves.png", width=0)


def test_a_failed_write_leaves_nothing_behind(curves: Figure, tmp_path: Path) -> None:
    (tmp_path / "taken.csv").mkdir()
    with pytest.raises(InputError, match=r"taken.csv cannot be written"):
        save(curves, tmp_path / "taken.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["taken.csv"]
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"under.csv cannot be written"):
        save(curves, tmp_path / "file" / "under.csv")


def test_what_draws_is_not_imported_before_it_is_needed() -> None:
    program = "import sys, simulator.figures; print('vl_convert' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_names_in_csv_are_no_formulas() -> None:
    drawn = Figure("f", "F", [Panel("", "", "", [Bars("=1+1", ["a"], [0.5])])])
    assert "'=1+1,a,0.5" in csv_text(drawn)
