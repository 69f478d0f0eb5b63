"""What people see, and what they must not."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from simulator.handmethat import show
from simulator.handmethat.graph import view_for
from simulator.handmethat.hierarchy import STATES
from simulator.handmethat.meanings.model import Meaning, describe
from simulator.handmethat.room import ROOM
from simulator.handmethat.views import PlaceView
from simulator.handmethat.world import bit_set, entities, location_of, start_state

ASK = "question: where is the object you want"


def seen(played, ending=None):
    return show.robot_view(ROOM.table(played.live).play, played.live.episode.id, played.state, ending)


def place(view, name) -> PlaceView:
    return next(one for one in view.places if one.name == name)


def disguised(task, random):
    """The same task to somebody who stands at the floor: everything hidden is another."""
    world, state = task.world, task.current
    floor = world.entity("floor")
    hidden = [one for one in world.movables if location_of(world, state, one) != floor]
    boxes = [one for one in world.locations if one != floor]
    # What lies in a receptacle stays there, so that nothing comes to lie in itself.
    places = [state.container(one) for one in range(len(world))]
    for one in hidden:
        if not world.kinds[places[one]].movable:
            places[one] = boxes[int(random.random() * len(boxes))]
    flipped = bit_set(hidden) | bit_set(boxes)
    able = {"open": "openable", "dusty": "dustyable", "frozen": "freezable", "cooked": "cookable"}
    bits = {
        name: getattr(state, name) ^ (flipped & world.of(able[name]) if name in able else 0)
        for name in STATES
    }
    current = start_state(world, places, bits)._replace(waiting=True)
    meaning = Meaning("bring_me", describe({"type": "knife"}))
    others = tuple((one, None) for one in entities(world.of("knife")))
    return replace(
        task,
        id="task-bring_me-68-3-4",
        level=4,
        goal_index=68,
        current=current,
        goal="(and (open box#1))",
        meaning=meaning,
        heard=meaning,
        in_meaning=others,
        in_heard=others,
        useful=others,
        listener=((meaning, 1.0),),
        demo=("stop",),
    )


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("seed", range(4))
async def test_who_sees_in_part_cannot_tell_hidden_things_apart(run, task, language, seed):
    """Two tasks that differ in everything hidden: views and prompts are the same to the letter."""
    other = disguised(task, Random(seed))
    assert other.current.place != task.current.place
    first, second = [await run(one, "person", language=language, mode="partial") for one in (task, other)]
    assert seen(first) == seen(second)
    told = [view_for(ROOM.table(one.live), one.state, "robot") for one in (first, second)]
    assert told[0] == told[1]


async def test_in_full_mode_they_differ(run, task):
    first, second = [await run(one, "person", mode="full") for one in (task, disguised(task, Random(0)))]
    assert seen(first) != seen(second)


async def test_nothing_hidden_is_named(run, kitchen, lamp):
    played = await run(kitchen, [*lamp[:3], "look"], limit=4)
    for view in (seen(played), view_for(ROOM.table(played.live), played.state, "robot").task):
        text = repr(view)
        assert "knife" not in text
        assert "package" not in text
        assert "Bring any" not in text
        assert kitchen.id not in text


async def test_a_shut_lid_hides(run, kitchen):
    played = await run(kitchen, ["move to refrigerator"] * 2, limit=2)
    here = place(seen(played), "refrigerator")
    assert (here.here, here.lid, here.contents) == (True, "closed", None)
    # The published list offers to cool what is inside, lids ignored.
    play = ROOM.table(played.live).play
    assert "cool apple" in play.game.valid(play.after(["move to refrigerator"]))
    assert not any("apple" in command.text for command in seen(played).commands)
    assert place(seen(played), "table").contents is None
    opened = await run(kitchen, ["move to refrigerator", "open refrigerator"], limit=2)
    (apple,) = place(seen(opened), "refrigerator").contents or ()
    assert (apple.name, apple.kind, apple.contents) == ("apple#0", "apple", ())
    assert "frozen" in apple.states
    assert "pick up apple" in {command.text for command in seen(opened).commands}


async def test_in_full_mode_everything_is_shown(run, kitchen):
    view = seen(await run(kitchen, "person", mode="full"))
    assert place(view, "refrigerator").contents
    assert place(view, "refrigerator").lid == "closed"
    assert {one.name for one in place(view, "floor").contents or ()} == {"box#0", "box#1"}


async def test_the_robot_s_hands_the_human_s_and_the_cost(run, kitchen, wrong):
    held = seen(await run(kitchen, wrong[:3], limit=3))
    assert held.holding is not None
    assert held.holding.name == "lamp#0"
    assert held.beside_human
    given = seen(await run(kitchen, [ASK, *wrong], limit=5))
    assert [one.name for one in given.human_holds] == ["lamp#0"]
    assert given.holding is None
    assert (given.moves, given.cost) == (5, 14)


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_commands_and_questions_as_buttons(run, kitchen, language):
    view = seen(await run(kitchen, "person", language=language))
    texts = [command.text for command in view.commands]
    assert {"move to table", "move to human", "pick up box#0", "open box#1", "stop", "look"} <= set(texts)
    assert len(set(texts)) == len(texts)
    pick = next(command for command in view.commands if command.text == "pick up box#0")
    assert (pick.verb, pick.things) == ("pick-up", ("box#0",))
    assert pick.label != pick.text
    assert all(question.text.startswith("question: ") for question in view.questions)
    assert {question.cost for question in view.questions} == {10, 30}
    paper = seen(await run(kitchen, "person", protocol="paper", language=language))
    assert paper.questions == ()


async def test_turns_are_told_with_outcomes(run, kitchen, lamp):
    played = await run(kitchen, [ASK, *lamp])
    view = seen(played, played.ending)
    kinds = [line.kind for line in view.lines]
    assert kinds[:4] == ["utterance", "question", "answer", "command"]
    assert kinds[4:6] == ["outcome", "command"]
    assert kinds[-1] == "thanks"
    assert (view.ended, view.success, view.ending.status, view.my_turn) == (True, True, "completed", False)


async def test_the_story_has_places_and_verbs(task):
    steps = show.story_steps(task, "en")
    assert [(step.verb, step.place) for step in steps] == [("move", "table"), ("move", "sofa")]
    assert all(step.text for step in steps)


async def test_the_human_sees_what_is_meant_and_what_is_asked(run, kitchen):
    played = await run(kitchen, [ASK, "stop"], "person")
    view = show.human_view(ROOM.table(played.live).play, "e", played.state)
    assert (view.my_turn, view.pending, view.waiting_for) == (True, ASK, None)
    assert "shelf" in view.meaning
    assert len(view.wanted) == 1
    waiting = await run(kitchen, "person", "person")
    view = show.human_view(ROOM.table(waiting.live).play, "e", waiting.state)
    assert (view.my_turn, view.pending, view.waiting_for) == (False, None, "robot")


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_the_replay_tells_everything(run, kitchen, lamp, language):
    told = replace(kitchen, listener=((kitchen.utterance, 0.25),), goal="(open box#0)")
    played = await run(told, [ASK, *lamp], language=language)
    replay = show.replay(told, language, played.turns)
    assert replay.counts == {"meaning": 1, "utterance": 3, "goal": 1, "heard": 1, "useful_in_utterance": 1}
    assert "3" in replay.why
    assert [(one.meant, one.heard, one.probability, one.objects) for one in replay.readings] == [
        (False, False, 0.25, 3),
        (True, True, None, 1),
    ]
    assert replay.scores["score"] == 86
    assert replay.goal
    assert replay.goal_title


async def test_in_full_mode_every_thing_is_shown_once(run, task):
    def names(things):
        return [name for one in things for name in (one.name, *names(one.contents or ()))]

    view = seen(await run(task, "person", mode="full"))
    shown = [name for one in view.places for name in names(one.contents or ())]
    assert sorted(shown) == sorted(task.world.names[one] for one in task.world.movables)


def test_why_has_a_sentence_for_every_level(kitchen):
    sentences = {show.why(replace(kitchen, level=level), "en") for level in (1, 2, 3, 4)}
    assert len(sentences) == 4
