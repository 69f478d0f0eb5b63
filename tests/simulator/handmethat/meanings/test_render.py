"""Instructions and meanings in words (spec 7.4)."""

from __future__ import annotations

import re
from random import Random

import pytest

from simulator.errors import InputError
from simulator.handmethat.hierarchy import CLASSES, hierarchy
from simulator.handmethat.meanings.model import QUESTS, STATE_KEYS, VERBS, Meaning, describe
from simulator.handmethat.meanings.render import (
    display_name,
    label,
    render_meaning,
    render_utterance,
    text_name,
    wording,
)

OPENERS = ("", "please ", "can you ")


@pytest.fixture
def home(household):
    return household(
        {"box#0": "cabinet", "box#1": "floor", "tray#0": "table", "lamp#0": "table", "lamp#1": "box#0"},
        colors={"box#0": "red", "box#1": "red"},
        sizes={"box#0": "large", "box#1": "small", "tray#0": "small"},
    )


def phrase(home, quest, specifiers, argument=None, language="en"):
    """All the wordings of an utterance."""
    meaning = Meaning(quest, describe(specifiers), argument)
    return {render_utterance(home[0], meaning, language, seed) for seed in range(200)}


def test_three_openers_times_three_synonyms(home):
    assert phrase(home, "bring_me", {"subclass": "snack", "frozen": False}) == {
        f"{opener}{verb} me the unfrozen snack.".capitalize()
        for opener in OPENERS
        for verb in ("hand", "bring", "give")
    }


@pytest.mark.parametrize(
    ("quest", "specifiers", "argument", "sentence"),
    [
        ("bring_me", {"type": "lamp", "ontop": "table"}, None, "Give me the lamp on the table."),
        ("bring_me", {}, None, "Please hand me that."),
        ("bring_me", {"class": "FOOD"}, None, "Can you bring me the food."),
        ("bring_me", {"type": "tea_bag"}, None, "Bring me the tea_bag."),
        ("bring_me", {"color": "red"}, None, "Bring me the red one."),
        ("bring_me", {"inside": "box#0"}, None, "Bring me the one in the large red box (box#0)."),
        ("bring_me", {"ontop": "tray#0"}, None, "Bring me the one on the small tray."),
        (
            "bring_me",
            {"type": "box", "size": "large", "color": "red", "dusty": False, "open": False},
            None,
            "Bring me the closed, clean, red, large box.",
        ),
        (
            "bring_me",
            {"cooked": True, "sliced": False, "frozen": True},
            None,
            "Bring me the cooked, frozen, unsliced one.",
        ),
        ("bring_me", {"soaked": False, "type": "rag"}, None, "Bring me the not soaked rag."),
        ("move_to", {"type": "lamp"}, "box#1", "Put the lamp to the small red box (box#1)."),
        ("move_to", {"type": "lamp"}, "table", "Please move the lamp to the table."),
        ("move_to", {}, "table", "Move it to the table."),
        ("move_to", {"type": "lamp"}, None, "Put the lamp over there."),
        ("move_to", {}, None, "Can you put it over there."),
        ("change_state", {}, "clean", "Clean it up."),
        ("change_state", {"type": "book"}, "clean", "Clean the book up."),
        (
            "change_state",
            {"type": "basket", "dusty": True, "color": "red"},
            "clean",
            "Clean up the dusty, red basket.",
        ),
        ("change_state", {"type": "orange"}, "heat", "Heat the orange up."),
        ("change_state", {"type": "orange"}, "cool", "Cool the orange down."),
        ("change_state", {"type": "orange"}, "slice", "Slice the orange up."),
        (
            "change_state",
            {"type": "printer", "toggled": False},
            "toggle",
            "Toggle on the toggled-off printer.",
        ),
        ("change_state", {"type": "rag", "inside": "cabinet"}, "soak", "Soak the rag in the cabinet."),
        ("change_state", {"type": "jar"}, "open", "Open the jar."),
    ],
)
def test_english(home, quest, specifiers, argument, sentence):
    assert sentence in phrase(home, quest, specifiers, argument)


def test_particle_turns_at_twenty_characters(home):
    shorter, longer = "the dusty newspaper", "the frozen hamburger"
    assert (len(shorter), len(longer)) == (19, 20)
    assert f"Clean {shorter} up." in phrase(
        home, "change_state", {"type": "newspaper", "dusty": True}, "clean"
    )
    assert f"Heat up {longer}." in phrase(home, "change_state", {"type": "hamburger", "frozen": True}, "heat")


def test_states_by_their_words(home):
    table = wording("en")["states"]
    assert table["toggled"] == ["toggled-on", "toggled-off"]
    on = {"type": "printer", "toggled": True}
    assert "Hand me the toggled-on printer." in phrase(home, "bring_me", on)
    off = {"type": "printer", "toggled": False}
    assert "Hand me the toggled-off printer." in phrase(home, "bring_me", off)


def test_one_seed_one_wording(home):
    meaning = Meaning("bring_me", (("type", "lamp"),))
    first = [render_utterance(home[0], meaning, "en", seed) for seed in range(20)]
    assert first == [render_utterance(home[0], meaning, "en", seed) for seed in range(20)]
    assert len(set(first)) > 3
    # The opener is the episode's, whatever is said.
    for seed in range(20):
        openers = {
            render_utterance(home[0], Meaning(quest, (), verb), "en", seed).startswith(("Please", "Can you"))
            for quest, verb in (("bring_me", None), ("move_to", None), ("change_state", "clean"))
        }
        assert len(openers) == 1


@pytest.mark.parametrize(
    ("quest", "specifiers", "argument", "sentence"),
    [
        ("bring_me", {}, None, "把那个递给我。"),
        ("bring_me", {"type": "lamp", "ontop": "table"}, None, "请把桌子上的台灯拿给我。"),
        ("bring_me", {"subclass": "snack", "frozen": False}, None, "能把没冷冻的小吃递给我吗？"),
        ("bring_me", {"inside": "box#0"}, None, "把红色大号箱子（box#0）里的那个递给我。"),
        ("bring_me", {"color": "red", "ontop": "floor"}, None, "把地板上红色的那个递给我。"),
        ("bring_me", {"color": "red", "size": "small"}, None, "把红色、小号的那个递给我。"),
        (
            "bring_me",
            {"type": "box", "size": "large", "color": "red", "dusty": True, "open": True},
            None,
            "帮我把敞开、有灰尘的红色大号箱子拿过来。",
        ),
        (
            "bring_me",
            {"type": "box", "color": "red", "inside": "cabinet"},
            None,
            "把柜子里的红色箱子递给我。",
        ),
        ("bring_me", {"type": "box", "open": True, "inside": "cabinet"}, None, "把柜子里敞开的箱子递给我。"),
        ("move_to", {"type": "lamp"}, "box#1", "把台灯放到红色小号箱子（box#1）里。"),
        ("move_to", {"type": "lamp"}, "table", "能把台灯移到桌子上吗？"),
        ("move_to", {}, None, "请把它放到那边去。"),
        ("change_state", {"type": "book"}, "clean", "把书弄干净。"),
        ("change_state", {}, "toggle", "请把它的开关打开。"),
        ("change_state", {"type": "rag"}, "soak", "把抹布浸湿。"),
    ],
)
def test_chinese(home, quest, specifiers, argument, sentence):
    assert sentence in phrase(home, quest, specifiers, argument, "zh")


def test_chinese_has_as_many_wordings(home):
    assert len(phrase(home, "bring_me", {"type": "lamp"}, language="zh")) == 9
    assert len(phrase(home, "move_to", {"type": "lamp"}, "table", language="zh")) == 6
    for table in (wording("en"), wording("zh")):
        assert len(table["openers"]) == 3


@pytest.mark.parametrize("language", ["en", "zh"])
def test_everything_has_words(home, language):
    kinds = [{"type": name} for name in hierarchy().kinds]
    kinds += [{"subclass": name} for name in hierarchy().subclasses] + [{"class": name} for name in CLASSES]
    states = [{key: value} for key in STATE_KEYS[:7] for value in (True, False)]
    seen = set()
    for specifiers in (*kinds, *states):
        meaning = Meaning("bring_me", describe(specifiers))
        sentence = render_utterance(home[0], meaning, language, 1)
        seen.add(sentence)
        if language == "zh":
            assert not re.search("[a-zA-Z]", sentence)
            assert not re.search("[a-zA-Z]", render_meaning(home[0], meaning, language))
    # Only a subclass and its one type share a word.
    assert len(seen) >= len(hierarchy().kinds) + len(CLASSES) + len(states)
    for verb in VERBS:
        assert verb in wording(language)["meanings"]
        assert verb in wording(language)["verbs"]


@pytest.mark.parametrize(
    ("quest", "specifiers", "argument", "english", "chinese"),
    [
        ("bring_me", {}, None, "Bring anything.", "把任意一件东西拿来。"),
        (
            "bring_me",
            {"inside": "cabinet"},
            None,
            "Bring anything in the cabinet.",
            "把柜子里任意一件东西拿来。",
        ),
        (
            "bring_me",
            {"type": "gym_shoe", "dusty": False},
            None,
            "Bring any dust-free gym shoe.",
            "把任意一件无灰尘的运动鞋拿来。",
        ),
        ("bring_me", {"color": "red"}, None, "Bring any red thing.", "把任意一件红色的东西拿来。"),
        (
            "move_to",
            {"type": "lamp", "inside": "box#0"},
            "box#1",
            "Move any lamp in the large red box #0 to the small red box #1.",
            "把红色大号箱子#0里任意一件台灯移到红色小号箱子#1里。",
        ),
        ("move_to", {"type": "lamp"}, None, "Move any lamp somewhere else.", "把任意一件台灯移到别处。"),
        ("change_state", {"subclass": "fruit"}, "slice", "Slice any fruit.", "把任意一件水果切一下。"),
    ],
)
def test_meanings_for_people(home, quest, specifiers, argument, english, chinese):
    meaning = Meaning(quest, describe(specifiers), argument)
    assert render_meaning(home[0], meaning, "en") == english
    assert render_meaning(home[0], meaning, "zh") == chinese


def test_names(home):
    world, _ = home
    box, tray, table = (world.entity(name) for name in ("box#0", "tray#0", "table"))
    assert display_name(world, box, "en") == "large red box (box#0)"
    assert display_name(world, box, "zh") == "红色大号箱子（box#0）"
    assert display_name(world, tray, "en") == "small tray"
    assert display_name(world, table, "zh") == "桌子"
    assert display_name(world, world.entity("h"), "en") == "human"
    assert (text_name(world, box, "en"), text_name(world, box, "zh")) == ("box#0", "箱子（box#0）")
    assert (label(world, box, "en"), label(world, box, "zh")) == ("large red box #0", "红色大号箱子#0")
    assert label(world, table, "en") == "table"


def test_unknown_names_and_languages(home):
    with pytest.raises(InputError, match="piano"):
        render_utterance(home[0], Meaning("move_to", (), "piano"), "en", 1)
    with pytest.raises(InputError, match="'fr'"):
        render_utterance(home[0], Meaning("bring_me", ()), "fr", 1)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_sampled_utterances_are_sentences(language, case):
    for quest in QUESTS:
        world, state, rewards, _, _ = case(2, quest)
        random = Random(1)
        for entity, argument in rewards.useful[:20]:
            pairs = {"type": world.kinds[entity].name}
            if random.random() < 0.5:
                container = state.container(entity)
                pairs[world.relation(container)] = world.names[container]
            sentence = render_utterance(
                world, Meaning(quest, describe(pairs), argument), language, random.randrange(99)
            )
            assert re.fullmatch(r"[A-Z][a-z0-9_#(),' -]+\." if language == "en" else r"[^.]+[。？]", sentence)
