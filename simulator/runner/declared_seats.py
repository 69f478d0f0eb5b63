"""Who can sit in a seat of a declared benchmark, beside people and a user's own agents."""

from __future__ import annotations

from personas.templates import describe, languages_of, render
from simulator.benchmark import SeatSpec
from simulator.models import ChatModel, Message, Request
from simulator.packages import warn_once
from simulator.seats import Kind, Reply, View


class PromptedSeat:
    """A language model that is asked for each move with the seat's prompt, in its language if it can be.

    Raises:
        TemplateError: if there is no such prompt, in any language.
    """

    kind: Kind = "model"

    def __init__(self, model: ChatModel, benchmark: str, spec: SeatSpec) -> None:
        self._prompt = f"{benchmark}/{spec.prompt}"
        self._languages = languages_of(self._prompt)
        if not self._languages:
            describe(self._prompt, "en")  # says where it was looked for, and what there is
        self.name = model.name
        self._model = model
        self._spec = spec

    async def reply(self, view: View) -> Reply:
        """Ask the model.

        Raises:
            ModelError: if it fails.
            TemplateError: if the prompt cannot be rendered.
        """
        language = view.language
        if language not in self._languages:
            language = self._languages[0]
            warn_once(
                f"there is no prompt {self._prompt}.{view.language}; {self._prompt}.{language} is used."
            )
        prompt = render(self._prompt, language, {**view.task, "lines": view.lines})
        completion = await self._model.complete(
            Request(
                messages=(Message("user", prompt.text),),
                seed=view.seed,
                purpose=view.seat,
                prompt_version=prompt.version,
                episode_id=view.episode_id,
                turn_number=view.number,
                repeat=view.repeat,
            )
        )
        if self._spec.parse is not None:
            return self._spec.parse(completion.text)
        return Reply(text=completion.text.strip())
