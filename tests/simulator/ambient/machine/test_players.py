"""The built-in players, and the graph with automatic seats."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict

import pytest

from simulator.ambient.graph import MACHINE
from simulator.ambient.players import TASKS_OF, seat_for
from simulator.errors import InputError, SeatError
from simulator.seats import Reply

PLAYED = ("crowd", "evaluate", "annotate", "generate", "true_false", "nli")
TURNS = {"crowd": 3, "evaluate": 2, "annotate": 1, "generate": 1, "true_false": 8, "nli": 3}


def scores(item, played):
    return {row.metric: row.value for row in MACHINE.score(item, played.turns, ())}


@pytest.mark.parametrize("task", PLAYED)
async def test_gold_is_right_everywhere(run, items, task):
    played = await run(items[task], "offline/gold")
    assert len(played.turns) == TURNS[task]
    assert played.ending.status == "completed"
    assert json.loads(json.dumps(played.payloads)) == played.payloads
    assert not any("person" in payload for payload in played.payloads)
    assert (
        scores(items[task], played)
        == {
            "crowd": {"label": 1, "plausible": 1, "accepts_all": 1, "distractor": 0, "relabel": 1},
            "evaluate": {"plausible": 1, "relabel": 1},
            "annotate": {"exact": 1, "ambiguous": 1, "discarded": 0},
            "generate": {"edit_f1": 1, "edit_f1_robust": 1},
            "true_false": {
                "accuracy": 1,
                **{f"accuracy_{n}": 1 for n in range(4)},
                "all_right": 1,
                "null": 0,
            },
            "nli": {"exact": 1, "group_exact": 1},
        }[task]
    )


@pytest.mark.parametrize("task", PLAYED)
async def test_random_depends_only_on_the_seed(run, items, task):
    def texts(played):
        return json.dumps(played.payloads)

    every = [texts(await run(items[task], "offline/random", seed=seed)) for seed in range(12)]
    assert texts(await run(items[task], "offline/random", seed=3)) == every[3]
    assert len(Counter(every)) > 3


async def test_copy_scores_nothing(run, items):
    played = await run(items["generate"], "offline/copy")
    assert played.turns[0].text.startswith("1. premise 7 whole Then the claim is")
    assert len(played.payloads[0]["rewrites"]) == 3
    assert scores(items["generate"], played) == {"edit_f1": 0, "edit_f1_robust": 0}


async def test_built_in_players_refuse_other_tasks(run, items):
    for name, tasks in TASKS_OF.items():
        for task in items.keys() - set(tasks):
            with pytest.raises(SeatError, match="cannot do the task"):
                await run(items[task], name)
    with pytest.raises(InputError, match="offline/copy"):
        seat_for("annotator", "offline/nobody", lambda name: None, {})


async def test_an_interrupted_episode_goes_on(run, items):
    for task in ("crowd", "true_false", "nli"):
        whole = (await run(items[task], "offline/random")).turns
        for number in range(len(whole)):
            again = await run(items[task], "offline/random", tuple(whole[:number]))
            assert [bare(turn) for turn in again.turns] == [bare(turn) for turn in whole]


def bare(turn):
    return {key: value for key, value in asdict(turn).items() if key not in {"created_at", "seconds"}}


async def test_a_script_fills_in_forms(run, items):
    forms = [
        Reply(move={"label": "contradiction"}),
        Reply(move={"plausible": [True, True, False]}),
        Reply(move={"labels": ["neutral", "neutral", "neutral"]}),
    ]
    played = await run(items["crowd"], forms)
    assert scores(items["crowd"], played) == {
        "label": 0, "plausible": 0.5, "accepts_all": 0, "distractor": 1, "relabel": 0.5
    }  # fmt: skip
    with pytest.raises(SeatError):
        await run(items["crowd"], [Reply(text="neutral")])


async def test_generations_are_parsed_by_both_parsers(run, items):
    text = "Well.\n1. premise 7 whole read 0 Then the claim is true.\n2. other then the claim is inconclusive"
    played = await run(items["generate"], [text])
    payload = played.payloads[0]
    assert (payload["rewrites"], payload["warnings"]) == ({}, ["no_list"])
    assert payload["robust"] == {"entailment": "premise 7 whole read 0", "neutral": "other"}
    assert len(payload["prompt_hash"]) == 64
    assert scores(items["generate"], played) == {"edit_f1": 0, "edit_f1_robust": 0.5}
