from __future__ import annotations

from collections import Counter
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.ambibench.features import FEATURES, FORMATS, PAIR_NAMES, PAIRS
from simulator.ambibench.generation import (
    MAX_PER_NAME,
    draw_aws,
    draw_finetune,
    draw_instruction,
    draw_multiple,
    generate_aws,
    generate_evaluation,
    generate_finetune,
    generate_instruction,
    generate_multiple,
    generate_verbalise,
)
from simulator.ambibench.prompt import Prompt, check_prompt, consistent, whole_text

SEEDS = st.integers(0, 2**31 - 1)
FEATURE = st.sampled_from(FEATURES)
FORMAT = st.sampled_from(FORMATS)


def cells(prompts: tuple[Prompt, ...]) -> Counter[tuple[str, str]]:
    return Counter((prompt.salient, prompt.format) for prompt in prompts)


def combinations(prompt: Prompt) -> list[tuple[bool, bool]]:
    return [(example.a, example.b) for example in prompt.examples]


@settings(max_examples=40)
@given(SEEDS, FEATURE, FORMAT, st.sampled_from(["uninformative", "informative"]))
def test_two_groups_then_a_query_that_breaks_them(seed: int, feature: str, form: str, kind: str) -> None:
    prompt = draw_instruction(seed, feature, form, kind)
    check_prompt(prompt)
    first, second, query = combinations(prompt)
    assert {first, second} == {(True, True), (False, False)}
    assert query[0] != query[1]
    labels = [example.label for example in prompt.examples]
    assert labels[0] != labels[1]
    # The salient value is the one that the query shares with the example of its label.
    like = prompt.examples[labels.index(labels[2])]
    which = PAIRS[prompt.pair].index(feature)
    assert (like.a, like.b)[which] == query[which]
    assert consistent(prompt.pair, prompt.examples) == (prompt.hypothesis,)
    assert draw_instruction(seed, feature, form, kind) == prompt


def test_the_four_coins_of_a_grouped_prompt_fall_in_all_ways() -> None:
    seen = Counter()
    for seed in range(400):
        prompt = draw_instruction(seed, "location", "qa")
        seen[prompt.x_is, combinations(prompt)[0], combinations(prompt)[2]] += 1
    assert len(seen) == 8
    assert min(seen.values()) > 25


@settings(max_examples=40)
@given(SEEDS, FEATURE, FORMAT, st.integers(1, 30), st.integers(1, 30))
def test_a_shorter_episode_is_the_beginning_of_a_longer_one(
    seed: int, feature: str, form: str, length: int, other: int
) -> None:
    short = draw_multiple(seed, feature, form, length=min(length, other))
    long = draw_multiple(seed, feature, form, length=max(length, other))
    assert len(long.examples) == max(length, other)
    assert whole_text(long).startswith(whole_text(short))
    assert short.hypothesis == long.hypothesis
    check_prompt(long)


def test_instruction_prompts_are_720_in_twelve_cells() -> None:
    prompts = generate_instruction(0)
    assert cells(prompts) == dict.fromkeys(product(FEATURES, FORMATS), 60)
    assert len({prompt.id for prompt in prompts}) == len({prompt.seed for prompt in prompts}) == 720
    other = generate_instruction(0, "informative", per_cell=1)
    assert {whole_text(prompt).split("\n", 1)[1] for prompt in other}.isdisjoint(
        whole_text(prompt).split("\n", 1)[1] for prompt in prompts
    )


def test_free_coins_balance_pairs_and_formats_only() -> None:
    prompts = generate_instruction(0, design="free_coins")
    assert Counter((prompt.pair, prompt.format) for prompt in prompts) == dict.fromkeys(
        product(PAIR_NAMES, FORMATS), 120
    )
    salient = Counter(prompt.salient for prompt in prompts)
    assert salient != dict.fromkeys(FEATURES, 120)
    assert min(salient.values()) > 80
    assert len({prompt.id for prompt in prompts}) == 720


def test_a_prompts_seed_draws_it_again() -> None:
    for prompt in generate_instruction(3, "informative", per_cell=2, location_word="location"):
        again = draw_instruction(
            prompt.seed, prompt.salient, prompt.format, prompt.kind, location_word="location", name=prompt.id
        )
        assert again == prompt
    for prompt in generate_multiple(3, per_cell=1):
        assert (
            draw_multiple(prompt.seed, prompt.salient, prompt.format, prompt.kind, name=prompt.id) == prompt
        )


def test_wug_has_the_sentences_of_uninformative() -> None:
    bracket, wug = generate_multiple(5, per_cell=2), generate_multiple(5, "wug", per_cell=2)
    assert [prompt.examples for prompt in bracket] == [prompt.examples for prompt in wug]
    assert {prompt.setting for prompt in wug} == {"wug"}
    assert {prompt.instruction for prompt in wug} == {
        "Output 'X' if the sentence contains a wug and 'Y' otherwise."
    }
    informative = generate_multiple(5, "informative", per_cell=2)
    assert not {prompt.id for prompt in bracket} & {prompt.id for prompt in (*wug, *informative)}
    assert not {prompt.id for prompt in wug} & {prompt.id for prompt in informative}


@pytest.mark.each("fold", PAIR_NAMES)
@pytest.mark.each("variant", ["ambiguous", "control"])
def test_finetuning_sets(fold: str, variant: str) -> None:
    prompts = generate_finetune(0, fold, variant)
    assert len(prompts) == 272
    tasks = [feature for feature in FEATURES if feature not in PAIRS[fold]]
    lengths = Counter((prompt.salient, prompt.format, len(prompt.examples)) for prompt in prompts)
    assert lengths == dict.fromkeys(product(tasks, FORMATS, range(4, 21)), 2)
    assert {(prompt.kind, prompt.fold, prompt.variant) for prompt in prompts} == {
        ("uninformative", fold, variant)
    }
    assert len({prompt.id for prompt in prompts}) == 272
    texts = [whole_text(prompt) for prompt in prompts]
    assert not any(text != other and other.startswith(text) for text in texts for other in texts)


@settings(max_examples=40)
@given(SEEDS, FEATURE, FORMAT, st.integers(4, 20))
def test_a_controls_other_feature_is_constant(seed: int, feature: str, form: str, length: int) -> None:
    fold = next(pair for pair in PAIR_NAMES if feature not in PAIRS[pair])
    for control, constant in (("paper", 1), ("reference", 0)):
        prompt = draw_finetune(seed, feature, form, length, fold, "control", control)
        salient = PAIRS[prompt.pair].index(feature)
        held = salient if constant == 0 else 1 - salient
        assert len({values[held] for values in combinations(prompt)}) == 1
        assert (control == "paper") or len({example.label for example in prompt.examples}) == 1


def test_a_controls_salient_feature_varies() -> None:
    prompts = generate_finetune(0, "propn_negation", "control")
    same = [prompt for prompt in prompts if len({example.label for example in prompt.examples}) == 1]
    # With n fair coins all labels of a prompt are equal in 2 of 2**n cases: 4 expected here.
    assert len(same) < 15
    assert {example.label for prompt in prompts for example in prompt.examples} == {"X", "Y"}


def test_evaluation_has_the_episodes_of_multiple_examples() -> None:
    assert len(generate_evaluation(0, "propn_negation")) == 240
    every = {prompt.seed: prompt for prompt in generate_multiple(0, per_cell=3)}
    prompts = [prompt for fold in PAIR_NAMES for prompt in generate_evaluation(0, fold, per_cell=3)]
    assert len(prompts) == len(every) == len({prompt.id for prompt in prompts})
    for prompt in prompts:
        assert prompt.fold == prompt.pair
        assert prompt.setting == "ft_eval"
        assert prompt.examples == every[prompt.seed].examples


def test_verbalise_asks_after_whole_episodes() -> None:
    prompts = generate_verbalise(0)
    assert cells(prompts) == dict.fromkeys(product(FEATURES, FORMATS), 10)
    assert {prompt.question for prompt in prompts} == {
        "What is your best guess for the [category witheld] above?"
    }
    plain = generate_verbalise(0, question="what_is", spelling="corrected", per_cell=1)
    assert {prompt.question for prompt in plain} == {"What is the [category withheld]?"}
    correct = generate_verbalise(0, spelling="corrected", per_cell=1)
    assert {prompt.question for prompt in correct} == {
        "What is your best guess for the [category withheld] above?"
    }


def test_seeds_matter_and_repeat() -> None:
    assert generate_multiple(1, per_cell=1) == generate_multiple(1, per_cell=1)
    assert generate_multiple(1, per_cell=1) != generate_multiple(2, per_cell=1)
    assert generate_aws(1) == generate_aws(1)
    assert generate_aws(1) != generate_aws(2)


def test_an_aws_prompts_seed_draws_it_again() -> None:
    prompts = (*generate_aws(3), *generate_aws(3, followup=True))
    assert len({prompt.seed for prompt in prompts[:200]}) == 200
    for prompt in prompts:
        again = draw_aws(prompt.seed, prompt.origin, prompt.query, followup=prompt.followup, name=prompt.id)
        assert again == prompt


def test_aws_asks_about_every_name() -> None:
    for followup in (False, True):
        prompts = generate_aws(0, followup=followup)
        assert len(prompts) == len({prompt.id for prompt in prompts}) == 4 * 10 * 5
        assert set(Counter((prompt.origin, prompt.query) for prompt in prompts).values()) == {5}
        for prompt in prompts:
            assert prompt.query not in prompt.examples
            assert len(set(prompt.examples)) == len(prompt.examples) == (3 if followup else 2)
    assert len(generate_aws(0, per_name=MAX_PER_NAME)) == 4 * 10 * MAX_PER_NAME
    with pytest.raises(ValueError, match="72 pairs"):
        generate_aws(0, per_name=MAX_PER_NAME + 1)
