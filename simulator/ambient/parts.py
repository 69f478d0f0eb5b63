"""What `askback run ambient` plays: the items of each task, and who can do it (spec 5 to 10)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from simulator.ambient.assignment import results_of
from simulator.ambient.claims import clean_claim
from simulator.ambient.continuations import STEMS, continue_items
from simulator.ambient.data import BUILTIN, Split, load_claims, load_examples
from simulator.ambient.distractors import DistractorRule
from simulator.ambient.evaluation import distractors_of, evaluation_items
from simulator.ambient.examples import Example
from simulator.ambient.files.claims import read_results
from simulator.ambient.files.distractors import load_distractors
from simulator.ambient.items import (
    TASKS,
    AnnotateItem,
    ClaimItem,
    CrowdItem,
    GenerateItem,
    InstructionText,
    Item,
    NliItem,
    Task,
)
from simulator.ambient.labels import Side
from simulator.ambient.players.inference import PREFIX
from simulator.ambient.players.offline import TASKS_OF
from simulator.ambient.prepare import annotate_items, crowd_items, nli_items, true_false_items
from simulator.ambient.prompts import SHOTS, generate_items
from simulator.ambient.relations import Relations
from simulator.errors import InputError
from simulator.models import Capabilities, ModelOptions, Needs, load_model
from simulator.sampling import stratified

_IN_PROCESS: Final = ("transformers/", "local/")
_FORMS: Final[tuple[Task, ...]] = ("crowd", "evaluate", "annotate", "nli")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """How items are made.

    Attributes:
        data: ``builtin``, the name of registered data, or a path.
        split: None for the test split where the data have one, else for all of them.
        limit: items per run at most, drawn by the seed in the proportions of all.
        shots: worked examples in a prompt (generate).
        instruction: of a prompt (generate).
        stem: in front of conditioning sentences (continue): ``plain``, ``instructed``, or None for what
            suits the player.
        continuations: per option (continue).
        distractor: the rule that makes it (continue).
        relations: categories of words for it; None for the built-in table.
        results: whose rewrites are judged (evaluate).
        distractors: a file of them (crowd, evaluate); None: the examples' own.
    """

    data: str = BUILTIN
    split: Split | None = None
    limit: int | None = None
    seed: int = 0
    shots: int = SHOTS
    instruction: InstructionText = "published"
    stem: str | None = None
    continuations: int = 100
    distractor: DistractorRule = "paper"
    relations: Relations | None = field(default=None, repr=False)
    results: tuple[str, ...] = ()
    distractors: Path | None = None


def read_tasks(text: str) -> tuple[Task, ...]:
    """``generate,true-false`` or ``all`` as tasks, each once, in the order of the specification.

    Raises:
        InputError: if it names one that there is not.
    """
    wanted = [word.strip().replace("-", "_") for word in text.split(",")]
    for word in wanted:
        if word not in (*TASKS, "all"):
            known = ", ".join(task.replace("_", "-") for task in TASKS)
            raise InputError(f"--task {word!r}: known are {known} and all.")
    return tuple(task for task in TASKS if task in wanted or "all" in wanted)


def part_examples(wish: Wish) -> tuple[Example, ...]:
    """The examples that items are made of.

    Raises:
        InputError: if the data are faulty, or have no such split.
    """
    if wish.data == BUILTIN:
        return load_examples()  # it is small, and has no splits
    if wish.split is not None:
        return load_examples(wish.data, wish.split)
    every = load_examples(wish.data)
    return tuple(one for one in every if one.split == "test") or every


def part_items(task: Task, player: str, wish: Wish) -> tuple[Item, ...]:
    """The items of a task for a player.

    Raises:
        InputError: if there are none, or the data are faulty.
    """
    made = tuple(_MAKERS[task](player, wish))
    if not made:
        raise InputError(f"data {wish.data!r} hold nothing for the task {task}.")
    return made if wish.limit is None else stratified(made, wish.limit, _strata, wish.seed)


def _generate(player: str, wish: Wish) -> Sequence[Item]:
    made = generate_items(part_examples(wish), seed=wish.seed, shots=wish.shots, instruction=wish.instruction)
    return made


def _continue(player: str, wish: Wish) -> Sequence[Item]:
    return continue_items(
        part_examples(wish),
        seed=wish.seed,
        stem=STEMS[wish.stem or suited_stem(player)],
        wanted=wish.continuations,
        distractor=wish.distractor,
        relations=wish.relations,
    )


def suited_stem(player: str) -> str:
    """The stem for a player whose name tells that it follows instructions; else that of plain models."""
    words = player.lower()
    return "instructed" if player.startswith("local/") or "instruct" in words or "chat" in words else "plain"


def _evaluate(player: str, wish: Wish) -> Sequence[Item]:
    if not wish.results:
        raise InputError("--task evaluate: name the results file or the run that is judged, --results")
    examples = part_examples(wish)
    distractors = {**distractors_of(examples), **_distractors(examples, wish)}
    return evaluation_items(results_of(wish.results), distractors, seed=wish.seed)


def _crowd(player: str, wish: Wish) -> Sequence[Item]:
    examples = part_examples(wish)
    return crowd_items(examples, seed=wish.seed, distractors=_distractors(examples, wish))


def _distractors(examples: Sequence[Example], wish: Wish) -> Mapping[tuple[str, Side], str]:
    return {} if wish.distractors is None else load_distractors(wish.distractors, examples)


def _claims(player: str, wish: Wish) -> Sequence[Item]:
    if wish.data == BUILTIN:
        return [
            ClaimItem(
                id=one.id,
                claim=one.claim,
                cleaned=clean_claim(one.claim),
                justification=one.justification,
                rating=one.rating,
                person=one.person,
                venue=one.venue,
                marks="".join(sorted(one.marks)),
            )
            for one in load_claims()
        ]
    rows, _, faults = read_results(Path(wish.data))
    if faults:
        raise InputError(str(faults[0]))
    return [
        ClaimItem(
            id=one.id,
            claim=one.claim,
            cleaned=one.cleaned or clean_claim(one.claim),
            justification=one.justification,
            rating=one.rating,
            person=one.person,
            venue=one.venue,
            url=one.url,
            marks="".join(sorted(one.marks or ())),
        )
        for one in rows
    ]


_MAKERS: Final[Mapping[Task, Callable[[str, Wish], Sequence[Item]]]] = {
    "crowd": _crowd,
    "evaluate": _evaluate,
    "annotate": lambda player, wish: annotate_items(part_examples(wish)),
    "generate": _generate,
    "true_false": lambda player, wish: true_false_items(part_examples(wish)),
    "continue": _continue,
    "nli": lambda player, wish: nli_items(part_examples(wish)),
    "claim": _claims,
}


def _strata(item: Item) -> tuple[str, ...]:
    """What a part of the items keeps the proportions of: the ambiguous side, and the labels."""
    if isinstance(item, ClaimItem):
        return (item.marks,)
    if isinstance(item, AnnotateItem | NliItem):
        example = item.example
        return (*example.sides, *sorted(example.labels))
    labels = item.gold if isinstance(item, CrowdItem) else ()
    if isinstance(item, GenerateItem):
        labels = item.example.labels
    return (item.side, *sorted(labels))


def refusal(task: Task, player: str, can: Capabilities | None, options: Mapping[str, Any]) -> str:
    """Why a player cannot do a task, in a sentence; empty if it can.

    Args:
        task: the task.
        player: who would sit in the seat.
        can: what a language model can do; None for everybody else.
        options: of the run.
    """
    if player in TASKS_OF:
        return "" if task in TASKS_OF[player] else f"{player} has nothing to say there"
    if player.startswith(PREFIX):
        return "" if task == "nli" else f"{player} gives label sets, which only the task nli asks for"
    if task == "claim" and not options.get("nli"):
        return "paraphrases of claims are scored by a model of inference: name its folder, --nli FOLDER"
    if can is None:
        return ""
    if task == "continue" and not (can.scoring and can.plain):
        return (
            f"{player} gives no probabilities of texts, which continuations are judged by; "
            "take transformers/…, local/… or completions/…"
        )
    if task in _FORMS and not can.schema:
        return f"{player} continues plain texts only; the task {task} asks questions: take a chat model"
    return ""


def needs_of(task: Task) -> Needs:
    """What a task asks of a language model beside text."""
    if task == "continue":
        return Needs(samples=True, scoring=True)
    return Needs(samples=task == "claim", scoring=task == "true_false", schema=task in _FORMS)


def capabilities_of(player: str, models: ModelOptions) -> Capabilities | None:
    """What a language model can do; None for players that are none.

    The weights of models in this process are not loaded for it: those can do everything that is asked about
    here, or say at the first request that they cannot.

    Raises:
        InputError: if the name means nothing.
        ModelError: if a key or an extra that the model needs is missing; says what to do.
    """
    if player.startswith(("offline/", "script:", "person", PREFIX)):
        return None
    if player.startswith(_IN_PROCESS):
        return Capabilities(logprobs=True, schema=True, seed=True, scoring=True, plain=True, samples=True)
    model = load_model(player, models)
    asyncio.run(model.close())
    return model.capabilities
