"""What every call of a page says, and how a call is answered."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import urlencode

from pydantic import BaseModel, ConfigDict, Field

Answer = dict[str, Any]
BROWSER_KEY: Final = r"^[A-Za-z0-9_-]{16,64}$"
"""The form of what a browser draws once and keeps: it says who comes again."""
PLAY: Final = "/play"
"""Where every episode is played, whatever the benchmark."""


class Call(BaseModel):
    """A call of the browser: nothing in it is believed, and what is not asked for is left alone."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class PageCall(Call):
    """Where a call comes from.

    Attributes:
        language: of the page.
        path: of the page.
        query: its query string, without the leading ``?``.
    """

    language: str = Field(default="en", max_length=16)
    path: str = Field(default="/", max_length=200)
    query: str = Field(default="", max_length=2000)


class AcknowledgeCall(PageCall):
    """Say that a researcher's message has been read.

    Attributes:
        message: its id.
    """

    message: str = Field(pattern=r"^[0-9a-f]{16}$")


def address(token: str) -> str:
    """Return the address of the page of the seat that `token` is for."""
    return f"{PLAY}?{urlencode({'t': token})}"
