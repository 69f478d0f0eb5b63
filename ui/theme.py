"""Askback's look: one palette, used by Gradio's own components and by our markup alike.

The colours are defined once, in ``static/askback.css``; ``theme.yaml`` says what has which, so that a change
of palette, or of light and dark, reaches everything.
"""

from __future__ import annotations

from pathlib import Path

from gradio.themes import Base
from gradio.themes.utils import sizes

from simulator.tables.builtin import read_yaml

SANS = (
    *("system-ui", "-apple-system", "Segoe UI", "Roboto", "Noto Sans", "Helvetica Neue", "Arial"),
    *("PingFang SC", "Hiragino Sans GB", "Microsoft YaHei", "Noto Sans CJK SC", "Source Han Sans SC"),
    "sans-serif",
)
MONO = ("ui-monospace", "SF Mono", "Cascadia Mono", "Menlo", "Consolas", "DejaVu Sans Mono", "monospace")
_SHAPES = {
    "block_shadow": "var(--ab-shadow)",
    "block_shadow_dark": "var(--ab-shadow)",
    "block_border_width": "1px",
    **dict.fromkeys(("button_large_radius", "button_medium_radius", "button_small_radius"), "999px"),
    "input_border_width": "1px",
    "layout_gap": "var(--ab-4)",
}


def theme() -> Base:
    """Return the Gradio theme for every page of the app; it loads no fonts."""
    base = Base(
        font=SANS,
        font_mono=MONO,
        text_size=sizes.text_md,
        spacing_size=sizes.spacing_md,
        radius_size=sizes.radius_lg,
    )
    coloured = read_yaml(Path(__file__).with_name("theme.yaml")).items()
    # The CSS variables change with the mode themselves, so both modes get the same reference.
    colours = {
        f"{name}{mode}": f"var(--ab-{colour})"
        for colour, names in coloured
        for name in names
        for mode in ("", "_dark")
    }
    return base.set(**colours, **_SHAPES)
