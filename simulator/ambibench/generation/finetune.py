"""Finetuning sets and their evaluation (spec section 5.3; paper 4.4, App. G.5, H)."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Final, Literal

from simulator.ambibench.features import (
    FEATURES,
    FORMATS,
    PAIRS,
    Feature,
    Format,
    Hypothesis,
    Pair,
    Variant,
)
from simulator.ambibench.generation.settings import PER_CELL, generate_multiple, make_examples
from simulator.ambibench.instructions import instruction
from simulator.ambibench.prompt import Prompt, check_prompt
from simulator.seeds import derive_seed

# What the constant feature of the control is: the other one (paper), or the salient one, so that all
# labels of a prompt are equal (the published program; spec section 14).
Control = Literal["paper", "reference"]
LENGTHS: Final = range(4, 21)
REPEATS: Final = 2


def generate_finetune(
    seed: int, fold: Pair, variant: Variant = "ambiguous", *, control: Control = "paper"
) -> tuple[Prompt, ...]:
    """The 272 prompts that a fold is finetuned on: 4 tasks x 17 lengths x 2 repeats x 2 formats.

    Args:
        seed: of the whole set.
        fold: the pair that is held out.
        variant: ``ambiguous``: both features vary; ``control``: one is constant within a prompt.
        control: which feature the control holds constant.

    Returns:
        Prompts of 4 to 20 examples; the label of the last one is what is learned.
    """
    return tuple(
        draw_finetune(derive_seed(seed, name), feature, form, length, fold, variant, control, name=name)
        for feature in FEATURES
        if feature not in PAIRS[fold]
        for form in FORMATS
        for length in LENGTHS
        for repeat in range(REPEATS)
        for name in (f"ft_train-{fold}-{variant}-{feature}-{form}-{length:02}-{repeat}",)
    )


def generate_evaluation(seed: int, fold: Pair, *, per_cell: int = PER_CELL) -> tuple[Prompt, ...]:
    """The 240 episodes on which a fold is evaluated: both tasks of the held-out pair, as in 4.3.

    They are the sentences of `generate_multiple` under the same seed, so that finetuned models and others
    are compared on the same episodes.
    """
    return tuple(
        replace(prompt, id=prompt.id.replace("multiple", "ft_eval", 1), setting="ft_eval", fold=fold)
        for prompt in generate_multiple(seed, per_cell=per_cell, features=PAIRS[fold])
    )


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
    """One prompt to learn from; see `generate_finetune`."""
    random = Random(seed)
    task = Hypothesis(feature, random.random() < 0.5)
    constant = _constant(task, variant, control)
    held = random.random() < 0.5
    combinations = tuple(
        (
            held if constant == 0 else random.random() < 0.5,
            held if constant == 1 else random.random() < 0.5,
        )
        for _ in range(length)
    )
    prompt = Prompt(
        id=name or f"ft_train-{feature}-{form}-{seed}",
        setting="ft_train",
        pair=task.pair,
        salient=feature,
        x_is=task.x_is,
        format=form,
        kind="uninformative",
        instruction=instruction("uninformative", task),
        examples=make_examples(task, combinations, random),
        seed=seed,
        fold=fold,
        variant=variant,
    )
    check_prompt(prompt)
    return prompt


def _constant(task: Hypothesis, variant: Variant, control: Control) -> int | None:
    """The place in the pair of the feature that is constant; None if neither is."""
    if variant == "ambiguous":
        return None
    salient = PAIRS[task.pair].index(task.feature)
    return salient if control == "reference" else 1 - salient
