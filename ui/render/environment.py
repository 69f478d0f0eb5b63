"""The template environment: every value is escaped, an unknown name is an error."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, pass_context
from jinja2.runtime import Context
from markupsafe import Markup

from simulator.blocks import Message, Translated
from ui.i18n import Strings
from ui.problems import trouble_text
from ui.render.tree import small_map, steps_data

_FOLDER = Path(__file__).parent.parent / "templates"


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
    made.globals["browser_texts"] = browser_texts
    made.globals["trouble_text"] = trouble_text
    made.globals["say"] = say
    made.globals["small_map"] = small_map
    made.globals["steps_data"] = steps_data
    made.globals["tongue"] = tongue
    return made


@pass_context
def say(context: Context, value: object) -> str:
    """Return what a block of the page says (`Strings.say`)."""
    texts: Strings = context["t"]
    return texts.say(context["room"].name, value)


@pass_context
def tongue(context: Context, value: object) -> str:
    """Return the attribute that says in which language a block says something."""
    own = context.get("language") or context["view"].language
    language = context["t"].language if isinstance(value, Message | Translated) else own
    return Markup(' lang="{}"').format(language)


def browser_texts(texts: Strings) -> str:
    """Return the texts that our script shows by itself, as JSON."""
    messages = {name: texts(f"app.{name}") for name in ("offline", "failed", "copied", "copy_failed")}
    messages["empty"] = texts("play.empty")
    return json.dumps(messages, ensure_ascii=False)


def render(template: str, texts: Strings, **context: object) -> str:
    """Return the HTML of ``templates/{template}.html.jinja`` with the texts as ``t``."""
    return environment().get_template(f"{template}.html.jinja").render(t=texts, **context)
