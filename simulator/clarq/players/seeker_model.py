"""A language model in the seeker's seat, in the paper's two modes (Figs. 5 and 6; spec section 4)."""

from __future__ import annotations

import re
from typing import Literal, get_args

from personas.templates import render
from simulator.clarq.graph import SeekerKnows, persona
from simulator.clarq.players.experts_model import SEED, dialogue_text
from simulator.clarq.playing import SEEKER, Personas
from simulator.errors import InputError
from simulator.models import ChatModel, Message, Request
from simulator.seats import Kind, Reply, View

Mode = Literal["completion", "chat"]
_JAX_ANSWERS = re.compile(r"\n\s*Jax\s*[:：]")


class ModelSeeker:
    """Completion mode: one user message with background and dialogue. Chat mode: a real conversation."""

    kind: Kind = "model"

    def __init__(
        self,
        model: ChatModel,
        mode: Mode = "completion",
        *,
        personas: Personas = "default",
    ) -> None:
        if personas not in get_args(Personas):
            raise InputError(f"Personas are {' or '.join(get_args(Personas))}, not {personas!r}.")
        if mode not in get_args(Mode):
            raise InputError(f"A seeker's mode is one of {', '.join(get_args(Mode))}, not {mode!r}.")
        self._model = model
        self._mode = mode
        self._personas: Personas = personas
        self.name = model.name

    async def reply(self, view: View) -> Reply:
        """Ask the model for the next line."""
        messages, version = messages_for(view, self._mode, self._personas)
        request = Request(
            messages=messages,
            temperature=0.0,
            seed=SEED,
            purpose=SEEKER,
            prompt_version=version,
            episode_id=view.episode_id,
            turn_number=view.number,
            repeat=view.repeat,
        )
        completion = await self._model.complete(request)
        return Reply(text=own_words(completion.text))


def messages_for(view: View, mode: Mode, personas: Personas = "default") -> tuple[tuple[Message, ...], str]:
    """Return the prompt for `view`, and the version of its template (chat mode has none)."""
    knows: SeekerKnows = view.task
    if mode == "completion":
        dialogue = dialogue_text(view.lines, knows.language, "seeker")
        variables = {"background": knows.prompt, "dialogue": dialogue}
        prompt = render(persona("seeker_completion", personas), knows.language, variables)
        return (Message("user", prompt.text),), prompt.version
    named = "Jax: " if personas == "paper" else ""
    spoken = (
        Message("assistant", line.text) if line.seat == SEEKER else Message("user", f"{named}{line.text}")
        for line in view.lines
    )
    return (Message("system", knows.prompt), *spoken), ""


def own_words(text: str) -> str:
    """Return the seeker's words, without its name in front and Jax's answer behind."""
    stripped = _JAX_ANSWERS.split(text.strip(), maxsplit=1)[0].strip()
    for prefix in ("You:", "你:", "你："):
        stripped = stripped.removeprefix(prefix).strip()
    return stripped
