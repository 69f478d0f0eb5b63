"""Spoilt copies of files: what disks, editors, other programs and bad intentions make of them."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from typing import Any

DEPTH = 20_000
ALIASES = 30
_NUMBERS = (b"NaN", b"-1", b"1e999", b"0", b"null", b"true", b'"\\ud800"', b"[]", b"{}", b"9" * 5000)
_BYTES = (
    b"\x00",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    "\u2028".encode(),
    b"\r",
    b"\t",
    b'"',
    b"'",
    b"\\",
    b"&a",
    b"*a",
)


def mutations(seed: int, content: bytes, count: int) -> Iterator[bytes]:
    """`count` spoilt copies of `content`, always the same ones."""
    for number in range(count):
        drawn = random.Random(f"{seed}/{number}")
        spoilt = content
        for _ in range(drawn.randint(1, 3)):
            spoilt = drawn.choice(_WAYS)(drawn, spoilt)
        yield spoilt


def bombs() -> dict[str, bytes]:
    """Small files that would be enormous, endless or deeper than anybody reads."""
    aliases = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    aliases += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, ALIASES)]
    return {
        "deep list.json": b"[" * DEPTH + b"]" * DEPTH,
        "deep object.json": b'{"a":' * DEPTH + b"1" + b"}" * DEPTH,
        "deep list.yaml": b"[" * DEPTH + b"]" * DEPTH,
        "deep blocks.yaml": b"- " * 5_000 + b"x",
        "deep but read.json": b'{"a":' * 500 + b"1" + b"}" * 500,
        "deep but read.yaml": b"[" * 150 + b"]" * 150,
        "aliases.yaml": "\n".join(aliases).encode(),
        "list of aliases.yaml": "\n".join(f"- {line.partition(': ')[2]}" for line in aliases).encode(),
        "endless.yaml": b"&a [*a]",
        "endless object.yaml": b"&a {a: *a, models: *a, benchmark: *a}",
        "merged.yaml": b"a: &a {b: 1}\nc: {<<: *a, <<: 7}\n",
        "endless study.yaml": b"benchmark: ambik\nid: x\nsettings: &a {a: *a}\n",
    }


def _cut(drawn: random.Random, content: bytes) -> bytes:
    return content[: drawn.randrange(len(content) + 1)]


def _without(drawn: random.Random, content: bytes) -> bytes:
    start = drawn.randrange(len(content) + 1)
    return content[:start] + content[start + drawn.randint(1, 40) :]


def _twice(drawn: random.Random, content: bytes) -> bytes:
    start = drawn.randrange(len(content) + 1)
    end = start + drawn.randint(1, 200)
    return content[:end] + content[start:]


def _bit(drawn: random.Random, content: bytes) -> bytes:
    if not content:
        return content
    place = drawn.randrange(len(content))
    return content[:place] + bytes([content[place] ^ (1 << drawn.randrange(8))]) + content[place + 1 :]


def _inserted(drawn: random.Random, content: bytes) -> bytes:
    place = drawn.randrange(len(content) + 1)
    return content[:place] + drawn.choice(_BYTES) + content[place:]


def _token(drawn: random.Random, content: bytes) -> bytes:
    """Another value behind some colon or comma."""
    places = [place for place, byte in enumerate(content) if byte in b":,"]
    if not places:
        return drawn.choice(_NUMBERS)
    start = drawn.choice(places) + 1
    end = next((place for place in range(start, len(content)) if content[place] in b",}]\n"), len(content))
    return content[:start] + b" " + drawn.choice(_NUMBERS) + content[end:]


def _value(drawn: random.Random, content: bytes) -> bytes:
    """Another value somewhere in JSON, or in its first line."""
    head, newline, rest = content.partition(b"\n")
    for text, tail in ((content, b""), (head, newline + rest)):
        try:
            whole = json.loads(text)
        except (ValueError, RecursionError):
            continue
        return json.dumps(_changed(drawn, whole)).encode() + tail
    return _token(drawn, content)


def _changed(drawn: random.Random, value: Any) -> Any:
    if isinstance(value, dict) and value and drawn.random() < 0.9:
        key = drawn.choice(sorted(value))
        if drawn.random() < 0.1:
            return {name: inner for name, inner in value.items() if name != key}
        return {**value, key: _changed(drawn, value[key])}
    if isinstance(value, list) and value and drawn.random() < 0.9:
        place = drawn.randrange(len(value))
        return [*value[:place], _changed(drawn, value[place]), *value[place + 1 :]]
    return drawn.choice(
        [None, True, -1, 1.5, 10**400, float("nan"), "", "x" * 5000, "\ud800", [], {}, [[value]]]
    )


_WAYS: tuple[Callable[[random.Random, bytes], bytes], ...] = (
    _cut,
    _without,
    _twice,
    _bit,
    _inserted,
    _token,
    _value,
    _value,
)
