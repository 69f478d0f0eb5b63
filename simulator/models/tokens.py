"""Texts as tokens, with the places of some of their characters.

A character asked about (the label of an example, say) has to be where a token begins, or the model would be
asked for something else: a token ``>X`` is not expected where ``X`` is. A blank in front may belong to the
label's token or be a token of its own. Where a tokenizer glues more than that to a label, such as the next
line, the text is cut before and behind each label and the pieces are tokenised each for itself.

`Wording` is what is said to a model in this process and by it: requests as tokens, and tokens as texts.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from functools import partial
from typing import Any, Final, NamedTuple

from simulator.models.answers import cut, plain_text
from simulator.models.base import Request, TokenLogprob
from simulator.models.errors import BadRequest
from simulator.models.forward import Look
from simulator.models.keys import json_schema, messages
from simulator.models.weights import imported

_BLANK: Final = " "
_LONGEST: Final = 256  # characters of a word
# Put before a piece that goes on from another, so that no tokenizer takes it for the beginning of a text.
_GUARDS: Final = ("\n", ".", "a")
# How SentencePiece writes a blank within a token.
_META_BLANK: Final = "\u2581"


class Token(NamedTuple):
    """A token and the characters it stands for; `end` equals `start` for what the tokenizer adds itself."""

    id: int
    start: int
    end: int


class Tokenised(NamedTuple):
    """A text in tokens.

    Attributes:
        ids: tokens of the text, after what the tokenizer puts before every text (BOS).
        places: for each character asked about, the index in `ids` of the token that holds it.
    """

    ids: tuple[int, ...]
    places: tuple[int, ...]


def tokenise(tokenizer: Any, text: str, offsets: Sequence[int]) -> Tokenised:
    """Return `text` as tokens, of which one begins at each of `offsets` (blanks aside), within its word.

    Args:
        tokenizer: a fast tokenizer of transformers.
        text: the text as it is.
        offsets: characters of `text`, ascending.

    Raises:
        BadRequest: if a character is in no token, or nothing is before it, or no token can begin there.
    """
    tokens = _tokens(tokenizer, text)
    if any(is_glued(text, tokens[_place(tokens, offset)], offset) for offset in offsets):
        starts = [boundary(text, offset) for offset in offsets]
        tokens = _in_pieces(tokenizer, text, [*starts, *(_word_end(text, offset) for offset in offsets)])
    places = tuple(_place(tokens, offset) for offset in offsets)
    for offset, place in zip(offsets, places, strict=True):
        if place == 0:
            raise BadRequest(f"nothing is before character {offset}, so nothing can be expected there")
        if is_glued(text, tokens[place], offset):
            raise BadRequest(f"this model's tokenizer cannot begin a token at character {offset} of the text")
    return Tokenised(tuple(token.id for token in tokens), places)


def prompt_ids(tokenizer: Any, text: str) -> tuple[int, ...]:
    """Return a text to be continued as tokens: without what the tokenizer puts after a finished one."""
    return tuple(token.id for token in _tokens(tokenizer, text))


def answer_ids(tokenizer: Any, text: str) -> tuple[int, ...]:
    """Return tokens of what an encoder-decoder model writes: a text of its own, blanks before it included."""
    return tuple(token.id for token in _encode(tokenizer, text, special=False))


def boundary(text: str, offset: int) -> int:
    """Return where what is expected at `offset` begins: in front of the blanks before it."""
    return len(text[:offset].rstrip(_BLANK))


def continuation(tokenizer: Any, piece: str) -> list[Token]:
    """Return tokens of a text that goes on from another one."""
    for guard in _GUARDS:
        before = _encode(tokenizer, guard, special=False)
        tokens = _encode(tokenizer, guard + piece, special=False)
        after = tokens[len(before) :]
        same = [token.id for token in before] == [token.id for token in tokens[: len(before)]]
        if same and all(token.start >= len(guard) for token in after):
            return _shift(after, -len(guard))
    return _encode(tokenizer, piece, special=False)


def token_text(tokenizer: Any, id: int) -> str:
    """Return a token as it stands in a text, with the blank before it if that is part of it."""
    written = str(tokenizer.convert_ids_to_tokens(id))
    if _META_BLANK in written:
        return written.replace(_META_BLANK, _BLANK)
    return str(tokenizer.decode([id]))


def _tokens(tokenizer: Any, text: str) -> list[Token]:
    tokens = _encode(tokenizer, text, special=True)
    while tokens and tokens[-1].end == 0 and any(token.end for token in tokens):
        tokens.pop()  # what closes a text
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
    """Return True if the token of a character holds more than blanks before it or more than its word."""
    return bool(text[token.start : offset].strip(_BLANK)) or token.end > _word_end(text, offset)


def _word_end(text: str, offset: int) -> int:
    """Return where the word at `offset` ends; the text's end if it is no word that begins there."""
    words = text[offset : offset + _LONGEST].split(maxsplit=1)
    begins = words and text.startswith(words[0], offset)
    return offset + len(words[0]) if begins else len(text)


class Wording:
    """A model's tokenizer and chat template."""

    def __init__(self, name: str, tokenizer: Any, *, answers: bool) -> None:
        """Use a tokenizer."""
        self._name = name
        self._tokenizer = tokenizer
        self._answers = answers
        self._texts: dict[int, str] = {}

    def read(self, request: Request) -> list[int]:
        """Return the whole prompt.

        Raises:
            BadRequest: if it is empty, or a plain text is not one message.
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
        """Return how many of the prompt's tokens are the shared messages; 0 if it begins with others."""
        if request.plain or not request.shared:
            return 0
        prompt = _prompt(request)
        # What a schema adds comes first, too.
        first = prompt[: request.shared + len(prompt) - len(request.messages)]
        try:
            head = self._apply_template(first, add_generation_prompt=False)
        except imported("jinja2").TemplateError:  # some templates want a question to come last
            return 0
        return len(head) if list(read[: len(head)]) == head else 0

    def said(self, request: Request, read: Sequence[int], tokens: Sequence[int]) -> str:
        """Return the text of `tokens`, not cut; of a continuation with the blank with which it may begin."""
        decode = partial(self._tokenizer.decode, skip_special_tokens=True)
        if request.plain and not self._answers:
            before, whole = decode(read[-1:]), decode([*read[-1:], *tokens])
            if whole.startswith(before):
                return str(whole[len(before) :])
        return str(decode(tokens))

    def is_stopped(self, request: Request, read: Sequence[int], tokens: Sequence[int]) -> bool:
        """Return True if the last of `tokens` has brought one of the request's stop sequences."""
        if not request.stop:
            return False
        # So many bytes are in as many tokens at most; the first of them may begin within a character.
        tail = tokens[-max(len(stop.encode()) for stop in request.stop) - 4 :]
        # The last tokens may read otherwise by themselves: the whole decides.
        return all(
            cut(words, request.stop) != words
            for words in (self.said(request, read, part) for part in (tail, tokens))
        )

    def text(self, token: int) -> str:
        """Return a token as it stands in a text."""
        if token not in self._texts:
            self._texts[token] = token_text(self._tokenizer, token)
        return self._texts[token]

    def chance(self, token: int, seen: Look) -> TokenLogprob:
        """Return a token with what was expected in its place."""
        top = tuple((self.text(other), logprob) for other, logprob in seen.top)
        return TokenLogprob(self.text(token), seen.logprob, top)

    def _apply_template(self, said: list[dict[str, str]], *, add_generation_prompt: bool) -> list[int]:
        """Return messages as tokens."""
        encoded = self._tokenizer.apply_chat_template(
            said, add_generation_prompt=add_generation_prompt, return_dict=True
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
