"""Gradio as Askback has it: its import, the settings of every page that is mounted, and its look.

The settings follow measurements and Gradio's source (6.25 to 6.31): no analytics, no run history, no public
API, no limit of one call at a time. Gradio takes seconds to import, so each function imports it for itself.
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
"""Sessions that Gradio keeps. Nothing of ours is in them, and the browser names them as it likes."""
_LOOKS_EVERY: Final = 0.03
"""Seconds between two looks of Gradio's queue at whether there is anything to do."""
_SELDOM: Final = 5.0
"""The same where no function of Gradio's can be called."""
_SANS: Final = (
    *("system-ui", "-apple-system", "Segoe UI", "Roboto", "Noto Sans", "Helvetica Neue", "Arial"),
    *("PingFang SC", "Hiragino Sans GB", "Microsoft YaHei", "Noto Sans CJK SC", "Source Han Sans SC"),
    "sans-serif",
)
_MONO: Final = (
    "ui-monospace",
    "SF Mono",
    "Cascadia Mono",
    "Menlo",
    "Consolas",
    "DejaVu Sans Mono",
    "monospace",
)


def import_gradio() -> None:
    """Import Gradio without the interface files (``.pyi``) that it makes anew of each component.

    They are nearly half of the time that its import takes, and where several processes import it at once they
    write into each other's. It goes without them where a component's file cannot be found.
    """
    find_file = inspect.getfile

    def getfile(source: Any) -> str:
        if getattr(source, "__module__", "").startswith("gradio."):
            raise OSError("no interface file is made of it")
        return find_file(source)

    with patch.object(inspect, "getfile", getfile):
        import_module("gradio")


def mount_blocks(app: FastAPI, blocks: gr.Blocks, path: str) -> None:
    """Mount `blocks` with the settings that every Gradio page of Askback has."""
    from gradio import mount_gradio_app

    # Gradio warns of what nobody has asked for.
    warnings.filterwarnings("ignore", "SSR mode is not supported with multi-page apps", UserWarning)
    blocks.max_threads = 40
    blocks.state_session_capacity = KEPT_SESSIONS
    blocks.queue(api_open=False, default_concurrency_limit=None, status_update_rate=10)
    # Else an idle server looks for work a thousand times a second, and for progress a hundred times.
    pause = _LOOKS_EVERY if blocks.fns else _SELDOM
    blocks._queue.sleep_when_free = blocks._queue.progress_update_sleep_when_free = pause
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
        # Gradio looks components up by what the browser names, and says 500 of what is not there.
        app_kwargs={"openapi_url": None, "exception_handlers": {KeyError: _not_there}},
    )


async def _not_there(request: Request, error: Exception) -> JSONResponse:
    return JSONResponse({"error": "there is nothing here"}, status_code=404)


def _theme() -> Base:
    """Return the look of Gradio's components, which load no fonts.

    The colours are defined once, in ``static/askback.css``; ``theme.yaml`` says what has which, so that a
    change of palette, or of light and dark, reaches everything.
    """
    from gradio.themes import Base
    from gradio.themes.utils import sizes

    base = Base(
        font=_SANS,
        font_mono=_MONO,
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
    buttons = dict.fromkeys(("button_large_radius", "button_medium_radius", "button_small_radius"), "999px")
    shadows = dict.fromkeys(("block_shadow", "block_shadow_dark"), "var(--ab-shadow)")
    borders = dict.fromkeys(("block_border_width", "input_border_width"), "1px")
    return base.set(**colours, **buttons, **shadows, **borders, layout_gap="var(--ab-4)")
