"""Askback's look: one palette, used by Gradio's own components and by our markup alike.

The colours are defined once, in ``static/askback.css``; the theme refers to them, so that a change of
palette, or of light and dark, reaches everything.
"""

from __future__ import annotations

from gradio.themes import Base
from gradio.themes.utils import sizes

SANS = (
    "system-ui",
    "-apple-system",
    "Segoe UI",
    "Roboto",
    "Noto Sans",
    "Helvetica Neue",
    "Arial",
    "PingFang SC",
    "Hiragino Sans GB",
    "Microsoft YaHei",
    "Noto Sans CJK SC",
    "Source Han Sans SC",
    "sans-serif",
)
MONO = ("ui-monospace", "SF Mono", "Cascadia Mono", "Menlo", "Consolas", "DejaVu Sans Mono", "monospace")


def theme() -> Base:
    """Return the Gradio theme for every page of the app; it loads no fonts."""
    base = Base(
        font=SANS,
        font_mono=MONO,
        text_size=sizes.text_md,
        spacing_size=sizes.spacing_md,
        radius_size=sizes.radius_lg,
    )
    return base.set(**_light_and_dark())


def _light_and_dark() -> dict[str, str]:
    # The CSS variables change with the mode themselves, so both modes get the same reference.
    both = {name: f"var(--ab-{colour})" for name, colour in _COLOURS.items()}
    return both | {f"{name}_dark": value for name, value in both.items()} | _SHAPES


_COLOURS = {
    "body_background_fill": "ground",
    "body_text_color": "ink",
    "body_text_color_subdued": "muted",
    "background_fill_primary": "surface",
    "background_fill_secondary": "ground",
    "border_color_primary": "line",
    "border_color_accent": "accent",
    "color_accent_soft": "accent-soft",
    "link_text_color": "accent",
    "link_text_color_hover": "accent-strong",
    "link_text_color_active": "accent-strong",
    "link_text_color_visited": "accent",
    "block_background_fill": "surface",
    "block_border_color": "line",
    "block_label_background_fill": "surface",
    "block_label_text_color": "muted",
    "block_title_text_color": "ink",
    "block_info_text_color": "muted",
    "panel_background_fill": "surface",
    "panel_border_color": "line",
    "input_background_fill": "raised",
    "input_background_fill_focus": "raised",
    "input_border_color": "line-strong",
    "input_border_color_focus": "accent",
    "input_placeholder_color": "muted",
    "button_primary_background_fill": "accent",
    "button_primary_background_fill_hover": "accent-strong",
    "button_primary_text_color": "on-accent",
    "button_primary_text_color_hover": "on-accent",
    "button_primary_border_color": "accent",
    "button_secondary_background_fill": "raised",
    "button_secondary_background_fill_hover": "accent-soft",
    "button_secondary_text_color": "ink",
    "button_secondary_border_color": "line-strong",
    "button_cancel_background_fill": "clay-soft",
    "button_cancel_text_color": "clay",
    "checkbox_background_color": "raised",
    "checkbox_background_color_selected": "accent",
    "checkbox_border_color": "line-strong",
    "checkbox_border_color_selected": "accent",
    "checkbox_border_color_focus": "accent",
    "checkbox_label_background_fill": "raised",
    "checkbox_label_background_fill_hover": "accent-soft",
    "checkbox_label_text_color": "ink",
    "slider_color": "accent",
    "loader_color": "accent",
    "table_border_color": "line",
    "table_even_background_fill": "surface",
    "table_odd_background_fill": "ground",
    "table_row_focus": "accent-soft",
    "code_background_fill": "ground",
    "error_background_fill": "clay-soft",
    "error_border_color": "clay",
    "error_text_color": "clay",
    "error_icon_color": "clay",
    "stat_background_fill": "accent-soft",
}
_SHAPES = {
    "block_shadow": "var(--ab-shadow)",
    "block_shadow_dark": "var(--ab-shadow)",
    "block_border_width": "1px",
    "button_large_radius": "999px",
    "button_medium_radius": "999px",
    "button_small_radius": "999px",
    "input_border_width": "1px",
    "layout_gap": "var(--ab-4)",
}
