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
    return Counter((one.salient, one.format) for one in prompts)


def combinations(prompt: Prompt) -> list[tuple[bool, bool]]:
    return [(one.a, one.b) for one in prompt.examples]


@settings(max_examples=40)
@given(SEEDS, FEATURE, FORMAT, st.sampled_from(["uninformative", "informative"]))
def test_two_groups_then_a_query_that_breaks_them(seed: int, feature: str, form: str, kind: str) -> None:
    prompt = draw_instruction(seed, feature, form, kind)
    check_prompt(prompt)
    first, second, query = combinations(prompt)
    assert {first, second} == {(True, True), (False, False)}
    assert query[0] != query[1]
    labels = [one.label for one in prompt.examples]
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
    seed: int, feature: str, form: str, one: int, other: int
) -> None:
    short = draw_multiple(seed, feature, form, length=min(one, other))
    long = draw_multiple(seed, feature, form, length=max(one, other))
    assert len(long.examples) == max(one, other)
    assert whole_text(long).startswith(whole_text(short))
    assert short.hypothesis == long.hypothesis
    check_prompt(long)


def test_instruction_prompts_are_720_in_twelve_cells() -> None:
    prompts = generate_instruction(0)
    assert cells(prompts) == dict.fromkeys(product(FEATURES, FORMATS), 60)
    assert len({one.id for one in prompts}) == len({one.seed for one in prompts}) == 720
    other = generate_instruction(0, "informative", per_cell=1)
    assert {whole_text(one).split("\n", 1)[1] for one in other}.isdisjoint(
        whole_text(one).split("\n", 1)[1] for one in prompts
    )


def test_free_coins_balance_pairs_and_formats_only() -> None:
    prompts = generate_instruction(0, design="free_coins")
    assert Counter((one.pair, one.format) for one in prompts) == dict.fromkeys(
        product(PAIR_NAMES, FORMATS), 120
    )
    salient = Counter(one.salient for one in prompts)
    assert salient != dict.fromkeys(FEATURES, 120)
    assert min(salient.values()) > 80
    assert len({one.id for one in prompts}) == 720


def test_a_prompts_seed_draws_it_again() -> None:
    for one in generate_instruction(3, "informative", per_cell=2, location_word="location"):
        again = draw_instruction(
            one.seed, one.salient, one.format, one.kind, location_word="location", name=one.id
        )
        assert again == one
    for one in generate_multiple(3, per_cell=1):
        assert draw_multiple(one.seed, one.salient, one.format, one.kind, name=one.id) == one


def test_wug_has_the_sentences_of_uninformative() -> None:
    bracket, wug = generate_multiple(5, per_cell=2), generate_multiple(5, "wug", per_cell=2)
    assert [one.examples for one in bracket] == [one.examples for one in wug]
    assert {one.setting for one in wug} == {"wug"}
    assert {one.instruction for one in wug} == {
        "Output 'X' if the sentence contains a wug and 'Y' otherwise."
    }
    told = generate_multiple(5, "informative", per_cell=2)
    assert not {one.id for one in bracket} & {one.id for one in (*wug, *told)}
    assert not {one.id for one in wug} & {one.id for one in told}


@pytest.mark.each("fold", PAIR_NAMES)
@pytest.mark.each("variant", ["ambiguous", "control"])
def test_finetuning_sets(fold: str, variant: str) -> None:
    prompts = generate_finetune(0, fold, variant)
    assert len(prompts) == 272
    tasks = [feature for feature in FEATURES if feature not in PAIRS[fold]]
    lengths = Counter((one.salient, one.format, len(one.examples)) for one in prompts)
    assert lengths == dict.fromkeys(product(tasks, FORMATS, range(4, 21)), 2)
    assert {(one.kind, one.fold, one.variant) for one in prompts} == {("uninformative", fold, variant)}
    assert len({one.id for one in prompts}) == 272
    texts = [whole_text(one) for one in prompts]
    assert not any(one != other and other.startswith(one) for one in texts for other in texts)


@settings(max_examples=40)
@given(SEEDS, FEATURE, FORMAT, st.integers(4, 20))
def test_a_controls_other_feature_is_constant(seed: int, feature: str, form: str, length: int) -> None:
    fold = next(pair for pair in PAIR_NAMES if feature not in PAIRS[pair])
    for control, constant in (("paper", 1), ("reference", 0)):
        prompt = draw_finetune(seed, feature, form, length, fold, "control", control)
        salient = PAIRS[prompt.pair].index(feature)
        held = salient if constant == 0 else 1 - salient
        assert len({values[held] for values in combinations(prompt)}) == 1
        assert (control == "paper") or len({one.label for one in prompt.examples}) == 1


def test_a_controls_salient_feature_varies() -> None:
    prompts = generate_finetune(0, "propn_negation", "control")
    same = [one for one in prompts if len({example.label for example in one.examples}) == 1]
    # With n fair coins all labels of a prompt are equal in 2 of 2**n cases: 4 expected here.
    assert len(same) < 15
    assert {one.label for prompt in prompts for one in prompt.examples} == {"X", "Y"}


def test_evaluation_has_the_episodes_of_multiple_examples() -> None:
    assert len(generate_evaluation(0, "propn_negation")) == 240
    every = {one.seed: one for one in generate_multiple(0, per_cell=3)}
    found = [one for fold in PAIR_NAMES for one in generate_evaluation(0, fold, per_cell=3)]
    assert len(found) == len(every) == len({one.id for one in found})
    for one in found:
        assert one.fold == one.pair
        assert one.setting == "ft_eval"
        assert one.examples == every[one.seed].examples


def test_verbalise_asks_after_whole_episodes() -> None:
    prompts = generate_verbalise(0)
    assert cells(prompts) == dict.fromkeys(product(FEATURES, FORMATS), 10)
    assert {one.question for one in prompts} == {"What is your best guess for the [category witheld] above?"}
    plain = generate_verbalise(0, question="what_is", spelling="corrected", per_cell=1)
    assert {one.question for one in plain} == {"What is the [category withheld]?"}
    correct = generate_verbalise(0, spelling="corrected", per_cell=1)
    assert {one.question for one in correct} == {"What is your best guess for the [category withheld] above?"}


def test_seeds_matter_and_repeat() -> None:
    assert generate_multiple(1, per_cell=1) == generate_multiple(1, per_cell=1)
    assert generate_multiple(1, per_cell=1) != generate_multiple(2, per_cell=1)
    assert generate_aws(1) == generate_aws(1)
    assert generate_aws(1) != generate_aws(2)


def test_an_aws_prompts_seed_draws_it_again() -> None:
    prompts = (*generate_aws(3), *generate_aws(3, followup=True))
    assert len({one.seed for one in prompts[:200]}) == 200
    for one in prompts:
        again = draw_aws(one.seed, one.origin, one.query, followup=one.followup, name=one.id)
        assert again == one


def test_aws_asks_about_every_name() -> None:
    for followup in (False, True):
        prompts = generate_aws(0, followup=followup)
        assert len(prompts) == len({one.id for one in prompts}) == 4 * 10 * 5
        assert set(Counter((one.origin, one.query) for one in prompts).values()) == {5}
        for one in prompts:
            assert one.query not in one.examples
            assert len(set(one.examples)) == len(one.examples) == (3 if followup else 2)
    assert len(generate_aws(0, per_name=MAX_PER_NAME)) == 4 * 10 * MAX_PER_NAME
    with pytest.raises(ValueError, match="72 pairs"):
        generate_aws(0, per_name=MAX_PER_NAME + 1)
