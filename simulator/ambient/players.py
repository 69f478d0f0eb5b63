"""Players for the annotator's seat: language models, for every task, and built-in players.

Models see what a person sees, step by step, and fill in the same forms (spec 3, 5.1, 9) as objects that are
validated like a person's. They also write disambiguations (6.2) and paraphrases (10). The built-in players
answer with the dataset's annotation, at random, or by copying the sentence.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from random import Random
from typing import Any, Final, cast

from pydantic import BaseModel

from personas.templates import render
from simulator.ambient.annotation.rules import MAX_REWRITES, Annotation, Discard, Rewrite
from simulator.ambient.benchmark import BENCHMARK
from simulator.ambient.claims import PARAPHRASES, distinct_paraphrases, paraphrase_prompt
from simulator.ambient.examples import Disambiguation, Example, squeeze
from simulator.ambient.items import (
    AnnotateItem,
    ClaimItem,
    ContinueItem,
    CrowdItem,
    GenerateItem,
    Item,
    NliItem,
    Task,
    TrueFalseItem,
)
from simulator.ambient.labels import LABEL_SETS, LABELS, VERBALIZERS, Label, LabelSet, format_labels, in_order
from simulator.ambient.likelihoods import (
    PREFIX,
    ClaimScorer,
    continue_all,
    judge_all,
    load_annotator,
    load_scorer,
    scored_claim,
)
from simulator.ambient.playing import (
    ANNOTATOR,
    Kind,
    Knows,
    Options,
    ShownTexts,
    Step,
    request_of,
    statements,
)
from simulator.ambient.prompts import BLANK_LINE, instruction, prompt
from simulator.errors import SeatError
from simulator.models import ChatModel, as_sent, sample
from simulator.models.decoding import decoding_values
from simulator.models.schema import parse
from simulator.runner.machines import refuse_unknown
from simulator.seats import Kind as SeatKind
from simulator.seats import Reply, Seat, View
from simulator.seeds import derive_seed

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


class Annotated(BaseModel):
    """A linguist's form."""

    discard: Discard | None
    labels: list[Label]
    rewrites: list[Rewrite]
    comment: str


_FORMS: Final[Mapping[Kind, tuple[str, type[BaseModel]]]] = {
    "label": ("crowd_label", OneLabel),
    "plausible": ("crowd_plausible", Plausible),
    "relabel": ("crowd_relabel", Labels),
    "annotate": ("annotate", Annotated),
    "nli": ("label_set", Labels),
}
"""The prompt and the answer's schema of each step; models are sent the schemas' names and docstrings, too."""


async def fill_in(model: ChatModel, view: View, place: int = 0) -> Reply:
    """Return a model's form for the step at `place` of the open ones."""
    knows: Knows = view.task
    step = knows.steps[place]
    name, schema = _FORMS[step.kind]
    shown = _pair(knows.item, step.number) if isinstance(knows.item, NliItem) else knows.shown
    variables = {**asdict(shown), "most": MAX_REWRITES}
    prompt = render(f"ambient/{name}", Options.read(view.options).language, variables)
    structured = model.capabilities.schema
    asked = request_of(
        view,
        step.kind,
        prompt.text,
        place,
        max_tokens=_MOST_TOKENS,
        schema=schema if structured else None,
        prompt_version=prompt.version,
    )
    request = as_sent(model, asked)
    answer = await model.complete(request)
    form = cast(BaseModel, answer.parsed if structured else parse(answer.text, schema)).model_dump()
    move = {"prediction": form["labels"]} if step.kind == "nli" else form
    decoding = {"service": model.name, **decoding_values(request)}
    return Reply(text=answer.text, move={**move, "decoding": decoding}, seconds=answer.seconds)


def _pair(item: NliItem, number: int) -> ShownTexts:
    premise, hypothesis = item.pairs[number]
    return ShownTexts(premise=premise, hypothesis=hypothesis)


async def generate(model: ChatModel, view: View, item: GenerateItem) -> Reply:
    """Return a model's disambiguations: a continuation of the prompt if possible, else an answer to it."""
    plain, most = model.capabilities.plain, Options.read(view.options).max_tokens
    asked = request_of(
        view,
        "generate",
        prompt(item),
        plain=plain,
        max_tokens=most,
        stop=(BLANK_LINE,),
        prompt_version=instruction(item.side, item.instruction).version,
    )
    request = as_sent(model, asked)
    answer = await model.complete(request)
    decoding = {"service": model.name, **decoding_values(request), "stop": [BLANK_LINE], "plain": plain}
    return Reply(text=answer.text, move={"decoding": decoding}, seconds=answer.seconds)


async def paraphrase(model: ChatModel, view: View, item: ClaimItem) -> Reply:
    """Return a model's paraphrases of a claim, each on one line."""
    options, plain = Options.read(view.options), model.capabilities.plain
    prompt = paraphrase_prompt(item)
    asked = request_of(
        view,
        "paraphrase",
        prompt.text,
        plain=plain,
        temperature=1.0,
        top_p=options.top_p,
        max_tokens=options.max_tokens,
        seed=view.seed,
        # A plain model would continue with other text.
        stop=("\n",) if plain else (),
        samples=PARAPHRASES,
        prompt_version=prompt.version,
    )
    request = as_sent(model, asked)
    answers = await sample(model, request)
    texts = list(map(squeeze, answers.samples))
    distinct = list(distinct_paraphrases(texts, item.cleaned))
    settings = {"top_p": request.top_p, "samples": PARAPHRASES}
    decoding = {"service": model.name, **decoding_values(request), **settings}
    move = {"texts": texts, "kept": distinct, "decoding": decoding}
    return Reply(text="\n".join(distinct), move=move, seconds=answers.seconds)


class ModelAnnotator:
    """A language model. Independent steps of an item are requested concurrently."""

    kind: SeatKind = "model"

    def __init__(self, model: ChatModel, scorer: ClaimScorer | None = None) -> None:
        self._model = model
        self._scorer = scorer
        self.name = model.name

    def answers_all(self, item: Item) -> bool:
        """Return True if the item's steps are independent; a crowdworker's are not."""
        return isinstance(item, TrueFalseItem | ContinueItem | NliItem)

    async def answer_all(self, view: View) -> tuple[Reply, ...]:
        """See `AnswersAll`."""
        knows: Knows = view.task
        match knows.item:
            case TrueFalseItem():
                return await judge_all(self._model, view, knows.item)
            case ContinueItem():
                return await continue_all(self._model, view, knows.item)
        places = range(len(knows.steps))
        return tuple(await asyncio.gather(*(fill_in(self._model, view, place) for place in places)))

    async def reply(self, view: View) -> Reply:
        """Answer the current step.

        Raises:
            SeatError: if the model cannot do it.
        """
        knows: Knows = view.task
        item, kind = knows.item, knows.steps[0].kind
        if kind in _FORMS:
            return await fill_in(self._model, view)
        if isinstance(item, GenerateItem):
            return await generate(self._model, view, item)
        if isinstance(item, ClaimItem) and kind == "paraphrase":
            return await paraphrase(self._model, view, item)
        if isinstance(item, ClaimItem) and self._scorer is not None:
            texts = [text for text in dict(knows.said)["paraphrase"].split("\n") if text]
            return scored_claim(await self._scorer(item.cleaned, texts), self._scorer.name)
        raise SeatError(f"{self.name} cannot do the step {kind} here.", ANNOTATOR, code="task")


def seat_for(seat: str, name: str, models: Callable[[str], ChatModel], options: Mapping[str, Any]) -> Seat:
    """Return the player called `name`: built-in, an NLI model in a folder, or a language model.

    Raises:
        InputError: if an offline player is unknown, or a folder contains no NLI model.
        ModelError: if a model cannot be loaded.
    """
    if name in PLAYERS:
        return OfflineAnnotator(name, PLAYERS[name])
    refuse_unknown(seat, name, BENCHMARK.seat(seat).known)
    if name.startswith(PREFIX):
        return load_annotator(name)
    folder = str(options.get("nli", ""))
    return ModelAnnotator(models(name), load_scorer(folder) if folder else None)


# ---- the built-in players

Rule = Callable[[Item, Step, Random], Reply]
"""A player's answer to a step; the random generator is seeded by step and player."""


class OfflineAnnotator:
    """A player that answers by a rule."""

    kind: SeatKind = "offline"

    def __init__(self, name: str, rule: Rule) -> None:
        self.name = name
        self._rule = rule

    async def reply(self, view: View) -> Reply:
        """Answer the current step.

        Raises:
            SeatError: if the rule does not cover the task.
        """
        knows: Knows = view.task
        # The name is part of the seed, so that two guessing players do not agree.
        return self._rule(knows.item, knows.steps[0], Random(derive_seed(view.seed, self.name)))


def _rewrites_reply(rewrites: Iterable[tuple[Label, str]]) -> Reply:
    """Return rewrites in the form that models are asked for (spec 6.2)."""
    lines = (f"{place}. {text} {VERBALIZERS[label]}" for place, (label, text) in enumerate(rewrites, start=1))
    return Reply(text="\n".join(lines), seconds=0.0)


def _gold(item: Item, step: Step, random: Random) -> Reply:
    match item, step.kind:
        case CrowdItem(), "label":
            return _form({"label": random.choice(in_order(item.gold) or LABELS)})
        case CrowdItem(), "plausible":
            return _form({"plausible": [candidate.label is not None for candidate in item.candidates]})
        case CrowdItem(), _:
            # The dataset has no label for the pair with the distractor.
            return _form({"labels": [candidate.label or "neutral" for candidate in item.candidates]})
        case AnnotateItem(), _:
            gold = Annotation(labels=item.example.labels, rewrites=item.example.disambiguations)
            return _form(gold.payload())
        case GenerateItem(), _:
            readings = item.example.disambiguations
            return _rewrites_reply((reading.label, reading.sentence(item.side)) for reading in readings)
        case TrueFalseItem(), _:
            return _form({"answer": statements(item)[step.number].answer})
        case NliItem(), _:
            return _label_reply(item.gold[step.number])
    raise _cannot_play("offline/gold", item)


def _random(item: Item, step: Step, random: Random) -> Reply:
    match item, step.kind:
        case CrowdItem(), "label":
            return _form({"label": random.choice(LABELS)})
        case CrowdItem(), "plausible":
            return _form({"plausible": [random.random() < 0.5 for _ in item.candidates]})
        case CrowdItem(), _:
            return _form({"labels": [random.choice(LABELS) for _ in item.candidates]})
        case AnnotateItem(), _:
            return _form(_random_annotation(item.example, random).payload())
        case GenerateItem(), _:
            labels = random.sample(LABELS, random.choice((2, 3)))
            original = item.example.sentence(item.side)
            return _rewrites_reply((label, _drop_word(original, random)) for label in labels)
        case TrueFalseItem(), _:
            return _form({"answer": random.random() < 0.5})
        case NliItem(), _:
            return _label_reply(random.choice(LABEL_SETS))
    raise _cannot_play("offline/random", item)


def _random_annotation(example: Example, random: Random) -> Annotation:
    """Return a random one of the seven label sets; with several labels, rewrites are numbered copies."""
    labels = random.choice(LABEL_SETS)
    if len(labels) == 1:
        return Annotation(labels=labels)
    premise = random.random() < 0.5
    rewrites = tuple(
        Disambiguation(
            f"{example.premise} ({number})" if premise else example.premise,
            example.hypothesis if premise else f"{example.hypothesis} ({number})",
            label,
        )
        for number, label in enumerate(in_order(labels), start=1)
    )
    return Annotation(labels=labels, rewrites=rewrites)


def _copy(item: Item, step: Step, random: Random) -> Reply:
    if not isinstance(item, GenerateItem):
        raise _cannot_play("offline/copy", item)
    return _rewrites_reply((label, item.example.sentence(item.side)) for label in LABELS)


def _drop_word(sentence: str, random: Random) -> str:
    """Return the sentence without one of its words."""
    words = sentence.split(" ")
    dropped = random.randrange(len(words))
    return " ".join(word for place, word in enumerate(words) if place != dropped) or sentence


def _form(move: dict[str, Any]) -> Reply:
    return Reply(move=move, seconds=0.0)


def _label_reply(labels: LabelSet) -> Reply:
    return Reply(text=format_labels(labels), move={"prediction": in_order(labels)}, seconds=0.0)


def _cannot_play(name: str, item: Item) -> SeatError:
    return SeatError(f"{name} cannot do the task {item.task}.", ANNOTATOR, code="task")


PLAYERS: Final[dict[str, Rule]] = {"offline/gold": _gold, "offline/random": _random, "offline/copy": _copy}
_TASKS: Final[tuple[Task, ...]] = ("crowd", "evaluate", "annotate", "generate", "true_false", "nli")
TASKS_OF: Final[Mapping[str, tuple[Task, ...]]] = {
    "offline/gold": _TASKS,
    "offline/random": _TASKS,
    "offline/copy": ("generate",),
}
"""The tasks of each built-in player; continuing sentences and scoring claims need a model."""
