"""Pages show what people may see, and nothing that they must not."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from simulator.blocks import Card, Chips, Detail, Meter, Talk, message
from simulator.handmethat import show
from simulator.handmethat.graph import view_for
from simulator.handmethat.hierarchy import STATES
from simulator.handmethat.machine import MACHINE
from simulator.handmethat.meanings.model import Meaning, describe
from simulator.handmethat.reveal import readings_card, replay, result
from simulator.handmethat.world import bit_set, entities, location_of, start_state
from simulator.plan_blocks import Caller, Menu, Places, Suggestions

ASK = "question: where is the object you want"


def seen(played, ending=None):
    return show.seat_page(MACHINE.context(played.live), played.state, "robot", ending)


def looking(played):
    """The same as if it were the robot's turn."""
    blocks = show.robot_blocks(MACHINE.context(played.live).play, played.state, True)
    return replace(seen(played), blocks=blocks)


def block(view, kind):
    return next(block for block in view.blocks if isinstance(block, kind))


def place(view, name):
    return next(place for place in block(view, Places).places if place.name == name)


def things(groups):
    """The things of a place, and those in them."""
    return [thing for _, piles in groups or () for thing in lying(piles)]


def lying(piles):
    return [part for pile in piles or () for thing in pile.things for part in (thing, *lying(thing.piles))]


def offered(view):
    """The commands and questions that are offered."""
    return {offer.text for offer in block(view, Suggestions).offers}


def disguised(task, random):
    """The same task to somebody who stands at the floor: everything hidden is another."""
    world, state = task.world, task.current
    floor = world.entity("floor")
    hidden = [entity for entity in world.movables if location_of(world, state, entity) != floor]
    boxes = [entity for entity in world.locations if entity != floor]
    # What lies in a receptacle stays there, so that nothing comes to lie in itself.
    places = [state.container(entity) for entity in range(len(world))]
    for entity in hidden:
        if not world.kinds[places[entity]].movable:
            places[entity] = boxes[int(random.random() * len(boxes))]
    flipped = bit_set(hidden) | bit_set(boxes)
    able = {"open": "openable", "dusty": "dustyable", "frozen": "freezable", "cooked": "cookable"}
    bits = {
        name: getattr(state, name) ^ (flipped & world.find_all(able[name]) if name in able else 0)
        for name in STATES
    }
    current = start_state(world, places, bits)._replace(waiting=True)
    meaning = Meaning("bring_me", describe({"type": "knife"}))
    others = tuple((entity, None) for entity in entities(world.find_all("knife")))
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
async def test_hidden_things_cannot_be_told_apart_in_partial_mode(run, task, language, seed):
    """Two tasks that differ in everything hidden: views and prompts are the same to the letter."""
    other = disguised(task, Random(seed))
    assert other.current.place != task.current.place
    first, second = [
        await run(episode, "person", language=language, mode="partial") for episode in (task, other)
    ]
    assert seen(first) == seen(second)
    views = [view_for(MACHINE.context(episode.live), episode.state, "robot") for episode in (first, second)]
    assert views[0] == views[1]


async def test_in_full_mode_they_differ(run, task):
    first, second = [
        await run(episode, "person", mode="full") for episode in (task, disguised(task, Random(0)))
    ]
    assert seen(first) != seen(second)


async def test_nothing_hidden_is_named(run, kitchen, lamp):
    played = await run(kitchen, [*lamp[:3], "look"], limit=4)
    for view in (seen(played), view_for(MACHINE.context(played.live), played.state, "robot").task):
        text = repr(view)
        assert "knife" not in text
        assert "package" not in text
        assert "Bring any" not in text
        assert kitchen.id not in text


async def test_a_shut_lid_hides(run, kitchen):
    played = await run(kitchen, ["move to refrigerator"] * 2, limit=2)
    here = place(seen(played), "refrigerator")
    assert (here.here, here.is_shut, here.groups, here.count) == (True, True, None, None)
    # The published list offers to cool what is inside, lids ignored.
    play = MACHINE.context(played.live).play
    assert "cool apple" in play.game.valid(play.after(["move to refrigerator"]))
    assert not any("apple" in text for text in offered(looking(played)))
    assert place(seen(played), "table").groups is None
    opened = await run(kitchen, ["move to refrigerator", "open refrigerator"], limit=2)
    view = looking(opened)
    (apple,) = things(place(view, "refrigerator").groups)
    assert (apple.name, apple.number, apple.piles) == ("apple#0", "", [])
    assert "frozen" in {tag.text for tag in apple.tags}
    assert "pick up apple" in offered(view) & {offer.text for offer in apple.offers}


async def test_in_full_mode_everything_is_shown(run, kitchen):
    view = seen(await run(kitchen, "person", mode="full"))
    refrigerator = place(view, "refrigerator")
    assert refrigerator.count == 1
    assert ("closed" in refrigerator.shows, refrigerator.more_tags[0].locked) == (True, True)
    assert {thing.name for thing in things(place(view, "floor").groups)} == {"box#0", "box#1"}


async def test_the_robot_s_hands_the_human_s_and_the_cost(run, kitchen, wrong):
    held = seen(await run(kitchen, wrong[:3], limit=3))
    assert block(held, Places).hand.things[0].name == "lamp#0"
    assert block(held, Places).beside and block(held, Caller).visitor == "robot"
    given = seen(await run(kitchen, [ASK, *wrong], limit=5))
    assert [thing.name for thing in block(given, Caller).holds[1]] == ["lamp#0"]
    assert block(given, Places).hand is None
    meter = block(given, Meter)
    assert (meter.value, meter.most, meter.note.fields["cost"]) == (5, 5, 14)


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_commands_and_questions_as_buttons(run, kitchen, language):
    view = seen(await run(kitchen, "person", language=language))
    offers = block(view, Suggestions).offers
    texts = [offer.text for offer in offers]
    assert {"move to table", "move to human", "pick up box#0", "open box#1", "stop", "look"} <= set(texts)
    assert len(set(texts)) == len(texts)
    pick = next(offer for offer in offers if offer.text == "pick up box#0")
    box = next(thing for thing in things(place(view, "floor").groups) if thing.name == "box#0")
    assert pick in box.offers
    assert pick.label != pick.text
    assert place(view, "table").go.text == "move to table"
    assert block(view, Caller).go.text == "move to human"
    questions = block(view, Menu).offers
    assert all(offer.text.startswith("question: ") for offer in questions)
    assert {offer.price.fields["cost"] for offer in questions} == {10, 30}
    paper = seen(await run(kitchen, "person", protocol="paper", language=language))
    assert not [each for each in paper.blocks if isinstance(each, Menu)]
    assert not [text for text in offered(paper) if text.startswith("question")]


async def test_turns_are_shown_with_outcomes(run, kitchen, lamp):
    played = await run(kitchen, [ASK, *lamp])
    lines = show.lines(played.state)
    assert [move.kind for move in lines[:4]] == ["utterance", "question", "answer", "command"]
    assert [move.seat for move in lines[:4]] == ["human", "robot", "human", "robot"]
    assert [(move.kind, move.seat) for move in lines[4:6]] == [("outcome", ""), ("command", "robot")]
    assert lines[-1].kind == "thanks"
    assert lines[1].text == ASK.removeprefix("question: ")
    view = seen(played, played.ending)
    assert (view.stage, view.blocks, view.ending.status, view.my_turn) == ("done", (), "completed", False)
    assert view.moves == tuple(move for move in lines if move.seat)


async def test_the_story_has_places_and_verbs(task):
    steps = show.story_steps(task, "en")
    assert [step.place for step in steps] == ["table", "sofa"]
    assert all(step.text for step in steps)


async def test_the_human_sees_what_is_meant_and_what_is_asked(run, kitchen):
    played = await run(kitchen, [ASK, "stop"], "person")
    view = show.seat_page(MACHINE.context(played.live), played.state, "human")
    assert (view.my_turn, view.waits_for, view.due.kind) == (True, "", "answer")
    assert block(view, Talk).moves[-1].text == ASK.removeprefix("question: ")
    secret = [part for card in view.blocks if isinstance(card, Card) for part in card.blocks]
    (meant,) = (part for part in secret if isinstance(part, Detail) and part.lead)
    assert "shelf" in meant.content.text
    (content,) = (
        part.content for part in secret if isinstance(part, Detail) and isinstance(part.content, Chips)
    )
    assert len(content.texts) == 1
    waiting = await run(kitchen, "person", "person")
    view = show.seat_page(MACHINE.context(waiting.live), waiting.state, "human")
    assert (view.my_turn, view.waits_for, view.people) == (False, "robot", ("robot",))


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_the_result_shows_everything(run, kitchen, lamp, language):
    variant = replace(
        kitchen, listener=((kitchen.utterance, 0.5), (kitchen.meaning, 0.25)), goal="(open box#0)"
    )
    assert "3" in show.level_explanation(variant, language)
    played = await run(variant, [ASK, *lamp], language=language)
    verdict, _, readings, *_ = result(replay(variant, language, played.turns), "robot", in_study=False).blocks
    assert verdict.figures[0].value == "86"
    rows = readings.blocks[1].rows
    assert [(row.share, row.value, row.look, row.note.fields.get("count")) for row in rows] == [
        (1.0, "50 %", "", 3),
        (0.5, "25 %", "right", 1),
    ]
    assert rows[1].badge == message("result.both_mark")
    assert len(readings_card(kitchen, language).blocks) == 1


async def test_in_full_mode_every_thing_is_shown_once(run, task):
    view = seen(await run(task, "person", mode="full"))
    shown = [thing.name for place in block(view, Places).places for thing in things(place.groups)]
    assert sorted(shown) == sorted(task.world.names[entity] for entity in task.world.movables)


def test_why_has_a_sentence_for_every_level(kitchen):
    sentences = {show.level_explanation(replace(kitchen, level=level), "en") for level in (1, 2, 3, 4)}
    assert len(sentences) == 4
