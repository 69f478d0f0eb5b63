"""Speaker and listener of an episode of HandMeThat as heat maps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from simulator.handmethat.meanings.enumerate import Floats
from ui.i18n import Strings
from ui.research.figures import Figure, Plotly


def heat_map(
    id: str, t: Strings, values: Floats, meanings: Sequence[str], utterances: Sequence[str]
) -> Figure:
    """Return a table of probabilities, meanings down, utterances across.

    Args:
        id: ``listener`` or ``speaker``.
        t: the interface's texts.
        values: shape (meanings, utterances).
        meanings: in words, for the reader who points at a field.
        utterances: in words, likewise.
    """
    names = [f"m{i}" for i in range(1, len(meanings) + 1)]
    spoken = [f"u{i}" for i in range(1, len(utterances) + 1)]
    data: Plotly = {
        "type": "heatmap",
        "z": [[round(float(value), 6) for value in row] for row in values],
        "x": spoken,
        "y": names,
        "customdata": [[f"{utterance}<br>{meant}" for utterance in utterances] for meant in meanings],
        "hovertemplate": "%{customdata}<br><b>%{z:.3f}</b><extra></extra>",
        "colorscale": [[0, "--ab-surface"], [0.02, "--ab-accent-soft"], [1, "--ab-accent"]],
        "zmin": 0,
        "zmax": 1,
        "xgap": 2,
        "ygap": 2,
        "colorbar": {"thickness": 10, "outlinewidth": 0, "tickformat": ".1f", "len": 0.9},
    }
    key = "research.household"
    return Figure(
        id,
        t(f"{key}.{id}"),
        t(f"{key}.{id}_note"),
        {"data": [data], "layout": _layout()},
        height=130 + 26 * len(names),
    )


def _layout() -> Plotly:
    axis: dict[str, Any] = {"fixedrange": True, "ticks": "", "showgrid": False, "automargin": True}
    return {
        "xaxis": {**axis, "side": "top", "tickangle": 0, "tickfont": {"size": 11}},
        "yaxis": {**axis, "autorange": "reversed"},
        "margin": {"l": 12, "r": 12, "t": 30, "b": 12},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"color": "--ab-muted", "size": 13},
        "hoverlabel": {
            "bgcolor": "--ab-ink",
            "bordercolor": "--ab-ink",
            "font": {"color": "--ab-ground"},
            "align": "left",
        },
    }
