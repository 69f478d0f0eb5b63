"""A study's own questions, through the actions: pages, refusals, the log, and the frame of episodes."""

from __future__ import annotations

from typing import Any

import pytest
from labelling import enter
from visiting import Page, words

from logs import LogReader, LogWriter
from simulator import frames
from simulator.runner.logged import endings_of_runs

QUESTIONS = [
    {
        "id": "age",
        "text": {"en": "How old are you?", "zh": "您的年龄是？"},
        "kind": "number",
        "least": 18,
        "when": "before",
    },
    {
        "id": "reads",
        "text": "What do you read?",
        "kind": "choices",
        "choices": ["news", "novels"],
        "when": "before",
    },
    {"id": "hard", "text": "How hard was it?", "kind": "scale", "points": 5, "ends": ["easy", "hard"]},
    {"id": "why", "text": "Why?", "kind": "text", "optional": True},
]
BEFORE = {"age": "31", "reads": ["novels"]}


async def test_they_are_asked_once_before_and_after_every_set(
    serve: Any, make_study: Any, log: tuple[LogWriter, LogReader]
) -> None:
    study = make_study(questions=QUESTIONS)
    actions = serve(study)
    visit = await enter(actions, "three", "pid-1")
    assert "Opening questions" in words(visit.html), "among the steps, from the start"
    await visit.say("yes")
    await visit.say("ready")
    assert visit.stage == "questions_before"
    assert "How old are you? ≥ 18" in words(visit.html) and "How hard was it?" not in words(visit.html)
    assert {field.get("name") for _, field in Page(visit.html).tags} >= {"age", "reads"}
    for age, why in (("17", "17 is outside the allowed range"), ("{old}", "“{old}” is not a number")):
        assert (await visit.send(answers={"age": age, "reads": ["news"]}))["accepted"] is False
        assert why in words(visit.html) and visit.stage == "questions_before"
    assert (await visit.send(answers=BEFORE))["accepted"] is True
    assert visit.stage == "task"
    await visit.say("X")
    assert visit.stage == "questions_after"
    assert "easy" in words(visit.html) and "(optional)" in words(visit.html)
    await visit.send(answers={"hard": ["4"]})
    assert visit.stage == "comment"
    await visit.say("")
    assert "You have finished set 1 of 3" in words(visit.html)
    reader = log[1]
    assert endings_of_runs(reader, [study.run_id]).statuses == {"completed": 1}
    (row,) = frames.episodes(reader, [study.run_id]).to_dict("records")
    asked = {name.removeprefix("answer."): row[name] for name in row if str(name).startswith("answer.")}
    assert asked == {"age": 31, "reads": ["novels"], "hard": 4, "why": None}
    kinds = [turn.payload["kind"] for turn in reader.turns(row["episode"])]
    assert kinds[2] == "questions_before" and kinds[-2:] == ["questions_after", "comment"]

    following = await actions.next_set(visit.call)
    visit.call["query"] = following["go"].partition("?")[2]
    visit = type(visit)(actions, following["go"].partition("?")[2], visit.language)
    await visit.look()
    assert visit.stage == "task", "questions before the task are a person's, not a set's"
    await visit.say("X")
    assert visit.stage == "questions_after"


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_they_are_in_the_language_of_the_page(serve: Any, make_study: Any, language: str) -> None:
    actions = serve(make_study(questions=QUESTIONS))
    visit = await enter(actions, "three", "pid-2", language=language)
    await visit.say("yes")
    await visit.say("ready")
    assert {"en": "How old are you?", "zh": "您的年龄是？"}[language] in words(visit.html)
    assert {"en": "First, a few questions", "zh": "先请您回答几个问题"}[language] in words(visit.html)
    await visit.send(answers={})
    assert {"en": "answer every question", "zh": "请回答所有"}[language] in words(visit.html)
