"""Questions of a study's own: as a file lists them, and as answers to them are read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from simulator.errors import InputError, SeatError
from simulator.studies import read_study
from simulator.studies.graph import COMMENT, CONSENT, READY, merge_steps, study_steps
from simulator.studies.questions import Question, read_answers

STUDY = """\
id: pattern
title: Finding the pattern
benchmark: ambibench
seat: participant
participants: 3
"""
AGE = """\
questions:
  - id: age
    text: {en: "How old are you?", zh: 您的年龄是？}
    kind: number
    when: before
"""


def read(tmp_path: Path, text: str) -> Any:
    path = tmp_path / "pattern.yaml"
    path.write_text(STUDY + text, encoding="utf-8")
    return read_study(path)


def test_four_lines_are_a_question(tmp_path: Path) -> None:
    study = read(tmp_path, "".join(AGE.splitlines(keepends=True)[:4]))
    (question,) = study.questions
    assert (question.id, question.kind, question.when, question.optional) == ("age", "number", "after", False)
    assert question.text == {"en": "How old are you?", "zh": "您的年龄是？"}
    assert type(study).model_validate(study.to_json()) == study


def test_they_stand_last_before_the_task_and_first_after_it(tmp_path: Path) -> None:
    study = read(tmp_path, AGE + "  - {id: hard, text: How hard, kind: scale}\n")
    around = merge_steps(study_steps(study), (CONSENT, READY, COMMENT))
    kinds = [(step.kind, [question.id for question in step.questions]) for step in around]
    own = [("questions_before", ["age"]), ("questions_after", ["hard"])]
    assert kinds == [("consent", []), ("ready", []), *own, ("comment", [])]
    assert merge_steps(study_steps(read(tmp_path, "")), (CONSENT, COMMENT)) == (CONSENT, COMMENT)


CHECK = """\
questions:
  - {id: goal, text: What do you do, kind: choice, choices: [sort, guess], when: comprehension, right: guess}
"""


def test_a_check_stands_after_the_instructions_and_may_be_tried_again(tmp_path: Path) -> None:
    study = read(tmp_path, CHECK + "comprehension_tries: 3\ntexts: {debriefing: It was about guessing.}\n")
    around = merge_steps(study_steps(study), (CONSENT, READY, COMMENT))
    assert [(step.kind, step.page or step.kind, step.wants) for step in around] == [
        ("consent", "consent", "yes"),
        ("ready", "instructions", ""),
        ("comprehension_1", "comprehension", ""),
        ("ready_2", "instructions_again", ""),
        ("comprehension_2", "comprehension", ""),
        ("ready_3", "instructions_again", ""),
        ("comprehension_3", "comprehension", "passed"),
        ("comment", "comment", ""),
        ("debriefing", "debriefing", ""),
    ]


@pytest.mark.parametrize(
    ("lines", "line", "message"),
    [
        (
            "  - {id: age, text: Age, kinds: number}",
            7,
            "unknown key 'questions.0.kinds'; did you mean 'kind'?",
        ),
        ("  - {id: age, kind: number}", 7, "key 'questions.0.text' is missing"),
        ("  - {id: Age, text: Age}", 7, "questions.0.id"),
        ("  - {id: age, text: {fr: Age}}", 7, "'fr' is not a language of the pages"),
        (
            "  - {id: age, text: {zh: 年龄}}",
            1,
            "questions: age: text: lacks a text in the study's language, en",
        ),
        ("  - {id: sex, text: Sex, kind: choice}", 7, "choice and choices need two or more choices"),
        ("  - {id: sex, text: Sex, choices: [a, b]}", 7, "other kinds must have none"),
        (
            "  - {id: sex, text: Sex, kind: choice, choices: [{en: A}, {en: B}]}",
            7,
            "plain texts",
        ),
        ("  - {id: sex, text: Sex, kind: choice, choices: [a, a, b]}", 7, "'a' is listed twice"),
        (
            "  - {id: a, text: A, when: comprehension}",
            7,
            "a question with when: comprehension must have a right answer",
        ),
        (
            "  - {id: a, text: A, kind: scale, when: comprehension, right: 8}",
            7,
            "right: 8 is not among the answers",
        ),
        ("  - {id: age, text: Age, least: 18}", 7, "least is for kind number"),
        ("  - {id: hard, text: Hard, kind: number, points: 5}", 7, "points is for kind scale"),
        (
            "  - {id: age, text: Age, kind: number, least: 9, most: 8}",
            7,
            "least (9) is larger than most (8)",
        ),
        ("  - {id: a, text: A}\n  - {id: a, text: B}", 1, "questions: a occurs twice"),
    ],
)
def test_a_faulty_question_is_named(tmp_path: Path, lines: str, line: int, message: str) -> None:
    with pytest.raises(InputError, match=r"pattern\.yaml") as caught:
        read(tmp_path, f"questions:\n{lines}\n")
    assert message in str(caught.value)
    assert f":{line}" in str(caught.value) or f"line {line}" in str(caught.value)


def question(kind: str, **more: Any) -> Question:
    return Question.model_validate({"id": "q", "text": "What?", "kind": kind, **more})


@pytest.mark.each(
    ("asked", "filled", "value"),
    [
        (question("line"), " Ann ", "Ann"),
        (question("number"), "42", 42),
        (question("number"), "1,5", 1.5),
        (question("number"), "30,000", 30_000),
        (question("number"), "1，234,567.5", 1_234_567.5),
        (question("choice", choices=["yes", "no"]), ["no"], "no"),
        (question("choices", choices={"a": "A", "b": {"en": "B"}}), ["a", "b"], ["a", "b"]),
        (question("scale", points=5), ["5"], 5),
        (question("text", optional=True), "  ", None),
        (question("choice", choices=["yes", "no"], optional=True), None, None),
    ],
)
def test_answers_are_read_by_kind(asked: Question, filled: Any, value: Any) -> None:
    assert read_answers([asked], {"q": filled}, "participant") == {"q": value}


@pytest.mark.each(
    ("asked", "filled", "right"),
    [
        (question("choice", choices=["a", "b"], right="a", when="comprehension"), ["a"], True),
        (question("choice", choices=["a", "b"], right="a", when="comprehension"), ["b"], False),
        (
            question("choices", choices=["a", "b", "c"], right=["c", "a"], when="comprehension"),
            ["a", "c"],
            True,
        ),
        (question("choices", choices=["a", "b", "c"], right=["c", "a"], when="comprehension"), ["a"], False),
        (question("number", right=10, when="comprehension"), "10.0", True),
        (question("scale", right="3", when="comprehension"), ["3"], True),
        (question("line", right="banana"), "Banana", True),
    ],
)
def test_a_right_answer_is_known(asked: Question, filled: Any, right: bool) -> None:
    assert asked.is_right(read_answers([asked], {"q": filled}, "participant")["q"]) is right


@pytest.mark.each(
    ("asked", "filled", "code"),
    [
        (question("line"), "", "empty"),
        (question("choice", choices=["yes", "no"]), [], "empty"),
        (question("number"), "forty", "number"),
        (question("number"), "1,2,3", "number"),
        (question("number"), "nan", "range"),
        (question("number", least=18), "17", "range"),
        (question("number", most=99), "1e999", "range"),
        (question("choice", choices=["yes", "no"]), ["maybe"], "choice"),
        (question("choices", choices=["a", "b"]), ["a", "c"], "choice"),
        (question("scale", points=5), ["6"], "choice"),
    ],
)
def test_what_is_no_answer_is_refused_with_its_reason(asked: Question, filled: Any, code: str) -> None:
    for answers in ({"q": filled}, {"q": filled, "other": "1"}):
        with pytest.raises(SeatError) as caught:
            read_answers([asked], answers, "participant")
        assert (caught.value.code, caught.value.cause) == (f"question_{code}", "participant")
    with pytest.raises(SeatError):
        read_answers([asked], "no form at all", "participant")
