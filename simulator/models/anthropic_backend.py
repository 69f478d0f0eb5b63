"""Anthropic's messages API, and servers that implement it."""

from __future__ import annotations

import re
from typing import Any, ClassVar, Final

import anthropic
from anthropic.types import Message as Answer

from simulator.models import remote
from simulator.models.answers import count_of, cut_at_stops
from simulator.models.base import Capabilities, Completion, Request, Usage
from simulator.models.decoding import require_samples
from simulator.models.errors import BadRequest, Malformed, Refused, Unsupported, cannot_continue
from simulator.models.keys import cached_by_type
from simulator.models.schema import check_top, has_free_maps

# Claude models that take a temperature; Opus 4.7, the fifth generation and later models reject it.
_TAKES_TEMPERATURE = re.compile(
    r"claude-(?:instant|[123]|(?:opus|sonnet|haiku)-4(?:-[0-6](?!\d))?(?:-\d{8}|-latest)?$)"
)
_FINISH: Final = {"end_turn": "stop", "stop_sequence": "stop", "max_tokens": "length"}


class AnthropicModel(remote.ServerModel):
    """``anthropic/<model>`` over the messages API.

    Schemas are sent as structured outputs (``output_config.format``). The API has no log-probabilities and
    no seed. Newer models take no temperature, which is then not sent.
    """

    provider = "anthropic"
    sdk: ClassVar[Any] = anthropic
    sdk_client: ClassVar[Any] = anthropic.AsyncAnthropic
    official_url = "https://api.anthropic.com"
    url_variable = "ANTHROPIC_BASE_URL"
    key_variables = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
    capabilities = Capabilities(logprobs=False, schema=True, seed=False)

    def __init__(self, model: str, *, sampling: bool | None = None, **settings: Any) -> None:
        """Make a client; `sampling`: whether the model takes a temperature (None: inferred from its name)."""
        super().__init__(model, **settings)
        takes = not model.startswith("claude-") or bool(_TAKES_TEMPERATURE.match(model))
        self._sampling = takes if sampling is None else sampling
        self.ignored = frozenset({"seed"} if self._sampling else {"seed", "temperature", "top_p"})

    async def complete(self, request: Request) -> Completion:
        """Send `request` once."""
        return await self._create(
            self._client.messages, self._body(request), lambda answer: self._completion(answer, request)
        )

    def _body(self, request: Request) -> dict[str, Any]:
        require_samples(self.name, request.samples, 1)
        if request.plain:
            raise cannot_continue(self.name)
        if request.top_logprobs is not None:
            raise Unsupported(f"{self.name} returns no log-probabilities; Anthropic's API has none")
        system, dialogue = _split(request)
        body: dict[str, Any] = {"messages": dialogue, "max_tokens": request.max_tokens}
        extra = dict(self.identity.extra)
        if system:
            body["system"] = system
        if stops := [stop for stop in request.stop if stop.strip()]:
            body["stop_sequences"] = stops
        if self._sampling:
            extra |= _sampling_parameters(request)
        if request.schema is not None:
            config = {**extra.pop("output_config", {}), "format": output_format(request.schema)}
            body["output_config"] = config
        if extra:
            body["extra_body"] = extra
        return body

    def _completion(self, answer: object, request: Request) -> Completion:
        if not isinstance(answer, Answer) or answer.content is None:
            raise Malformed(f"{self.name}: the server's answer is not a message", text=str(answer))
        usage = _usage(answer)
        text = "".join(block.text for block in answer.content if block.type == "text")
        thought = "".join(block.thinking for block in answer.content if block.type == "thinking")
        if answer.stop_reason == "refusal":
            reason = (answer.stop_details.explanation if answer.stop_details else None) or text
            raise Refused(f"{self.name} declined: {reason or 'no reason given'}", text=text, usage=usage)
        # The API rejects blank stop sequences (such as a line feed), so they are applied here.
        blank = tuple(stop for stop in request.stop if not stop.strip())
        end = answer.stop_reason or "end_turn"
        text = cut_at_stops(text, blank)
        return Completion(text=text, thought=thought, usage=usage, finish_reason=_FINISH.get(end, end))


@cached_by_type
def output_format(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the ``output_config.format`` of structured outputs for a JSON schema or a pydantic type.

    Raises:
        Unsupported: if the schema is not an object at the top or has free-form maps, which the API would
            silently empty.
    """
    check_top(schema)
    if has_free_maps(schema):
        raise Unsupported("Anthropic's structured outputs allow no free-form maps; use a list")
    return {"type": "json_schema", "schema": anthropic.transform_schema(schema)}


def _sampling_parameters(request: Request) -> dict[str, float]:
    """Return the sampling parameters without defaults, since several models refuse both at once."""
    if request.top_p == 1:
        return {"temperature": request.temperature}
    # 1 is the API's default temperature.
    temperature = {} if request.temperature == 1 else {"temperature": request.temperature}
    return temperature | {"top_p": request.top_p}


def _split(request: Request) -> tuple[str, list[dict[str, str]]]:
    """Return the system prompt and the other messages."""
    system: list[str] = []
    dialogue: list[dict[str, str]] = []
    for message in request.messages:
        if message.role != "system":
            dialogue.append({"role": message.role, "content": message.content})
        elif dialogue:
            raise BadRequest("a system message must come before all others")
        else:
            system.append(message.content)
    return "\n\n".join(system), dialogue


def _usage(answer: Answer) -> Usage:
    usage = answer.usage
    read = None if usage is None else count_of(usage.input_tokens)
    if usage is None or read is None:
        return Usage()
    cached = count_of(usage.cache_read_input_tokens) or 0
    prompt = read + cached + (count_of(usage.cache_creation_input_tokens) or 0)
    return Usage(prompt, count_of(usage.output_tokens), cached)
