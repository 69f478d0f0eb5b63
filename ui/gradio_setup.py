"""Askback's setup of Gradio: its import, the settings of every mounted page, and the theme.

The settings follow measurements and Gradio's source (6.25 to 6.31): no analytics, no run history, no public
API, no limit of one call at a time. Gradio takes seconds to import, so it is imported inside functions.
"""

from __future__ import annotations

import inspect
import os
import warnings
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from unittest.mock import patch

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse

from simulator.tables.builtin import read_yaml

if TYPE_CHECKING:
    import gradio as gr
    from gradio.themes import Base

os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"

KEPT_SESSIONS: Final = 64
"""Sessions that Gradio keeps. They contain nothing of ours, and browsers choose their names freely."""
_POLL_SECONDS: Final = 0.05
"""Interval at which Gradio's queue polls for work."""
_IDLE_POLL_SECONDS: Final = 5.0
"""The interval for blocks without functions, and for progress, which no function of ours reports."""


def import_gradio() -> None:
    """Import Gradio without generating interface files (``.pyi``) for its components.

    Generating them takes nearly half of the import time, and processes that import Gradio concurrently would
    overwrite each other's. Gradio skips a component whose source file cannot be found.
    """
    find_file = inspect.getfile

    def getfile(source: Any) -> str:
        if getattr(source, "__module__", "").startswith("gradio."):
            raise OSError("no interface file wanted")
        return find_file(source)

    with patch.object(inspect, "getfile", getfile):
        import_module("gradio")


def mount_blocks(app: FastAPI, blocks: gr.Blocks, path: str) -> None:
    """Mount `blocks` with the settings shared by all Gradio pages of Askback."""
    from gradio import mount_gradio_app

    # Gradio warns about a mode that we do not use.
    warnings.filterwarnings("ignore", "SSR mode is not supported with multi-page apps", UserWarning)
    blocks.max_threads = 40
    blocks.state_session_capacity = KEPT_SESSIONS
    blocks.queue(api_open=False, default_concurrency_limit=None, status_update_rate=10)
    # By default, an idle server polls for work a thousand times a second, and for progress a hundred times.
    blocks._queue.sleep_when_free = _POLL_SECONDS if blocks.fns else _IDLE_POLL_SECONDS
    blocks._queue.progress_update_sleep_when_free = _IDLE_POLL_SECONDS
    mount_gradio_app(
        app,
        blocks,
        path=path,
        enable_monitoring=False,
        run_history=False,
        show_error=False,
        footer_links=[],
        allowed_paths=[],
        max_file_size="1mb",
        ssr_mode=False,
        pwa=False,
        mcp_server=False,
        theme=_theme(),
        # Gradio looks up components named by the browser and would answer 500 for unknown ones.
        app_kwargs={"openapi_url": None, "exception_handlers": {KeyError: _answer_404}},
    )


async def _answer_404(request: Request, error: Exception) -> JSONResponse:
    return JSONResponse({"error": "there is nothing here"}, status_code=404)


def _theme() -> Base:
    """Return the theme of Gradio's components, which loads no fonts.

    Colours and fonts are defined in ``static/askback.css`` only; ``theme.yaml`` maps Gradio's names to the
    colours, so a change of the palette, or between light and dark, reaches everything.
    """
    from gradio.themes import Base
    from gradio.themes.utils import sizes

    base = Base(
        font="var(--ab-sans)",
        font_mono="var(--ab-mono)",
        text_size=sizes.text_md,
        spacing_size=sizes.spacing_md,
        radius_size=sizes.radius_lg,
    )
    names_by_colour = read_yaml(Path(__file__).with_name("theme.yaml")).items()
    # The CSS variables themselves change with the mode, so both modes get the same reference.
    colours = {
        f"{name}{mode}": f"var(--ab-{colour})"
        for colour, names in names_by_colour
        for name in names
        for mode in ("", "_dark")
    }
    buttons = dict.fromkeys(("button_large_radius", "button_medium_radius", "button_small_radius"), "999px")
    shadows = dict.fromkeys(("block_shadow", "block_shadow_dark"), "var(--ab-shadow)")
    borders = dict.fromkeys(("block_border_width", "input_border_width"), "1px")
    return base.set(**colours, **buttons, **shadows, **borders, layout_gap="var(--ab-4)")
