"""The players' pages as Gradio Blocks: one custom HTML component, its calls bound to `Actions`.

Nothing is in the component's value: a page is asked for by the browser once it stands, so that neither
``/config`` nor the page source holds anything of a dialogue. One Blocks serves every address in
`Actions.paths` (Gradio's own multi-page apps bring a bar of their own).
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from math import ceil
from typing import Any, Final

import gradio as gr
from pydantic import ValidationError

from ui.actions import Actions
from ui.calls import Answer
from ui.i18n import strings
from ui.limits import Starts

log = logging.getLogger(__name__)

Call = Callable[[dict[str, Any]], Awaitable[Answer]]

CALLS: Final = (
    *("page", "start", "enter_study", "next_set", "withdraw", "leave", "wait_again", "acknowledge"),
    *("send", "check_form", "judge", "take_seat"),
)
"""The calls of `Actions` that pages make."""
BEGINNINGS: Final = frozenset({"start", "enter_study", "next_set"})
"""The calls that may write an episode into the log."""


def players_blocks(actions: Actions, starts: Starts) -> gr.Blocks:
    """Return home at ``/``, each benchmark's entry, studies' welcomes; an episode of any at ``/play``.

    Args:
        actions: what the calls do.
        starts: how often one client may make one of `BEGINNINGS`.
    """
    blocks: gr.Blocks
    with gr.Blocks(title="Askback", analytics_enabled=False, fill_width=True) as blocks:
        gr.HTML(
            elem_classes=["ab", "ab-stage"],
            apply_default_css=False,
            js_on_load="askback.mount(element, props, server)",
            server_functions=[
                _named(name, getattr(actions, name), starts if name in BEGINNINGS else None) for name in CALLS
            ],
        )
    return blocks


def _named(name: str, call: Call, starts: Starts | None) -> Callable[..., Awaitable[Answer]]:
    # Gradio finds a server function by its __name__, which a bound method does not let us set.
    async def answer(data: dict[str, Any], request: gr.Request) -> Answer:
        try:
            if starts is not None and (wait := _wait(starts, data, request)) > 0:
                log.warning("%s: too many beginnings from one address", name)
                return {"problem": strings(str(data.get("language", "")))("app.too_many", seconds=ceil(wait))}
            return await call(data)
        except ValidationError as error:  # no page of ours sends it
            log.warning("the call %s is malformed: %d faults", name, error.error_count())
            return {"failed": True}
        except Exception:  # the boundary: the browser keeps what was written and says that it failed
            log.exception("the call %s failed", name)
            return {"failed": True}

    answer.__name__ = f"call_{name}"
    return answer


def _wait(starts: Starts, data: dict[str, Any], request: gr.Request) -> float:
    """Count a beginning; return the seconds until it may be, 0 if it may be now."""
    client = request.client.host if request.client else ""
    participant = str(data.get("participant_key", ""))[:64]
    return starts.wait(client, participant)
