"""Fig. 2: how examples come through annotation and validation, with live counts (spec 12)."""

from __future__ import annotations

import csv
import io
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, NamedTuple

from simulator.ambient.annotation.consolidation import Flow
from simulator.errors import InputError
from simulator.figures.files import PAGE
from simulator.figures.look import LIGHT
from simulator.whole import write_whole

_HEIGHT: Final = 3.0
_WIDTH: Final = 8.0
_BOX: Final = (1.7, 0.9)


class Box(NamedTuple):
    """A box of the diagram: what it says, how many, and where its middle is."""

    name: str
    number: int
    x: float
    y: float
    last: bool = False


def boxes(flow: Flow) -> tuple[Box, ...]:
    """Above, the way of an example that is kept; below, where the others stay."""
    return (
        Box("generated", flow.generated, 1.0, 2.4),
        Box("annotated", flow.annotated, 3.0, 2.4),
        Box("due or in discussion", flow.due + flow.discuss, 5.0, 2.4),
        Box("validated", flow.validated, 7.0, 2.4, True),
        Box("not annotated yet", flow.generated - flow.annotated, 1.0, 0.6),
        Box("discarded by a linguist", flow.dropped, 3.0, 0.6),
        Box("discarded by a validator", flow.discarded, 5.0, 0.6),
    )


def flow_csv(flow: Flow) -> str:
    """Return the counts as CSV."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["stage", "examples"])
    writer.writerows(asdict(flow).items())
    return out.getvalue()


def save_flow(flow: Flow, path: Path, *, width: float = PAGE) -> Path:
    """Write the diagram as ``.svg``, ``.png`` (300 dpi) or ``.csv``, by the path's suffix.

    Raises:
        InputError: if the suffix is none of these, or the file cannot be written.
    """
    if path.suffix == ".csv":
        return write_whole(path, flow_csv(flow).encode())
    if path.suffix not in (".svg", ".png"):
        raise InputError(f"{path}: the diagram is saved as .svg, .png or .csv; end the name in one")
    return write_whole(path, _drawn(flow, path.suffix[1:], width))


def _drawn(flow: Flow, form: str, width: float) -> bytes:
    # matplotlib takes most of a second to import; only print needs it.
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Drawing
    from matplotlib.patches import FancyBboxPatch

    from simulator.figures.printed import DPI, INCH

    inches = width / INCH
    drawing = Drawing(figsize=(inches, inches * _HEIGHT / _WIDTH), dpi=DPI)
    FigureCanvasAgg(drawing)
    axes: Any = drawing.add_axes((0, 0, 1, 1))
    axes.set_xlim(0, _WIDTH)
    axes.set_ylim(0, _HEIGHT)
    axes.set_axis_off()
    scale = inches * 72 / _WIDTH
    made = boxes(flow)
    for box in made:
        tint = LIGHT.colour("teal" if box.last else "blue" if box.y > 1 else "clay")
        corner = (box.x - _BOX[0] / 2, box.y - _BOX[1] / 2)
        style = "round,pad=0,rounding_size=0.08"
        axes.add_patch(FancyBboxPatch(corner, *_BOX, boxstyle=style, facecolor=tint, alpha=0.15, linewidth=0))
        axes.add_patch(FancyBboxPatch(corner, *_BOX, boxstyle=style, fill=False, edgecolor=tint))
        axes.text(
            box.x,
            box.y + 0.02,
            str(box.number),
            ha="center",
            fontsize=0.26 * scale,
            color=LIGHT.ink,
            weight="bold",
        )
        axes.text(box.x, box.y - 0.28, box.name, ha="center", fontsize=0.125 * scale, color=LIGHT.muted)
    arrow = {"arrowstyle": "-|>", "color": LIGHT.muted, "shrinkA": 0, "shrinkB": 0}
    above, below = made[:4], made[4:]
    for one, other in pairwise(above):
        ends = ((other.x - _BOX[0] / 2, other.y), (one.x + _BOX[0] / 2, one.y))
        axes.annotate("", *ends, arrowprops=arrow)
    for one, other in zip(above, below, strict=False):
        ends = ((other.x, other.y + _BOX[1] / 2), (one.x, one.y - _BOX[1] / 2))
        axes.annotate("", *ends, arrowprops=arrow)
    out = io.BytesIO()
    # The same counts give the same bytes.
    metadata: dict[str, Any] = {"Date": None} if form == "svg" else {}
    with matplotlib.rc_context({"svg.hashsalt": "askback", "svg.fonttype": "none"}):
        drawing.savefig(out, format=form, facecolor=LIGHT.ground, metadata=metadata)
    return out.getvalue()
