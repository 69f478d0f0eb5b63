"""Short questions, as people type them (`tests/benchmarks/short_questions.*.yaml`)."""

from collections import Counter

import pytest
import yaml
from short_questions import HALVES, KINDS, NONE, answer, load_questions

from simulator.clarq.players.experts_offline import OfflineExperts

# Shares answered as a careful person would, a little below the current values so that a drop is noticed;
# raise them when the experts improve.
FLOORS = {"en": 0.955, "zh": 0.92}
ENTRY = {"kind": "plain", "half": "dev", "said": "Which peak?", "answers": ["1"]}


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_set_is_large_and_each_kind_stands_in_both_halves(language):
    questions = load_questions(language)
    assert len(questions) >= 250
    assert len({question.task.id for question in questions}) >= 40
    halves = {
        half: Counter(question.kind for question in questions if question.half == half) for half in HALVES
    }
    assert set(halves["dev"]) == set(halves["held"]) == set(KINDS)
    assert all(abs(halves["dev"][kind] - halves["held"][kind]) <= 1 for kind in KINDS)


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_the_built_in_experts_answer_as_a_careful_person_would(language):
    experts, questions = OfflineExperts(), load_questions(language)
    right = [await answer(experts, question) in question.answers for question in questions]
    assert sum(right) / len(right) >= FLOORS[language]


async def test_what_was_given_before_is_what_the_experts_see():
    question = next(
        candidate
        for candidate in load_questions("en")
        if [node for node, _ in candidate.after] == ["3", "3.1"]
    )
    now = question.situation
    texts = [line.text for line in now.lines if line.seat == "provider"]
    tree = question.task.tree
    assert texts[1:] == [tree.opening, tree.by_index["3"].text, tree.by_index["3.1"].text]
    assert now.utterance == question.text
    assert now.frontier.given == ("3", "3.1")


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"kind": "odd"}, "kind 'odd' is none of"),
        ({"half": "both"}, "neither dev nor held"),
        ({"said": "Which of all these many peaks do clouds like?"}, "is 9 long, of 8"),
        ({"answers": []}, "has no answer"),
        ({"answers": ["2.1"]}, "node 2.1 is not available"),
        ({"after": {"2.1": "Which tea?"}}, "after: "),
        ({"answers": [NONE]}, "does not go with"),
        ({"kind": "small talk"}, "does not go with"),
        ({"sad": "no"}, "unknown field sad"),
        ({"said": None}, "has no said"),
    ],
)
def test_an_entry_that_does_not_fit_its_task_is_named(tmp_path, changes, fault):
    entry = {name: value for name, value in {**ENTRY, **changes}.items() if value is not None}
    path = tmp_path / "questions.yaml"
    path.write_text(yaml.safe_dump({"gather-resources-1": [entry]}), encoding="utf-8")
    with pytest.raises(ValueError, match=f"questions.yaml, gather-resources-1, .*{fault}"):
        load_questions("en", path)


@pytest.mark.parametrize(
    ("task", "fault"), [("nowhere-1", "no task"), ("gather-resources-1", "stands there twice")]
)
def test_an_unknown_task_and_a_repeated_question_are_named(tmp_path, task, fault):
    path = tmp_path / "questions.yaml"
    path.write_text(yaml.safe_dump({task: [ENTRY, {**ENTRY, "said": "which peak?"}]}), encoding="utf-8")
    with pytest.raises(ValueError, match=fault):
        load_questions("en", path)
