"""Test the trials of each kind of item."""

from __future__ import annotations

from simulator.ambibench.generation import (
    generate_aws,
    generate_finetune,
    generate_instruction,
    generate_multiple,
    generate_verbalise,
)
from simulator.ambibench.prompt import trials, whole_text


def test_labels_are_asked_for_where_the_setting_says() -> None:
    assert [trial.k for trial in trials(generate_instruction(0, per_cell=1)[0])] == [3]
    assert [trial.k for trial in trials(generate_multiple(0, per_cell=1)[0])] == list(range(1, 21))
    train = generate_finetune(0, "propn_negation")[20]
    assert [trial.k for trial in trials(train)] == [len(train.examples)]


def test_a_trial_shows_right_labels_before_it_and_nothing_after() -> None:
    for prompt in generate_multiple(1, per_cell=1):
        whole = whole_text(prompt)
        for trial in trials(prompt):
            assert trial.offset is not None
            assert whole.startswith(trial.text)
            assert whole[len(trial.text) : trial.offset + 1].strip() == trial.gold
            later = [example.sentence for example in prompt.examples[trial.k :]]
            shown = {example.sentence for example in prompt.examples[: trial.k]}
            assert not any(sentence in trial.text for sentence in later if sentence not in shown)


def test_free_text_has_no_label_and_nothing_to_score() -> None:
    for item in (generate_aws(0, per_name=1)[0], generate_verbalise(0, per_cell=1)[0]):
        (trial,) = trials(item)
        assert (trial.answer, trial.gold, trial.offset) == ("text", None, None)
