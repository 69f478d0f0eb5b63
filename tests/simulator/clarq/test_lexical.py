import pytest

from simulator.clarq.focus import asked_kinds, foci, focus_of_text, several_of
from simulator.clarq.lexical import (
    Speller,
    chinese_places,
    clauses,
    is_question,
    sentences,
    stem,
    terms,
    topics,
    unite_synonyms,
)


def test_terms_are_stemmed_content_words():
    assert terms("Which of the healing herbs grow there?", "en") == ("heal", "herb", "grow")
    assert terms("Please tell me more about it, Jax!", "en") == ()


@pytest.mark.each(
    ("word", "other"),
    [
        ("berries", "berry"),
        ("digging", "dig"),
        ("stopped", "stop"),
        ("churches", "church"),
        ("glass", "glass"),
        ("ropes", "rope"),
        ("trees", "tree"),
        ("mice", "mouse"),
    ],
)
def test_inflections_share_a_stem(word, other):
    assert stem(word) == stem(other)


def test_chinese_terms_are_pairs_between_stops():
    assert terms("请问银钥匙在地窖吗？", "zh") == ("银钥", "钥匙", "地窖")
    assert [(placed.topic, placed.place) for placed in chinese_places("灯在地窖")] == [("灯", 0), ("地窖", 2)]


def test_synonyms_are_one_topic():
    assert topics("where to buy", "en") == topics("where to purchase", "en") != frozenset()
    assert topics("购买绳子", "zh") == topics("买绳子", "zh")
    assert unite_synonyms("去采集草药") == "去获得草药"


def test_sentences_of_a_list():
    text = "Thanks. I will see St. Bree.\n\n1. Which road?\n2) Is it far? \n- And then"
    assert sentences(text, "en") == (
        "Thanks.",
        "I will see St Bree.",
        "Which road?",
        "Is it far?",
        "And then",
    )
    assert sentences("好的。\n1. 走哪条路？\n2、远吗", "zh") == ("好的。", "走哪条路？", "远吗")


def test_clauses_part_where_the_subject_may_change():
    assert clauses("Where is the key, and which door does it open?", "en") == (
        "Where is the key",
        "and which door does it open?",
    )
    assert clauses("钥匙在哪里，哪扇门能打开？", "zh") == ("钥匙在哪里", "哪扇门能打开？")


@pytest.mark.each(
    ("text", "language", "asks"),
    [
        ("Which road?", "en", True),
        ("Could you tell me the way", "en", True),
        ("I will take the north road.", "en", False),
        ("请告诉我", "zh", True),
        ("我去北边。", "zh", False),
    ],
)
def test_questions_are_recognised_by_mark_or_words(text, language, asks):
    assert is_question(text, language) is asks


def test_the_focus_falls_with_the_distance_from_the_question_word():
    (first, second) = foci("Which tavern hides the knight, and how do I enter the castle?", "en")
    assert list(first.weights) == ["tavern", "hide", "knight"]
    assert first.weights["tavern"] == 1 > first.weights["hide"] > first.weights["knight"]
    assert (first.how, second.how) == (False, True)
    assert foci("I will go to the tavern.", "en") == ()


def test_in_chinese_the_thing_may_stand_before_the_question_word():
    (where,) = foci("老铁匠在哪里？", "zh")
    assert where.weights["铁匠"] > where.weights["老铁"] > 0
    (how,) = foci("灯塔如何点亮？", "zh")
    assert how.how
    assert how.weights["点亮"] > how.weights["灯塔"]


def test_kinds_asked_for():
    assert asked_kinds("Which type of furnace, and what iron key?", "en") == {stem("furnace"), "key"}
    assert asked_kinds("哪种材质的马车？去哪里？", "zh") == {"马车"}


def test_what_an_explanation_settles():
    text = "There are two cellars in the game. This answers the question of which cellar to enter."
    assert several_of(text, "en") == {"cellar"}
    assert focus_of_text(text, "en")["cellar"] == 1
    assert several_of("场景中存在多个地窖，需要说明。", "zh") == {"地窖"}


def test_every_process_chooses_the_same_form_of_a_word():
    assert Speller(["He stored what she stores."], "en").correct("Who storex it?") == "Who stores it?"
