"""Models that write: people's forms (spec 3, 5.1, 9), disambiguations (6.2), paraphrases of claims (10).

Models that fill in forms are shown what a person is shown, step by step, and answer with an object; `forms`
reads it like a person's form.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Final, cast

from pydantic import BaseModel

from personas.templates import render
from simulator.ambient.annotation.rules import MAX_REWRITES
from simulator.ambient.claims import PARAPHRASES, kept, paraphrase_prompt
from simulator.ambient.items import ClaimItem, GenerateItem, NliItem
from simulator.ambient.labels import Label
from simulator.ambient.parsing import BLANK_LINE
from simulator.ambient.players.knows import Knows, asked_in
from simulator.ambient.playing import Kind, Options
from simulator.ambient.prompts import instruction, prompt
from simulator.ambient.shown import Shown
from simulator.ambient.views import Discard
from simulator.models import ChatModel, Message, Request, as_sent, sample
from simulator.models.decoding import drawn
from simulator.models.schema import parse
from simulator.seats import Reply, View

SEED: Final = 0
_MOST_TOKENS: Final = 1024


class OneLabel(BaseModel):
    """A label for the original pair."""

    label: Label


class Plausible(BaseModel):
    """The judgments on candidates: which of them are possible interpretations."""

    plausible: list[bool]


class Labels(BaseModel):
    """A label for each pair, or a set of labels."""

    labels: list[Label]


class Rewrite(BaseModel):
    """A pair rewritten for one reading."""

    premise: str
    hypothesis: str
    label: Label


class Annotated(BaseModel):
    """A linguist's form."""

    discard: Discard | None
    labels: list[Label]
    rewrites: list[Rewrite]
    comment: str


_ASKED: Final[Mapping[Kind, tuple[str, type[BaseModel]]]] = {
    "label": ("crowd_label", OneLabel),
    "plausible": ("crowd_plausible", Plausible),
    "relabel": ("crowd_relabel", Labels),
    "annotate": ("annotate", Annotated),
    "nli": ("label_set", Labels),
}
FILLED: Final[tuple[Kind, ...]] = tuple(_ASKED)


async def fill_in(model: ChatModel, view: View, place: int = 0) -> Reply:
    """Return a model's form.

    Args:
        model: a chat model.
        view: its `task` is a `Knows`.
        place: of the step among the view's.

    Raises:
        ModelError: if the model fails, or answers with something else.
    """
    knows: Knows = view.task
    step = knows.steps[place]
    name, schema = _ASKED[step.kind]
    shown = _pair(knows.item, step.number) if isinstance(knows.item, NliItem) else knows.shown
    variables = {**asdict(shown), "most": MAX_REWRITES}
    prompt = render(f"ambient/{name}", Options.read(view.options).language, variables)
    follows = model.capabilities.schema
    request = as_sent(
        model,
        Request(
            messages=(Message("user", prompt.text),),
            temperature=0.0,
            max_tokens=_MOST_TOKENS,
            seed=SEED,
            schema=schema if follows else None,
            repeat=view.repeat,
            prompt_version=prompt.version,
            **asked_in(view, step.kind, place),
        ),
    )
    answer = await model.complete(request)
    form = cast(BaseModel, answer.parsed if follows else parse(answer.text, schema)).model_dump()
    move = {"prediction": form["labels"]} if step.kind == "nli" else form
    decoding = {"service": model.name, **drawn(request)}
    return Reply(text=answer.text, move={**move, "decoding": decoding}, seconds=answer.seconds)


def _pair(item: NliItem, number: int) -> Shown:
    premise, hypothesis = item.pairs[number]
    return Shown(premise=premise, hypothesis=hypothesis)


async def generate(model: ChatModel, view: View, item: GenerateItem) -> Reply:
    """Return a model's disambiguations: the prompt continued if it can do that, else an answer to it."""
    plain, most = model.capabilities.plain, Options.read(view.options).max_tokens
    request = as_sent(
        model,
        Request(
            messages=(Message("user", prompt(item)),),
            plain=plain,
            temperature=0.0,
            max_tokens=most,
            seed=SEED,
            stop=(BLANK_LINE,),
            repeat=view.repeat,
            prompt_version=instruction(item.side, item.instruction).version,
            **asked_in(view, "generate"),
        ),
    )
    answer = await model.complete(request)
    decoding = {"service": model.name, **drawn(request), "stop": [BLANK_LINE], "plain": plain}
    return Reply(text=answer.text, move={"decoding": decoding}, seconds=answer.seconds)


async def paraphrase(model: ChatModel, view: View, item: ClaimItem) -> Reply:
    """Return a model's paraphrases of a claim; what goes over a line is put on one."""
    options, plain = Options.read(view.options), model.capabilities.plain
    asked = paraphrase_prompt(item)
    request = as_sent(
        model,
        Request(
            messages=(Message("user", asked.text),),
            plain=plain,
            temperature=1.0,
            top_p=options.top_p,
            max_tokens=options.max_tokens,
            seed=view.seed,
            # A plain model would go on with a text of its own.
            stop=("\n",) if plain else (),
            samples=PARAPHRASES,
            repeat=view.repeat,
            prompt_version=asked.version,
            **asked_in(view, "paraphrase"),
        ),
    )
    answers = await sample(model, request)
    texts = [" ".join(text.split()) for text in answers.samples]
    distinct = list(kept(texts, item.cleaned))
    told = {"top_p": request.top_p, "samples": PARAPHRASES}
    decoding = {"service": model.name, **drawn(request), **told}
    move = {"texts": texts, "kept": distinct, "decoding": decoding}
    return Reply(text="\n".join(distinct), move=move, seconds=answers.seconds)
