"""Text completions (``/v1/completions``) of servers of one's own, which score texts, too; vLLM, for instance.

A text is scored by having the server echo it with log-probabilities. That takes one request for all labels;
the server tokenises the text, so a label that its tokenizer glues to what is before it cannot be scored.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from openai.types import Completion as Answer

from simulator.models.answers import plain_text
from simulator.models.base import (
    Capabilities,
    Completion,
    Likelihood,
    Position,
    Request,
    Scored,
    ScoreRequest,
    TokenLogprob,
)
from simulator.models.decoding import drawn_samples
from simulator.models.errors import BadRequest, Malformed, Unsupported
from simulator.models.openai_backend import OpenAIServer, drawn, openai_usage
from simulator.models.tokens import Token, is_glued

_IMPOSSIBLE = float("-inf")


class CompletionsModel(OpenAIServer):
    """``completions/<model>`` over text completions."""

    provider = "completions"
    capabilities = Capabilities(
        logprobs=True, schema=False, seed=True, scoring=True, plain=True, samples=True
    )
    ignored: frozenset[str] = frozenset()

    async def complete(self, request: Request) -> Completion:
        """Continue a plain text.

        Raises:
            Unsupported: if it is a chat.
            ModelError: see `simulator.models.errors`.
        """
        if not request.plain:
            raise Unsupported(f"{self.name} continues plain texts only; for a chat take openai/…")
        body = self._with_extra(prompt=plain_text(request), max_tokens=request.max_tokens, **drawn(request))
        if request.top_logprobs is not None:
            body["logprobs"] = request.top_logprobs
        return await self._create(
            self._client.completions, body, lambda answer: self._completion(answer, request)
        )

    def _completion(self, response: object, request: Request) -> Completion:
        answer = self._require_answer(response)
        choice = answer.choices[0]
        return Completion(
            text=choice.text,
            samples=drawn_samples(self.name, request, [each.text for each in answer.choices]),
            logprobs=() if request.top_logprobs is None else self._written(choice.logprobs),
            usage=openai_usage(answer),
            finish_reason=choice.finish_reason or "stop",
        )

    async def score(self, request: ScoreRequest) -> Scored:
        """Score a text, or the texts that may follow it, in one request.

        A continuation in whose middle a token of the server's begins, but none where it begins itself, has
        no log-probability.

        Raises:
            BadRequest: if the server's tokenizer has no token of its own for a label.
            Unsupported: if the server gives no log-probabilities of the text it is sent.
            ModelError: see `simulator.models.errors`.
        """
        texts = [request.text + after for after in request.continuations] or [request.text]
        # Servers differ in whether nothing may be written; one token may be everywhere.
        body = self._with_extra(max_tokens=1, temperature=0.0, echo=True, logprobs=request.top)
        body["prompt"] = texts if request.continuations else request.text
        return await self._create(
            self._client.completions, body, lambda answer: self._scored_answer(answer, request, texts)
        )

    def _scored_answer(self, response: object, request: ScoreRequest, texts: list[str]) -> Scored:
        answer = self._require_answer(response)
        choices = sorted(answer.choices, key=lambda choice: choice.index)
        if len(choices) < len(texts):
            raise Malformed(f"{self.name}: {len(texts)} texts were sent, and {len(choices)} came back")
        if request.continuations:
            start = len(request.text)
            pairs = zip(texts, choices, strict=True)
            sums = (self._likelihood(text, start, self._echo_logprobs(choice)) for text, choice in pairs)
            return Scored(likelihoods=tuple(sums), usage=openai_usage(answer))
        logprobs = self._echo_logprobs(choices[0])
        words: list[str] = logprobs.tokens
        tables: list[Any] = list(logprobs.top_logprobs or ()) or [None] * len(words)
        tokens = self._place_tokens(request.text, words)
        positions = []
        for offset in request.offsets:
            number = self._place(request.text, tokens, offset)
            logprob = (logprobs.token_logprobs or [])[number]
            if logprob is None:
                raise BadRequest(f"nothing is before character {offset}, so nothing can be expected there")
            top = self._distribution(_table(tables[number], request.top))
            positions.append(Position(offset=offset, token=words[number], logprob=logprob, top=top))
        return Scored(positions=tuple(positions), usage=openai_usage(answer))

    def _require_answer(self, answer: object) -> Answer:
        if not isinstance(answer, Answer) or not answer.choices or answer.choices[0].text is None:
            raise Malformed(f"{self.name}: the server's answer is no text completion", text=str(answer))
        return answer

    def _echo_logprobs(self, choice: Any) -> Any:
        logprobs = choice.logprobs
        if logprobs is None or not logprobs.tokens or len(logprobs.token_logprobs or ()) < 2:
            raise Unsupported(
                f"{self.name} at {self.identity.base_url} gives no log-probabilities of the text it is sent; "
                "take another server"
            )
        return logprobs

    def _likelihood(self, text: str, start: int, logprobs: Any) -> Likelihood:
        """Return the sum over the tokens of `text` from `start` on, parts of characters included."""
        tokens = self._place_tokens(text, logprobs.tokens)
        whole = [token for token in tokens if token.end > token.start]
        before = next((token.id for token in whole if token.end == start), None)
        last = next((token.id for token in whole if token.end == len(text)), None)
        if before is None or last is None:
            return Likelihood(None, 0)
        values = logprobs.token_logprobs[before + 1 : last + 1]
        return Likelihood(sum(_IMPOSSIBLE if value is None else value for value in values), len(values))

    def _written(self, logprobs: Any) -> tuple[TokenLogprob, ...]:
        if logprobs is None or logprobs.tokens is None or logprobs.token_logprobs is None:
            raise self._gave_no_logprobs()
        tables: list[Any] = list(logprobs.top_logprobs or ()) or [None] * len(logprobs.tokens)
        return tuple(
            TokenLogprob(token, _IMPOSSIBLE if value is None else value, self._distribution(_table(table)))
            for token, value, table in zip(logprobs.tokens, logprobs.token_logprobs, tables, strict=True)
        )

    def _place_tokens(self, text: str, words: list[str]) -> list[Token]:
        """Return where each token lies in the text.

        Found from the tokens themselves, since servers count differently: some count what they put before
        a text, some bytes. Tokens that hold a part of a character are passed over.
        """
        tokens, end = [], 0
        for number, word in enumerate(words):
            start = end if text.startswith(word, end) else text.find(word, end, end + len(word) + 8)
            if start < 0 or not word:
                tokens.append(Token(number, end, end))
                continue
            end = start + len(word)
            tokens.append(Token(number, start, end))
        return tokens

    def _place(self, text: str, tokens: list[Token], offset: int) -> int:
        for token in tokens:
            if token.start <= offset < token.end:
                if is_glued(text, token, offset):
                    break
                return token.id
        raise BadRequest(
            f"the tokenizer of {self.name} has no token for character {offset} of the text alone; "
            "take the model through transformers/…, which can cut there"
        )


def _table(table: Mapping[str, float] | None, most: int | None = None) -> tuple[tuple[str, float], ...]:
    """Return the likeliest first. Servers send no order, and some one more than they were asked for."""
    return tuple(sorted((table or {}).items(), key=lambda each: -each[1])[:most])
