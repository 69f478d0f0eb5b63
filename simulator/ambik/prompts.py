"""Prompts by role (spec 6), and parsers of what models write (spec 6, 8).

A template ``personas/ambik/<role>.<language>.jinja`` is a complete conversation: the text before the first
line ``<<<user>>>`` is the system message, and every such line (or ``<<<assistant>>>``) begins another
message. All messages but the last are the same for all items; the last contains the item. Texts of items and
people are on one line each and cannot contain such a mark (``quoted``).
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
from simulator.models.decoding import THOUGHTS

TURNS: Final[Mapping[str, str]] = {"en": "\nScene:", "zh": "\n场景"}
"""The beginning of the user's turn, by language: a model that continues a text must stop there."""
_MARK: Final = re.compile(r"^<<<(user|assistant)>>>$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Case:
    """A task as presented in prompts (spec 5).

    Attributes:
        context: ``action_only`` omits task and previous steps, if there is a step to decide on.
        dialogue: ``after``: the pair's question and answer follow the ambiguous task.
        exchanges: questions with answers; part of every prompt, even if the task is omitted.
        language: language of the text around the English data.
    """

    item: DecideItem
    context: Context = "full_plan"
    dialogue: Dialogue = "before"
    exchanges: Exchanges = ()
    language: str = "en"


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt for a model.

    `version`: content hash of the template; `shared`: number of leading messages that are the same for all
    items of a data set.
    """

    messages: tuple[Message, ...]
    version: str
    shared: int

    @property
    def text(self) -> str:
        """The prompt as one text, for models that continue texts and for the log."""
        return "\n\n".join(_paragraphs(self.messages))


def prompt_for(role: Role, case: Case, **more: object) -> Prompt:
    """Return the prompt of a role.

    `more`: further variables of the role's template: ``options`` (letters with texts), ``action``,
    ``actions``; ``question``, ``wish`` and ``detail`` for a user's answer.

    Raises:
        TemplateError: if the template is missing or malformed, lacks a variable or does not end with a user
            message.
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
    return render_prompt(role, case.language, variables)


def render_prompt(name: str, language: str, variables: Mapping[str, Any]) -> Prompt:
    """Render one of the package's templates and split it into the messages of a conversation.

    Raises:
        TemplateError: if it does not end with a user message.
    """
    template = render(f"ambik/{name}", language, variables)
    first, *rest = _MARK.split(template.text)
    pairs = zip(rest[::2], rest[1::2], strict=True)
    messages = [Message(cast(Speaker, role), part.strip()) for role, part in pairs]
    if not messages or messages[-1].role != "user":
        where = f"ambik/{name}.{language}"
        raise TemplateError(
            f"{where}: the last part must begin with the line <<<user>>> and contain the item"
        )
    system = [Message("system", first.strip())] if first.strip() else []
    return Prompt((*system, *messages), template.version, len(system) + len(messages) - 1)


def request_for(model: ChatModel, asked: Prompt, **settings: Any) -> Request:
    """Return a request with the prompt; a model that only continues texts gets it as one text."""
    if "temperature" in getattr(model, "ignored", ()):
        settings["max_tokens"] = max(settings["max_tokens"], THOUGHTS)
    # As in all benchmarks: a backend that supports plain text but no schema is not a chat model.
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
    """Return a model's first line, including any label.

    If the first line is empty, the model is asked again with the next turn as the stop.
    """
    text = (await model.complete(replace(request, stop=(_LINE,)))).text
    if text.strip():
        return text
    return (await model.complete(replace(request, stop=(TURNS[language],)))).text


def read_line(text: str, most: int) -> str:
    """Return the first line with content, without label and quotation marks, cut after `most` letters.

    A line that ends with a colon is skipped as an announcement.
    """
    for line in text.splitlines():
        words = _LABEL.sub("", " ".join(line.split()).strip(_MARKS)).strip(_MARKS)
        if any(map(str.isalnum, words)) and not words.endswith((":", "：")):
            return words[:most]
    return ""


# ---- parsers: four options, one action, a word of certainty (spec 6, 8.1, 8.4)

LETTERS: Final[tuple[Letter, ...]] = ("A", "B", "C", "D")
FIVE: Final[tuple[Letter, ...]] = (*LETTERS, "E")
# Models write bullets, emphasis marks and opening brackets before labels.
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

    `texts`: option texts, in the order of the letters; `filled`: letters with the filler ``do nothing``
    because the model wrote no option.
    """

    texts: Mapping[Letter, str]
    filled: tuple[Letter, ...] = ()


def read_options(text: str) -> Options:
    """Parse the four options in a model's text.

    An option is a line that begins with a letter A to D (or a digit 1 to 4) and ``)`` or ``.``; if a letter
    occurs several times, the first counts. Options with equal texts are kept.
    """
    written: dict[Letter, str] = {}
    for match in filter(None, map(_OPTION.match, text.splitlines())):
        label, option = match["label"].upper(), _strip_emphasis(match["text"])
        if option:
            written.setdefault(LETTERS[int(label) - 1] if label.isdigit() else label, option)
    filled = tuple(letter for letter in LETTERS if letter not in written)
    return Options({letter: written.get(letter, DO_NOTHING) for letter in LETTERS}, filled)


def with_not_listed(options: Options, seed: int) -> Options:
    """Return five options as KnowNo's authors make them, shuffled with a seed (spec 8.1).

    Duplicates are removed, ``do nothing`` fills up to four, and the fifth is "none of the others".
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
    """Parse the one action in a model's text: its first line with content, without label."""
    actions = (_strip_emphasis(_ACTION_LABEL.sub("", line, count=1)) for line in text.splitlines())
    return next(filter(None, actions), "")


def read_certainty(text: str) -> Certainty:
    """Parse certain or uncertain, ignoring case and surrounding white space; anything else is invalid."""
    words: dict[str, Certainty] = {"certain": "certain", "uncertain": "uncertain"}
    return words.get(text.strip().lower(), "invalid")


def _strip_emphasis(text: str) -> str:
    """Return a text with single blanks and without surrounding emphasis marks."""
    return " ".join(text.split()).strip("*_ ")
