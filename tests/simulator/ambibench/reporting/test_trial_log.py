"""Test every field of trial records, from logs and from files."""

from __future__ import annotations

import json
from hashlib import sha256
from itertools import pairwise
from math import log as ln

import pytest

from logs.rows import Judgment, Run
from simulator.ambibench.aws import REGION
from simulator.ambibench.generation import (
    generate_aws,
    generate_evaluation,
    generate_finetune,
    generate_instruction,
    generate_multiple,
    generate_verbalise,
)
from simulator.ambibench.prompt import beliefs, trials
from simulator.ambibench.records import read_trial_file, score_again, write_trials
from simulator.ambibench.reporting.frame import trial_frame
from simulator.ambibench.score import score_trials
from simulator.ambibench.trial_log import trials_of_runs
from simulator.errors import InputError


def rows_of(path):
    return read_trial_file(path).rows


# Spec section 15, field by field.
FIELDS = [
    "run_id",
    "software_version",
    "created_at",
    "setting",
    "fold",
    "ft_variant",
    "prompt_id",
    "seed",
    "pair",
    "salient_feature",
    "polarity",
    "format",
    "instruction_kind",
    "instruction",
    "k",
    "n_examples",
    "sentence",
    "feature_a",
    "feature_b",
    "gold",
    "history",
    "prompt_text",
    "prompt_sha256",
    "actor_kind",
    "actor_id",
    "decoding",
    "raw_answer",
    "answer",
    "normalised",
    "top_logprobs",
    "p_x",
    "p_y",
    "p_valid",
    "valid",
    "tie",
    "correct",
    "score_mode",
    "oracle_p",
    "oracle_identified",
    "shown_at",
    "answered_at",
    "rt_ms",
    "keys_used",
    "consent",
    "session_id",
    "comment",
    "category",
]
LINE = {
    "setting": "multiple",
    "prompt_id": "p1",
    "salient_feature": "location",
    "format": "qa",
    "instruction_kind": "uninformative",
    "k": 2,
    "gold": "X",
    "actor_kind": "model",
    "actor_id": "somebody/else",
    "raw_answer": " X",
}


@pytest.fixture
def model(desk, skilled):
    """One episode of 4.3 by a model."""
    items = generate_multiple(3, per_cell=1)[:1]
    desk.play("run", items, "openai/m", skilled(0.7))
    return items[0], trials_of_runs(desk.reader, ["run"])


def test_every_field_of_the_specification_is_written(model, tmp_path):
    path = tmp_path / "trials.jsonl"
    write_trials(path, model[1])
    lines = path.read_text().splitlines()
    assert len(lines) == 20
    assert not set(FIELDS) - set(json.loads(lines[0]))


def test_a_models_trials_say_what_was_asked_and_answered(model):
    item, records = model
    for record, trial, belief, example in zip(
        records, trials(item), beliefs(item), item.examples, strict=True
    ):
        assert (record.k, record.gold, record.prompt_text) == (trial.k, trial.gold, trial.text)
        assert record.prompt_sha256 == sha256(trial.text.encode()).hexdigest()
        assert (record.sentence, record.feature_a, record.feature_b) == (
            example.sentence,
            example.a,
            example.b,
        )
        assert (record.oracle_p, record.oracle_identified) == (belief.p_gold, belief.identified)
    first = records[0]
    assert (first.actor_kind, first.actor_id, first.run_id) == ("model", "openai/m", "run")
    assert (first.setting, first.prompt_id, first.seed) == ("multiple", item.id, item.seed)
    assert (first.pair, first.salient_feature, first.polarity) == (
        item.pair,
        item.salient,
        item.hypothesis.value,
    )
    assert (first.format, first.instruction_kind, first.n_examples) == (item.format, item.kind, 20)
    for name in ("consent", "session_id", "shown_at", "answered_at", "rt_ms", "keys_used"):
        assert getattr(first, name) is None
    assert (first.decoding, first.score_mode) == ({"top": 20}, "strip")
    assert [token for token, _ in first.top_logprobs][2] == "the"


def test_scores_are_those_of_the_scorer(model, desk):
    item, records = model
    turns = desk.reader.turns(next(iter(desk.reader.episodes("run"))).id)
    for record, score in zip(records, score_trials(item, turns), strict=True):
        for name in ("answer", "normalised", "correct", "valid", "tie", "p_x", "p_y", "p_valid"):
            assert getattr(record, name) == getattr(score, name)


def test_history_is_the_trial_before_whose_gold_label_came_next(model):
    _, records = model
    assert records[0].history == []
    for before, record in pairwise(records):
        assert record.history == before.trial_id
        assert record.prompt_text.startswith(before.prompt_text)
    assert len({record.trial_id for record in records}) == 20


@pytest.mark.parametrize(
    "make", [generate_instruction, lambda seed: generate_finetune(seed, "propn_negation")]
)
def test_history_of_a_single_trial_is_listed(desk, skilled, make):
    item = make(4)[0]
    desk.play("run", [item], "openai/m", skilled(1))
    (record,) = trials_of_runs(desk.reader, ["run"])
    assert [(example.sentence, example.label) for example in record.history] == [
        (example.sentence, example.label) for example in item.examples[:-1]
    ]
    assert (record.k, record.fold, record.ft_variant) == (len(item.examples), item.fold, item.variant)


def test_people_have_times_a_session_consent_and_a_comment(desk, typed):
    items = generate_multiple(5, per_cell=1)[:1]
    (episode,) = desk.play("study", items, "person", typed(1), study=True, seconds=1.25)
    records = trials_of_runs(desk.reader, ["study"])
    assert len(records) == 20
    for record in records:
        assert (record.actor_kind, record.actor_id, record.session_id) == ("human", "p1", episode)
        assert (record.consent, record.comment, record.rt_ms) == (True, "Was fun\u2028really.", 1250)
        assert (record.keys_used, record.score_mode, record.p_valid) == (True, "text", None)
        assert record.shown_at == "2026-01-01T00:00:00.000+00:00"
        assert record.answered_at is not None


def test_free_play_has_neither_consent_nor_pseudonym(desk, typed):
    (episode,) = desk.play("play", generate_instruction(5, per_cell=1)[:1], "person", typed(1))
    (record,) = trials_of_runs(desk.reader, ["play"])
    assert (record.consent, record.comment, record.session_id) == (None, None, episode)
    assert record.actor_kind == "human"


def test_a_small_letter_is_right_and_noted(desk, says):
    item = generate_instruction(6, per_cell=1)[0]
    desk.play("study", [item], "person", lambda item, trial, random: says(f" {trial.gold.lower()}. "))
    desk.play("run", [item], "openai/m", lambda item, trial, random: says(trial.gold.lower()))
    person, model = trials_of_runs(desk.reader, ["study", "run"])
    assert (person.answer, person.normalised, person.correct, person.valid) == (
        item.examples[-1].label,
        True,
        1,
        True,
    )
    assert (model.answer, model.normalised, model.correct, model.valid) == (None, False, 0, False)


def test_the_oracle_is_an_oracle(desk, typed):
    for seat in ("offline/oracle", "offline/oracle:literal", "offline/random"):
        desk.play(seat, generate_instruction(7, per_cell=1)[:1], seat, typed(1))
    records = trials_of_runs(desk.reader, ["offline/oracle", "offline/oracle:literal", "offline/random"])
    assert [record.actor_kind for record in records] == ["oracle", "oracle", "model"]


def test_who_counts(desk, skilled, typed):
    items = generate_instruction(8, per_cell=1)[:4]
    for item, status in zip(items, ("completed", "failed", "aborted", None), strict=True):
        desk.play("run", [item], "openai/m", skilled(1), status=status)
        desk.play("study", [item], "person", typed(1), status=status)
    assert [record.prompt_id for record in trials_of_runs(desk.reader, ["run"])] == [items[0].id]
    people = {record.prompt_id for record in trials_of_runs(desk.reader, ["study"])}
    assert people == {items[0].id, items[2].id, items[3].id}


def test_a_session_left_early_has_the_answers_that_it_has(desk, typed):
    desk.play("study", generate_multiple(9, per_cell=1)[:1], "person", typed(1), status=None, answers=7)
    assert [record.k for record in trials_of_runs(desk.reader, ["study"])] == list(range(1, 8))


def test_named_tasks_take_the_category_that_raters_settled(desk, says):
    items = generate_verbalise(10, per_cell=1)[:2]
    first, _ = desk.play("run", items, "openai/m", lambda *_: says("It is about animals."))
    value = {"category": "correct"}
    desk.put(Judgment(id="j", episode_id=first, annotator="r", kind="ambibench.category", value=value))
    records = trials_of_runs(desk.reader, ["run"])
    assert [record.category for record in records] == ["correct", None]
    assert records[0].prompt_text == trials(items[0])[0].text
    assert len(records[0].history) == 20
    assert (records[0].k, records[0].gold, records[0].correct, records[0].raw_answer) == (
        None,
        None,
        None,
        "It is about animals.",
    )


def test_buckets_are_sorted_by_rule(desk, says):
    items = generate_aws(11, followup=True, per_name=1)[:1]
    desk.play("run", items, "openai/m", lambda *_: says(f" aws s3 mb s3://b --region {REGION}\n"))
    (record,) = trials_of_runs(desk.reader, ["run"])
    assert (record.category, record.origin, record.second_name) == ("same", items[0].origin, True)
    assert record.prompt_text == items[0].text
    assert record.sentence == f"Input: Create a bucket for {items[0].query}"
    assert [
        example.sentence.removeprefix("Input: Create a bucket for ") for example in record.history
    ] == list(items[0].examples)
    assert all(example.label.endswith(REGION) for example in record.history)


def test_held_out_pairs_are_named(desk, skilled):
    desk.play("run", generate_evaluation(1, "propn_negation", per_cell=1)[:1], "openai/m", skilled(1))
    assert {record.fold for record in trials_of_runs(desk.reader, ["run"])} == {"propn_negation"}


def test_mode_and_tie_may_be_chosen_again(desk, table):
    item = generate_instruction(12, per_cell=1)[0]
    gold, other = item.examples[-1].label, "Y" if item.examples[-1].label == "X" else "X"
    even = {other: 0.4, gold: 0.4}
    desk.play("tie", [item], "openai/m", lambda *_: table(**even))
    desk.play("half", [item], "openai/m", lambda *_: table(**even), options={"tie": "half"})
    desk.play("noun", [item], "openai/m", lambda *_: table(**{"the": 0.9, gold: 0.06, other: 0.04}))

    def correct(**chosen):
        return [record.correct for record in trials_of_runs(desk.reader, ["tie", "half", "noun"], **chosen)]

    assert correct() == [0, 0.5, 0]
    assert correct(tie="half") == [0.5, 0.5, 0]
    assert correct(tie="first") == [0, 0, 0]
    assert correct(mode="forced") == [0, 0.5, 1]
    assert correct(mode="reference", tie="half") == [0, 0, 0]
    (record,) = trials_of_runs(desk.reader, ["noun"], mode="forced")
    assert record.score_mode == "forced"


def test_a_written_file_reads_back_the_same(desk, skilled, typed, says, tmp_path):
    desk.play("a", generate_multiple(13, per_cell=1)[:2], "openai/m", skilled(0.5))
    desk.play("b", generate_multiple(13, per_cell=1)[2:4], "person", typed(0.5), study=True)
    desk.play("c", generate_aws(13, per_name=1)[:3], "openai/m", lambda *_: says("nothing"))
    records = trials_of_runs(desk.reader, ["a", "b", "c"])
    path = tmp_path / "new folder" / "trials.jsonl"
    write_trials(path, records)
    assert rows_of(path) == records
    assert [file.name for file in path.parent.iterdir()] == ["trials.jsonl"]


def write(path, *lines):
    path.write_text("\n".join(json.dumps(line) if isinstance(line, dict) else line for line in lines) + "\n")
    return path


def test_results_from_elsewhere_need_little(tmp_path):
    path = write(
        tmp_path / "gpt.jsonl", LINE, "", {**LINE, "k": 3, "top_logprobs": {" X": ln(0.4), "Y": ln(0.5)}}
    )
    first, second = map(score_again, rows_of(path))
    assert (first.run_id, first.answer, first.correct, first.valid) == ("gpt", "X", 1, True)
    assert (second.answer, second.correct, second.p_valid) == ("Y", 0, pytest.approx(0.9))
    given = write(tmp_path / "given.jsonl", {**LINE, "raw_answer": None, "correct": 0.5, "valid": True})
    assert [score_again(record, "forced").correct for record in rows_of(given)] == [0.5]


def test_fields_may_be_null_and_values_spelled_as_in_the_paper(tmp_path):
    unscored = dict.fromkeys(("run_id", "normalised", "tie", "repeat", "correct"))
    pronoun = {"salient_feature": "pronoun", "polarity": "She", "pair": "religious_pronoun"}
    (record,) = rows_of(write(tmp_path / "gpt.jsonl", {**LINE, **unscored, **pronoun}))
    assert (record.run_id, record.normalised, record.tie, record.repeat) == ("gpt", False, False, 0)
    assert record.polarity == "she"


def test_a_token_of_no_probability_survives(tmp_path):
    path = write(tmp_path / "a.jsonl", {**LINE, "top_logprobs": [["X", 0.0], ["Y", "-Infinity"]]})
    (record,) = rows_of(path)
    write_trials(path, [record])
    assert rows_of(path) == (record,)
    assert score_again(record).p_y == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"setting": "multi"}, "'setting'"),
        ({"k": "two"}, "'k'"),
        ({"gold": None}, "needs the field 'gold'"),
        ({"raw_answer": None}, "raw_answer"),
        ({"actor_id": ...}, "'actor_id'"),
        ({"salient_feature": None}, "'salient_feature'"),
        ({"pair": "propn_negation"}, "propn_negation"),
        ({"correct": 7}, "'correct'"),
        ({"setting": "aws", "origin": "Greek", "second_name": False}, "'origin'"),
        ({"setting": "aws"}, "'origin'"),
        ({"setting": "verbalise", "category": "right"}, "'category'"),
        ({"top_logprobs": [["X"]]}, "top_logprobs"),
        ({"top_logprobs": [["X", 800.0]]}, "'top_logprobs' has 800.0 for 'X'; a log-probability is"),
        ({"top_logprobs": [["X", -1.0], ["Y", "NaN"]]}, "'top_logprobs' has nan for 'Y'"),
        ({"k": -4}, "the field 'k' is -4; it must be 1 or more"),
        ({"k": 0}, "the field 'k' is 0; it must be 1 or more"),
        ({"k": 21, "n_examples": 20}, "the field 'k' is 21; it must not be more than 'n_examples', 20"),
        ({"setting": "verbalise", "k": 0}, "'k'"),
        ({"polarity": "indoor", "feature_b": False}, "the field 'gold' is 'X'; by 'feature_a'"),
        ({"polarity": "outdoor", "feature_b": True, "feature_a": False}, "it is 'Y'"),
        ({"polarity": "human"}, "the field 'polarity' is 'human'; it must be one of indoor, outdoor"),
        ({"correct": 0}, "the field 'correct' is 0, but 'raw_answer' is ' X' and 'gold' 'X'"),
        ({"raw_answer": "y", "correct": 1}, "the field 'correct' is 1, but 'raw_answer' is 'y'"),
        ({"answer": "X", "correct": 0, "p_x": 0.9}, "the field 'correct' is 0, but 'answer' is 'X'"),
        ({"answer": "cat", "correct": 1}, "the field 'correct' is 1, but 'answer' is 'cat'"),
    ],
)
def test_errors_name_file_line_and_field(tmp_path, change, message):
    wrong = {key: value for key, value in {**LINE, **change}.items() if value is not ...}
    path = write(tmp_path / "wrong.jsonl", LINE, wrong)
    with pytest.raises(InputError, match=r"wrong\.jsonl, line 2: ") as caught:
        rows_of(path)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "given",
    [
        {"k": 20, "n_examples": 20},
        {"polarity": "outdoor", "feature_a": True, "feature_b": False},
        {"polarity": "indoor", "feature_a": False},
        {"raw_answer": "Y", "gold": "X", "correct": 0},
        {"raw_answer": "x", "correct": 1},
        {"raw_answer": "x", "correct": 0},
        {"raw_answer": "X\nQ: and so on", "correct": 1},
        {"raw_answer": "X", "answer": "Y", "score_mode": "strip", "correct": 0},
        {"raw_answer": "X", "score_mode": "strip", "correct": 0},
        {"answer": "X", "tie": True, "correct": 0},
        {"answer": "X", "correct": 0.5},
        {"top_logprobs": [["X", ln(0.4)], ["Y", ln(0.4)]], "correct": 0},
    ],
)
def test_what_does_not_contradict_itself_is_taken(tmp_path, given):
    (record,) = rows_of(write(tmp_path / "right.jsonl", {**LINE, **given}))
    assert all(getattr(record, name) == value for name, value in given.items() if name != "top_logprobs")


def test_two_trials_of_one_name_are_refused(tmp_path):
    named = {**LINE, "trial_id": "p1:2"}
    other = {**LINE, "trial_id": "p1:3", "k": 3}
    path = write(tmp_path / "same.jsonl", named, "", other, {**named, "raw_answer": "Y"})
    with pytest.raises(InputError, match=r"same\.jsonl, line 4: .*'trial_id' is 'p1:2', as in line 1"):
        rows_of(path)
    assert len(trial_frame(rows_of(write(path, named, other, named)))) == 2, "a trial may stand there twice"
    assert len(trial_frame(rows_of(write(path, LINE, {**LINE, "raw_answer": "Y"})))) == 2, "without a name"


def test_files_that_hold_no_trials(tmp_path):
    with pytest.raises(InputError, match=r"missing\.jsonl: cannot be read"):
        rows_of(tmp_path / "missing.jsonl")
    with pytest.raises(InputError, match="contains no trials"):
        rows_of(write(tmp_path / "empty.jsonl", ""))
    with pytest.raises(InputError, match=r"line 1: is not JSON"):
        rows_of(write(tmp_path / "not.jsonl", "k=1"))
    with pytest.raises(InputError, match=r"line 1: is not an object"):
        rows_of(write(tmp_path / "list.jsonl", "[1]"))
    (tmp_path / "latin.jsonl").write_bytes(b'{"k": "\xe9"}')
    with pytest.raises(InputError, match="is not UTF-8"):
        rows_of(tmp_path / "latin.jsonl")
    with pytest.raises(InputError, match="cannot be written"):
        write_trials(tmp_path / "list.jsonl" / "x.jsonl", [])


def test_a_run_of_another_benchmark_is_refused(desk):
    desk.put(Run(id="other", benchmark="clarq", setup="L2L", seed=0))
    with pytest.raises(InputError, match="other is a run of clarq"):
        trials_of_runs(desk.reader, ["other"])
