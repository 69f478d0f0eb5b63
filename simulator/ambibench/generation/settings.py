"""Prompts of the settings "instruction" (4.2) and "multiple examples" (4.3); spec sections 5.1, 5.2, 5.6.

`draw_…` makes one prompt of a given task from a seed, `generate_…` a whole balanced set.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import Final, Literal

from simulator.ambibench.features import (
    FEATURES,
    FORMATS,
    PAIR_NAMES,
    PAIRS,
    Feature,
    Format,
    Hypothesis,
    Kind,
    Pair,
    Setting,
)
from simulator.ambibench.instructions import LocationWord, instruction
from simulator.ambibench.prompt import Example, Prompt, check_prompt
from simulator.ambibench.sentences import make_sentence
from simulator.seeds import derive_seed

Design = Literal["stratified", "free_coins"]
PER_CELL: Final = 60  # prompts per salient feature and format: 720 in all (spec 5.4)
LENGTH: Final = 20  # examples of an episode of 4.3


def generate_instruction(
    seed: int,
    kind: Kind = "uninformative",
    *,
    per_cell: int = PER_CELL,
    design: Design = "stratified",
    location_word: LocationWord = "setting",
) -> tuple[Prompt, ...]:
    """Prompts of 4.2: two examples from opposite groups and a query that breaks the grouping.

    Args:
        seed: of the whole set; each instruction kind draws prompts of its own.
        kind: how much the instruction tells.
        per_cell: prompts per salient feature and format, 12 cells in all.
        design: ``stratified`` has as many prompts of each salient feature; ``free_coins`` of each pair
            only, and flips for the feature.
        location_word: see `instructions.instruction`.
    """
    return tuple(
        draw_instruction(prompt_seed, feature, form, kind, location_word=location_word, name=name)
        for name, prompt_seed, feature, form in _cells(seed, f"instruction-{kind}", per_cell, design)
    )


def generate_multiple(
    seed: int,
    kind: Kind = "uninformative",
    *,
    per_cell: int = PER_CELL,
    length: int = LENGTH,
    design: Design = "stratified",
    location_word: LocationWord = "setting",
    features: Sequence[Feature] = FEATURES,
) -> tuple[Prompt, ...]:
    """Episodes of 4.3: `length` examples of one task.

    All instruction kinds have the same sentences under one seed, so that ``wug`` (App. D) and
    ``uninformative`` are compared in pairs.

    Args:
        seed: of the whole set.
        kind: how much the instruction tells; ``wug`` makes the setting of that name.
        per_cell: episodes per salient feature and format.
        length: examples per episode.
        design: as for `generate_instruction`.
        location_word: see `instructions.instruction`.
        features: the salient features wanted.
    """
    # Seeds are derived from one name for all kinds; ids must differ, so that kinds can share a file or a log.
    called = {"uninformative": "multiple", "informative": "multiple-informative", "wug": "wug"}[kind]
    return tuple(
        draw_multiple(
            prompt_seed,
            feature,
            form,
            kind,
            length=length,
            location_word=location_word,
            name=called + name.removeprefix("multiple"),
        )
        for name, prompt_seed, feature, form in _cells(seed, "multiple", per_cell, design)
        if feature in features
    )


def draw_instruction(
    seed: int,
    feature: Feature,
    form: Format,
    kind: Kind = "uninformative",
    *,
    x_is: bool | None = None,
    location_word: LocationWord = "setting",
    name: str = "",
) -> Prompt:
    """One prompt of 4.2.

    Drawn are polarity (unless given), which group comes first, and in which of its two broken
    combinations the query stands. The labels follow; each of the two groups gets another one.
    """
    random = Random(seed)
    task = Hypothesis(feature, _coin(random) if x_is is None else x_is)
    first, query = _coin(random), _coin(random)
    combinations = ((first, first), (not first, not first), (query, not query))
    examples = make_examples(task, combinations, random)
    return _prompt("instruction", task, form, kind, examples, seed, location_word, name)


def draw_multiple(
    seed: int,
    feature: Feature,
    form: Format,
    kind: Kind = "uninformative",
    *,
    x_is: bool | None = None,
    length: int = LENGTH,
    location_word: LocationWord = "setting",
    name: str = "",
) -> Prompt:
    """One episode of 4.3: both features of each example are fair coins.

    Under one seed a short episode is the beginning of a long one.
    """
    random = Random(seed)
    task = Hypothesis(feature, _coin(random) if x_is is None else x_is)
    # So many are flipped whatever the length is; words and coins of what is beyond come in turn.
    flipped = [(_coin(random), _coin(random)) for _ in range(LENGTH)]
    examples = make_examples(task, flipped[:length], random)
    for _ in range(LENGTH, length):
        examples += make_examples(task, [(_coin(random), _coin(random))], random)
    setting: Setting = "wug" if kind == "wug" else "multiple"
    return _prompt(setting, task, form, kind, examples, seed, location_word, name)


def make_examples(
    task: Hypothesis, combinations: Sequence[tuple[bool, bool]], random: Random
) -> tuple[Example, ...]:
    """Labelled sentences with the given coded values of feature a and feature b."""
    return tuple(
        Example(make_sentence(task.pair, a, b, random), a, b, task.label(a, b)) for a, b in combinations
    )


def _prompt(
    setting: Setting,
    task: Hypothesis,
    form: Format,
    kind: Kind,
    examples: tuple[Example, ...],
    seed: int,
    location_word: LocationWord,
    name: str,
) -> Prompt:
    prompt = Prompt(
        id=name or f"{setting}-{task.feature}-{form}-{seed}",
        setting=setting,
        pair=task.pair,
        salient=task.feature,
        x_is=task.x_is,
        format=form,
        kind=kind,
        instruction=instruction(kind, task, location_word),
        examples=examples,
        seed=seed,
    )
    check_prompt(prompt)
    return prompt


def _cells(seed: int, what: str, per_cell: int, design: Design) -> Iterator[tuple[str, int, Feature, Format]]:
    """Name, seed, salient feature and format of every prompt of a set."""
    if design == "stratified":
        for feature in FEATURES:
            for form in FORMATS:
                for number in range(per_cell):
                    name = f"{what}-{feature}-{form}-{number:02}"
                    yield name, derive_seed(seed, name), feature, form
    else:
        for pair in PAIR_NAMES:
            for form in FORMATS:
                for number in range(2 * per_cell):
                    name = f"{what}-{pair}-{form}-{number:03}"
                    yield name, derive_seed(seed, name), _salient(seed, name, pair), form


def _salient(seed: int, name: str, pair: Pair) -> Feature:
    return PAIRS[pair][Random(derive_seed(seed, name, "salient")).randrange(2)]


def _coin(random: Random) -> bool:
    return random.random() < 0.5
