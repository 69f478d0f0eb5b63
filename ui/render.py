"""From data to HTML: templates in ``ui/templates``, every value escaped; the frame of pages."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from urllib.parse import parse_qsl, urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined, pass_context
from jinja2.runtime import Context
from markupsafe import Markup, escape

from simulator.blocks import Message, Translated
from simulator.drawn_blocks import TreeNode, TreeReplay
from simulator.runner.lobby import PERSON, Opponent
from ui.i18n import LANGUAGES, Strings, trouble_text

_FOLDER = Path(__file__).parent / "templates"


@cache
def environment() -> Environment:
    """Return the one environment, whose templates put nothing unescaped on a page but their own markup."""
    made = Environment(
        loader=FileSystemLoader(_FOLDER, encoding="utf-8"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    for shared in (browser_texts, opponent_words, say, small_map, speaker, steps_data, tongue, trouble_text):
        made.globals[shared.__name__] = shared
    return made


@pass_context
def say(context: Context, value: object) -> str:
    """Return what a block of the page says (`Strings.say`)."""
    texts: Strings = context["t"]
    return texts.say(context["link"].name, value)


@pass_context
def tongue(context: Context, value: object) -> str:
    """Return the attribute that says in which language a block says something."""
    own = context.get("language") or context["view"].language
    language = context["t"].language if isinstance(value, Message | Translated) else own
    return Markup(f' lang="{escape(language)}"')


@pass_context
def speaker(context: Context, seat: str) -> str:
    """Return what whoever sits in `seat` is called beside what they say."""
    texts: Strings = context["t"]
    if "view" in context and seat == context["view"].seat:
        return texts("seat.you")
    name = context["link"].name
    return texts.get(f"{name}.speaker.{seat}", texts(f"{name}.seat.{seat}"))


def browser_texts(texts: Strings) -> str:
    """Return the texts that our script shows by itself, as JSON."""
    messages = {name: texts(f"app.{name}") for name in ("offline", "failed", "copied", "copy_failed")}
    messages["empty"] = texts("play.empty")
    return json.dumps(messages, ensure_ascii=False)


def render(template: str, texts: Strings, **context: object) -> str:
    """Return the HTML of ``templates/{template}.html.jinja`` with the texts as ``t``."""
    return environment().get_template(f"{template}.html.jinja").render(t=texts, **context)


# ---- the frame of every page


@dataclass(frozen=True, slots=True)
class BenchmarkLink:
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
        active: the entry of the bar that is this page (``research``, a benchmark's name), or empty.
        benchmarks: those that can be played; the entry of the first is the home page.
    """

    texts: Strings
    path: str = "/"
    query: str = ""
    research: str | None = None
    active: str = ""
    benchmarks: tuple[BenchmarkLink, ...] = ()

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


# ---- opponents that can be chosen, as an entry page offers them


def opponent_words(texts: Strings, opponent: Opponent, key: str) -> tuple[str, str, str]:
    """Return an opponent's kind (``offline``, ``model``, ``person``), name, and what to know about them.

    The words are those under `key`, else those of their kind; of somebody who cannot play they say why.
    """
    provider = opponent.name.partition("/")[0]
    kind = provider if provider in ("offline", PERSON) else "model"
    slug = opponent.name.replace("/", "_").replace(":", "_")
    label = texts.get(f"{key}.{slug}", texts.get(f"home.opponents.{slug}", opponent.label))
    if not opponent.available:
        return kind, label, texts("home.needs_key", variable=opponent.requires)
    return kind, label, texts.get(f"{key}.{slug}_note", texts(f"home.opponents.{kind}_note"))


# ---- a tree of answers: its shape drawn small, and how it was given turn by turn


@dataclass(frozen=True, slots=True)
class Dot:
    """A node on the small map: its place, and its parent's to draw the line to (the root has none)."""

    index: str
    x: float
    y: float
    parent: tuple[float, float] | None


@dataclass(frozen=True, slots=True)
class Map:
    """The tree's shape, drawn small: width and height in units of the view box."""

    width: float
    height: float
    dots: tuple[Dot, ...]


STEP_X, STEP_Y, MARGIN = 44.0, 46.0, 20.0


def small_map(root: TreeNode) -> Map:
    """Return leaves side by side, every parent above the middle of its children."""
    dots: list[Dot] = []
    leaves = 0
    deepest = 0

    def place(node: TreeNode, depth: int) -> float:
        nonlocal leaves, deepest
        deepest = max(deepest, depth)
        below = [(child, place(child, depth + 1)) for child in node.children]
        if below:
            x = (below[0][1] + below[-1][1]) / 2
        else:
            x = MARGIN + STEP_X * leaves
            leaves += 1
        y = MARGIN + STEP_Y * depth
        dots.extend(Dot(child.index, at, y + STEP_Y, (x, y)) for child, at in below)
        return x

    x = place(root, 0)
    dots.append(Dot(root.index, x, MARGIN, None))
    return Map(2 * MARGIN + STEP_X * (leaves - 1), 2 * MARGIN + STEP_Y * deepest, tuple(reversed(dots)))


def steps_data(block: TreeReplay) -> str:
    """Return JSON for the browser: per turn, which nodes it gave and which could be given after it."""
    return json.dumps([{"gave": list(turn.gave), "available": list(turn.available)} for turn in block.turns])
