"""Rendering of data as HTML with the templates in ``ui/templates`` (autoescaped), and the frame of pages."""

from __future__ import annotations

import json
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined, pass_context
from jinja2.runtime import Context
from markupsafe import Markup, escape

from simulator.blocks import Message, Translated
from simulator.drawn_blocks import TreeNode, TreeReplay
from simulator.runner.declared import join_values
from simulator.runner.lobby import PERSON, Opponent
from ui.i18n import LANGUAGES, Strings, trouble_text

_FOLDER = Path(__file__).parent / "templates"


class _Context(Context):
    """A template's values, which look up texts without Jinja's search for decorators; a page has 50 texts."""

    def call(self, obj: Any, /, *args: Any, **kwargs: Any) -> Any:
        if type(obj) is not Strings:
            return super().call(obj, *args, **kwargs)
        kwargs.pop("_loop_vars", None)
        kwargs.pop("_block_vars", None)
        return obj(*args, **kwargs)


class _Environment(Environment):
    """Templates with their globals in plain dictionaries, which are faster to copy than Jinja's chains."""

    context_class = _Context

    def make_globals(self, d: MutableMapping[str, Any] | None) -> MutableMapping[str, Any]:
        return {**self.globals, **(d or {})}


@cache
def environment() -> Environment:
    """Return the shared Jinja environment, which escapes every value."""
    created = _Environment(
        loader=FileSystemLoader(_FOLDER, encoding="utf-8"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    shared = (browser_texts, cached_part, lang_of, move_in_words, opponent_words, say, small_map, speaker)
    for function in (*shared, steps_data, trouble_text):
        created.globals[function.__name__] = function
    return created


@pass_context
def say(context: Context, value: object) -> str:
    """Return the text of a block's value (`Strings.say`)."""
    texts: Strings = context["t"]
    return texts.say(context["link"].name, value)


@pass_context
def lang_of(context: Context, value: object) -> str:
    """Return the ``lang`` attribute for a block's value."""
    own = context.get("language") or context["view"].language
    language = context["t"].language if isinstance(value, Message | Translated) else own
    return Markup(f' lang="{escape(language)}"')


@pass_context
def speaker(context: Context, seat: str) -> str:
    """Return the name shown next to the messages of `seat`."""
    texts: Strings = context["t"]
    if "view" in context and seat == context["view"].seat:
        return texts("seat.you")
    name = context["link"].name
    return texts.get(f"{name}.speaker.{seat}", texts(f"{name}.seat.{seat}"))


def move_in_words(texts: Strings, prefix: str, text: str, values: Mapping[str, Any]) -> str:
    """Return the text of a move for display, in the words of the form or the button it came from.

    The name of a choice becomes the text of its button; a text made from several values of a form
    (`join_values`) becomes a line per field, with the field's label.
    """
    fields = [f"field.{name}" for name, value in values.items() if str(value) == text]
    words = next(filter(None, (texts.get(f"{prefix}.{name}.{text}", "") for name in (*fields, "choice"))), "")
    filled = {name: value for name, value in values.items() if join_values([value])}
    if words or len(filled) < 2 or text != join_values(values.values()):
        return words or text

    def value_text(name: str, value: object) -> str:
        usual = (
            texts(f"declared.result.{'yes' if value else 'no'}") if isinstance(value, bool) else str(value)
        )
        return texts.get(f"{name}.{value}", texts.get(f"{prefix}.choice.{value}", usual))

    def line(field: str, value: Any) -> str:
        name = f"{prefix}.field.{field}"
        label = texts.get(name, field.replace("_", " ").capitalize())
        several = value if isinstance(value, list | tuple) else [value]
        return texts(
            "declared.fields.line", label=label, value=", ".join(value_text(name, each) for each in several)
        )

    return "\n".join(line(field, value) for field, value in filled.items())


def browser_texts(texts: Strings) -> str:
    """Return the texts used by the browser scripts, as JSON."""
    names = ("app.offline", "app.failed", "app.copied", "app.copy_failed", "play.empty", "play.full")
    return json.dumps({name.partition(".")[2]: texts(name) for name in names}, ensure_ascii=False)


def render(template: str, texts: Strings, **context: object) -> str:
    """Return the HTML of ``templates/{template}.html.jinja`` with the texts as ``t``."""
    return environment().get_template(f"{template}.html.jinja").render(t=texts, **context)


@lru_cache(maxsize=2048)
def cached_part(template: str, texts: Strings, **values: object) -> Markup:
    """Return a part of pages that is rendered once for the same (hashable) values."""
    return Markup(render(template, texts, **values))


# ---- the frame of every page


@dataclass(frozen=True, slots=True)
class BenchmarkLink:
    """The link to a benchmark's entry page.

    Attributes:
        name: prefix of the benchmark's texts: ``{name}.name``, ``{name}.card_text``, ``{name}.card_link``.
        path: path of the entry page.
    """

    name: str
    path: str
    icon: str


@dataclass(frozen=True, slots=True)
class Frame:
    """The data of a page's frame.

    Attributes:
        query: query string of the page, without the leading ``?``.
        research: path of the researchers' pages; None if they are not mounted.
        active: entry of the bar to highlight (``research``, a benchmark's name), or empty.
        benchmarks: benchmarks that can be played; the entry page of the first is the home page.
        contact: whom participants of the page's study can write to.
    """

    texts: Strings
    path: str = "/"
    query: str = ""
    research: str | None = None
    active: str = ""
    benchmarks: tuple[BenchmarkLink, ...] = ()
    contact: str = ""

    @property
    def switch(self) -> str:
        """Link to the same page in the other language."""
        kept = [(name, value) for name, value in parse_qsl(self.query) if name != "lang"]
        return f"{self.path}?{urlencode([*kept, ('lang', self.other_language)])}"

    @property
    def other_language(self) -> str:
        """Tag of the language that the switch selects."""
        return next(language for language in LANGUAGES if language != self.texts.language)


def message_page(frame: Frame, name: str) -> str:
    """Return a page that explains why something is not possible (``message.{name}_title``)."""
    return render("message", frame.texts, frame=frame, name=name)


# ---- opponents offered on an entry page


def opponent_words(texts: Strings, opponent: Opponent, key: str) -> tuple[str, str, str]:
    """Return an opponent's kind (``offline``, ``model``, ``person``), name and note.

    The texts are those under `key`, else those of the kind. The note of an unavailable opponent says why.
    """
    provider = opponent.name.partition("/")[0]
    kind = provider if provider in ("offline", PERSON) else "model"
    slug = opponent.name.replace("/", "_").replace(":", "_")
    label = texts.get(f"{key}.{slug}", texts.get(f"home.opponents.{slug}", opponent.label))
    if not opponent.available:
        return kind, label, texts("home.needs_key", variable=opponent.requires)
    return kind, label, texts.get(f"{key}.{slug}_note", texts(f"home.opponents.{kind}_note"))


# ---- a tree of answers: a small map of it, and its replay turn by turn


@dataclass(frozen=True, slots=True)
class Dot:
    """A node on the map: its position, and its parent's, to draw the line to (None at the root)."""

    index: str
    x: float
    y: float
    parent: tuple[float, float] | None


@dataclass(frozen=True, slots=True)
class Map:
    """A small map of a tree; width and height are in units of the view box."""

    width: float
    height: float
    dots: tuple[Dot, ...]


STEP_X, STEP_Y, MARGIN = 44.0, 46.0, 20.0


def small_map(root: TreeNode) -> Map:
    """Lay out a tree: leaves side by side, every parent above the middle of its children."""
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
    """Return JSON for the browser: per turn, the nodes that it gave and those available after it."""
    return json.dumps([{"gave": list(turn.gave), "available": list(turn.available)} for turn in block.turns])
