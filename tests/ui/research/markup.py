"""What tests read out of pages."""

from __future__ import annotations

import re
from collections.abc import Mapping
from html.parser import HTMLParser
from typing import Any

from ui.research.calls import Calls

VOID = {"input", "link", "meta", "br", "path", "circle", "rect", "img"}


class Balance(HTMLParser):
    """Finds tags that are not closed in their order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag


def checked(answer: dict[str, Any]) -> dict[str, Any]:
    """An answer whose markup is well formed."""
    balance = Balance()
    balance.feed(answer["html"])
    assert not balance.open
    return answer


def words(answer: Mapping[str, Any]) -> str:
    """The text of a page, tags left out."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", answer["html"]))


def page(calls: Calls, query: str = "", path: str = "/research", language: str = "en") -> dict[str, Any]:
    """The page at an address: well formed, without names of texts in it, and not that of an error."""
    answer = checked(calls.page({"path": path, "query": query, "language": language}))
    assert "research." not in words(answer)
    assert "cannot be shown" not in words(answer)
    return answer
