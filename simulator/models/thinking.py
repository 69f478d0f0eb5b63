"""What a reasoning model thinks before it speaks, and what it says.

Open reasoning models write their reasoning into their answers, between ``<think>`` and ``</think>``. It is
not what a seat says: nobody in an episode hears it, no parser reads it, no score counts it. `Completion`
parts the two for every backend; the reasoning stays in the log beside the answer.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_OPEN, _CLOSE = r"<think(?:ing)?>", r"</think(?:ing)?>"
_BLOCK: Final = re.compile(rf"{_OPEN}(.*?){_CLOSE}\s*", re.DOTALL | re.IGNORECASE)
# Where the chat template writes the opening mark, an answer begins in the middle of the reasoning.
_HEADLESS: Final = re.compile(rf"\A((?:(?!{_OPEN}).)*?){_CLOSE}\s*", re.DOTALL | re.IGNORECASE)
# An answer that the token limit cut off while the model was still thinking.
_ENDLESS: Final = re.compile(rf"(?:\A|(?<=\n))\s*{_OPEN}(.*)\Z", re.DOTALL | re.IGNORECASE)


_OBJECT: Final = ("{", "[", "```")


class Parted(NamedTuple):
    """An answer without its reasoning.

    Attributes:
        said: what the model says; the text as it is where it has no reasoning in it.
        thought: the reasoning, several pieces joined by an empty line.
        cut: where these stood in the text: pairs of first and one past the last character.
    """

    said: str
    thought: str = ""
    cut: tuple[tuple[int, int], ...] = ()


def parted(text: str) -> Parted:
    """Part what a model says from what it thought first."""
    # What stands in the values of an object may quote such marks, and is no reasoning.
    if "think" not in text.lower() or text.lstrip().startswith(_OBJECT):
        return Parted(text)
    pieces = [match for match in (_HEADLESS.match(text),) if match]
    start = pieces[0].end() if pieces else 0
    pieces += _BLOCK.finditer(text, start)
    if endless := _ENDLESS.search(text, pieces[-1].end() if pieces else 0):
        pieces.append(endless)
    if not pieces:
        return Parted(text)
    kept, at = [], 0
    for match in pieces:
        kept.append(text[at : match.start()])
        at = match.end()
    thought = "\n\n".join(piece for match in pieces if (piece := match.group(1).strip()))
    answer = "".join([*kept, text[at:]])
    spans = tuple(piece.span() for piece in pieces)
    return Parted(answer.lstrip() if not kept[0].strip() else answer, thought, spans)
