"""Pictures for print, drawn by vl-convert without a browser; equal values give equal bytes.

vl-convert takes most of a second to draw its first picture, and is only imported when a file is written.
"""

from __future__ import annotations

import io
import json
import re
from functools import cache
from html import escape
from pathlib import Path
from typing import Final

from simulator.errors import InputError
from simulator.figures.look import LIGHT
from simulator.figures.spec import Figure
from simulator.figures.vega import to_vega_lite
from simulator.output_files import write_atomically

DPI: Final = 300
_INCH, _POINTS = 2.54, 72
"""Centimetres and points."""
_PIXELS: Final = 52.6
"""Pixels of a chart per centimetre, so that its letters have 7 points."""
VERSION: Final = "5.20"
_SIZE: Final = re.compile(r'(?: width="[^"]*" height="[^"]*")? viewBox="0 0 (\S+) (\S+)"([^>]*>)')
_OPACITIES: Final = re.compile(rb"(?: +/gs\d+ \d+ 0 R\n)+")


def figure_svg(figure: Figure, width: float) -> str:
    """Return a figure as SVG, with text as text, of a width in centimetres."""
    import vl_convert

    chart = json.dumps(to_vega_lite(figure, width=width * _PIXELS))
    svg: str = vl_convert.vegalite_to_svg(chart, vl_version=VERSION)
    return _set_size(
        svg, width, "cm", f"<title>{escape(figure.title)}</title><desc>{escape(figure.caption)}</desc>"
    )


def to_png(svg: str, width: float, caption: str) -> bytes:
    """Return an SVG as PNG of a width in centimetres at 300 dpi, with a caption in its metadata."""
    import vl_convert
    from PIL import Image, PngImagePlugin

    ground = f'<rect width="100%" height="100%" fill="{LIGHT.ground}"/>'
    png = vl_convert.svg_to_png(_set_size(svg, _points(width), head=ground), ppi=DPI)
    texts = PngImagePlugin.PngInfo()
    texts.add_text("Software", "Askback")
    texts.add_itxt("Description", caption)
    out = io.BytesIO()
    # Without transparency, the file is several times smaller.
    Image.open(io.BytesIO(png)).convert("RGB").save(out, "png", pnginfo=texts, dpi=(DPI, DPI))
    return out.getvalue()


def to_pdf(svg: str, width: float) -> bytes:
    """Return an SVG as PDF of a width in centimetres."""
    import vl_convert

    # The order of fonts in the file varies, so there is one weight only; that of opacities is sorted.
    plain = re.sub(' font-weight="[^"]*"', "", _set_size(svg, _points(width)))
    pdf: bytes = vl_convert.svg_to_pdf(plain)
    return _OPACITIES.sub(lambda match: b"".join(sorted(match[0].splitlines(keepends=True))), pdf)


def save_picture(path: Path, svg: str, csv: str, width: float, caption: str) -> Path:
    """Write a picture as ``.svg``, ``.png`` or ``.csv``, by the path's suffix, and return the path.

    Raises:
        InputError: if the suffix is another one, or the file cannot be written.
    """
    if path.suffix == ".svg":
        return write_atomically(path, svg)
    if path.suffix == ".csv":
        return write_atomically(path, csv)
    if path.suffix == ".png":
        return write_atomically(path, to_png(svg, width, caption))
    raise InputError(f"{path}: the name of the diagram must end in .svg, .png or .csv")


def svg_text(
    x: float, y: float, text: str, colour: str, size: int, anchor: str = "middle", *, bold: bool = False
) -> str:
    """Return a text as an SVG element."""
    weight = ' font-weight="600"' if bold else ""
    return (
        f'<text x="{x:g}" y="{y:g}" font-size="{size}" fill="{colour}" '
        f'text-anchor="{anchor}"{weight}>{escape(text)}</text>'
    )


@cache
def vega_js() -> str:
    """Return a script that defines ``vegaEmbed``; making it takes some seconds."""
    import vl_convert

    script: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed", vl_version=VERSION)
    return script


def _set_size(svg: str, width: float, unit: str = "", head: str = "") -> str:
    """Return an SVG of a width, and with elements at its beginning."""

    def sized(match: re.Match[str]) -> str:
        wide, high, rest = match.groups()
        height = width * float(high) / float(wide)
        size = f'width="{width:.6g}{unit}" height="{height:.6g}{unit}"'
        return f' {size} viewBox="0 0 {wide} {high}"{rest}{head}'

    return _SIZE.sub(sized, svg, count=1)


def _points(centimetres: float) -> float:
    return centimetres / _INCH * _POINTS
