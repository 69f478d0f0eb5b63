"""Prompts by role (spec 6): what a model reads, made of a task at the point where it parts.

A template ``personas/ambik/<role>.<language>.jinja`` is a whole conversation: what stands before the first
line ``<<<user>>>`` is the system's message, and every such line (or ``<<<assistant>>>``) begins another. All
messages but the last are the same for all items; the last holds the item. Text of items and people stands on
one line each and cannot hold such a mark (``quoted``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from random import Random
from typing import Any, Final, cast

from personas.templates import TemplateError, render
from simulator.ambik.items import DecideItem
from simulator.ambik.naming import bare
from simulator.ambik.playing import Exchanges, exchange_of
from simulator.ambik.records import Letter
from simulator.ambik.terms import APPLIANCES, DO_NOTHING, NOT_LISTED, Certainty, Context, Dialogue, Role
from simulator.models import ChatModel, Message, Request
from simulator.models.base import Role as Speaker

TURNS: Final[Mapping[str, str]] = {"en": "\nScene:", "zh": "\n场景"}
"""By language: how the user's turn begins, before which a model that continues a text must stop."""
THOUGHTS: Final = 4096
"""Tokens for models that take no temperature: they think before they write, and it counts."""
_MARK: Final = re.compile(r"^<<<(user|assistant)>>>$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Case:
    """A task as the prompts tell it (spec 5).

    Attributes:
        context: ``action_only`` leaves out task and previous steps, if there is a step to go by.
        dialogue: ``after``: the pair's question and answer follow the ambiguous task.
        exchanges: questions with answers; part of every prompt, also where the task is left out.
        language: of the words around the data's English.
    """

    item: DecideItem
    context: Context = "full_plan"
    dialogue: Dialogue = "before"
    exchanges: Exchanges = ()
    language: str = "en"


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt for a model.

    Attributes:
        version: content hash of the template.
        shared: leading messages that all items of a dataset have in common.
    """

    messages: tuple[Message, ...]
    version: str
    shared: int

    @property
    def text(self) -> str:
        """As one text, for models that continue texts and for the log."""
        return "\n\n".join(_paragraphs(self.messages))


def prompt(role: Role, case: Case, **more: object) -> Prompt:
    """Return the prompt of a role.

    `more`: what the role's template wants beside it: ``options`` (letters with texts), ``action``,
    ``actions``; ``question``, ``wish`` and ``detail`` of a user's answer.

    Raises:
        TemplateError: if the template is missing or malformed, lacks a variable or does not end with a
            message of the user's.
    """
    variables: dict[str, Any] = {
        "dataset": case.item.dataset,
        "appliances": APPLIANCES,
        "scene": case.item.about.scene,
        "task": case.item.instruction,
        "previous": case.item.previous,
        "step": case.item.step,
        "exchanges": exchange_of(case.item, case.dialogue) + case.exchanges,
        "full": case.context == "full_plan",
        **more,
    }
    return rendered(role, case.language, variables)


def rendered(name: str, language: str, variables: Mapping[str, Any]) -> Prompt:
    """Return a template of the package's as a prompt: the conversation that it is.

    Raises:
        TemplateError: if it does not end with a message of the user's.
    """
    template = render(f"ambik/{name}", language, variables)
    first, *rest = _MARK.split(template.text)
    pairs = zip(rest[::2], rest[1::2], strict=True)
    messages = [Message(cast(Speaker, role), part.strip()) for role, part in pairs]
    if not messages or messages[-1].role != "user":
        where = f"ambik/{name}.{language}"
        raise TemplateError(f"{where}: the last part must begin with the line <<<user>>> and hold the item")
    system = [Message("system", first.strip())] if first.strip() else []
    return Prompt((*system, *messages), template.version, len(system) + len(messages) - 1)


def request_for(model: ChatModel, asked: Prompt, **settings: Any) -> Request:
    """Return a prompt as a request of a model; one that only continues texts gets one text."""
    if "temperature" in getattr(model, "ignored", ()):
        settings["max_tokens"] = max(settings["max_tokens"], THOUGHTS)
    # As in all benchmarks: a backend that can follow no schema, but continue texts, knows no chats.
    if model.capabilities.plain and not model.capabilities.schema:
        text = (Message("user", asked.text + "\n"),)
        return Request(messages=text, plain=True, prompt_version=asked.version, **settings)
    return Request(messages=asked.messages, shared=asked.shared, prompt_version=asked.version, **settings)


def _paragraphs(messages: tuple[Message, ...]) -> list[str]:
    """Return the messages' texts; an answer follows its question on the next line."""
    paragraphs: list[str] = []
    for message in messages:
        if message.role == "assistant" and paragraphs:
            paragraphs[-1] += f"\n{message.content}"
        else:
            paragraphs.append(message.content)
    return paragraphs


_LINE: Final = "\n"
_LABEL: Final = re.compile(
    r"^(?:(?:your |my )?(?:question|answer|reply)|问题|回答|你的回答)\s*[:：]\s*", re.I
)
_MARKS: Final = "\"'“”„«»「」*_<> "


async def one_line(model: ChatModel, request: Request, language: str) -> str:
    """Return what a model writes up to the end of its first line, with that line's label.

    A model that begins with an empty line is asked again, to write until the next turn.
    """
    text = (await model.complete(replace(request, stop=(_LINE,)))).text
    if text.strip():
        return text
    return (await model.complete(replace(request, stop=(TURNS[language],)))).text


def read_line(text: str, most: int) -> str:
    """Return the first line that says something, without label and quotation marks, cut after `most` letters.

    A line that ends with a colon only announces what comes.
    """
    for line in text.splitlines():
        words = _LABEL.sub("", " ".join(line.split()).strip(_MARKS)).strip(_MARKS)
        if any(map(str.isalnum, words)) and not words.endswith((":", "：")):
            return words[:most]
    return ""


# ---- what models wrote, read: four options, one action, a word of certainty (spec 6, 8.1, 8.4)

LETTERS: Final[tuple[Letter, ...]] = ("A", "B", "C", "D")
FIVE: Final[tuple[Letter, ...]] = (*LETTERS, "E")
# Models put bullets, marks of emphasis and opening brackets in front of labels.
_OPTION: Final = re.compile(
    r"^[\s>*_\-\u2022(\[]*(?P<label>[A-D1-4])[*_]*(?:[)\uff09\uff0e]|\.(?!\d))[\s*_]*(?P<text>.*)$", re.I
)
_ACTION_LABEL: Final = re.compile(
    r"^[\s>*_\-\u2022]*(?:(?:next |the )*(?:action|step|answer|option|动作|选项)\s*[:：][\s*_]*|"
    r"[(\[]*[A-E1-5][*_]*(?:[)\uff09\uff0e]|\.(?!\d))[\s*_]*)?",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Options:
    """Options by letter.

    Attributes:
        texts: in the letters' order.
        filled: letters for which ``do nothing`` stands because the model wrote none.
    """

    texts: Mapping[Letter, str]
    filled: tuple[Letter, ...] = ()


def read_options(text: str) -> Options:
    """Return the four options in what a model wrote.

    An option is a line that begins with a letter A to D (or a digit 1 to 4) and ``)`` or ``.``; of several
    with the same letter the first counts. Options that say the same stay as they are.
    """
    written: dict[Letter, str] = {}
    for match in filter(None, map(_OPTION.match, text.splitlines())):
        label, option = match["label"].upper(), _strip_emphasis(match["text"])
        if option:
            written.setdefault(LETTERS[int(label) - 1] if label.isdigit() else label, option)
    filled = tuple(letter for letter in LETTERS if letter not in written)
    return Options({letter: written.get(letter, DO_NOTHING) for letter in LETTERS}, filled)


def with_not_listed(options: Options, seed: int) -> Options:
    """Return five options in the manner of KnowNo's authors, in the order of a seed (spec 8.1).

    What is said twice is left once, ``do nothing`` fills up to four, a fifth says that none of them is meant,
    and all are shuffled.
    """
    written = [options.texts[letter] for letter in LETTERS if letter not in options.filled]
    distinct = list({bare(text): text for text in reversed(written)}.values())[::-1]
    fillers = len(LETTERS) - len(distinct)
    texts = [*((text, False) for text in distinct), *([(DO_NOTHING, True)] * fillers), (NOT_LISTED, False)]
    Random(seed).shuffle(texts)
    lettered = list(zip(FIVE, texts, strict=True))
    return Options(
        {letter: text for letter, (text, _) in lettered},
        tuple(letter for letter, (_, filler) in lettered if filler),
    )


def read_action(text: str) -> str:
    """Return the one action in what a model wrote: its first line that says something, without label."""
    actions = (_strip_emphasis(_ACTION_LABEL.sub("", line, count=1)) for line in text.splitlines())
    return next(filter(None, actions), "")


def read_certainty(text: str) -> Certainty:
    """Return certain or uncertain, whatever the case and white space around; anything else is invalid."""
    words: dict[str, Certainty] = {"certain": "certain", "uncertain": "uncertain"}
    return words.get(text.strip().lower(), "invalid")


def _strip_emphasis(text: str) -> str:
    """Return a text in single blanks, without marks of emphasis around it."""
    return " ".join(text.split()).strip("*_ ")
