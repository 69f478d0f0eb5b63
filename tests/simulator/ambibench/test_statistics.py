from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from random import Random

import numpy as np
import pytest

from simulator.ambibench import balance
from simulator.ambibench.balance import NONE, encode, sentences_of
from simulator.ambibench.features import FEATURES, FORMATS, PAIR_NAMES, read_sentence, slot_words
from simulator.ambibench.generation import (
    generate_evaluation,
    generate_finetune,
    generate_instruction,
    generate_multiple,
    generate_verbalise,
)
from simulator.ambibench.prompt import Example, Prompt
from simulator.ambibench.statistics import LISTS, balance_findings, statistics

EPISODES = generate_multiple(11, per_cell=20)
GROUPED = generate_instruction(11, per_cell=60)
CONTROL = [one for pair in PAIR_NAMES for one in generate_finetune(11, pair, "control")]

Change = Callable[[Prompt, Random], Prompt]


def changed(prompts: list[Prompt] | tuple[Prompt, ...], change: Change) -> list[Prompt]:
    random = Random(0)
    return [change(one, random) for one in prompts]


def failing(prompts: list[Prompt], **options: object) -> set[str]:
    return {f"{one.group}: {one.what}" for one in statistics(prompts, **options).failed}


def each_example(prompt: Prompt, change: Callable[[Example], Example]) -> Prompt:
    return replace(prompt, examples=tuple(map(change, prompt.examples)))


def test_encoding_says_what_the_sentences_say() -> None:
    prompts = [*EPISODES[:30], *GROUPED[::60]]
    encoded = encode(prompts)
    rows = encoded.examples.itertuples(index=False)
    for number, prompt in enumerate(prompts):
        for position, (example, row) in enumerate(zip(prompt.examples, rows, strict=False)):
            read = read_sentence(example.sentence, prompt.pair)
            assert (row.prompt, row.position, row.pair) == (number, position, prompt.pair)
            assert (row.a, row.b, row.x) == (example.a, example.b, example.label == "X")
            assert (row.place == NONE) == ("place" not in read.words)
            if "place" in read.words:
                assert slot_words("indoor")[row.place] == read.words["place"]
    sizes = sum(len(prompt.examples) for prompt in prompts)
    assert (len(encoded.examples), encoded.outside, encoded.miscoded) == (sizes, (), 0)


@pytest.mark.parametrize("prompts", [EPISODES, GROUPED, CONTROL], ids=["episodes", "grouped", "control"])
def test_generated_prompts_pass(prompts: list[Prompt]) -> None:
    found = statistics(prompts, complete=True)
    assert found.passed
    assert found.failed == found.incomplete == found.outside == ()
    assert found.prompts == found.tested == len(prompts)
    assert len(found.checks) > 30
    assert {one.name for one in found.lists} == set(LISTS)


def test_word_lists_are_counted() -> None:
    found = {one.name: one.counts for one in statistics(EPISODES).lists}
    expected = {name: Counter[str]() for name in found}
    for prompt in EPISODES:
        for example in prompt.examples:
            read = read_sentence(example.sentence, prompt.pair)
            if "place" in read.words:
                expected["indoor"][read.words["place"]] += 1
            if prompt.pair == "subject_location":
                expected["human" if read.a else "animal"][read.words["a"]] += 1
                expected["indoor" if read.b else "outdoor"][read.words["b"]] += 1
            elif prompt.pair == "religious_pronoun":
                expected["religious" if read.a else "secular"][read.words["a"]] += 1
            else:
                expected["proper" if read.a else "common"][read.words["a"]] += 1
                expected["affirmation" if read.b else "negation"][read.words["b"]] += 1
    assert found == expected
    assert all(list(counts) == list(slot_words(name)) for name, counts in found.items())


def test_cells_and_repeats() -> None:
    found = statistics(EPISODES)
    assert found.cells["prompts"].sum() == 240
    assert found.cells["examples"].sum() == found.sentences == 4800
    assert Counter(zip(found.cells["feature"], found.cells["format"], strict=True)) == {
        (feature, form): 2 for feature in FEATURES for form in FORMATS
    }
    assert list(found.repeats["possible"]) == [400, 400, 2000]
    sentences = {
        pair: [e.sentence for p in EPISODES if p.pair == pair for e in p.examples] for pair in PAIR_NAMES
    }
    for one in found.repeats.itertuples():
        assert (one.seen, one.different) == (1600, len(set(sentences[one.pair])))


def test_a_word_that_never_comes_is_missed_if_there_are_enough_sentences() -> None:
    def without_boars(prompt: Prompt, random: Random) -> Prompt:
        return each_example(prompt, lambda one: replace(one, sentence=one.sentence.replace("boar", "worm")))

    short = statistics(changed(EPISODES, without_boars)).incomplete
    assert [(one.name, one.unseen) for one in short] == [("animal", ("boar",))]
    few = statistics(changed(EPISODES[:3], without_boars))
    assert not few.incomplete
    assert any(one.unseen for one in few.lists)


def test_a_sentence_outside_the_templates_is_found() -> None:
    odd = each_example(EPISODES[0], lambda one: replace(one, sentence="The cat is in the house."))
    found = statistics([odd, *EPISODES[1:]])
    assert found.outside == ("The cat is in the house.",)
    assert not found.passed


def test_codes_that_differ_from_the_sentence_are_found() -> None:
    one, *rest = EPISODES
    first = replace(one.examples[0], a=not one.examples[0].a)
    found = statistics([replace(one, examples=(first, *one.examples[1:])), *rest])
    assert found.miscoded == 1
    assert not found.passed


def test_a_loaded_polarity_is_found() -> None:
    def turn(prompt: Prompt, random: Random) -> Prompt:
        if prompt.x_is:
            return prompt
        flipped = each_example(prompt, lambda one: replace(one, label="XY"[one.label == "X"]))
        return replace(flipped, x_is=True)

    found = failing(changed(EPISODES, turn))
    assert {f"polarity: {name} is X" for name in ("subject: human", "pronoun: he")} <= found


def test_dependent_features_are_found() -> None:
    def doubled(prompt: Prompt, random: Random) -> Prompt:
        # Half of the sentences whose features differ are replaced by the one before.
        kept = [prompt.examples[0]]
        for one in prompt.examples[1:]:
            kept.append(kept[-1] if one.a != one.b and random.random() < 0.5 else one)
        return replace(prompt, examples=tuple(kept))

    found = failing(changed(EPISODES, doubled))
    for pair in PAIR_NAMES:
        assert {f"{pair}: two examples are one sentence", f"{pair}: the two features"} <= found


def test_labels_that_depend_on_the_position_are_found() -> None:
    def by_label(prompt: Prompt, random: Random) -> Prompt:
        return replace(prompt, examples=tuple(sorted(prompt.examples, key=lambda one: one.label)))

    found = failing(changed(EPISODES, by_label))
    assert {"labels: label and position", "labels: label and the one before it"} <= found


def test_words_that_tell_the_label_are_found() -> None:
    def at_home(prompt: Prompt, random: Random) -> Prompt:
        def move(one: Example) -> Example:
            told = one.sentence.replace("museum", "house") if one.label == "X" else one.sentence
            return replace(one, sentence=told)

        return each_example(prompt, move)

    found = failing(changed(EPISODES, at_home))
    assert {"religious_pronoun: label and place", "propn_negation: label and place"} <= found


def test_words_that_stand_together_are_found() -> None:
    def pairs(prompt: Prompt, random: Random) -> Prompt:
        def marry(one: Example) -> Example:
            if one.sentence.endswith("the pope."):
                start = one.sentence.split(" is in ")[0]
                return replace(one, sentence=f"{start} is in the house with the pope.")
            return one

        return each_example(prompt, marry)

    found = failing(changed(EPISODES, pairs))
    assert "religious_pronoun: words of religious and place" in found


def test_loaded_group_order_and_query_are_found() -> None:
    same = [one for one in GROUPED if one.examples[0].a and one.examples[2].a]
    found = failing(same)
    assert "subject_location: both values true come first" in found
    assert "subject_location: the query is human and outdoor" in found


def test_broken_grouping_is_found() -> None:
    swapped = replace(GROUPED[0], examples=GROUPED[0].examples[::-1])
    found = failing([swapped, *GROUPED[1:]])
    assert "groups: two opposite groups, then a query that breaks them" in found
    short = replace(GROUPED[0], examples=GROUPED[0].examples[:2])
    assert "groups: two opposite groups, then a query that breaks them" in failing([short, *GROUPED[1:]])


def test_a_label_that_comes_first_too_often_is_found() -> None:
    found = failing([one for one in GROUPED if one.examples[0].label == "X"])
    assert "labels: the first label is X" in found


def test_the_published_programs_control_is_found_out() -> None:
    reference = [
        one for pair in PAIR_NAMES for one in generate_finetune(11, pair, "control", control="reference")
    ]
    found = failing(reference)
    assert {
        "control: the other feature is constant in a prompt",
        "control: label and the one before it",
    } <= found


def test_a_missing_format_is_found_in_a_whole_sample_only() -> None:
    arrows = [one for one in EPISODES if one.format == "arrow"]
    assert "design: formats" in failing(arrows, complete=True)
    assert statistics(arrows).passed
    humans = [one for one in EPISODES if one.salient == "subject"]
    assert {"design: pairs", "design: subject is salient, not location"} <= failing(humans, complete=True)
    assert statistics(humans).passed


def test_paired_prompts_count_once_in_tests() -> None:
    wug = generate_multiple(11, "wug", per_cell=20)
    held_out = [one for pair in PAIR_NAMES for one in generate_evaluation(11, pair, per_cell=20)]
    found = statistics([*EPISODES, *wug, *held_out])
    assert (found.prompts, found.tested) == (720, 240)
    assert found.sentences == 3 * 4800
    assert found.passed


def test_all_settings_together_pass() -> None:
    prompts = [*EPISODES, *GROUPED, *CONTROL, *generate_verbalise(11)]
    found = statistics(prompts)
    assert found.passed
    assert found.tested == len(prompts)


def test_the_oracle_of_grouped_prompts() -> None:
    told = generate_instruction(11, "informative", per_cell=10)
    found = statistics([*GROUPED, *told])
    assert found.oracle == {"uninformative": 0.5, "informative": 1.0}
    assert found.oracle_agrees
    # A query that breaks no group tells less than it must: the oracle knows.
    easy = [replace(one, examples=(one.examples[0], one.examples[1], one.examples[0])) for one in GROUPED]
    assert statistics(easy).oracle == {"uninformative": 1.0}
    assert not statistics(easy).oracle_agrees
    assert statistics(EPISODES).oracle == {}


def test_few_prompts_pass() -> None:
    for number in (1, 2, 5):
        assert statistics(EPISODES[:number]).passed
        assert statistics(GROUPED[:number]).passed
        assert statistics(CONTROL[:number]).passed
    assert balance_findings([]) == ()
    assert balance_findings(EPISODES[:20]) == ()


def test_findings_are_sentences() -> None:
    loaded = [one for one in EPISODES if one.x_is]
    found = balance_findings(loaded)
    assert any(re_.startswith("polarity, subject: human is X: 1, n = ") for re_ in found)
    assert all("p = " in one for one in found)
    assert balance_findings(EPISODES) == ()


def test_false_alarms_are_as_rare_as_promised(thorough: bool) -> None:
    # Were one test wrong, many samples would fail; 0.3 are expected among 30.
    seeds = range(15 if thorough else 4)
    failed = sum(bool(statistics(generate_multiple(seed, per_cell=1)).failed) for seed in seeds)
    failed += sum(bool(statistics(generate_instruction(seed, per_cell=2)).failed) for seed in seeds)
    assert failed <= 3


def test_p_values_of_single_tests_are_those_of_the_textbook() -> None:
    (check,) = balance.coin("g", "w", np.array([1] * 8 + [0] * 2))
    assert check.p == pytest.approx(112 / 1024)
    assert list(balance.coin("g", "w", np.array([]))) == []
    (check,) = balance.uniform("g", "w", [10, 20, 30])
    assert check.p == pytest.approx(np.exp(-5))  # chi-square is 10 with 2 degrees of freedom
    assert list(balance.uniform("g", "w", [4, 4])) == []
    ones = np.array([0] * 20 + [1] * 20)
    (check,) = balance.independent("g", "w", ones, ones)
    assert check.observed == "V 1.000"
    assert list(balance.independent("g", "w", ones, np.zeros(40, int))) == []
    assert (balance.rule("g", "w", 5, 0).p, balance.rule("g", "w", 5, 1).p) == (1.0, 0.0)


def test_sentences_of_a_pair() -> None:
    assert [sentences_of(pair) for pair in PAIR_NAMES] == [400, 400, 2000]


def test_all_of_it_is_json() -> None:
    record = json.loads(json.dumps(statistics(GROUPED).to_json()))
    assert record["passed"] is True
    assert record["prompts"] == 720
    assert record["oracle"] == {"uninformative": 0.5}
