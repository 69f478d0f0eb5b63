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
CONTROL = [prompt for pair in PAIR_NAMES for prompt in generate_finetune(11, pair, "control")]

Change = Callable[[Prompt, Random], Prompt]


def changed(prompts: list[Prompt] | tuple[Prompt, ...], change: Change) -> list[Prompt]:
    random = Random(0)
    return [change(prompt, random) for prompt in prompts]


def failing(prompts: list[Prompt], **options: object) -> set[str]:
    return {f"{check.group}: {check.what}" for check in statistics(prompts, **options).failed}


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
    result = statistics(prompts, complete=True)
    assert result.passed
    assert result.failed == result.incomplete == result.outside == ()
    assert result.prompts == result.tested == len(prompts)
    assert len(result.checks) > 30
    assert {words.name for words in result.lists} == set(LISTS)


def test_word_lists_are_counted() -> None:
    counted = {words.name: words.counts for words in statistics(EPISODES).lists}
    expected = {name: Counter[str]() for name in counted}
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
    assert counted == expected
    assert all(list(counts) == list(slot_words(name)) for name, counts in counted.items())


def test_cells_and_repeats() -> None:
    result = statistics(EPISODES)
    assert result.cells["prompts"].sum() == 240
    assert result.cells["examples"].sum() == result.sentences == 4800
    assert Counter(zip(result.cells["feature"], result.cells["format"], strict=True)) == {
        (feature, form): 2 for feature in FEATURES for form in FORMATS
    }
    assert list(result.repeats["possible"]) == [400, 400, 2000]
    sentences = {
        pair: [e.sentence for p in EPISODES if p.pair == pair for e in p.examples] for pair in PAIR_NAMES
    }
    for repeat in result.repeats.itertuples():
        assert (repeat.seen, repeat.different) == (1600, len(set(sentences[repeat.pair])))


def test_a_word_that_never_comes_is_missed_if_there_are_enough_sentences() -> None:
    def without_boars(prompt: Prompt, random: Random) -> Prompt:
        return each_example(
            prompt, lambda example: replace(example, sentence=example.sentence.replace("boar", "worm"))
        )

    short = statistics(changed(EPISODES, without_boars)).incomplete
    assert [(words.name, words.unseen) for words in short] == [("animal", ("boar",))]
    few = statistics(changed(EPISODES[:3], without_boars))
    assert not few.incomplete
    assert any(words.unseen for words in few.lists)


def test_a_sentence_outside_the_templates_is_found() -> None:
    odd = each_example(EPISODES[0], lambda example: replace(example, sentence="The cat is in the house."))
    result = statistics([odd, *EPISODES[1:]])
    assert result.outside == ("The cat is in the house.",)
    assert not result.passed


def test_codes_that_differ_from_the_sentence_are_found() -> None:
    prompt, *rest = EPISODES
    first = replace(prompt.examples[0], a=not prompt.examples[0].a)
    result = statistics([replace(prompt, examples=(first, *prompt.examples[1:])), *rest])
    assert result.miscoded == 1
    assert not result.passed


def test_a_loaded_polarity_is_found() -> None:
    def turn(prompt: Prompt, random: Random) -> Prompt:
        if prompt.x_is:
            return prompt
        flipped = each_example(prompt, lambda example: replace(example, label="XY"[example.label == "X"]))
        return replace(flipped, x_is=True)

    failed = failing(changed(EPISODES, turn))
    assert {f"polarity: {name} is X" for name in ("subject: human", "pronoun: he")} <= failed


def test_dependent_features_are_found() -> None:
    def doubled(prompt: Prompt, random: Random) -> Prompt:
        # Half of the sentences whose features differ are replaced by the one before.
        examples = [prompt.examples[0]]
        for example in prompt.examples[1:]:
            examples.append(examples[-1] if example.a != example.b and random.random() < 0.5 else example)
        return replace(prompt, examples=tuple(examples))

    failed = failing(changed(EPISODES, doubled))
    for pair in PAIR_NAMES:
        assert {f"{pair}: two examples are one sentence", f"{pair}: the two features"} <= failed


def test_labels_that_depend_on_the_position_are_found() -> None:
    def by_label(prompt: Prompt, random: Random) -> Prompt:
        return replace(prompt, examples=tuple(sorted(prompt.examples, key=lambda example: example.label)))

    failed = failing(changed(EPISODES, by_label))
    assert {"labels: label and position", "labels: label and the one before it"} <= failed


def test_words_that_tell_the_label_are_found() -> None:
    def at_home(prompt: Prompt, random: Random) -> Prompt:
        def move(example: Example) -> Example:
            sentence = (
                example.sentence.replace("museum", "house") if example.label == "X" else example.sentence
            )
            return replace(example, sentence=sentence)

        return each_example(prompt, move)

    failed = failing(changed(EPISODES, at_home))
    assert {"religious_pronoun: label and place", "propn_negation: label and place"} <= failed


def test_words_that_stand_together_are_found() -> None:
    def pairs(prompt: Prompt, random: Random) -> Prompt:
        def marry(example: Example) -> Example:
            if example.sentence.endswith("the pope."):
                start = example.sentence.split(" is in ")[0]
                return replace(example, sentence=f"{start} is in the house with the pope.")
            return example

        return each_example(prompt, marry)

    failed = failing(changed(EPISODES, pairs))
    assert "religious_pronoun: words of religious and place" in failed


def test_loaded_group_order_and_query_are_found() -> None:
    same = [prompt for prompt in GROUPED if prompt.examples[0].a and prompt.examples[2].a]
    failed = failing(same)
    assert "subject_location: both values true come first" in failed
    assert "subject_location: the query is human and outdoor" in failed


def test_broken_grouping_is_found() -> None:
    swapped = replace(GROUPED[0], examples=GROUPED[0].examples[::-1])
    failed = failing([swapped, *GROUPED[1:]])
    assert "groups: two opposite groups, then a query that breaks them" in failed
    short = replace(GROUPED[0], examples=GROUPED[0].examples[:2])
    assert "groups: two opposite groups, then a query that breaks them" in failing([short, *GROUPED[1:]])


def test_a_label_that_comes_first_too_often_is_found() -> None:
    failed = failing([prompt for prompt in GROUPED if prompt.examples[0].label == "X"])
    assert "labels: the first label is X" in failed


def test_the_published_programs_control_is_found_out() -> None:
    reference = [
        prompt
        for pair in PAIR_NAMES
        for prompt in generate_finetune(11, pair, "control", control="reference")
    ]
    failed = failing(reference)
    assert {
        "control: the other feature is constant in a prompt",
        "control: label and the one before it",
    } <= failed


def test_a_missing_format_is_found_in_a_whole_sample_only() -> None:
    arrows = [prompt for prompt in EPISODES if prompt.format == "arrow"]
    assert "design: formats" in failing(arrows, complete=True)
    assert statistics(arrows).passed
    humans = [prompt for prompt in EPISODES if prompt.salient == "subject"]
    assert {"design: pairs", "design: subject is salient, not location"} <= failing(humans, complete=True)
    assert statistics(humans).passed


def test_paired_prompts_count_once_in_tests() -> None:
    wug = generate_multiple(11, "wug", per_cell=20)
    held_out = [prompt for pair in PAIR_NAMES for prompt in generate_evaluation(11, pair, per_cell=20)]
    result = statistics([*EPISODES, *wug, *held_out])
    assert (result.prompts, result.tested) == (720, 240)
    assert result.sentences == 3 * 4800
    assert result.passed


def test_all_settings_together_pass() -> None:
    prompts = [*EPISODES, *GROUPED, *CONTROL, *generate_verbalise(11)]
    result = statistics(prompts)
    assert result.passed
    assert result.tested == len(prompts)


def test_the_oracle_of_grouped_prompts() -> None:
    informative = generate_instruction(11, "informative", per_cell=10)
    result = statistics([*GROUPED, *informative])
    assert result.oracle == {"uninformative": 0.5, "informative": 1.0}
    assert result.oracle_agrees
    # A query that breaks no group tells less than it must: the oracle knows.
    easy = [
        replace(prompt, examples=(prompt.examples[0], prompt.examples[1], prompt.examples[0]))
        for prompt in GROUPED
    ]
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
    loaded = [prompt for prompt in EPISODES if prompt.x_is]
    findings = balance_findings(loaded)
    assert any(re_.startswith("polarity, subject: human is X: 1, n = ") for re_ in findings)
    assert all("p = " in finding for finding in findings)
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
