"""Items of every setting, from seeds (spec sections 5, 8 and 9).

`draw_…` makes one prompt of a given task from a seed, `generate_…` a whole balanced set.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain, count, islice, product
from random import Random
from typing import Any, Final, Literal

from simulator.ambibench.aws import CONTROL, AwsPrompt, names, origins
from simulator.ambibench.features import (
    FEATURES,
    FORMATS,
    PAIR_NAMES,
    PAIRS,
    Feature,
    Format,
    Hypothesis,
    Kind,
    LocationWord,
    Pair,
    Setting,
    Variant,
    instruction,
    make_sentence,
    table,
)
from simulator.ambibench.prompt import Example, Prompt, check_prompt
from simulator.seeds import derive_seed

Design = Literal["stratified", "free_coins"]
# What the constant feature of the control is: the other one (paper), or the salient one, so that all
# labels of a prompt are equal (the published program; spec section 14).
Control = Literal["paper", "reference"]
Question = Literal["what_is", "best_guess"]
Spelling = Literal["as_printed", "corrected"]
PER_CELL: Final = 60  # prompts per salient feature and format: 720 in all (spec 5.4)
LENGTH: Final = 20  # examples of an episode of 4.3
LENGTHS: Final = range(4, 21)  # of a prompt to finetune on
REPEATS: Final = 2
PER_TASK: Final = 10  # answers per task and format
PER_NAME: Final = 5  # prompts per name that is asked about
MAX_PER_NAME: Final = 72  # ordered pairs of nine names: a Japanese name that is asked about is no example


def generate_instruction(
    seed: int,
    kind: Kind = "uninformative",
    *,
    per_cell: int = PER_CELL,
    design: Design = "stratified",
    location_word: LocationWord = "setting",
) -> tuple[Prompt, ...]:
    """Return prompts of 4.2: two examples from opposite groups and a query that breaks the grouping.

    Each instruction kind draws prompts of its own under the seed of the whole set.

    `per_cell`: prompts per salient feature and format, 12 cells in all. `design`: ``stratified`` has as many
    prompts of each salient feature; ``free_coins`` of each pair only, and flips for the feature.
    `location_word`: see `features.instruction`.
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
) -> tuple[Prompt, ...]:
    """Return episodes of 4.3: `length` examples of one task.

    All instruction kinds have the same sentences under one seed, so that ``wug`` (App. D) and
    ``uninformative`` are compared in pairs.

    The kind ``wug`` makes the setting of that name; arguments as for `generate_instruction`.
    """
    # Seeds are derived from one name for all kinds; ids must differ, so that kinds can share a file or a log.
    called = {"uninformative": "multiple", "informative": "multiple-informative", "wug": "wug"}[kind]
    look: dict[str, Any] = {"length": length, "location_word": location_word}
    return tuple(
        draw_multiple(prompt_seed, feature, form, kind, name=name.replace("multiple", called, 1), **look)
        for name, prompt_seed, feature, form in _cells(seed, "multiple", per_cell, design)
    )


def generate_finetune(
    seed: int, fold: Pair, variant: Variant = "ambiguous", *, control: Control = "paper"
) -> tuple[Prompt, ...]:
    """Return the 272 prompts that a fold is finetuned on: 4 tasks x 17 lengths x 2 repeats x 2 formats.

    They have 4 to 20 examples; the label of the last one is what is learned. In the ``ambiguous`` variant
    both features vary, in the ``control`` one is constant within a prompt.
    """
    features = [feature for feature in FEATURES if feature not in PAIRS[fold]]
    return tuple(
        draw_finetune(derive_seed(seed, name), feature, form, length, fold, variant, control, name=name)
        for feature, form, length, repeat in product(features, FORMATS, LENGTHS, range(REPEATS))
        for name in (f"ft_train-{fold}-{variant}-{feature}-{form}-{length:02}-{repeat}",)
    )


def generate_evaluation(seed: int, fold: Pair, *, per_cell: int = PER_CELL) -> tuple[Prompt, ...]:
    """Return the 240 episodes on which a fold is evaluated: both tasks of the held-out pair, as in 4.3.

    They are the sentences of `generate_multiple` under the same seed, so that finetuned models and others
    are compared on the same episodes.
    """
    return tuple(
        replace(prompt, id=prompt.id.replace("multiple", "ft_eval", 1), setting="ft_eval", fold=fold)
        for prompt in generate_multiple(seed, per_cell=per_cell)
        if prompt.pair == fold
    )


def generate_verbalise(
    seed: int,
    *,
    question: Question = "best_guess",
    spelling: Spelling = "as_printed",
    per_cell: int = PER_TASK,
) -> tuple[Prompt, ...]:
    """Return whole episodes of 4.3 with a question after them: what is the category?

    `question`: ``what_is`` was asked of text-davinci-002, ``best_guess`` of -003. `spelling`: with the
    misspelling of the paper, or without. `per_cell`: episodes per salient feature and format.
    """
    asked = str(table("instructions")["questions"][question][spelling])
    return tuple(
        replace(prompt, id=prompt.id.replace("multiple", "verbalise", 1), setting="verbalise", question=asked)
        for prompt in generate_multiple(derive_seed(seed, "verbalise"), per_cell=per_cell)
    )


def generate_aws(seed: int, *, followup: bool = False, per_name: int = PER_NAME) -> tuple[AwsPrompt, ...]:
    """Return prompts about buckets: every name of every origin, `per_name` times, with other examples each.

    The two examples are different Japanese names. Japanese names are asked about, too, as a control.

    `followup`: add a third example, a name of the origin that is asked about (another than the query's).
    `per_name`: prompts per name; `MAX_PER_NAME` at most (ordered pairs of examples).

    Raises:
        ValueError: if `per_name` is more than that.
    """
    if per_name > MAX_PER_NAME:
        raise ValueError(f"there are {MAX_PER_NAME} pairs of examples for a name, not {per_name}")
    return tuple(
        prompt
        for origin in origins()
        for number, query in enumerate(names(origin))
        for prompt in islice(_prompts_about_name(seed, origin, number, query, followup), per_name)
    )


# ---- one prompt


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
    """Return one prompt of 4.2.

    Drawn are polarity (unless given), which group comes first, and in which of its two broken
    combinations the query stands. The labels follow; each of the two groups gets another one.
    """
    random = Random(seed)
    task = Hypothesis(feature, _coin(random) if x_is is None else x_is)
    first, query = _coin(random), _coin(random)
    combinations = ((first, first), (not first, not first), (query, not query))
    return _prompt("instruction", task, form, kind, combinations, random, seed, name, location_word)


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
    """Return one episode of 4.3: both features of each example are fair coins.

    Under one seed a short episode is the beginning of a long one.
    """
    random = Random(seed)
    task = Hypothesis(feature, _coin(random) if x_is is None else x_is)
    # So many are flipped whatever the length is; words and coins of what is beyond come in turn.
    flipped = [(_coin(random), _coin(random)) for _ in range(LENGTH)]
    beyond = ((_coin(random), _coin(random)) for _ in range(LENGTH, length))
    setting: Setting = "wug" if kind == "wug" else "multiple"
    combinations = chain(flipped[:length], beyond)
    return _prompt(setting, task, form, kind, combinations, random, seed, name, location_word)


def draw_finetune(
    seed: int,
    feature: Feature,
    form: Format,
    length: int,
    fold: Pair,
    variant: Variant,
    control: Control = "paper",
    *,
    name: str = "",
) -> Prompt:
    """Return one prompt to learn from; see `generate_finetune`."""
    random = Random(seed)
    task = Hypothesis(feature, _coin(random))
    salient = PAIRS[task.pair].index(feature)
    constant = None if variant == "ambiguous" else salient if control == "reference" else 1 - salient
    held = _coin(random)
    combinations = [
        (held if constant == 0 else _coin(random), held if constant == 1 else _coin(random))
        for _ in range(length)
    ]
    prompt = _prompt("ft_train", task, form, "uninformative", combinations, random, seed, name)
    return replace(prompt, fold=fold, variant=variant)


def draw_aws(seed: int, origin: str, query: str, *, followup: bool = False, name: str = "") -> AwsPrompt:
    """Return one prompt about a bucket; a seed draws the same two examples with a second name or without.

    `followup`: add a third example, another name of the origin. `name`: the prompt's id.
    """
    random = Random(seed)
    examples = random.sample([other for other in names(CONTROL) if other != query], 2)
    if followup:
        examples.append(random.choice([other for other in names(origin) if other not in (query, *examples)]))
    return AwsPrompt(
        id=name or f"aws-{origin}-{seed}",
        examples=tuple(examples),
        query=query,
        origin=origin,
        followup=followup,
        seed=seed,
    )


def _prompt(
    setting: Setting,
    task: Hypothesis,
    form: Format,
    kind: Kind,
    combinations: Iterable[tuple[bool, bool]],
    random: Random,
    seed: int,
    name: str,
    location_word: LocationWord = "setting",
) -> Prompt:
    """Return a prompt whose sentences have some combinations of coded values of feature a and feature b."""
    prompt = Prompt(
        id=name or f"{setting}-{task.feature}-{form}-{seed}",
        setting=setting,
        pair=task.pair,
        salient=task.feature,
        x_is=task.x_is,
        format=form,
        kind=kind,
        instruction=instruction(kind, task, location_word),
        examples=tuple(
            Example(make_sentence(task.pair, a, b, random), a, b, task.label(a, b)) for a, b in combinations
        ),
        seed=seed,
    )
    check_prompt(prompt)
    return prompt


def _cells(seed: int, what: str, per_cell: int, design: Design) -> Iterator[tuple[str, int, Feature, Format]]:
    if design == "stratified":
        for feature, form, number in product(FEATURES, FORMATS, range(per_cell)):
            name = f"{what}-{feature}-{form}-{number:02}"
            yield name, derive_seed(seed, name), feature, form
    else:
        for pair, form, number in product(PAIR_NAMES, FORMATS, range(2 * per_cell)):
            name = f"{what}-{pair}-{form}-{number:03}"
            salient = PAIRS[pair][Random(derive_seed(seed, name, "salient")).randrange(2)]
            yield name, derive_seed(seed, name), salient, form


def _prompts_about_name(
    seed: int, origin: str, number: int, query: str, followup: bool
) -> Iterator[AwsPrompt]:
    """Yield prompts about a name, each with two examples that no other has in that order."""
    taken: list[tuple[str, ...]] = []
    for attempt in count():
        name = f"aws-{'second-' if followup else ''}{origin}-{number}-{len(taken)}"
        own = derive_seed(seed, "aws", origin, query, attempt)
        prompt = draw_aws(own, origin, query, followup=followup, name=name)
        if prompt.examples[:2] not in taken:
            taken.append(prompt.examples[:2])
            yield prompt


def _coin(random: Random) -> bool:
    return random.random() < 0.5
