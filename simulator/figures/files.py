"""Figures as files: drawn for print, interactive, as a table, or as their description in JSON."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined

from logs.codebook import guard_cell
from simulator.errors import InputError
from simulator.figures.geometry import column_count
from simulator.figures.look import DARK, FONT, LIGHT
from simulator.figures.printed import figure_svg, to_pdf, to_png, vega_js
from simulator.figures.spec import Figure, points
from simulator.figures.vega import to_vega_lite
from simulator.output_files import rows_as_csv, write_atomically

COLUMN: Final = 8.5
"""Width of one column of a two-column paper, in centimetres."""
PAGE: Final = 17.0
"""Width of both columns, in centimetres."""
HEADINGS: Final = ("panel", "series", "x", "category", "y", "low", "high", "n")


def save(figure: Figure, path: Path | str, *, width: float = PAGE) -> Path:
    """Write a figure atomically, in the format of the path's suffix, and return the path.

    ``.png`` (300 dpi), ``.svg`` and ``.pdf`` are for print, ``.html`` is interactive and self-contained,
    ``.csv`` has the numbers, ``.json`` the description.

    `width`: width in print, in centimetres, such as `COLUMN` or `PAGE`.

    Raises:
        InputError: if the suffix is another one, or the file cannot be written.
    """
    path = Path(path)
    writers: dict[str, Callable[[], bytes]] = {
        ".png": lambda: to_png(_print_figure(figure, width), width, figure.caption or figure.title),
        ".svg": lambda: _print_figure(figure, width).encode(),
        ".pdf": lambda: to_pdf(_print_figure(figure, width), width),
        ".html": lambda: html_text(figure).encode(),
        ".csv": lambda: csv_text(figure).encode(),
        ".json": lambda: to_json(figure).encode(),
    }
    write = writers.get(path.suffix.lower())
    if write is None:
        raise InputError(f"{path}: figures are saved as {', '.join(writers)}; choose one of these suffixes")
    return write_atomically(path, write())


def rows(figure: Figure) -> list[dict[str, Any]]:
    """Return all numbers of a figure in long form, with keys `HEADINGS`; None if a key does not apply."""
    long_form = []
    for panel in figure.panels:
        for mark in panel.marks:
            for values in points(mark):
                point = {"panel": panel.title, "series": mark.name, **values}
                long_form.append({heading: point.get(heading) for heading in HEADINGS})
    return long_form


def csv_text(figure: Figure) -> str:
    """Return `rows` as CSV, without empty columns."""
    table = rows(figure)
    used = [heading for heading in HEADINGS if any(row[heading] is not None for row in table)]
    return rows_as_csv([used, *([guard_cell(row[heading]) for heading in used] for row in table)])


def to_json(figure: Figure) -> str:
    """Return a figure as JSON (`Figure.plain`)."""
    return json.dumps(figure.plain(), ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def html_text(figure: Figure) -> str:
    """Return a self-contained page with the figure, its caption and its numbers."""
    table = rows(figure)
    used = [heading for heading in HEADINGS if any(row[heading] is not None for row in table)]
    drawings = {"light": to_vega_lite(figure), "dark": to_vega_lite(figure, DARK)}
    # In a script element only its end tag and comments have a meaning; both start with "<".
    data = json.dumps(drawings, ensure_ascii=False, allow_nan=False).replace("<", "\\u003c")
    loader = PackageLoader("simulator.figures", ".")
    environment = Environment(loader=loader, autoescape=True, undefined=StrictUndefined)
    page: str = environment.get_template("page.html.jinja").render(
        figure=figure,
        data=data,
        script=vega_js(),
        columns=column_count(figure),
        used=used,
        table=table,
        light=LIGHT,
        dark=DARK,
        font=FONT,
    )
    return page


def svg_address(figure: Figure) -> str:
    """Return a figure as an SVG image in a ``data:`` URL."""
    return svg_data(_print_figure(figure, PAGE).encode())


def svg_data(svg: bytes) -> str:
    """Return an SVG file as a ``data:`` URL."""
    return "data:image/svg+xml;base64," + b64encode(svg).decode()


def _print_figure(figure: Figure, width: float) -> str:
    if not 4 <= width <= 100:
        raise InputError(f"a figure of {width:g} cm cannot be drawn; choose a width from 4 to 100 cm")
    return figure_svg(figure, width)
