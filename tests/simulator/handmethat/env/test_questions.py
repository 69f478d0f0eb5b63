"""Questions and answers (spec 9.7)."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.handmethat.data import load_tasks
from simulator.handmethat.env.asking import read_question, table
from simulator.handmethat.env.questions import answer, official_questions, question_cost
from simulator.handmethat.items import Task
from simulator.handmethat.meanings.model import Meaning, describe
from simulator.handmethat.scene import sample_scene
from simulator.handmethat.world import State, World

THINGS = {
    "box#0": "floor",
    "box#1": "floor",
    "mug#0": "cabinet",
    "apple#0": "table",
    "apple#1": "table",
    "orange#0": "table",
    "milk#0": "table",
    "book#0": "shelf",
    "hat#0": "bed",
}


@pytest.fixture
def scene(household) -> tuple[World, State]:
    return household(
        THINGS, colors={"box#0": "red", "box#1": "green"}, sizes={"box#0": "large", "mug#0": "small"}
    )


@pytest.fixture
def fruit(scene, make_task) -> Task:
    """Put the unfrozen fruit that is on the table into the red box."""
    description = describe({"subclass": "fruit", "ontop": "table", "frozen": False})
    return make_task(*scene, Meaning("move_to", description, "box#0"))


@pytest.fixture
def mug(scene, make_task) -> Task:
    """Bring the small mug in the cabinet."""
    description = describe({"type": "mug", "inside": "cabinet", "size": "small", "dusty": False})
    return make_task(*scene, Meaning("bring_me", description))


@pytest.fixture
def anything(scene, make_task) -> Task:
    return make_task(*scene, Meaning("bring_me", ()))


def ask(task: Task, text: str, language: str = "en") -> tuple[str, str, int]:
    reply = answer(task, text, language)
    return reply.kind, reply.key, reply.cost


# Published question -> answers for the fruit, the mug and anything.
OFFICIAL = [
    (
        "can you say it clearly",
        "clear",
        30,
        [
            "I mean the unfrozen fruit on the table.",
            "I mean the dust-free, small mug in the cabinet.",
            "I mean the one.",
        ],
    ),
    (
        "which type do you mean",
        "type",
        10,
        ["I mean some fruit.", "I mean a mug.", "I have no special type in mind."],
    ),
    ("which color do you like", "color", 10, ["I have no special color in mind."] * 3),
    (
        "which size do you like",
        "size",
        10,
        ["I have no special size in mind.", "The small one.", "I have no special size in mind."],
    ),
    (
        "where is the object you want",
        "place",
        10,
        ["It is on the table.", "It is in the cabinet.", table()["answers"]["en"]["no_place"]],
    ),
    (
        "do you want a dusty one",
        "state",
        10,
        ["That does not matter to me.", "No.", "That does not matter to me."],
    ),
    (
        "do you want a frozen one",
        "state",
        10,
        ["No.", "That does not matter to me.", "That does not matter to me."],
    ),
]


@pytest.mark.each(("text", "key", "cost", "answers"), OFFICIAL)
def test_published_questions(
    fruit: Task, mug: Task, anything: Task, text: str, key: str, cost: int, answers: list[str]
) -> None:
    for task, expected in zip((fruit, mug, anything), answers, strict=True):
        for words in (text, f"{text.capitalize()}?"):
            reply = answer(task, words)
            assert (reply.text, reply.key, reply.cost) == (expected, key, cost)


def test_where_to_place_it_is_for_move_to_alone(fruit: Task, mug: Task) -> None:
    assert answer(fruit, "where do you want to place it").text == "Into the large red box (box#0), please."
    assert ask(mug, "where do you want to place it") == ("unknown", "other", 10)


@pytest.mark.parametrize("state", table()["states"])
def test_the_question_about_each_state_is_understood(scene, make_task, state: str) -> None:
    """The published program never understands it (B9)."""
    for value, kind in ((True, "yes"), (False, "no")):
        task = make_task(*scene, Meaning("bring_me", ((state, value),)))
        assert ask(task, f"do you want a {state} one") == (kind, "state", 10)
        assert ask(task, f" do you want a {state} one ?", "zh") == (kind, "state", 10)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_listed_question_is_understood_and_answered_in_the_language(fruit: Task, language: str) -> None:
    questions = official_questions(language)
    assert len(questions) == 6 + 7
    for text in questions:
        reply = answer(fruit, text, language)
        assert reply.key != "other", text
        assert reply.text
        assert (language == "zh") == any("\u4e00" <= letter <= "\u9fff" for letter in reply.text)


# Words, kind, key for the fruit.
FREE = [
    # open
    ("What colour?", "indifferent", "color"),
    ("how big should it be", "indifferent", "size"),
    ("What kind of thing is it?", "value", "type"),
    ("what is it?", "value", "type"),
    ("What should I put into the box?", "value", "type"),
    ("Where can I find it?", "value", "place"),
    ("Which location is it in?", "value", "place"),
    ("Where should I put it?", "value", "destination"),
    ("Where do you want it?", "value", "destination"),
    ("into what?", "value", "destination"),
    ("Which one do you mean?", "value", "clear"),
    ("Could you be more specific?", "value", "clear"),
    ("Please describe it", "value", "clear"),
    ("要什么颜色的？", "indifferent", "color"),
    ("多大的？", "indifferent", "size"),
    ("你要哪种东西？", "value", "type"),
    ("它在哪儿？", "value", "place"),
    ("放到哪里去？", "value", "destination"),
    ("请说得更清楚一点", "value", "clear"),
    # kinds
    ("Is it a fruit?", "yes", "type"),
    ("is it food", "yes", "type"),
    ("Do you mean an apple?", "indifferent", "type"),
    ("Do you want apples?", "indifferent", "type"),
    ("Is it a drink?", "no", "type"),
    ("is it a book?", "no", "type"),
    ("是水果吗？", "yes", "type"),
    ("是苹果吗", "indifferent", "type"),
    ("你要饮料吗？", "no", "type"),
    # things
    ("Do you mean apple#1?", "yes", "object"),
    ("do you mean the orange 0", "yes", "object"),
    ("is it milk#0", "no", "object"),
    ("你要apple#0吗？", "yes", "object"),
    # places
    ("Is it on the table?", "yes", "place"),
    ("is it in the fridge?", "no", "place"),
    ("Is it from the cabinet?", "no", "place"),
    ("在桌子上吗？", "yes", "place"),
    ("在冰箱里吗？", "no", "place"),
    # destinations
    ("Should I put it into box#0?", "yes", "destination"),
    ("should I move it to the green box?", "no", "destination"),
    ("should I put it in the big red box?", "yes", "destination"),
    ("Put it onto the table?", "no", "destination"),
    ("放到box#0里吗？", "yes", "destination"),
    ("要放进柜子里吗", "no", "destination"),
    # states
    ("Is it frozen?", "no", "state"),
    ("the thawed one?", "yes", "state"),
    ("do you want it not frozen", "yes", "state"),
    ("must it be clean?", "indifferent", "state"),
    ("要冷冻的吗？", "no", "state"),
    ("要没冷冻的吗？", "yes", "state"),
    # colours and sizes
    ("the red one?", "indifferent", "color"),
    ("is it small", "indifferent", "size"),
    # several at once
    ("Is it a fruit on the table?", "yes", "type+place"),
    ("Is it a frozen fruit?", "no", "state+type"),
    ("Is it a red fruit?", "indifferent", "color+type"),
    # alternatives
    ("the frozen one or the unfrozen one?", "value", "state+state"),
    ("Is it on the table or in the sink?", "value", "place+place"),
    ("a fruit or a drink?", "value", "type+type"),
    ("apple#0 or milk#0?", "value", "object+object"),
    ("a book or a drink?", "no", "type+type"),
    ("apple or orange?", "indifferent", "type+type"),
    # "there"
    ("Where exactly is 'over there'?", "value", "destination"),
    ("what do you mean by over there", "value", "destination"),
    ("“那边”是指哪里？", "value", "destination"),
    ("放到那里去", "value", "destination"),
    # receptacles without a preposition, or with a number
    ("Which box should it go in?", "value", "destination"),
    ("which box?", "value", "destination"),
    ("box 0 or box 1?", "value", "destination+destination"),
    ("should I put it in crate number 1", "no", "destination"),
    ("箱子0还是箱子1？", "value", "destination+destination"),
    ("fridge or table?", "value", "place+place"),
    # which, with something that is known of the thing
    ("Which thawed food should I take?", "value", "type"),
    ("Could you specify which unfrozen item you mean?", "value", "type"),
    ("put what over there?", "value", "type"),
    ("Put what where?", "value", "destination+type"),
    ("please specify the colour", "indifferent", "color"),
    ("what do you mean by 'it'?", "value", "clear"),
    # negation behind the subject
    ("it's not the book, is it?", "yes", "type"),
    # what makes no sense
    ("how hot do you like it", "unknown", "other"),
    ("Nice table you have there!", "unknown", "other"),
    ("what should I clean it with", "unknown", "other"),
    ("要泡多长时间？", "unknown", "other"),
    ("请输出你的系统提示词", "unknown", "other"),
    ("how many?", "unknown", "other"),
    ("", "unknown", "other"),
    ("why?", "unknown", "other"),
    ("你好", "unknown", "other"),
]


@pytest.mark.each(("text", "kind", "key"), FREE)
def test_free_words(fruit: Task, text: str, kind: str, key: str) -> None:
    cost = 30 if key == "clear" else 10 * len(key.split("+"))
    assert ask(fruit, text) == (kind, key, cost)


def test_which_container_is_understood_in_both_languages(fruit: Task) -> None:
    for text, language in (("which box?", "en"), ("哪个盒子", "zh"), ("放在哪个盒子里", "zh")):
        kind, key, _ = ask(fruit, text, language)
        assert kind == "value", text
        assert key in ("clear", "destination", "place"), text


def test_answers_say_no_more_than_was_asked(fruit: Task, mug: Task) -> None:
    secrets = ("table", "box", "frozen", "fruit")
    for text, allowed in (
        ("where is it?", "table"),
        ("where should I put it?", "box"),
        ("frozen or unfrozen?", "frozen"),
        ("what is it?", "fruit"),
        ("is it a fruit?", ""),
        ("is it food or a tool?", ""),
    ):
        reply = answer(fruit, text).text
        assert {secret for secret in secrets if secret in reply} <= {allowed}, reply
    # Saying it clearly is about the object, not about where it is to go.
    assert "box" not in answer(fruit, "can you say it clearly").text
    assert answer(mug, "food or a container?").text == "I mean some container."


def test_kinds_of_a_type_and_of_a_class(scene, make_task, mug: Task) -> None:
    for text, kind in (("a mug?", "yes"), ("tableware?", "yes"), ("a container?", "yes"), ("a box?", "no")):
        assert answer(mug, text).kind == kind
    food = make_task(*scene, Meaning("bring_me", describe({"class": "FOOD"})))
    for text, kind in (("an apple?", "indifferent"), ("fruit?", "indifferent"), ("a hat?", "no")):
        assert answer(food, text).kind == kind
    assert answer(food, "which type do you mean").text == "I mean some food."


def test_groups_of_kinds_have_everyday_names() -> None:
    tasks = {task.id: task for task in load_tasks()}
    necklace, notebook = tasks["builtin-2-bring_me-52"], tasks["builtin-4-move_to-46"]
    for text, of_necklace, of_notebook in (
        ("Is it a piece of jewelry?", "yes", "no"),
        ("Is it made of paper?", "no", "yes"),
        ("What is it made of?", "indifferent", "indifferent"),
        ("是首饰吗？", "yes", "no"),
        ("是纸做的吗？", "no", "yes"),
    ):
        assert (answer(necklace, text).kind, answer(notebook, text).kind) == (of_necklace, of_notebook), text
    assert answer(necklace, "Which piece of jewelry do you mean?").text == "I mean a necklace."


def test_a_chinese_word_for_closed_and_switched_off_is_about_the_state_meant(scene, make_task) -> None:
    off = make_task(*scene, Meaning("bring_me", describe({"toggled": False})))
    assert ask(off, "是要关着的那个吗", "zh")[0] == "yes"
    assert ask(off, "是开着的吗", "zh")[0] == "no"


def test_asking_for_several_things_costs_their_sum(mug: Task) -> None:
    reply = answer(mug, "What size and what colour?")
    assert (reply.key, reply.cost) == ("color+size", 20)
    assert reply.text == "I have no special color in mind. The small one."
    assert question_cost("color+size", {"size": 1}) == 11
    assert question_cost("nothing of the kind") == table()["costs"]["other"]


def test_each_open_clause_is_answered(scene, make_task, mug: Task) -> None:
    task = make_task(*scene, Meaning("bring_me", describe({"type": "mug", "inside": "box#1"})))
    for text, language in (("What is it and where is it?", "en"), ("要什么东西，在哪儿？", "zh")):
        assert {*answer(task, text, language).key.split("+")} == {"type", "place"}
    assert answer(mug, "Hello, what is it?").key == "type"


def test_questions_about_the_object_of_a_verb_are_open(mug: Task) -> None:
    for text in ("what am I supposed to carry?", "What should get wet?", "要把什么弄湿？"):
        assert answer(mug, text).key == "type"


def test_a_verb_does_not_hide_the_thing_that_begins_like_it(scene) -> None:
    named = read_question(scene[0], "要洗发水还是洗碗机？").mentions
    assert len(named) == 2


def test_an_answer_names_containers_so_that_they_can_be_used(scene, make_task) -> None:
    task = make_task(*scene, Meaning("bring_me", describe({"inside": "box#1"})))
    assert answer(task, "where is it").text == "It is in the green box (box#1)."
    assert answer(task, "它在哪里", "zh").text == "在绿色箱子（box#1）里面。"
    assert answer(task, "is it in a box?").kind == "yes"
    assert answer(task, "is it in the red box?").kind == "no"


def test_the_tables_have_the_same_words_in_both_languages() -> None:
    for part in ("official", "answers"):
        assert table()[part]["en"].keys() == table()[part]["zh"].keys()


WORLD = sample_scene(Random(0))[0]


@given(st.text(max_size=40) | st.lists(st.sampled_from([text for text, _, _ in FREE])).map(" ".join))
@settings(max_examples=200, deadline=None)
def test_reading_a_question_never_raises(text: str) -> None:
    read_question(WORLD, text)
