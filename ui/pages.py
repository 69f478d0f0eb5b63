"""The players' pages as Gradio Blocks: one custom HTML component per page, its calls bound to `Actions`.

Nothing is in a component's value: a page is asked for by the browser once it stands, so that neither
``/config`` nor the page source holds anything of a dialogue.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import gradio as gr

from ui.actions import Actions, Answer

Server = Callable[[dict[str, Any]], Awaitable[Answer]]
_MOUNT = "askback.mount(element, props, server)"


def players_blocks(actions: Actions) -> gr.Blocks:
    """Home at ``/`` and the dialogue at ``/play``."""
    with gr.Blocks(title="Askback", analytics_enabled=False, fill_width=True) as blocks:
        gr.Navbar(visible=False)
        _stage("home", page=actions.home, start=actions.start)
    with blocks.route("Play", "/play", show_in_navbar=False):
        _stage("play", page=actions.page, send=actions.send, judge=actions.judge)
    return blocks


def _stage(name: str, **calls: Callable[[Any], Awaitable[Answer]]) -> gr.HTML:
    return gr.HTML(
        elem_id=f"ab-{name}",
        elem_classes="ab-stage",
        apply_default_css=False,
        js_on_load=_MOUNT,
        server_functions=[_named(call_name, call) for call_name, call in calls.items()],
    )


def _named(name: str, call: Callable[[Any], Awaitable[Answer]]) -> Server:
    # Gradio finds a server function by its __name__, which a bound method does not let us set.
    async def answer(data: dict[str, Any]) -> Answer:
        return await call(data)

    answer.__name__ = f"call_{name}"
    return answer
