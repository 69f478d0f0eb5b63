"""The built-in user answers only what a question names: a bank of questions, and the data's own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from shared_data import shared_path

from simulator.ambik.data import load_pairs, load_scenarios
from simulator.ambik.items import PairItem, ScenarioItem
from simulator.ambik.players import item_answer
from simulator.ambik.questions import interpret
from simulator.ambik.topics import topic_of

BANK = yaml.safe_load((Path(__file__).parent / "question_bank.yaml").read_text(encoding="utf-8"))
PAIRS = {pair.id: pair for pair in load_pairs("builtin")}
FLOOR = 0.9


def _wrong(half):
    rows = [[part.strip() for part in row.split("|", 3)] for row in BANK[half]]
    kinds = {(id, question): interpret(PAIRS[id], question) or "none" for id, _, _, question in rows}
    wrong = [(*row, kinds[row[0], row[3]]) for row in rows if kinds[row[0], row[3]] != row[2]]
    return len(rows), wrong


@pytest.mark.parametrize("half", ["developed", "measured"])
def test_questions_of_the_bank_are_understood_for_what_they_are(half):
    count, wrong = _wrong(half)
    assert 1 - len(wrong) / count >= FLOOR, wrong


def test_the_bank_holds_every_kind_of_question_in_both_halves():
    kinds = [{row.split("|")[1].strip() for row in BANK[half]} for half in BANK]
    assert kinds[0] == kinds[1]
    assert len(kinds[0]) == 10
    assert sum(map(len, BANK.values())) >= 120


def test_the_words_to_correct_to_are_sorted_once_for_a_task():
    topic = topic_of(next(iter(PAIRS.values())))
    assert topic.spellings is topic.spellings


def _own_and_others(pairs):
    """Return how often a pair's own question (with words changed) and another's are understood."""
    own = [
        bool(interpret(pair, f"Tell me, {pair.question[:1].lower()}{pair.question[1:]}")) for pair in pairs
    ]
    others = [
        bool(interpret(pair, other.question))
        for place, pair in enumerate(pairs)
        for other in (pairs[(place + step) % len(pairs)] for step in (7, 19, 31))
        if other.type != pair.type
    ]
    return sum(own) / len(own), sum(others) / len(others)


def test_a_pairs_own_question_is_understood_and_anothers_is_not():
    own, others = _own_and_others([*PAIRS.values()])
    assert own >= FLOOR
    assert others <= 1 - FLOOR


@pytest.mark.slow
def test_on_the_published_pairs_too():
    folder = shared_path("ambik")
    own, others = _own_and_others(load_pairs(folder))
    assert own >= FLOOR
    assert others <= 1 - FLOOR


BOWL = PairItem(pair=PAIRS["k001"], member="ambiguous")


@pytest.mark.each(
    ("question", "answer"),
    [
        ("Which bowl?", "In the wooden one."),
        ("Is it the glass bowl?", "No. In the wooden one."),
        ("The wooden one?", "Yes. In the wooden one."),
        ("What is the capital of France?", "Sorry, I did not understand your question."),
        ("Which spoon?", "Sorry, I did not understand your question."),
    ],
)
def test_what_the_user_says(question, answer):
    assert item_answer(BOWL, question, "en") == answer


def test_what_it_has_not_understood_it_says_in_the_language_of_the_page():
    assert item_answer(BOWL, "法国的首都是哪里？", "zh") == "抱歉，我没听懂您的问题。"
    assert item_answer(BOWL, "是玻璃碗吗？", "zh").startswith("不是。")


@pytest.mark.parametrize(
    ("english", "chinese"),
    [
        ("Please clarify.", "请说清楚。"),
        ("Please be more specific.", "请说得具体一点。"),
        ("What do you mean?", "你是什么意思？"),
        ("What do you want?", "你想要什么？"),
        ("Which one?", "哪个？"),
        ("Which of them?", "其中到底是哪一个？"),
        ("What should I use?", "我该用什么？"),
        ("Which one do you want?", "有好几个，你更想要哪一个？"),
        ("Which knife should I take?", "刀拿哪一个？"),
        ("Which bowl should I choose?", "我该选哪个碗？"),
    ],
)
def test_a_question_is_understood_equally_in_both_languages(english, chinese):
    heard = [(interpret(pair, english), interpret(pair, chinese)) for pair in load_pairs("builtin", "all")]
    assert all(first == second for first, second in heard)
    assert any(first for first, _ in heard)


@pytest.mark.parametrize(
    "question", ["I do not like jam.", "我不喜欢果酱。", "Whose is the jam?", "为什么用果酱？"]
)
def test_what_asks_for_nothing_open_is_not_understood(question):
    assert not any(interpret(pair, question) for pair in load_pairs("builtin", "all"))


def test_a_clear_task_is_repeated_only_for_questions_about_it():
    clear = replace(BOWL, member="clear")
    assert item_answer(clear, "Which bowl?", "en").startswith("Just as I said: ")
    assert item_answer(clear, "Do the blueberries go on top?", "en").startswith("Just as I said: ")
    assert item_answer(clear, "What is the capital of France?", "en").startswith("Sorry")


def test_of_a_scenario_it_tells_the_side_that_is_asked_for():
    scenario = next(
        scenario
        for scenario in load_scenarios()
        if scenario.location != "pick-up" and scenario.location not in scenario.intended
    )
    item = ScenarioItem(scenario=scenario)
    what = item_answer(item, f"Which {scenario.intended[0].split()[-1]} do you mean?", "en")
    where = item_answer(item, "Where should I put it?", "en")
    assert scenario.intended[0] in what
    assert scenario.location not in what
    assert scenario.location in where
    assert item_answer(item, "Why is the sky blue?", "en").startswith("Sorry")
