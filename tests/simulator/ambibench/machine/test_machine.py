"""Test AmbiBench's machine: rows, scores, views, replays, complete runs."""

from __future__ import annotations

import pytest

from logs.rows import Judgment
from simulator.ambibench.generation import draw_multiple, generate_instruction, generate_multiple
from simulator.ambibench.graph import MACHINE
from simulator.ambibench.prompt import beliefs
from simulator.ambibench.sessions import AmbiBenchSessions
from simulator.models import ModelOptions, load_model
from simulator.runner.batch import run_batch
from simulator.runner.build import build_plan, build_seats, load_machine
from simulator.seats import Reply
from simulator.studies.machine import StudyMachine

PEOPLE = StudyMachine(MACHINE, AmbiBenchSessions.outer_steps)


def test_the_runner_knows_the_benchmark():
    assert load_machine("ambibench") is MACHINE
    assert MACHINE.seats == ("participant",)


@pytest.mark.parametrize(("kind", "setup"), [("person", "H2L"), ("model", "L2L"), ("offline", "L2L")])
def test_setups(kind, setup):
    assert MACHINE.setup({"participant": kind}) == setup


def test_items_come_back_from_their_rows(prompt, single, aws, question):
    for item in (prompt, single, aws, question):
        assert MACHINE.read_item(MACHINE.item_row(item)) == item


async def test_scores_are_read_as_the_episode_was(run, toy):
    items = [draw_multiple(seed, "location", "qa") for seed in range(3)]
    right, validity = {}, {}
    for mode, tie in (("strip", "wrong"), ("forced", "half")):
        scored = []
        for item in items:
            played = await run(item, toy.model(scoring=True), score_mode=mode, tie=tie)
            scored.append({row.metric: row for row in MACHINE.score(item, played.turns, ())})
        assert {row.version for rows in scored for row in rows.values()} == {f"1-{mode}-{tie}"}
        right[mode] = sum(rows["accuracy"].value for rows in scored)
        validity[mode] = [rows["valid"].value for rows in scored]
    assert right["forced"] > right["strip"], "a line feed that is likelier than both labels does not count"
    assert validity["forced"] == validity["strip"]
    assert MACHINE.score(items[0], (), ()) == ()


async def test_views_of_a_study(people, prompt, single):
    played = await people(prompt, ["yes"], study=True, language="zh")
    view = PEOPLE.view(played.live, played.state, "participant", None, None)
    assert (view.stage, view.number, view.study) == ("instructions", 1, True)
    assert (view.text, view.k, view.done, view.total) == ("", None, 0, 20)
    wrong = "Y" if prompt.examples[0].label == "X" else "X"
    played = await people(prompt, ["yes", "ready", wrong, prompt.examples[1].label.lower()], study=True)
    view = PEOPLE.view(played.live, played.state, "participant", None, "late")
    assert (view.stage, view.k, view.done, view.warning) == ("task", 3, 2, "late")
    assert (view.feedback.answer, view.feedback.correct) == (prompt.examples[1].label.lower(), True)
    played = await people(prompt, ["yes", "ready", wrong], study=True)
    feedback = PEOPLE.view(played.live, played.state, "participant", None, None).feedback
    assert (feedback.answer, feedback.right, feedback.correct) == (wrong, prompt.examples[0].label, False)
    played = await people(single, ["yes", "ready", "X"], study=True)
    view = PEOPLE.view(played.live, played.state, "participant", None, None)
    assert (view.stage, view.feedback) == ("comment", None), "4.2 gives no feedback"


async def test_the_replay_shows_what_was_hidden(people, prompt):
    answers = ["yes", "ready", *["X"] * 20, "odd"]
    played = await people(prompt, answers, study=True)
    replay = MACHINE.replay(prompt, played.turns, ())
    assert (replay.item, len(replay.scores)) == (prompt, 20)
    assert replay.correct == sum(example.label == "X" for example in prompt.examples)
    thought = beliefs(prompt)
    assert replay.oracle == sum(belief.bayes for belief in thought)
    for trial, belief, example in zip(replay.trials, thought, prompt.examples, strict=True):
        assert trial.belief == belief
        assert sum(trial.belief.posterior.values()) == pytest.approx(1)
        assert (trial.example, trial.asked, trial.turn.text) == (example, True, "X")


async def test_positions_that_were_not_asked_for_are_in_the_replay(people, single):
    played = await people(single, ["ready", "X"])
    replay = MACHINE.replay(single, played.turns, ())
    assert [trial.turn and trial.turn.text for trial in replay.trials] == [None, None, "X"]
    assert [trial.asked for trial in replay.trials] == [False, False, True]
    assert (len(replay.scores), replay.oracle) == (1, 1.0)
    assert [trial.score is None for trial in replay.trials] == [True, True, False]


async def test_replays_of_free_text(run, aws, question):
    played = await run(aws, ["nothing"])
    replay = MACHINE.replay(aws, played.turns, ())
    assert (replay.text, replay.answer, replay.category) == (aws.text, "nothing", "invalid")
    assert replay.details["origin"] == aws.origin
    played = await run(question, ["the religious leader"])
    assert MACHINE.replay(question, played.turns, ()).category is None
    value = {"category": "correct"}
    judged = [Judgment(id="j", episode_id="e", annotator="a", kind="ambibench.category", value=value)]
    assert MACHINE.replay(question, played.turns, judged).category == "correct"
    assert MACHINE.score(question, played.turns, judged)[0].value == 1
    assert MACHINE.score(question, played.turns, ()) == ()


async def play_run(log, reader, items, who, models=None, **options):
    models = models or (lambda name: None)
    seats = build_seats(MACHINE, {"participant": who}, models, options)
    plan = build_plan(machine=MACHINE, items=items, seats=seats, config={}, seed=4, options=options, name="r")
    return await run_batch(plan, log, reader, concurrency=4)


async def test_a_whole_run_is_logged_and_scored(log, reader):
    items = generate_multiple(0, per_cell=1)
    tally = await play_run(log, reader, items, "offline/oracle")
    assert tally.statuses == {"completed": 12}
    scores = {
        metric: [score.value for score in reader.scores(run_id="r", metric=metric)]
        for metric in ("accuracy", "oracle", "valid")
    }
    assert scores["valid"] == [1.0] * 12
    assert sum(scores["accuracy"]) == pytest.approx(sum(scores["oracle"]), abs=1)
    assert reader.run("r").setup == "L2L"
    assert sum(len(reader.turns(episode.id)) for episode in reader.episodes("r")) == 240


async def test_a_run_with_a_scoring_model_makes_one_call_per_prompt(log, reader, toy):
    items = generate_multiple(0, per_cell=1)[:4]
    await play_run(log, reader, items, "test/toy", lambda name: toy.model(scoring=True))
    assert len(toy.asked) == 4
    valid = [score.value for score in reader.scores(run_id="r", metric="valid")]
    assert all(0 < value < 1 for value in valid), "mean probability of a label"


async def test_a_script_file_plays(log, reader, tmp_path):
    path = tmp_path / "x.yaml"
    path.write_text("- X\n- 'Y'\n")
    await play_run(log, reader, generate_instruction(0, per_cell=1)[:2], f"script:{path}")
    assert [turn.text for episode in reader.episodes("r") for turn in reader.turns(episode.id)] == ["X", "X"]


async def test_a_person_is_due_until_the_last_step(people, single):
    played = await people(single, ["ready"])
    assert PEOPLE.due(played.live, played.state) == "participant"
    assert played.ending is None
    played = await people(single, ["ready", Reply(text="Y", key="k")])
    assert PEOPLE.due(played.live, played.state) is None
    assert played.turns[-1].key == "k"


def test_models_are_loaded_by_name(toy):
    options = ModelOptions(script=toy.complete, scorer=toy.score)
    seats = build_seats(
        MACHINE, {"participant": "offline/script"}, lambda name: load_model(name, options), {}
    )
    assert (seats["participant"].kind, seats["participant"].name) == ("model", "offline/script")
