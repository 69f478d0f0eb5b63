"""Language models that fill in the forms people get: crowdworker, linguist, label set (spec 3, 5.1, 9).

They are shown what a person is shown, step by step, and answer with an object; `forms` reads it like a
person's form.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Final, cast

from pydantic import BaseModel

from personas.templates import render
from simulator.ambient.annotation.rules import MAX_REWRITES
from simulator.ambient.items import NliItem
from simulator.ambient.labels import Label
from simulator.ambient.players.knows import Knows
from simulator.ambient.playing import ANNOTATOR, Kind, Options
from simulator.ambient.shown import Shown
from simulator.ambient.views import Discard
from simulator.models import ChatModel, Message, Request, as_sent
from simulator.models.decoding import drawn
from simulator.models.schema import parse
from simulator.seats import Reply, View

SEED: Final = 0
_MOST_TOKENS: Final = 1024


class OneLabel(BaseModel):
    """A label for the original pair."""

    label: Label


class Plausible(BaseModel):
    """Whether each candidate is a possible interpretation."""

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
    """A model's form.

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
            purpose=f"{ANNOTATOR}.{step.kind}",
            prompt_version=prompt.version,
            episode_id=view.episode_id,
            turn_number=view.number + place,
        ),
    )
    answer = await model.complete(request)
    form = cast(BaseModel, answer.parsed if follows else parse(answer.text, schema)).model_dump()
    decoding = {"service": model.name, **drawn(request)}
    if step.kind == "nli":
        return Reply(
            text=answer.text,
            move={"prediction": form["labels"], "decoding": decoding},
            seconds=answer.seconds,
        )
    return Reply(text=answer.text, move={**form, "decoding": decoding}, seconds=answer.seconds)


def _pair(item: NliItem, number: int) -> Shown:
    premise, hypothesis = item.pairs[number]
    return Shown(premise=premise, hypothesis=hypothesis)
