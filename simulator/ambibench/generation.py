"""Generation of the items of all settings from seeds (spec sections 5, 8 and 9).

`draw_…` returns one prompt of a task, `generate_…` a complete balanced set.
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
# The constant feature of the control: the other one (paper), or the salient one, so that all labels of a
# prompt are equal (the published program; spec section 14).
Control = Literal["paper", "reference"]
Question = Literal["what_is", "best_guess"]
Spelling = Literal["as_printed", "corrected"]
PER_CELL: Final = 60  # prompts per salient feature and format: 720 in all (spec 5.4)
LENGTH: Final = 20  # examples of an episode of 4.3
LENGTHS: Final = range(4, 21)  # examples of a finetuning prompt
REPEATS: Final = 2
PER_TASK: Final = 10  # prompts of verbalise per salient feature and format
PER_NAME: Final = 5  # prompts of aws per queried name
MAX_PER_NAME: Final = 72  # ordered pairs of nine names: a queried Japanese name is not used as an example


def generate_instruction(
    seed: int,
    kind: Kind = "uninformative",
    *,
    per_cell: int = PER_CELL,
    design: Design = "stratified",
    location_word: LocationWord = "setting",
) -> tuple[Prompt, ...]:
    """Return prompts of 4.2: two examples from opposite groups and a query that breaks the grouping.

    Different kinds of instruction get different prompts under the same seed.

    `per_cell`: prompts per salient feature and format, 12 cells in all. `design`: ``stratified`` balances
    salient features; ``free_coins`` balances pairs only, and flips a coin for the feature. `location_word`:
    see `features.instruction`.
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

    All kinds of instruction get the same sentences under the same seed, so that ``wug`` (App. D) and
    ``uninformative`` can be compared in pairs.

    The kind ``wug`` gives items of the setting ``wug``; arguments as in `generate_instruction`.
    """
    # Seeds derive from the same names for all kinds; ids differ, so that kinds can share a file or a log.
    prefix = {"uninformative": "multiple", "informative": "multiple-informative", "wug": "wug"}[kind]
    options: dict[str, Any] = {"length": length, "location_word": location_word}
    return tuple(
        draw_multiple(prompt_seed, feature, form, kind, name=name.replace("multiple", prefix, 1), **options)
        for name, prompt_seed, feature, form in _cells(seed, "multiple", per_cell, design)
    )


def generate_finetune(
    seed: int, fold: Pair, variant: Variant = "ambiguous", *, control: Control = "paper"
) -> tuple[Prompt, ...]:
    """Return the 272 finetuning prompts of a fold: 4 tasks x 17 lengths x 2 repeats x 2 formats.

    They have 4 to 20 examples; the last label is the training target. In the ``ambiguous`` variant both
    features vary; in the ``control`` one is constant within a prompt.
    """
    features = [feature for feature in FEATURES if feature not in PAIRS[fold]]
    return tuple(
        draw_finetune(derive_seed(seed, name), feature, form, length, fold, variant, control, name=name)
        for feature, form, length, repeat in product(features, FORMATS, LENGTHS, range(REPEATS))
        for name in (f"ft_train-{fold}-{variant}-{feature}-{form}-{length:02}-{repeat}",)
    )


def generate_evaluation(seed: int, fold: Pair, *, per_cell: int = PER_CELL) -> tuple[Prompt, ...]:
    """Return the 240 episodes to evaluate a fold on: both tasks of the held-out pair, as in 4.3.

    The sentences are those of `generate_multiple` under the same seed, so that finetuned and other models
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
    """Return complete episodes of 4.3 followed by a question: what is the category?

    `question`: ``what_is`` was asked of text-davinci-002, ``best_guess`` of -003. `spelling`: with or without
    the paper's misspelling. `per_cell`: episodes per salient feature and format.
    """
    text = str(table("instructions")["questions"][question][spelling])
    return tuple(
        replace(prompt, id=prompt.id.replace("multiple", "verbalise", 1), setting="verbalise", question=text)
        for prompt in generate_multiple(derive_seed(seed, "verbalise"), per_cell=per_cell)
    )


def generate_aws(seed: int, *, followup: bool = False, per_name: int = PER_NAME) -> tuple[AwsPrompt, ...]:
    """Return prompts about buckets: `per_name` for every name of every origin, with different examples.

    The two examples are different Japanese names. Japanese names are also queried, as a control.

    `followup`: add a third example, another name of the query's origin. `per_name`: prompts per name, at most
    `MAX_PER_NAME` (ordered pairs of examples).

    Raises:
        ValueError: if `per_name` is more than `MAX_PER_NAME`.
    """
    if per_name > MAX_PER_NAME:
        raise ValueError(f"a name has only {MAX_PER_NAME} pairs of examples, not {per_name}")
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

    Draws the polarity (unless `x_is` is given), the order of the groups, and which of the two combinations
    that break the grouping is the query. The two groups have different labels.
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

    Under the same seed a short episode is the beginning of a long one.
    """
    random = Random(seed)
    task = Hypothesis(feature, _coin(random) if x_is is None else x_is)
    # The first `LENGTH` coins are flipped at any length; later ones are flipped as the words are drawn.
    flips = [(_coin(random), _coin(random)) for _ in range(LENGTH)]
    later = ((_coin(random), _coin(random)) for _ in range(LENGTH, length))
    setting: Setting = "wug" if kind == "wug" else "multiple"
    combinations = chain(flips[:length], later)
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
    """Return one finetuning prompt; see `generate_finetune`."""
    random = Random(seed)
    task = Hypothesis(feature, _coin(random))
    salient = PAIRS[task.pair].index(feature)
    constant = None if variant == "ambiguous" else salient if control == "reference" else 1 - salient
    value = _coin(random)
    combinations = [
        (value if constant == 0 else _coin(random), value if constant == 1 else _coin(random))
        for _ in range(length)
    ]
    prompt = _prompt("ft_train", task, form, "uninformative", combinations, random, seed, name)
    return replace(prompt, fold=fold, variant=variant)


def draw_aws(seed: int, origin: str, query: str, *, followup: bool = False, name: str = "") -> AwsPrompt:
    """Return one prompt about a bucket; the first two examples do not depend on `followup`.

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
    """Return a prompt whose sentences have these combinations of coded values of features a and b."""
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
    """Yield prompts about a name, each with a different ordered pair of examples."""
    used: list[tuple[str, ...]] = []
    for attempt in count():
        name = f"aws-{'second-' if followup else ''}{origin}-{number}-{len(used)}"
        prompt_seed = derive_seed(seed, "aws", origin, query, attempt)
        prompt = draw_aws(prompt_seed, origin, query, followup=followup, name=name)
        if prompt.examples[:2] not in used:
            used.append(prompt.examples[:2])
            yield prompt


def _coin(random: Random) -> bool:
    return random.random() < 0.5
