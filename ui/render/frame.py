"""The frame of every page: the bar on top, the language switch, the foot. Researchers' pages use it too."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import parse_qsl, urlencode

from ui.i18n import LANGUAGES, Strings
from ui.render.environment import render


@dataclass(frozen=True, slots=True)
class RoomLink:
    """The way from pages to a benchmark's entry.

    Attributes:
        name: begins the names of its texts: ``{name}.name``, ``{name}.card_text``, ``{name}.card_link``.
        path: of its entry.
        icon: on its card.
    """

    name: str
    path: str
    icon: str


@dataclass(frozen=True, slots=True)
class Frame:
    """The contents of a page's frame.

    Attributes:
        texts: the interface's texts.
        path: the page's path, for the language switch.
        query: its query string, without the leading ``?``.
        research: where the researchers' pages are; None if there are none.
        active: the entry of the bar that is this page (``home``, ``research``, a benchmark's name), or
            empty.
        rooms: the benchmarks with an entry of their own.
    """

    texts: Strings
    path: str = "/"
    query: str = ""
    research: str | None = None
    active: str = ""
    rooms: tuple[RoomLink, ...] = ()

    @property
    def switch(self) -> str:
        """The link to the same page in the other language."""
        kept = [(name, value) for name, value in parse_qsl(self.query) if name != "lang"]
        return f"{self.path}?{urlencode([*kept, ('lang', self.other_language)])}"

    @property
    def other_language(self) -> str:
        """Tag of the language that the switch leads to."""
        return next(language for language in LANGUAGES if language != self.texts.language)


def message_page(frame: Frame, name: str) -> str:
    """Return a page that says in a friendly way that something is not possible (``message.{name}_title``)."""
    return render("message", frame.texts, frame=frame, name=name)
