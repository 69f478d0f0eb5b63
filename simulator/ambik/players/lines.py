"""Models that write one line: an action, a question, an answer."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from simulator.ambik.prompts import TURNS
from simulator.models import ChatModel, Request

_LINE: Final = "\n"
_LABEL: Final = re.compile(
    r"^(?:(?:your |my )?(?:question|answer|reply)|问题|回答|你的回答)\s*[:：]\s*", re.I
)
_MARKS: Final = "\"'“”„«»「」*_<> "


async def one_line(model: ChatModel, request: Request, language: str) -> str:
    """What a model writes up to the end of its first line, with that line's label.

    A model that begins with an empty line is asked again, to write until the next turn.

    Raises:
        ModelError: if the model fails.
    """
    text = (await model.complete(replace(request, stop=(_LINE,)))).text
    if text.strip():
        return text
    return (await model.complete(replace(request, stop=(TURNS[language],)))).text


def read_line(text: str, most: int) -> str:
    """The first line that says something, without label and quotation marks, cut after `most` letters.

    A line that ends with a colon only announces what comes.
    """
    for line in text.splitlines():
        said = _LABEL.sub("", " ".join(line.split()).strip(_MARKS)).strip(_MARKS)
        if any(map(str.isalnum, said)) and not said.endswith((":", "：")):
            return said[:most]
    return ""
