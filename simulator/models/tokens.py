"""Tokenisation of texts that are scored at chosen characters, and of prompts.

A scored character (such as the label of an example) must be at the start of a token, or the model would
predict something else: the probability of a token ``>X`` is not that of ``X``. A blank in front may belong to
the label's token or be its own token. If the tokenizer merges anything else with a label, such as the next
line, the text is split before and after each label and the pieces are tokenised separately.

`Wording` converts requests to tokens, and tokens to text, for a model in this process.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from functools import partial
from typing import Any, Final, NamedTuple

from simulator.models.answers import cut_at_stops, plain_text
from simulator.models.base import Request, TokenLogprob
from simulator.models.errors import BadRequest
from simulator.models.forward import Prediction
from simulator.models.keys import json_schema, messages
from simulator.models.weights import import_optional

_BLANK: Final = " "
_LONGEST: Final = 256  # longest word, in characters
# Put before a continuation, so that no tokenizer treats it as the beginning of a text.
_GUARDS: Final = ("\n", ".", "a")
# SentencePiece's mark for a blank.
_META_BLANK: Final = "\u2581"


class Token(NamedTuple):
    """A token and its span of characters; empty (`end` equals `start`) for special tokens."""

    id: int
    start: int
    end: int


class Tokenised(NamedTuple):
    """A tokenised text.

    Attributes:
        ids: the text's tokens, after those that the tokenizer puts before every text (BOS).
        places: for each scored character, the index in `ids` of the token that contains it.
    """

    ids: tuple[int, ...]
    places: tuple[int, ...]


def tokenise(tokenizer: Any, text: str, offsets: Sequence[int]) -> Tokenised:
    """Tokenise `text` so that a token, which ends within its word, begins at each offset (blanks aside).

    `tokenizer`: a fast tokenizer of transformers. `offsets`: ascending.

    Raises:
        BadRequest: if a character is in no token or in the first one, or no token can begin there.
    """
    tokens = _tokens(tokenizer, text)
    if any(is_glued(text, tokens[_place(tokens, offset)], offset) for offset in offsets):
        starts = [boundary(text, offset) for offset in offsets]
        tokens = _in_pieces(tokenizer, text, [*starts, *(_word_end(text, offset) for offset in offsets)])
    places = tuple(_place(tokens, offset) for offset in offsets)
    for offset, place in zip(offsets, places, strict=True):
        if place == 0:
            raise BadRequest(f"character {offset} cannot be scored: no text comes before it")
        if is_glued(text, tokens[place], offset):
            raise BadRequest(f"this model's tokenizer cannot begin a token at character {offset} of the text")
    return Tokenised(tuple(token.id for token in tokens), places)


def prompt_ids(tokenizer: Any, text: str) -> tuple[int, ...]:
    """Tokenise a text to be continued, without the tokens that mark the end of a text."""
    return tuple(token.id for token in _tokens(tokenizer, text))


def answer_ids(tokenizer: Any, text: str) -> tuple[int, ...]:
    """Tokenise the answer of an encoder-decoder model, without special tokens."""
    return tuple(token.id for token in _encode(tokenizer, text, special=False))


def boundary(text: str, offset: int) -> int:
    """Return the start of the token predicted at `offset`: in front of any blanks before it."""
    return len(text[:offset].rstrip(_BLANK))


def continuation(tokenizer: Any, piece: str) -> list[Token]:
    """Tokenise a text that continues another one."""
    for guard in _GUARDS:
        before = _encode(tokenizer, guard, special=False)
        tokens = _encode(tokenizer, guard + piece, special=False)
        after = tokens[len(before) :]
        same = [token.id for token in before] == [token.id for token in tokens[: len(before)]]
        if same and all(token.start >= len(guard) for token in after):
            return _shift(after, -len(guard))
    return _encode(tokenizer, piece, special=False)


def token_text(tokenizer: Any, id: int) -> str:
    """Return a token's text, with the blank in front if the token includes it."""
    piece = str(tokenizer.convert_ids_to_tokens(id))
    if _META_BLANK in piece:
        return piece.replace(_META_BLANK, _BLANK)
    return str(tokenizer.decode([id]))


def _tokens(tokenizer: Any, text: str) -> list[Token]:
    tokens = _encode(tokenizer, text, special=True)
    while tokens and tokens[-1].end == 0 and any(token.end for token in tokens):
        tokens.pop()  # a special token at the end
    return tokens


def _in_pieces(tokenizer: Any, text: str, cuts: Sequence[int]) -> list[Token]:
    first, *rest = sorted({cut for cut in cuts if 0 < cut < len(text)} | {len(text)})
    tokens = _tokens(tokenizer, text[:first])
    for start, end in itertools.pairwise((first, *rest)):
        tokens += _shift(continuation(tokenizer, text[start:end]), start)
    return tokens


def _encode(tokenizer: Any, text: str, *, special: bool) -> list[Token]:
    encoded = tokenizer(text, add_special_tokens=special, return_offsets_mapping=True)
    return [
        Token(id, start, end)
        for id, (start, end) in zip(encoded["input_ids"], encoded["offset_mapping"], strict=True)
    ]


def _shift(tokens: Sequence[Token], by: int) -> list[Token]:
    return [Token(token.id, token.start + by, token.end + by) for token in tokens]


def _place(tokens: Sequence[Token], offset: int) -> int:
    for place, token in enumerate(tokens):
        if token.start <= offset < token.end:
            return place
    raise BadRequest(f"this model's tokenizer has no token for character {offset} of the text")


def is_glued(text: str, token: Token, offset: int) -> bool:
    """Return True if a character's token contains anything but blanks before it, or goes beyond its word."""
    return bool(text[token.start : offset].strip(_BLANK)) or token.end > _word_end(text, offset)


def _word_end(text: str, offset: int) -> int:
    """Return the end of the word at `offset`; the end of the text if no word begins there."""
    words = text[offset : offset + _LONGEST].split(maxsplit=1)
    begins = words and text.startswith(words[0], offset)
    return offset + len(words[0]) if begins else len(text)


class Wording:
    """A model's tokenizer and chat template."""

    def __init__(self, name: str, tokenizer: Any, *, answers: bool) -> None:
        """Use a model's tokenizer; `answers` is True for an encoder-decoder model."""
        self._name = name
        self._tokenizer = tokenizer
        self._answers = answers
        self._texts: dict[int, str] = {}

    def read(self, request: Request) -> list[int]:
        """Return the tokens of the complete prompt.

        Raises:
            BadRequest: if it is empty, or a plain request is not a single user message.
        """
        if not request.plain:
            ids = self._apply_template(_prompt(request), add_generation_prompt=True)
        elif self._answers:
            ids = self._tokenizer(plain_text(request))["input_ids"]
        else:
            ids = list(prompt_ids(self._tokenizer, plain_text(request)))
        if not ids:
            raise BadRequest(f"{self._name} cannot continue an empty text")
        return list(ids)

    def head(self, request: Request, read: Sequence[int]) -> int:
        """Return the number of prompt tokens of the shared messages; 0 if the prompt begins differently."""
        if request.plain or not request.shared:
            return 0
        prompt = _prompt(request)
        # A message that a schema adds comes first, too.
        first = prompt[: request.shared + len(prompt) - len(request.messages)]
        try:
            head = self._apply_template(first, add_generation_prompt=False)
        except import_optional("jinja2").TemplateError:  # some templates want a question to come last
            return 0
        return len(head) if list(read[: len(head)]) == head else 0

    def answer_text(self, request: Request, read: Sequence[int], tokens: Sequence[int]) -> str:
        """Return the text of `tokens`, not cut at stop sequences; a continuation keeps its leading blank."""
        decode = partial(self._tokenizer.decode, skip_special_tokens=True)
        if request.plain and not self._answers:
            before, joined = decode(read[-1:]), decode([*read[-1:], *tokens])
            if joined.startswith(before):
                return str(joined[len(before) :])
        return str(decode(tokens))

    def is_stopped(self, request: Request, read: Sequence[int], tokens: Sequence[int]) -> bool:
        """Return True if the last of `tokens` completes one of the request's stop sequences."""
        if not request.stop:
            return False
        # A token is at least one byte; 4 more, since the tail may begin in the middle of a character.
        tail = tokens[-max(len(stop.encode()) for stop in request.stop) - 4 :]
        # The tail may decode differently on its own, so the complete text decides.
        return all(
            cut_at_stops(words, request.stop) != words
            for words in (self.answer_text(request, read, part) for part in (tail, tokens))
        )

    def text(self, token: int) -> str:
        """Return a token's text."""
        if token not in self._texts:
            self._texts[token] = token_text(self._tokenizer, token)
        return self._texts[token]

    def token_logprob(self, token: int, look: Prediction) -> TokenLogprob:
        """Return a token with its log-probability and the alternatives."""
        top = tuple((self.text(other), logprob) for other, logprob in look.top)
        return TokenLogprob(self.text(token), look.logprob, top)

    def _apply_template(self, dialogue: list[dict[str, str]], *, add_generation_prompt: bool) -> list[int]:
        encoded = self._tokenizer.apply_chat_template(
            dialogue, add_generation_prompt=add_generation_prompt, return_dict=True
        )
        return list(encoded["input_ids"])


def _prompt(request: Request) -> list[dict[str, str]]:
    dialogue = messages(request)
    schema = json_schema(request.schema)
    if schema is None:
        return dialogue
    instruction = "Answer with one JSON object that matches this JSON schema:\n" + json.dumps(schema)
    if dialogue and dialogue[0]["role"] == "system":
        return [{"role": "system", "content": f"{dialogue[0]['content']}\n\n{instruction}"}, *dialogue[1:]]
    return [{"role": "system", "content": instruction}, *dialogue]
