"""What is said to a model in this process and by it: requests as tokens, and tokens as texts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from typing import Any

from simulator.models.base import Request, TokenLogprob
from simulator.models.errors import BadRequest
from simulator.models.forward import Look
from simulator.models.keys import json_schema, messages
from simulator.models.remote import cut
from simulator.models.scoring import plain_text
from simulator.models.tokenised import prompt_ids, token_text
from simulator.models.weights import imported


class Wording:
    """A model's tokenizer and chat template."""

    def __init__(self, name: str, tokenizer: Any, *, answers: bool) -> None:
        """Use a tokenizer.

        Args:
            name: the model's, for messages.
            tokenizer: a fast one.
            answers: whether the model is an encoder-decoder model.
        """
        self._name = name
        self._tokenizer = tokenizer
        self._answers = answers
        self._texts: dict[int, str] = {}

    def read(self, request: Request) -> list[int]:
        """The whole prompt.

        Raises:
            BadRequest: if it is empty, or a plain text is not one message.
        """
        if not request.plain:
            ids = self._templated(_prompt(request), add_generation_prompt=True)
        elif self._answers:
            ids = self._tokenizer(plain_text(request))["input_ids"]
        else:
            ids = list(prompt_ids(self._tokenizer, plain_text(request)))
        if not ids:
            raise BadRequest(f"{self._name} cannot continue an empty text")
        return list(ids)

    def head(self, request: Request, read: Sequence[int]) -> int:
        """How many of the prompt's tokens are the shared messages; 0 if it does not begin with those."""
        if request.plain or not request.shared:
            return 0
        said = _prompt(request)
        # What a schema adds comes first, too.
        first = said[: request.shared + len(said) - len(request.messages)]
        try:
            head = self._templated(first, add_generation_prompt=False)
        except imported("jinja2").TemplateError:  # some templates want a question to come last
            return 0
        return len(head) if list(read[: len(head)]) == head else 0

    def said(self, request: Request, read: Sequence[int], tokens: Sequence[int]) -> str:
        """The text of `tokens`, not cut; of a continuation with the blank with which it may begin."""
        decode = partial(self._tokenizer.decode, skip_special_tokens=True)
        if request.plain and not self._answers:
            before, whole = decode(read[-1:]), decode([*read[-1:], *tokens])
            if whole.startswith(before):
                return str(whole[len(before) :])
        return str(decode(tokens))

    def is_stopped(self, request: Request, read: Sequence[int], tokens: Sequence[int]) -> bool:
        """Whether the last of `tokens` has brought one of the request's stop sequences."""
        if not request.stop:
            return False
        # So many bytes are in as many tokens at most; the first of them may begin within a character.
        tail = tokens[-max(len(stop.encode()) for stop in request.stop) - 4 :]
        # The last tokens may read otherwise by themselves: the whole decides.
        return all(
            cut(said, request.stop) != said
            for said in (self.said(request, read, some) for some in (tail, tokens))
        )

    def text(self, token: int) -> str:
        """A token as it stands in a text."""
        if token not in self._texts:
            self._texts[token] = token_text(self._tokenizer, token)
        return self._texts[token]

    def chance(self, token: int, seen: Look) -> TokenLogprob:
        """A token with what was expected in its place."""
        top = tuple((self.text(other), logprob) for other, logprob in seen.top)
        return TokenLogprob(self.text(token), seen.logprob, top)

    def _templated(self, said: list[dict[str, str]], *, add_generation_prompt: bool) -> list[int]:
        """Messages as tokens."""
        encoded = self._tokenizer.apply_chat_template(
            said, add_generation_prompt=add_generation_prompt, return_dict=True
        )
        return list(encoded["input_ids"])


def _prompt(request: Request) -> list[dict[str, str]]:
    said = messages(request)
    schema = json_schema(request.schema)
    if schema is None:
        return said
    wanted = "Answer with one JSON object that matches this JSON schema:\n" + json.dumps(schema)
    if said and said[0]["role"] == "system":
        return [{"role": "system", "content": f"{said[0]['content']}\n\n{wanted}"}, *said[1:]]
    return [{"role": "system", "content": wanted}, *said]
